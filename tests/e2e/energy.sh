# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2034,SC2154
# energy.sh - for tests of energy accounting, after lib.sh: the node's ledger and its fake counters.


ceems=${E2E_BUILDDIR:-$(e2e_builddir)}/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the command ceems is not built"

# The node that the functions below are about.
node=n1

# on NODE CMD...: CMD about that node.
on() {
	local node=$1
	shift
	"$@"
}

# In a file, because wait_for runs its condition in a subshell.
fed_uj() {
	cat "$DIR/fed.$node" 2>/dev/null || echo 0
}

# feed PACKAGE_UJ [DRAM_UJ]: what the node uses from now on is known to the microjoule.
feed() {
	"$cluster" rapl "$DIR" "$node" 0 "+$1"
	"$cluster" rapl "$DIR" "$node" 0:0 "+${2:-0}"
	echo $(($(fed_uj) + $1 + ${2:-0})) >"$DIR/fed.$node"
}

# feed_gpu GPU MJ [FLAGS]: the same of a GPU of --fake-gpus.
feed_gpu() {
	"$cluster" gpu "$DIR" "$node" "$1" "+$2" ${3:+"$3"}
	echo $(($(fed_uj) + $2 * 1000)) >"$DIR/fed.$node"
}

# use_gpu GPU BUSY MIB FLAGS: how a GPU of --fake-gpus is used from now on (tests/fake/fake_gpu.h).
use_gpu() {
	"$cluster" gpu "$DIR" "$node" "$1" +0 "$4" "$2" "$3"
}

# ledger EXPRESSION: of the node's ledger, by jq.
ledger() {
	inside "$ceems" ledger -n "$node" --json | jq -r "$1"
}

ledger_has_all() {
	local uj
	uj=$(ledger .measured.total_uj)
	[ "$uj" = "$(fed_uj)" ] || { echo "$node: measured $uj uJ of $(fed_uj)"; return 1; }
}

# conserved WHAT: all that was fed has been measured, and the accounts add up to it.
conserved() {
	wait_for 30 ledger_has_all
	is "$(ledger .measured.total_uj)" "$(fed_uj)" "$1: every microjoule was measured"
	is "$(ledger '"\(.difference_uj) \(.conservation_error_uj)"')" "0 0" \
		"jobs, unallocated and system add up to it"
}

# job_energy_uj ID: what the ledger has for a job, ended steps and those still there.
job_energy_uj() {
	ledger "[(.ended[], .steps[]) | select(.job == $1) | .total_uj] | add // 0"
}

job_ran() {
	case $(job_state "$1") in
	'' | COMPLETED | CANCELLED | FAILED | TIMEOUT) return 0 ;;
	esac
	return 1
}

# slurmd_says TEXT: how many lines of the node's log an admin sees it in, at the usual level.
slurmd_says() {
	grep -v ' debug' "$LOG_DIR/slurmd.$node.log" | grep -c -F -- "$1"
}

# complaints: what our plugins said on the nodes, but for what they say where all is well: the sources, what this
# machine's kernel cannot, a tick that came late on a busy one. So a line with other words than these is seen.
complaints() {
	local known='energy from |bpf: |this step is not counted by BPF|not all of --ceems-perf is counted'

	known+='|job [0-9]+: the sampler did not answer'
	grep -hE '(\]|error:) ceems: ' "$LOG_DIR"/slurmd.n?.log | grep -vE " debug|ceems: ($known)"
}

restart_slurmd() {
	"$cluster" kill "$DIR" slurmd "$node" "$@" && "$cluster" start-daemon "$DIR" slurmd "$node"
}

# isnt GOT UNWANTED WHAT
isnt() {
	[ "$1" != "$2" ]
	ok $? "$3"
}

# wait_energy ID [STEP...]: the job's energy, and that of these steps, is in slurmdbd. It is the last to come:
# on scancel slurmctld books the end of a job and of its steps seconds before the steps report.
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

# has_step ID STEP: a tick has seen it, so that all that is fed from now on is in its time.
has_step() {
	ledger ".steps[] | \"\(.job).\(.step)\"" | grep -qx "$1.$2"
}

# work_write: $e2e_work/work [UNTIL [HERE]] takes some CPU time ten times a second, until there is a file
# UNTIL: a dozen that spin would leave nothing to the daemons. Each task tells by a file HERE.TASK that
# it has begun.
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

# Nodes use energy as long as CMD says no.
feed_until() {
	local end=$((SECONDS + 900))

	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		feed_all 3000001 500003
	done
}

# ledgers_j ID: a job's joules, each node rounded on its own, as its extern step does
ledgers_j() {
	local n sum=0

	for n in $nodes; do
		sum=$((sum + ($(on "$n" job_energy_uj "$1") + 500000) / 1000000))
	done
	echo $sum
}

# steps_of ROW: sacct's steps of a job or a het job's component, with their energy
steps_of() {
	inside sacct -n -P -j "${1%+*}" -o JobID,ConsumedEnergyRaw | sed -n "s/^$1\.//p"
}

# as numbers: slurm.h
step_ids='s/^batch/4294967291/; s/^extern/4294967292/; s/^interactive/4294967290/'

has_record() {
	record_file "$1" >/dev/null
}

# steps_add_up ROW J NODES: in sacct those beside the extern step, to J
steps_add_up() {
	local row=$1 j=$2 nnodes=$3 sum pairs

	sum=$(steps_of "$row" | awk -F '|' '$1 != "extern" { sum += $2 } END { print sum + 0 }')
	# each step of each node rounds once
	pairs=$((nnodes * $(steps_of "$row" | wc -l)))
	[ $((j - sum)) -ge -$((pairs / 2)) ] && [ $((j - sum)) -le $((pairs / 2 + nnodes)) ] && return
	echo "$sum J of $j"
	return 1
}

# agrees ID ROW NODES WHAT: of a job that is over: ledgers, sacct's ROW of it, and its record, which is one
agrees() {
	local id=$1 row=$2 nnodes=$3 what=$4 j

	wait_energy "$row" extern
	j=$(job_acct "$row" ConsumedEnergyRaw)
	[ "${j:-0}" -gt 0 ]
	ok $? "$what: job $row has ${j:-no} J in sacct"
	is "$j" "$(ledgers_j "$id")" "as the ledgers of its nodes have it"
	is "$(job_acct "$row" ConsumedEnergyRaw extern)" "$j" "and the extern step"
	# a stepmgr's reach slurmdbd later
	wait_for 60 steps_add_up "$row" "$j" "$nnodes"
	ok $? "its other steps' add up to it"
	is "$(usage "$row" extern In ic/ceems_nodes)" "$nnodes" "$nnodes nodes told of it"
	wait_for 60 has_record "$id"
	is "$(jq -r "select(.jobid == $id) | .energy | \"\(.total_j) \(.final)\"" "$RECORD_FILE")" "$j true" \
		"its one record has them, too"
	is "$(record_file "$id" | jq -r '.steps[] | "\(.stepid)|\(.energy.total_j)"' | sort)" \
		"$(steps_of "$row" | sed "$step_ids" | sort)" "and every step's"
}
