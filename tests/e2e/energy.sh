# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2034,SC2154
# energy.sh - for tests of energy accounting, after lib.sh: the node's ledger and its fake counters.


ceems=${E2E_BUILDDIR:-$(e2e_builddir)}/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the command ceems is not built"

# The node of the functions below.
node=n1

# on NODE CMD...: runs CMD, a function below, for NODE.
on() {
	local node=$1
	shift
	"$@"
}

# In a file, because wait_for runs its condition in a subshell.
fed_uj() {
	cat "$DIR/fed.$node" 2>/dev/null || echo 0
}

# feed PACKAGE_UJ [DRAM_UJ]: advances the node's fake RAPL counters, and fed_uj by the same.
feed() {
	"$cluster" rapl "$DIR" "$node" 0 "+$1"
	"$cluster" rapl "$DIR" "$node" 0:0 "+${2:-0}"
	echo $(($(fed_uj) + $1 + ${2:-0})) >"$DIR/fed.$node"
}

# feed_gpu GPU MJ [FLAGS]: the same for a GPU of --fake-gpus.
feed_gpu() {
	"$cluster" gpu "$DIR" "$node" "$1" "+$2" ${3:+"$3"}
	echo $(($(fed_uj) + $2 * 1000)) >"$DIR/fed.$node"
}

# use_gpu GPU BUSY MIB FLAGS: sets the use of a GPU of --fake-gpus (tests/fake/fake_gpu.h).
use_gpu() {
	"$cluster" gpu "$DIR" "$node" "$1" +0 "$4" "$2" "$3"
}

# ledger EXPRESSION: prints a jq expression of the node's ledger.
ledger() {
	inside "$ceems" ledger -n "$node" --json | jq -r "$1"
}

ledger_has_all() {
	local uj
	uj=$(ledger .measured.total_uj)
	[ "$uj" = "$(fed_uj)" ] || { echo "$node: the ledger has measured $uj uJ of the $(fed_uj) uJ that were fed"; return 1; }
}

# conserved WHAT: the ledger must have measured all that was fed, and its accounts must add up to it.
conserved() {
	wait_for 30 ledger_has_all
	is "$(ledger .measured.total_uj)" "$(fed_uj)" "$1: every microjoule was measured"
	is "$(ledger '"\(.difference_uj) \(.conservation_error_uj)"')" "0 0" \
		"jobs, unallocated and system add up to it"
}

# job_energy_uj ID: prints the job's energy in the ledger, of ended and running steps.
job_energy_uj() {
	ledger "[(.ended[], .steps[]) | select(.job == $1) | .total_uj] | add // 0"
}

job_ran() {
	case $(job_state "$1") in
	'' | COMPLETED | CANCELLED | FAILED | TIMEOUT) return 0 ;;
	esac
	return 1
}

# slurmd_says TEXT: prints how many lines of the node's log have TEXT, without debug lines.
slurmd_says() {
	grep -v ' debug' "$LOG_DIR/slurmd.$node.log" | grep -c -F -- "$1"
}

# complaints: prints our plugins' log lines on the nodes, without those that are logged if all is well: the sources,
# features that this machine's kernel lacks, late ticks on a busy machine. A new message thus counts as a complaint.
complaints() {
	local known='energy from |bpf: |this step is not counted by BPF|not all of --ceems-perf is counted'

	known+='|job [0-9]+: the sampler did not answer'
	known+='|rapl: the sensor of .* (stands still|never moved|moves again)' # fed by the tests only
	grep -hE '(\]|error:) ceems: ' "$LOG_DIR"/slurmd.n*.log | grep -vE " debug|ceems: ($known)"
}

# power_meter WATTS: a power meter for libsensors, which reads /sys only. `inside umount -l /sys/class` removes it.
power_meter() {
	# shellcheck disable=SC2016
	inside sh -ec 'mount -t tmpfs none /sys/class
		mkdir -p /sys/class/hwmon/hwmon0 /sys/class/acpi/ACPI000D:0
		ln -s ../../../bus/acpi /sys/class/acpi/ACPI000D:0/subsystem
		ln -s /sys/class/acpi/ACPI000D:0 /sys/class/hwmon/hwmon0/device
		echo power_meter >/sys/class/hwmon/hwmon0/name
		echo "$1" >/sys/class/hwmon/hwmon0/power1_average' sh $(($1 * 1000000)) || bail "a power meter"
}

restart_slurmd() {
	"$cluster" kill "$DIR" slurmd "$node" "$@" && "$cluster" start-daemon "$DIR" slurmd "$node"
}

# isnt GOT UNWANTED WHAT: GOT must differ from UNWANTED.
isnt() {
	[ "$1" != "$2" ]
	ok $? "$3"
}

# wait_energy ID [STEP...]: waits until slurmdbd has the energy of the job and of these steps. It comes last: on
# scancel, slurmctld books the end of a job and of its steps seconds before the steps report their energy.
wait_energy() {
	wait_booked "$1"
	wait_for 60 has_energy "$@"
}

has_energy() {
	local id=$1 step

	shift
	for step in "" "$@"; do
		[ -n "$(job_acct "$id" ConsumedEnergyRaw "$step")" ] || { echo "job $id: no energy of '$step'"; return 1; }
	done
}

# has_step ID STEP: a tick has seen the step, so all that is fed from now on is used while the step runs.
has_step() {
	ledger ".steps[] | \"\(.job).\(.step)\"" | grep -qx "$1.$2"
}

# work_write: writes the program $e2e_work/work [UNTIL [HERE]]. It uses some CPU time ten times a second until the file
# UNTIL exists; a dozen programs that spin would leave no CPU time to the daemons. Each task creates a file HERE.TASK
# when it begins.
work_write() {
	cat >"$e2e_work/work" <<-'EOT'
		#!/bin/sh
		[ -z "${2:-}" ] || : >"$2.$SLURM_PROCID"
		while [ ! -e "${1:-/nonexistent}" ]; do
			i=0
			while [ $i -lt 3000 ]; do i=$((i + 1)); done
			sleep 0.1
		done
	EOT
	chmod 755 "$e2e_work/work"
}

# --- of several nodes: those in $nodes ---------------------------------------------------------

feed_all() {
	local n

	for n in $nodes; do
		on "$n" feed "$@"
	done
}

# Feeds the nodes as long as CMD fails.
feed_until() {
	local end=$((SECONDS + 900))

	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		feed_all 3000001 500003
	done
}

# ledgers_uj ID: prints a job's energy in the ledgers
ledgers_uj() {
	local n sum=0

	for n in $nodes; do
		sum=$((sum + $(on "$n" job_energy_uj "$1")))
	done
	echo $sum
}

# steps_of ROW: sacct's steps of a job or a het job's component, with their energy
steps_of() {
	inside sacct -n -P -j "${1%+*}" -o JobID,ConsumedEnergyRaw | sed -n "s/^$1\.//p"
}

# step names as numbers, as slurm.h has them
step_ids='s/^batch/4294967291/; s/^extern/4294967292/; s/^interactive/4294967290/'

has_record() {
	record_file "$1" >/dev/null
}

# steps_add_up ROW J NODES: in sacct the steps other than extern add up to J
steps_add_up() {
	local row=$1 j=$2 nnodes=$3 sum pairs

	sum=$(steps_of "$row" | awk -F '|' '$1 != "extern" { sum += $2 } END { print sum + 0 }')
	# each step rounds once on each node
	pairs=$((nnodes * $(steps_of "$row" | wc -l)))
	[ $((j - sum)) -ge -$((pairs / 2)) ] && [ $((j - sum)) -le $((pairs / 2 + nnodes)) ] && return
	echo "$sum J of $j"
	return 1
}

# agrees ID ROW NODES WHAT: a job has ended; its ledgers, sacct's ROW and its only record must have the same energy
agrees() {
	local id=$1 row=$2 nnodes=$3 what=$4 j

	wait_energy "$row" extern
	j=$(job_acct "$row" ConsumedEnergyRaw)
	[ "${j:-0}" -gt 0 ]
	ok $? "$what: job $row has ${j:-no} J in sacct"
	is_joules "$j" "$(ledgers_uj "$id")" "  the same as in the ledgers of its nodes" "$nnodes"
	is "$(job_acct "$row" ConsumedEnergyRaw extern)" "$j" "  the same as of the extern step"
	# steps of a stepmgr reach slurmdbd later
	wait_for 60 steps_add_up "$row" "$j" "$nnodes"
	ok $? "  its other steps add up to the same"
	is "$(usage "$row" extern In ic/ceems_nodes)" "$nnodes" "ceems_nodes: $nnodes nodes reported its energy"
	wait_for 60 has_record "$id"
	is "$(jq -r "select(.jobid == $id) | .energy | \"\(.total_j) \(.final)\"" "$RECORD_FILE")" "$j true" \
		"its one record has them, too"
	is "$(record_file "$id" | jq -r '.steps[] | "\(.stepid)|\(.energy.total_j)"' | sort)" \
		"$(steps_of "$row" | sed "$step_ids" | sort)" "and every step's"
}
