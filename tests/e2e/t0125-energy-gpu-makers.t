#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Simulated GPUs of AMD (tests/fake's AMD SMI library and the kernel's topology as files) and of Intel (the hwmon files of
# the driver xe): the energy of the GPU that a job holds, in the ledger, in sacct, in the record and in `ceems job --json`.
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather jobcomp
. "$(dirname "$0")/energy.sh"

gpu_is_noted() {
	[ "$(slurmd_says "$1")" -ge 1 ]
}

# gpu_joules ID STEP: prints the step's GPU energy in slurmdbd.
gpu_joules() {
	job_acct "$1" TRESUsageInTot "$2" | tr , '\n' | sed -n 's,^ic/ceems_gpu_energy=,,p'
}

has_gpu_uj() {
	local got

	got=$(ledger ".steps[] | select(.job == $1 and .step == \"batch\") | .gpu")
	[ "$got" = "$2" ] || { echo "the step has $got uJ of $2"; return 1; }
}

# Of the two GPUs, a job holds one. GPU 0 is advanced by $1, GPU 1 by twice as much; the job must have $2 or $3 uJ.
one_job() {
	local zero_uj=$2 one_uj=$3 source=$4 want=$2 file

	job=$(submit user1 -n1 --gres=gpu:1 -o /dev/null --wrap 'sleep 1000')
	wait_for 120 has_step "$job" batch || bail "a job starts"
	file=$(inside scontrol show job -d "$job" | sed -n 's/.*GRES=gpu:1(IDX:\([0-9]\)).*/\1/p')
	[ "$file" != 1 ] || want=$one_uj
	"$cluster" gpu "$DIR" n1 0 "+$1"
	"$cluster" gpu "$DIR" n1 1 "+$((2 * $1))"
	wait_for 60 has_gpu_uj "$job" "$want"
	ok $? "the job that holds GPU $file has its energy, $want uJ"
	wait_for 60 all_is_measured $((zero_uj + one_uj))
	ok $? "the other GPU's is measured, too"
	is "$(ledger .unallocated.gpu)" $((zero_uj + one_uj - want)) "  and unallocated"
	inside scancel "$job"
	wait_energy "$job" batch extern
	joules=$(gpu_joules "$job" extern)
	is_joules "$joules" "$want" "sacct has it"
	wait_for 60 has_record "$job"
	member=".energy | [.by_domain.gpu_j, .by_source.${source}_j] | tostring"
	is "$(record_file "$job" | jq -r "$member")" "[$joules,$joules]" "the record has it, from $source"
	is "$(inside "$ceems" job "$job" --json | jq -r "$member")" "[$joules,$joules]" "so has ceems job --json"
}

all_is_measured() {
	[ "$(ledger .measured.gpu)" = "$1" ]
}

cluster_up --plugins acct_gather,jobcomp --fake-rapl --fake-gpus 2 --gpu-maker amd
wait_for 60 gpu_is_noted "by AMD SMI 26"
ok $? "AMD: slurmd says what it reads"
# the counter counts in 15.259 uJ
one_job 1000000 15259000 30518000 rocm
"$cluster" stop --rm "$DIR"

cluster_up --plugins acct_gather,jobcomp --fake-rapl --fake-gpus 2 --gpu-maker intel
wait_for 60 gpu_is_noted "intelgpu (2 GPUs, Intel GPU 0x0bd5"
ok $? "Intel: slurmd says what it reads"
one_job 20000 20000000 40000000 intelgpu

done_testing
