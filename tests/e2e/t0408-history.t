#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A year of 400,000 jobs in slurmdbd's database: no query of ceems-recorder or `ceems job` may read a whole table of jobs
# or steps, or more rows than with 1,000 jobs. The test checks MariaDB's plan; it only prints the time.
# CEEMS_HISTORY_JOBS is the number of jobs; contrib/check --all takes 400,000.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins jobcomp

jobs=${CEEMS_HISTORY_JOBS:-20000}
cluster_up --plugins jobcomp --ceems-conf <(echo Sinks=file)
now=$(date +%s)
first=1000000 # real jobs have lower ids
last=$((first + jobs))
. "$(dirname "$0")/history.sh"

# ask FILE: asks slurmdbd all questions; writes a line for each to FILE
ask() {
	inside /usr/bin/python3 "$e2e_top/tests/e2e/slurmdb_questions.py" "$DIR/sbin/ceems-recorder" "$DIR/mariadb" \
		"$(cat "$DIR/run/pid/mariadb")" "$last" "$now" 10 >"$e2e_work/$1" 2>"$e2e_work/$1.err"
}

# rows TABLE [CONDITION]
rows() {
	dbd_sql "SELECT count(*) FROM ceems_$1_table WHERE ${2:-true}"
}

passes "1,000 jobs in the database" history_insert $((jobs - 999)) "$jobs"
passes "are asked for" ask short
begin=$SECONDS
passes "$jobs jobs in the database" history_insert 1 $((jobs - 1000))
diag "$(rows job) jobs and $(rows step) steps, made in $((SECONDS - begin)) s"
passes "are asked for" ask long
diag "question: jobs, statements; with 1,000 and $jobs jobs: rows examined, ms, ms of mariadbd's CPU"
while IFS=$'\t' read -r name n statements examined scans wall cpu; do
	IFS=$'\t' read -r _ n_short _ short_examined _ short_wall short_cpu < <(grep "^$name	" "$e2e_work/short")
	diag "$name: $n, $statements; $short_examined, $examined; $short_wall, $wall; $short_cpu, $cpu"
	is "$n" "$n_short" "$name: the history does not change the answer"
	[ "$n" -ge 1 ] && [ "$statements" -ge 1 ]
	ok $? "  which has jobs"
	is "$scans" 0 "  no table of jobs or steps is read as a whole"
	[ "$scans" -eq 0 ] || grep -F "statement of $name" -A 20 "$e2e_work/long.err" | diag
	[ "$examined" -le $((2 * short_examined + 100)) ]
	ok $? "  $examined rows examined, with 1,000 jobs $short_examined"
done < <(grep -v ^control "$e2e_work/long")
of_window() { # NAME COLUMN
	awk -F '\t' -v name="window of $1" -v column="$2" '$1 == name { print $column }' "$e2e_work/long"
}
ago=$((now - 12 * 3600))
is "$(of_window "an hour, 12 hours ago" 2)" "$(rows job "time_end BETWEEN $ago - 3600 AND $ago")" \
	"a window has all jobs that ended in it"
[ "$(rows job "time_end BETWEEN $ago - 3600 AND $ago AND state = 8192 AND NOT time_eligible")" -ge 1 ]
ok $? "  in all states, also those that were not eligible"
[ "$(of_window "an hour, 12 hours ago" 4)" -le $(($(of_window "an hour" 4) + 20)) ]
ok $? "  no rows of jobs that ended later are examined"
is "$(wc -l <"$e2e_work/long")" 18 "all questions were asked"
is "$(awk -F '\t' '$1 == "control" { print $2, $4, $5 }' "$e2e_work/long")" "$jobs $jobs 1" \
	"the log shows the plan of a statement that does read all jobs"

has_records() {
	[ "$(wc -l <"$RECORD_FILE")" -ge 20 ]
}
passes "an array of 20 runs" submit user1 --array=1-20 --wrap 'srun true'
wait_for 120 has_records
ok $? "the recorder has its records"
is "$(jq -c '[.energy.final, (.steps | length)]' "$RECORD_FILE" | sort -u)" '[true,3]' "  final and with steps"
done_testing
