# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2016,SC2154
# For tests that end with the question whether all sinks and sacct have the same; after lib.sh.

for e2e_tool in java kcat; do
	command -v $e2e_tool >/dev/null || skip_all "$e2e_tool is not installed (contrib/deps test)"
done
[ -x /usr/bin/python3 ] || skip_all "python3 is not installed (contrib/deps test)"
"$e2e_top/contrib/kafka/get" >/dev/null || bail "the broker's jars are there"

is_told() {
	inside sdiag | grep -q 'DBD Agent queue size: 0$'
}

# Every reader of the spool is where it ends; says which one is not, and where it is.
is_drained() {
	inside sh -c 'cd "$1" && last=$(ls *.seg | tail -n 1) && size=$(stat -c %s "$last") &&
		! awk -v segment="${last%.seg}" -v size="$size" \
			"\$3 != segment + 0 || \$4 != size { print FILENAME, \$3, \$4 }" *.cur |
			grep .' sh "$SPOOL_DIR"
}

# A record that waits for its energy has yet to enter the spool a second time.
is_drained_for_long() {
	local try
	for try in 1 2 3; do
		is_drained || { echo "try $try"; return 1; }
		sleep 1
	done
}

# Waits until everything is told: by slurmctld to slurmdbd, and from the spool to everybody.
all_is_told() {
	wait_for 120 is_told
	ok $? "slurmdbd knows all that slurmctld told it"
	wait_for 300 is_drained_for_long
	ok $? "the spool is drained"
	is "$(inside sh -c 'cat "$1"/*.dead 2>/dev/null' sh "$SPOOL_DIR")" "" \
		"nothing was refused for good"
}

# compare STORM: sacct, Kafka, MariaDB and RecordFile have the same jobs with the same values.
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
	# which came to no counts if it failed
	[ $rc -eq 0 ] || grep '^# WRONG' "$e2e_work/compare"
}
