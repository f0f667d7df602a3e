#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# MIG instances and whole GPUs on one node. gres.conf names only the compute instance's file for each instance, after
# the whole GPUs.
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather
. "$(dirname "$0")/energy.sh"

# NVML does not list the 1g.5gb instance; the driver has no GPU 9.
cluster_up --plugins acct_gather --fake-rapl --fake-gpus 4 --cpus 8 --ceems-conf <(echo IdleWatts=1) \
	--fake-mig "0:1:3g.20gb 0:2:4g.20gb 2:1:2g.10gb 2:5:1g.5gb? 9:3:2g.20gb?"

gpu_is_noted() {
	[ "$(slurmd_says "$1")" -ge 1 ]
}

step_gpu_uj() {
	ledger ".steps[] | select(.job == $1 and .step == \"$2\") | .gpu"
}

# held_by USER GRES: starts a job that holds GRES; its id is in $job
held_by() {
	job=$(submit "$1" -n1 -o /dev/null --gres="$2" --wrap 'sleep 1000')
	wait_for 120 has_step "$job" batch || bail "a job begins: $2"
}

# has_share JOB PPM OF_UJ WHAT: the job must have PPM of OF_UJ, within a microjoule for each of a few ticks
has_share() {
	local uj want=$(($2 * $3 / 1000000))

	uj=$(step_gpu_uj "$1" batch)
	[ $((uj - want)) -ge -5 ] && [ $((uj - want)) -le 5 ] || diag "$uj uJ of $want"
	[ $((uj - want)) -ge -5 ] && [ $((uj - want)) -le 5 ]
	ok $? "$4"
}

is "$(ledger '.measured.total_uj')" 0 "nothing has been used yet"
wait_for 60 gpu_is_noted "nvml (4 GPUs, NVIDIA Stand-in)"
ok $? "slurmd reads the GPUs"
held_by user1 gpu:whole:1
first=$job
held_by user2 gpu:whole:1
last=$job
held_by user1 gpu:3g.20gb:1
three=$job
held_by user2 gpu:1g.5gb:1
typed=$job
held_by user3 gpu:2g.20gb:1
lost=$job
for gpu in 0 1 2 3; do
	feed_gpu $gpu $(((gpu + 1) * 100000 + gpu))
done
conserved "two GPUs with MIG, two whole ones"
is "$(step_gpu_uj "$first" batch) $(step_gpu_uj "$last" batch)" "200001000 400003000" \
	"who has a whole GPU has all of its energy, whatever follows it in gres.conf"
has_share "$three" 464285 100000000 "3 of 7 slices and half of the memory, as NVML says: 46.4 % of that GPU"
has_share "$typed" 133928 300002000 "1 of 7 slices and an eighth, as the GRES type says: 13.4 % of that GPU"
is "$(step_gpu_uj "$lost" batch)" 0 "an instance of a GPU that the driver does not name has nothing"
is "$(ledger .unallocated.gpu)" \
	$((1000006000 - 600004000 - $(step_gpu_uj "$three" batch) - $(step_gpu_uj "$typed" batch))) \
	"what no instance holds is unallocated"
of_mig() {
	sed -n "s/^ceems_compute_unit_gpu_index_flag{.*uuid=\"$1\",index=\"\([0-9]*\)\".*gpuiid=\"\([0-9]*\)\"} \(.*\)/\1 \2 \3/p" \
		"$TEXTFILE_DIR/n1/ceems.prom" | sed 's/  / whole /' 
}
typed_is_told() { [ -n "$(of_mig "$typed")" ]; }
wait_for 30 typed_is_told
is "$(of_mig "$three") $(of_mig "$typed")" "0 1 1.000000 2 5 1.000000" \
	"ceems.prom names GPU and instance, as DCGM numbers them"
is "$(of_mig "$first")" "1 whole 1.000000" "a whole GPU has no instance"
instance() {
	sed -n "s/^ceems_gpu_instance_$1{.*,gpu=\"$2\",.*gpuiid=\"$3\"} //p" "$TEXTFILE_DIR/n1/ceems.prom"
}
is "$(instance memory_used_bytes 0 1) $(instance memory_used_bytes 0 2) $(instance processes 0 2)" \
	"104857600 209715200 2" "and what each instance says itself"
is "$(slurmd_says "mig-minors has no minor number 1246; the energy of that GPU is unallocated")" 1 "with one line"

out=$(inside env CEEMS_FAKE_GPUS="$DIR/gpus/n1/state" CEEMS_NVML_LIBRARY="$DIR/modules/fake_nvml.so" \
	"$ceems" check -n n1 2>&1)
has "$out" "nvidia-cap13: GPU 0, instance 1.0, 46.4 % of its energy" "ceems check lists what an instance is"
has "$out" "nvidia-cap319: GPU 2, instance 5.0, 13.3 % of its energy" "by its type, too"
has "$out" "nvidia-cap1246: /proc/driver/nvidia-caps/mig-minors has no minor number 1246" \
	"and which one is unknown"

# --- a GPU whose instances show their activity (GPM) ----------------------------------------------

is "$(ledger .measured.by_activity_uj)" 0 "without GPM no energy is split by activity"
has "$(inside "$ceems" ledger -n n1)" "GPU energy above idle split by the activity of MIG instances: 0 uJ of " \
	"and ceems ledger says so"
mig=$(awk '$1 == 0 { print $7 }' "$DIR/gpus/n1/state")
use_gpu 0 0 4096 "$mig,gpm=2.0+10.30"
passes "slurmd restarts: whether a GPU has GPM is asked once" restart_slurmd
by_activity() {
	feed_gpu 0 1000
	[ "$(ledger .measured.by_activity_uj)" -gt "${1:-0}" ]
}
of_step() {
	ledger "[.steps[] | select(.job == $1 and .step == \"batch\") | .by_activity_uj] | add"
}
wait_for 60 by_activity
ok $? "when both readings of GPM are there, by activity"
feed_gpu 0 100000
conserved "by activity"
# SM activity 10 and 20 %, DRAM 30 %: (2 x 0.1 x 3/7 + 0.3 x 4/8) of that and (2 x 0.2 x 4/7 + 0.3 x 4/8)
ppm=$(($(of_step "$three") * 1000000 / $(ledger .measured.by_activity_uj)))
[ $((ppm - 383720)) -ge -5 ] && [ $((ppm - 383720)) -le 5 ]
ok $? "3g at 10 % beside 4g at 20 %: 38.372 % of the energy above idle ($ppm ppm)"
is "$(ledger .unallocated.by_activity_uj)" $(($(ledger .measured.by_activity_uj) - $(of_step "$three"))) \
	"what an instance of no job used is unallocated"
is "$(of_step "$typed")" 0 "a GPU of which NVML does not list an instance is split by size"
has "$(cat "$TEXTFILE_DIR/n1/ceems.prom")" 'domain="gpu",source="nvml",quality="counter",method="allocation"' \
	"ceems.prom has the method of most of the energy, which is that of the other GPUs"

held_by user3 gpu:4g.20gb:1
idle=$job
use_gpu 0 0 4096 "$mig,gpm=2.0+10.30,idlegi=2"
is_told_idle() { [ "$(instance sm_active_ratio 0 2)" = 0.000000 ]; }
wait_for 30 is_told_idle
ok $? "an instance of a job shows that it is idle"
before=$(of_step "$three")
goes_to_busy() {
	feed_gpu 0 1000
	[ "$(of_step "$three")" -gt "$before" ]
}
wait_for 60 goes_to_busy
ok $? "by activity again, soon after the job began"
kept=$(of_step "$idle")
feed_gpu 0 200000
conserved "an idle instance beside one that computes"
is "$(of_step "$idle")" "$kept" "the idle one gets nothing of what is above idle"
[ "$(of_step "$three")" -gt $((before + 150000000)) ]
ok $? "the other one gets it"

# --- slurmd goes and comes again: the next job finds the sizes -----------------------------------

passes "the job ends" inside scancel "$idle"
use_gpu 0 0 4096 "$mig"

passes "slurmd restarts" restart_slurmd
held_by user3 gpu:4g.20gb:1
feed_gpu 0 100000
conserved "after the restart"
has_share "$job" 535714 100000000 "4 of 7 slices and half of the memory, as NVML says: 53.6 %"

done_testing
