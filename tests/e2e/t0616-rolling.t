#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An earlier version of slurm-ceems, whose build is in CEEMS_OLD_BUILD, is replaced by this one while jobs run: node by
# node and then the controller, and in the other order, and one node back. A job over both nodes runs through all of it, and
# short jobs run in each state. Each must have the energy of the ledgers in sacct and in one record, and no value that the
# earlier version knew may be missing.
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/lib.sh"
old=${CEEMS_OLD_BUILD:-}
[ -n "$old" ] || skip_all "CEEMS_OLD_BUILD names no build of an earlier version (contrib/check --all makes one if git has its history)"
[ -e "$old/acct_gather/.libs/acct_gather_energy_ceems.so" ] || skip_all "CEEMS_OLD_BUILD=$old: nothing is built there"
needs_plugins acct_gather spank jobcomp
. "$e2e_top/tests/e2e/energy.sh"
new=${E2E_BUILDDIR:-$(e2e_builddir)}
nodes='n1 n2'

# --- files of a version -------------------------------------------------------------------------------

# put FOLDER FILE...: replaces files in FOLDER as a package does: what runs keeps the old ones.
put() {
	local folder=$1 file

	mkdir -p "$folder"
	for file in "${@:2}"; do
		install -m 755 "$file" "$folder/.new" && mv "$folder/.new" "$folder/${file##*/}" || return
	done
}

plugins_of() {
	echo "$1"/{acct_gather/.libs/acct_gather_energy_ceems,src/libnode/.libs/ceems_node,spank/.libs/spank_ceems}.so
}

helpers_of() {
	find "$1/bpf/ceems-bpf" "$1"/src/{helpers,profiler}/ceems-* -maxdepth 0 -type f -perm -u+x 2>/dev/null
}

# files_of BUILD NODE: gives the node's host the files of BUILD; its slurmd is not restarted
files_of() {
	# shellcheck disable=SC2046
	put "$e2e_work/$2/plugins" $(plugins_of "$1") && put "$e2e_work/$2/helpers" $(helpers_of "$1")
}

# node_to BUILD NODE: the same, and restarts slurmd
node_to() {
	files_of "$1" "$2" && on "$2" restart_slurmd
}

# --- jobs ----------------------------------------------------------------------------------------------

# long_begins: starts a job with a step over both nodes that runs until $go is there
long_begins() {
	go=$home/go.$1
	long=$(submit user1 -N2 -n2 -o "$home/long.out" --wrap "srun --ceems-perf $e2e_work/work $go $home/here.$1")
	both() {
		on n1 has_step "$long" 0 && on n2 has_step "$long" 0
	}
	wait_for 120 both
	ok $? "a job over both nodes begins"
	feed_all 6000001 1000003
}

# short WHAT: runs a job in this state. The ledgers forget it some minutes later.
short() {
	rm -f "$home/go.short"
	job=$(submit user1 -N2 -n2 -o /dev/null --wrap "srun --ceems-perf $e2e_work/work $home/go.short $home/short.$SECONDS")
	short_is_there() {
		on n1 has_step "$job" 0 && on n2 has_step "$job" 0
	}
	wait_for 120 short_is_there
	# until it has a part, as the other job uses the CPUs, too
	short_is_fed() {
		feed_all 4000003 700001
		[ "$(on n1 job_energy_uj "$job")" -gt 1000000 ] && [ "$(on n2 job_energy_uj "$job")" -gt 1000000 ]
	}
	wait_for 120 short_is_fed
	: >"$home/go.short"
	wait_for 120 job_is "$job" COMPLETED
	ok $? "$1: a job runs"
	same "$job" "  job $job"
}

# known ID: the values that the record knows
known() {
	record_file "$1" | jq -r '.steps |= sort_by(.stepid) | paths(. != null and (type != "object") and (type != "array")) |
		map(tostring) | join(".")' | sort
}

# same ID WHAT: energy as in the ledgers, and all that the first job's record knows
same() {
	agrees "$1" "$1" 2 "$2"
	[ -e "$e2e_work/known" ] || known "$1" >"$e2e_work/known"
	is "$(comm -23 "$e2e_work/known" <(known "$1"))" "" "  it knows all that the first record knows"
}

cluster_of_old() {
	E2E_BUILDDIR=$old cluster_up --nodes 2 --cpus 4 --fake-rapl --still-cpus \
		--ceems-conf <(printf '%s\n' Sinks=file,mariadb IdleWatts=0.001 FinalEnergyWait=60s)
	home=$DIR/home/user1
	for n in $nodes; do
		printf '%s\n' "$e2e_work/$n/plugins $DIR/plugins" "$e2e_work/$n/helpers $DIR/helpers" >"$DIR/etc/mounts.$n"
		node_to "$old" "$n"
		ok $? "$n has the earlier version"
	done
	work_write
}

# --- the controller ------------------------------------------------------------------------------------

in_mariadb() {
	[ "$(sql 'SELECT count(*) FROM job')" = "$(jq -r .key "$RECORD_FILE" | sort -u | wc -l)" ]
}

controller_to() {
	local job

	"$cluster" kill "$DIR" recorder
	job=$(submit user1 -n1 -o /dev/null --wrap 'srun true')
	wait_for 60 job_is "$job" COMPLETED
	ok $? "the recorder is stopped, and a job's end waits in the inbox"
	# shellcheck disable=SC2046
	put "$DIR/plugins" $(plugins_of "$1") "$1/jobcomp/.libs/jobcomp_ceems.so"
	# shellcheck disable=SC2046
	put "$DIR/helpers" $(helpers_of "$1")
	put "$DIR/sbin" "$1/recorder/ceems-recorder"
	"$cluster" start-daemon "$DIR" recorder
	ok $? "the recorder of this version starts"
	"$cluster" kill "$DIR" slurmctld
	"$cluster" start-daemon "$DIR" slurmctld
	ok $? "and slurmctld with the plugin of this version"
	wait_for 120 has_record "$job"
	ok $? "the job has its record"
	inside env CEEMS_CONF="$CEEMS_CONF" "$1/src/cmd/ceems" db migrate --sql-dir "$1/sql" >"$e2e_work/migrate.out" 2>&1
	ok $? "ceems db migrate" || diag <"$e2e_work/migrate.out"
}

# at_the_end: all jobs of the cluster
at_the_end() {
	local n

	: >"$go"
	wait_for 120 job_is "$long" COMPLETED
	ok $? "the long job ends"
	same "$long" "the long job"
	for n in $nodes; do
		on "$n" conserved "$n"
	done
	wait_for 120 in_mariadb
	ok $? "MariaDB has every record"
	is "$(sql "SELECT SUM(energy_j) FROM job")" "$(jq -s 'map({(.key): .energy.total_j}) | add | add' "$RECORD_FILE")" \
		"with the same energy"
	is "$(jq -r .jobid "$RECORD_FILE" | sort -n | uniq)" "$(inside sacct -n -X -a -P -o JobID | sort -n)" \
		"every job of sacct has a record"
	# a busy machine writes ceems.prom late
	is "$(complaints | grep -v 'ceems: textfile: ')" "" "no node had anything to complain of"
	is "$(cat "$LOG_DIR"/*.log | grep -c 'fatal:')" 0 "no daemon gave up"
}

# --- node by node, then the controller -------------------------------------------------------------------

cluster_of_old
long_begins 1
short "the earlier version everywhere"
[ -s "$e2e_work/known" ]
ok $? "its record has values"
files_of "$new" n1
short "n1 has the files of this version, and slurmd was not restarted"
node_to "$new" n1
ok $? "slurmd of n1 is restarted"
short "n1 has this version, n2 the earlier one"
node_to "$new" n2
ok $? "slurmd of n2 is restarted"
short "both nodes have this version, the controller the earlier one"
controller_to "$new"
short "this version everywhere"
node_to "$old" n1
ok $? "n1 goes back to the earlier version"
short "n1 has the earlier version, n2 and the controller this one"
node_to "$new" n1
at_the_end
"$cluster" stop "$DIR"

# --- the controller, then node by node -----------------------------------------------------------------

cluster_of_old
long_begins 2
controller_to "$new"
short "the controller has this version, the nodes the earlier one"
node_to "$new" n2
ok $? "slurmd of n2 is restarted"
short "n2 has this version, n1 the earlier one"
node_to "$new" n1
ok $? "slurmd of n1 is restarted"
at_the_end

# --- a ledger of another layout ------------------------------------------------------------------------

long_begins 3
wait_for 60 on n1 ledger_has_all
before=$(on n1 job_energy_uj "$long")
"$cluster" kill "$DIR" slurmd n1
printf '\377' | dd of="$LEDGER_DIR/n1.ledger" bs=1 seek=8 conv=notrunc status=none
rm "$DIR/fed.n1"
"$cluster" start-daemon "$DIR" slurmd n1
ok $? "slurmd starts with a ledger of another layout"
is "$(on n1 slurmd_says 'a new ledger is begun, earlier usage of running steps is lost')" 1 "and says that it begins a new one"
feed_all 5000003 500001
short "a job ran before"
: >"$go"
wait_for 120 job_is "$long" COMPLETED
wait_energy "$long" extern
is_joules "$(job_acct "$long" ConsumedEnergyRaw)" "$((before + $(on n2 job_energy_uj "$long")))" \
	"the job that ran has what was measured up to the restart, and that of the other node" 2
wait_for 60 has_record "$long"
is "$(record_file "$long" | jq -c '.energy | [.total_j, .quality]')" \
	"[$(job_acct "$long" ConsumedEnergyRaw),\"lower-bound\"]" "so has its record, as a lower bound"
on n1 conserved n1
done_testing
