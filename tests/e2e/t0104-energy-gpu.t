#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A GPU's energy is charged to the job that holds it, whatever runs on it. The node has four simulated GPUs
# (tests/fake's NVML library).
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather
. "$(dirname "$0")/energy.sh"

cluster_up --plugins acct_gather --fake-rapl --fake-gpus 4 --cpus 8

gpu_is_noted() {
	[ "$(slurmd_says "$1")" -ge "${2:-1}" ]
}

# step_gpu_uj ID STEP
step_gpu_uj() {
	ledger ".steps[] | select(.job == $1 and .step == \"$2\") | .gpu"
}

# gpu_joules ID STEP: prints the step's GPU energy in slurmdbd.
gpu_joules() {
	job_acct "$1" TRESUsageInTot "$2" | tr , '\n' | sed -n 's,^ic/ceems_gpu_energy=,,p'
}

submit_listed() {
	local user=$1 step=$2
	shift 2
	job=$(submit "$user" -n1 -o /dev/null "$@")
	wait_for 120 has_step "$job" "$step" || bail "a step starts: $*"
}

is "$(ledger '.measured.total_uj')" 0 "nothing has been used yet"
wait_for 60 gpu_is_noted "nvml (4 GPUs, NVIDIA Stand-in)"
ok $? "slurmd says what it reads"

# --- two jobs, one without a GPU, and a GPU that no job holds ------------------------------------

submit_listed user1 batch --gres=gpu:1 --wrap 'sleep 1000'
one=$job
submit_listed user2 0 --gres=gpu:2 --wrap 'srun -n1 --gres=gpu:1 sleep 1000'
two=$job
submit_listed user3 batch --wrap 'exec timeout 1000 sh -c "while :; do :; done"'
none=$job
for gpu in 0 1 2 3; do
	feed_gpu $gpu $(((gpu + 1) * 100000 + gpu))
done
conserved "four GPUs"
is "$(step_gpu_uj "$one" batch)" 100000000 "one GPU, one job: all of its energy"
is "$(job_energy_uj "$two")" 500003000 "two GPUs, one job"
is "$(step_gpu_uj "$two" 0) $(step_gpu_uj "$two" batch)" "200001000 300002000" \
	"its step has one of them, the rest of the job the other"
is "$(ledger .unallocated.gpu)" 400003000 "energy of the GPU that no job holds is unallocated"
is "$(job_energy_uj "$none")" 0 "a busy job without a GPU has none of it"

# --- ceems.prom ----------------------------------------------------------------------------------

# series NAME: its value
series() {
	awk -v name="$1" '$1 == name { print $2 }' "$TEXTFILE_DIR/n1/ceems.prom"
}
uuid=GPU-00000000-0000-0000-0000-00000000000
prom_has_all() {
	[ "$(series "ceems_gpu_energy_joules_total{hostname=\"n1\",gpu=\"3\",gpuuuid=\"${uuid}3\"}")" = 400.003000 ]
}
wait_for 60 prom_has_all
ok $? "ceems.prom has each GPU's energy"
is "$(series "ceems_gpu_power_watts{hostname=\"n1\",gpu=\"0\",gpuuuid=\"${uuid}0\"}")" 50.000 "and power"
is "$(grep -c '^ceems_compute_unit_gpu_index_flag' "$TEXTFILE_DIR/n1/ceems.prom")" 3 \
	"three GPUs are held"
is "$(series "ceems_compute_unit_gpu_index_flag{hostname=\"n1\",manager=\"slurm\",uuid=\"$one\",index=\"0\",hindex=\"n1/gpu-0\",gpuuuid=\"${uuid}0\",gpuiid=\"\"}")" \
	1.000000 "by whom"

# --- a GPU falls off the bus ---------------------------------------------------------------------

feed_gpu 0 50000 lost
wait_for 60 gpu_is_noted "GPU 0 (GPU-00000000-0000-0000-0000-000000000000) cannot be read: No such device"
ok $? "slurmd logs that a GPU is lost"
feed_gpu 1 70000
two_has_more() {
	[ "$(step_gpu_uj "$two" 0)" = 270001000 ]
}
wait_for 60 two_has_more
ok $? "the others are read on"
is "$(job_energy_uj "$one")" 100000000 "nothing is made up for it"
feed_gpu 0 0 ok
conserved "it is back"
is "$(job_energy_uj "$one")" 150000000 "and its holder has all of it"
is "$(slurmd_says "cannot be read: No such device")" 1 "one log line"

# --- the driver hangs ----------------------------------------------------------------------------

feed_gpu 3 60000 hang
feed 1000003 1009
rapl_goes_on() {
	[ "$(ledger '.measured | .cpu + .dram')" = 1001012 ]
}
wait_for 60 rapl_goes_on
ok $? "the driver hangs: other sensors are read on"
passes "slurmd restarts all the same" restart_slurmd
feed 1000003 1009
rapl_went_on() {
	[ "$(ledger '.measured | .cpu + .dram')" = 2002024 ]
}
wait_for 60 rapl_went_on
ok $? "and reads the other sensors"
feed_gpu 3 0 ok
conserved "the driver answers again"

# --- shares ------------------------------------------------------------------------------------

submit_listed user3 0 --gres=shard:1 --wrap 'srun -n1 sleep 1000'
share=$job
feed_gpu 3 40000
conserved "a GPU of four shares"
is "$(step_gpu_uj "$share" 0)" 10000000 "who has one of them has a quarter of the energy"

# --- what Slurm has of it ------------------------------------------------------------------------

inside scancel "$one" "$two" "$none" "$share"
for job in "$one" "$two" "$none" "$share"; do
	wait_energy "$job" batch extern
done
wait_energy "$two" 0
conserved "all jobs have ended"
is "$(gpu_joules "$one" batch) $(gpu_joules "$one" extern)" "150 150" "sacct: the first job's GPU"
is "$(gpu_joules "$two" 0) $(gpu_joules "$two" batch) $(gpu_joules "$two" extern)" "270 300 570" \
	"sacct: the second job's step, its batch script, and the job"
is "$(gpu_joules "$none" extern) $(gpu_joules "$share" extern)" "0 10" \
	"sacct: the job without a GPU, and that with a share of one"

done_testing
