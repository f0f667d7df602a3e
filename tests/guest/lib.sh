# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154
# lib.sh - in the guest, after tests/e2e/lib.sh and energy.sh: sensors that a test moves, and a
# slurmd that reads them. All scenarios share one cluster; each begins with sources_are.

# what `inside` and `as` of lib.sh do takes a second here, so they are done by hand
guest_enter() {
	guest_conf=$(cat "$CEEMS_CONF")
	read -r guest_init _ <"$DIR/run/init"
}

inside() {
	local enter=(nsenter --target "$guest_init" --mount --pid --net --ipc --uts --cgroup)

	SLURM_CONF=$DIR/etc/slurm.conf "${enter[@]}" -- "$@"
}

as() {
	local user=$1

	shift
	inside setpriv --reuid="$user" --regid="$user" --init-groups env --chdir=/tmp "$@"
}

rapl_range=262143328850
rapl_parameters=/sys/module/fakerapl/parameters

# rapl_load OPTION...: fakerapl.c says which
rapl_load() {
	insmod /run/guest/fakerapl.ko range_uj=$rapl_range "$@"
}

# rapl_feed ZONE UJ...: what the node uses from now on, as far as it counts: cores are in their
# package, and psys is a scenario's own affair.
rapl_feed() {
	local zone uj

	while [ $# -gt 0 ]; do
		zone=$1 uj=$2
		shift 2
		rapl_move "$zone" "$uj" || return
		case $zone in
		*:0) ;;
		*) echo $(($(fed_uj) + uj)) >"$DIR/fed.$node" ;;
		esac
	done
}

rapl_move() {
	echo "$1 $2" >"$rapl_parameters/advance"
}

rapl_fails() {
	echo "$1 $2" >"$rapl_parameters/fail"
}

# sources_are LIST [LINE...]: slurmd begins anew with these EnergySources, lines of ceems.conf, an
# empty ledger and an empty log.
sources_are() {
	local list=$1

	shift
	"$cluster" kill "$DIR" slurmd n1
	rm -f "$LEDGER_DIR"/*.ledger "$TEXTFILE_DIR"/n1/* "$DIR/fed.$node"
	printf '%s\n' "$guest_conf" "EnergySources=$list" "$@" >"$CEEMS_CONF"
	: >"$LOG_DIR/slurmd.n1.log"
	"$cluster" start-daemon "$DIR" slurmd n1
}

# ledger_counts NAME N: `rejected`, `wraps` and the like are N or more.
ledger_counts() {
	local n

	n=$(ledger ".$1")
	[ "${n:-0}" -ge "$2" ] || { echo "$1 is $n"; return 1; }
}

# job_begins [ARG...]: user1's step runs until scancel; its job's id is in $job once the ledger
# has it.
job_begins() {
	job=$(submit user1 -n1 --mem=100 -o /dev/null "$@" --wrap 'srun sleep infinity')
	wait_for 120 step_is_open
	ok $? "job $job runs"
}

step_is_open() {
	ledger "[.steps[] | select(.job == $job and .step == \"0\")] | length" | grep -qx 1
}

# job_ends: of job $job, whose energy is then in slurmdbd.
job_ends() {
	inside scancel "$job"
	wait_energy "$job"
}

# sacct_agrees: the job's joules are the ledger's.
sacct_agrees() {
	local uj

	uj=$(job_energy_uj "$job")
	is "$(job_acct "$job" ConsumedEnergyRaw)" "$(((uj + 500000) / 1000000))" \
		"sacct has the $uj uJ that the ledger has for job $job"
}
