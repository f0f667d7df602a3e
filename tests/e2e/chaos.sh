# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2016,SC2154
# chaos.sh - for tests at whose end all sinks and sacct must have the same jobs and values; after lib.sh.

for e2e_tool in java kcat; do
	command -v $e2e_tool >/dev/null || skip_all "$e2e_tool is not installed (contrib/deps test)"
done
[ -x /usr/bin/python3 ] || skip_all "python3 is not installed (contrib/deps test)"
"$e2e_top/contrib/kafka/get" >/dev/null || bail "the broker's jars are there"

is_told() {
	inside sdiag | grep -q 'DBD Agent queue size: 0$'
}

# In each store no job waits for slurmdbd's answer, every job has its final record, and no sink has records to take;
# prints what is left.
is_drained() {
	local missing="
		SELECT key || ' is asked for' FROM job WHERE next_try IS NOT NULL AND state = 1 LIMIT 5;
		SELECT key || ' has no final record' FROM job WHERE state = 2 LIMIT 5;
		SELECT 'record ' || seq || ' waits' FROM record WHERE seq > (SELECT min(seq) FROM sink) LIMIT 5;"

	inside sh -c '
		for store in "$1"/spool*/store/store.db; do
			[ -e "$store" ] || continue
			sqlite3 -readonly "$store" "$2" || echo "$store"
		done | grep .' sh "$DIR" "$missing" || return 0
	return 1
}

# Three times, since a job end may still be in the inbox, of which the store knows nothing.
is_drained_for_long() {
	local try
	for try in 1 2 3; do
		is_drained || { echo "try $try"; return 1; }
		sleep 1
	done
}

# Waits until slurmdbd has all of slurmctld's messages, and the sinks have all records of the store.
all_is_told() {
	wait_for 120 is_told
	ok $? "slurmctld's queue for slurmdbd is empty"
	wait_for 600 is_drained_for_long
	ok $? "all records are final and delivered"
}

# refused COLUMNS [WHERE]: prints COLUMNS of the store's list of records that a sink refused while it took others.
refused() {
	inside sqlite3 -readonly "$STORE_DIR/store.db" "SELECT $1 FROM refused ${2:-}"
}

nothing_is_refused() {
	is "$(refused 'sink, reason')" "" "nothing was refused for good"
}

# For a test in which sinks refused all records for a while. That is an outage, and nothing is listed as refused. But
# when the outage begins or ends, a sink may take one record and refuse the next. As an operator does, replay these.
replay_refused() {
	local sink

	for sink in $(refused 'DISTINCT sink'); do
		diag "$sink: $(refused 'count(*)' "WHERE sink = '$sink'") records are listed as refused"
		passes "they are replayed to $sink" inside /run/ceems-build/src/cmd/ceems store replay "$sink" --refused
	done
}

# slurmctld exits if slurmdbd is down at its start and it has no saved state of slurmdbd
slurmctld_died_of_nothing_else() {
	is "$(grep -E '^slurmctld: fatal|terminate called|Segmentation' "$LOG_DIR/slurmctld.out" |
		grep -v 'for some reason we have no TRES')" '' \
		"slurmctld died of nothing else"
}

# compare STORM: sacct, Kafka, MariaDB and RecordFile must have the same jobs with the same values.
compare() {
	local count what rc

	/usr/bin/python3 "$e2e_top/tests/e2e/chaos_compare.py" "$cluster" "$DIR" "$1" \
		>"$e2e_work/compare" 2>"$e2e_work/compare.err"
	rc=$?
	ok $rc "sacct, Kafka, MariaDB and RecordFile can be compared"
	diag <"$e2e_work/compare.err"
	grep '^#' "$e2e_work/compare" | grep -v '^# WRONG'
	while IFS=$'\t' read -r count what; do
		is "$count" 0 "$what: 0"
		grep -F "# WRONG, $what: " "$e2e_work/compare"
	done < <(grep -v '^#' "$e2e_work/compare")
	# if chaos_compare.py fails, it prints no counts
	[ $rc -eq 0 ] || grep '^# WRONG' "$e2e_work/compare"
}
