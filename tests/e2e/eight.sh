# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2034,SC2154
# eight.sh - for t0118 and tests/guest/t0550, after lib.sh and energy.sh: jobs 1 to 8 run at the same time. Job I holds
# I parts of memory (part_mib) and uses I parts of CPU time (part_ms).
load=$e2e_top/tests/e2e/memload.py
MIB=1048576
part_mib=20

# within WHAT VALUE LEAST MOST: VALUE must be from LEAST to MOST.
within() {
	[ -n "$2" ] && [ "$2" -ge "$3" ] && [ "$2" -le "$4" ]
	ok $? "$1: ${2:-none}, of $3 to $4"
}

# eight_start FOLDER MS [ARG...]: submits the jobs, 5 to 8 with sbatch's ARGs, and waits until they run. Their ids are
# in ${job[I]}. They hold their memory and wait for eight_work.
eight_start() {
	local i args

	mix=$1 part_ms=$2
	shift 2
	mkdir -m 1777 "$mix"
	mkfifo -m 644 "$mix/go"
	job=()
	for ((i = 1; i <= 8; i++)); do
		args=()
		[ "$i" -lt 5 ] || args=("$@")
		job[i]=$(submit "user$((i % 3 + 1))" -N1 -n1 --mem=$((i * part_mib + 100)) -o /dev/null "${args[@]}" --wrap \
			"echo \$CUDA_VISIBLE_DEVICES >$mix/gpu.$i; exec $load mix $((i * part_mib)) $((i * part_ms)) $mix/$i")
	done
	wait_for 300 eight_are waits || bail "eight jobs run at once"
	ok 0 "eight jobs run at once"
}

# eight_ms_of I: prints the CPU time so far that job I reads itself
eight_ms_of() {
	sed 's/ .*//' "$mix/$1"
}

# eight_worked_ms I: prints job I's CPU time since eight_work
eight_worked_ms() {
	cut -d ' ' -f 2 "$mix/$1"
}

eight_are() {
	[ "$(cat "$mix"/[1-8] 2>/dev/null | grep -c " $1$")" = 8 ]
}

# Prints the CPU time of all jobs since eight_work.
eight_ms() {
	cat "$mix"/[1-8] | awk '{ ms += $2 } END { print ms + 0 }'
}

# eight_work FEED: lets the jobs do their work, and calls the command FEED repeatedly until they are done.
eight_work() {
	exec 7>"$mix/go"
	until eight_are finished; do
		"$1"
	done
	"$1"
}

eight_have_now() {
	local i bytes

	for ((i = 1; i <= 8; i++)); do
		bytes=$(sed -n "s/^ceems_compute_unit_memory_working_set_bytes{hostname=\"n1\",manager=\"slurm\",uuid=\"${job[$i]}\"} //p" "$1")
		[ "$(eight_memory_is "$i" "${bytes:-0}")" = yes ] || { echo "job $i holds ${bytes:-no known} bytes, want $((i * part_mib)) MiB"; return 1; }
	done
}

# eight_memory_is I BYTES: prints yes if BYTES is job I's memory; Python itself needs less than one and a half parts.
eight_memory_is() {
	if [ "$2" -ge $(($1 * part_mib * MIB)) ] && [ "$2" -le $((($1 * part_mib + part_mib * 3 / 2) * MIB)) ]; then
		echo yes
	fi
}

# eight_memory_now FILE: ceems.prom has each job's memory now
eight_memory_now() {
	wait_for 60 eight_have_now "$1"
	ok $? "ceems.prom has what each of them holds now"
}

eight_are_over() {
	[ -z "$(inside squeue -h)" ]
}

# eight_end: ends the jobs, waits until sacct has them, and keeps the ledger in $eight_ledger, since it drops ended jobs.
eight_end() {
	local i

	exec 7>&-
	wait_for 120 eight_are_over
	eight_ledger=$(ledger .)
	for ((i = 1; i <= 8; i++)); do
		wait_energy "${job[$i]}" batch
		wait_for 60 is_used "${job[$i]}" batch In ic/ceems_memory
	done
}

# eight_agree: sacct must have each job's memory and CPU time.
eight_agree() {
	local i peak ms

	for ((i = 1; i <= 8; i++)); do
		peak=$(job_acct "${job[$i]}" "TRESUsageInMax%2000" batch | tr , '\n' | sed -n 's|^ic/ceems_memory=||p')
		is "$(eight_memory_is "$i" "${peak:-0}")" yes "job $i, memory: $((${peak:-0} / MIB)) MiB for $((i * part_mib))"
		ms=$(($(usage "${job[$i]}" batch In ic/ceems_cpu_time) / 1000))
		# more than its own number by the CPU time of the shell that starts it, and of waiting and ending
		within "job $i, ms of CPU time" "$ms" "$(eight_ms_of "$i")" $(($(eight_ms_of "$i") + eight_extra_ms))
	done
}
eight_extra_ms=400

# eight_adds_up: the jobs' energy, unallocated and system must add up to the node's; sacct must have each job's.
eight_adds_up() {
	local i uj sum=0

	for ((i = 1; i <= 8; i++)); do
		uj=$(jq "[(.ended[], .steps[]) | select(.job == ${job[$i]}) | .total_uj] | add // 0" <<<"$eight_ledger")
		is_joules "$(job_acct "${job[$i]}" ConsumedEnergyRaw)" "$uj" "job $i, sacct has the ledger's joules"
		sum=$((sum + uj))
	done
	is "$((sum + $(jq '.unallocated.total_uj + .system.total_uj' <<<"$eight_ledger")))" \
		"$(jq .measured.total_uj <<<"$eight_ledger")" \
		"the eight and what is nobody's are the node's"
}
