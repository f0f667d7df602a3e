#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Use of simulated GPUs (tests/fake's NVML library) by jobs in sacct, the record and ceems.prom.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather jobcomp
. "$(dirname "$0")/energy.sh"

cluster_up --plugins acct_gather,jobcomp --fake-rapl --fake-gpus 2 --cpus 8
prom=$TEXTFILE_DIR/n1/ceems.prom
MIB=1048576

flags=processes=1,reasons=4,gpm=1.50+2.40+3.20+5.10+10.25+12.30+20.2+60.1
use_gpu 0 30 4096 $flags
use_gpu 1 0 1024 ok
passes "slurmd restarts: whether a GPU has GPM is asked once" restart_slurmd

# series NAME LABELS: its value; LABELS are what stands between hostname and the closing brace
series() {
	awk -v name="$1{hostname=\"n1\",$2}" 'index($0, name " ") == 1 { print $2 }' "$prom"
}
of_gpu() {
	series "$1" "gpu=\"$2\",gpuuuid=\"GPU-00000000-0000-0000-0000-00000000000$2\""
}
of_job() {
	series "ceems_compute_unit_gpu_$1" "manager=\"slurm\",uuid=\"$2\""
}
# gpu ID STEP SIDE NAME, and the largest of any node
gpu() {
	usage "$1" "$2" "$3" "ic/ceems_gpu_$4"
}
gpu_max() {
	job_acct "$1" "TRESUsage$3Max%2000" "$2" | tr , '\n' | sed -n "s|^ic/ceems_gpu_$4=||p"
}
# share WHAT PART WHOLE PERCENT: PART must be PERCENT of WHOLE, to a thousandth
share() {
	awk -v a="$2" -v b="$3" -v p="$4" 'BEGIN { d = a / b - p / 100; exit !(b > 0 && d < 0.001 && d > -0.001) }'
	ok $? "$1: $4 % (${2:-nothing} of ${3:-nothing})"
}

# --- while they run ------------------------------------------------------------------------------

one=$(submit user1 -n1 -o /dev/null --gres=gpu:1 --wrap 'srun -n1 --gres=gpu:1 sleep 12')
wait_for 120 has_step "$one" 0
two=$(submit user2 -n1 -o /dev/null --gres=gpu:1 --wrap 'sleep 12')
none=$(submit user3 -n1 -o /dev/null --wrap 'sleep 3')
wait_for 120 has_step "$two" batch
is_shown() {
	[ -n "$(of_job no_process_seconds_total "$two")" ] && [ -n "$(of_job sm_active_seconds_total "$one")" ]
}
wait_for 60 is_shown
ok $? "ceems.prom has their use while they run"
use_gpu 0 30 4096 $flags,xid=2
has_xids() {
	[ "$(of_gpu ceems_gpu_xid_errors_total 0)" = 2 ]
}
wait_for 30 has_xids
ok $? "and XID errors of a GPU"
share "busy, of the time held" "$(of_job busy_seconds_total "$one")" "$(of_job held_seconds_total "$one")" 50
is "$(of_job no_process_seconds_total "$one")" 0.000000000 "a GPU with a process"
is "$(of_job no_process_seconds_total "$two")" "$(of_job held_seconds_total "$two")" "one without, all of the time"
is "$(of_job sm_active_seconds_total "$two")" "" "without GPM nothing of SMs, not 0"
is "$(of_gpu ceems_gpu_sm_active_ratio 0) $(of_gpu ceems_gpu_pipe_fp32_active_ratio 0)" "0.400000 0.300000" \
	"each GPU has its engines"
is "$(of_gpu ceems_gpu_processes 0) $(of_gpu ceems_gpu_processes 1)" "1 0" "and its processes"
is "$(of_gpu ceems_gpu_memory_used_bytes 0)" $((4096 * MIB)) "and memory now"
is "$(of_gpu ceems_gpu_throttled_power_ratio 0) $(of_gpu ceems_gpu_throttled_heat_ratio 0)" "1.000000 0.000000" \
	"and why its clocks are held down"

# --- what Slurm has of it ------------------------------------------------------------------------

for id in "$one" "$two" "$none"; do
	wait_booked "$id"
done
is_told() {
	[ -n "$(gpu "$1" extern In busy)" ]
}
wait_for 60 is_told "$one" && wait_for 60 is_told "$two"
held=$(gpu "$one" 0 Out busy)
[ "${held:-0}" -ge 10000000 ] && [ "$held" -le 30000000 ]
ok $? "sacct: the step held its GPU for $held us"
share "it was busy, as GPM counts" "$(gpu "$one" 0 In busy)" "$held" 50
share "SMs" "$(gpu "$one" 0 In sm)" "$held" 40
share "occupancy" "$(gpu "$one" 0 Out sm)" "$held" 20
share "tensor pipes" "$(gpu "$one" 0 In tensor)" "$held" 10
share "memory bandwidth" "$(gpu "$one" 0 Out tensor)" "$held" 25
share "throttled" "$(gpu "$one" 0 Out idle)" "$held" 100
is "$(gpu "$one" 0 In idle)" 0 "held without process: never"
is "$(gpu_max "$one" 0 In memory) $(gpu_max "$one" 0 Out memory)" "$((4096 * MIB)) $((81920 * MIB))" \
	"memory: peak, and what the GPU has"
is "$(gpu "$one" 0 In xid) $(gpu "$one" extern In xid) $(gpu "$two" batch In xid)" "2 2 0" \
	"XID errors are of the job that held the GPU"
[ "$(gpu "$one" extern Out busy)" -ge "$held" ]
ok $? "the extern step has the job's"
is "$(gpu "$two" batch In idle)" "$(gpu "$two" batch Out busy)" "held without process: all of the time"
is "$(gpu "$two" batch In busy)" 0 "busy: never"
is "$(gpu "$two" batch In sm)" "" "SMs of a GPU without GPM: unknown"
is "$(gpu "$none" extern In busy)$(gpu "$none" batch Out busy)" "" "a job without a GPU has none of it"

json=$(inside "$ceems" job --json "$one")
is "$(jq -c '.steps[] | select(.stepid == 0) | .usage.gpu | [.memory_peak_bytes, .no_process_s, .xid_errors]' <<<"$json")" \
	"[$((4096 * MIB)),0,2]" "ceems job --json: memory, time without process and XID errors of the step"
is "$(jq '.derived | (.gpu_utilization * 1000 | round), (.gpu_sm_active_rate * 1000 | round)' <<<"$json" | xargs)" \
	"500 400" "means of the job"
is "$(inside "$ceems" job --json "$two" | jq '.derived.gpu_no_process_rate == 1')" true "held without process, of the time held"
is "$(inside "$ceems" job --json "$none" | jq '.usage.gpu.busy_s')" null "null without a GPU"

# --- shares ----------------------------------------------------------------------------------------

half=$(submit user1 -n1 -o /dev/null --gres=shard:2 --wrap 'sleep 10')
quarter=$(submit user2 -n1 -o /dev/null --gres=shard:1 --wrap 'sleep 10')
for id in "$half" "$quarter"; do
	wait_booked "$id"
	wait_for 60 is_told "$id"
done
held=$(gpu "$half" batch Out busy)
[ "${held:-0}" -ge 4800000 ] && [ "$held" -le 9000000 ]
ok $? "half of a GPU for 10 s is held for $held us"
share "of which it was as busy as the GPU" "$(gpu "$half" batch In busy)" "$held" 50
[ "$(gpu "$quarter" batch Out busy)" -ge 2400000 ] && [ "$(gpu "$quarter" batch Out busy)" -le 4500000 ]
ok $? "a quarter: $(gpu "$quarter" batch Out busy) us"
is "$(gpu_max "$half" batch In memory)" $((2048 * MIB)) "and half of its memory"

done_testing
