#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Job ends in the inbox, through the recorder, slurmdbd and the store, into MariaDB, and last month's report at the end,
# for each number of jobs in CEEMS_SCALE_RECORDS [1000 4000]. Each of the 3 steps of a job has the values of `ceems tres
# --set` CEEMS_SCALE_SET [basic]. Each job must have exactly one record, with slurmdbd's
# energy; the report has the same sums from slurmdbd and from MariaDB. Prints time, CPU time, memory and bytes, and how
# they grow with the number of jobs.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather jobcomp
. "$e2e_top/tests/e2e/scale.sh"

build=${E2E_BUILDDIR:-$(e2e_builddir)}
make -s -C "$build/tests/bench" fill_inbox >/dev/null || skip_all "fill_inbox is not built"

# The month before this one; the jobs are spread over its first 28 days.
month=$(date -d "$(date +%Y-%m-01) -1 day" +%Y-%m)
now=$(($(date -d "$month-01" +%s) + 28 * 86400))
first=1000000
set=${CEEMS_SCALE_SET:-basic}
tres=$("$build/src/cmd/ceems" tres --set "$set" | sed -n 's/^AccountingStorageTRES=//p')

# what is left: nothing if each job has its final record, and each sink has taken it
left() {
	local n

	n=$(inside sqlite3 -readonly "$STORE_DIR/store.db" "SELECT (SELECT count(*) FROM job WHERE next_try IS NOT NULL) +
		(SELECT count(*) FROM record WHERE seq > (SELECT min(seq) FROM sink))" 2>&1)
	[ "$n" = 0 ] && [ "$(sql 'SELECT count(*) FROM job')" = "$jobs" ]
}

# max_kib DAEMON: the most memory that it had
max_kib() {
	inside awk '/^VmHWM/ { print $2 }' "/proc/$(cat "$DIR/run/pid/$1")/status"
}

# timed WHAT CMD...: CMD's output is in $e2e_work/out; notes its time and memory
timed() {
	local what=$1 rc
	shift
	inside /usr/bin/python3 -c 'import resource, subprocess, sys, time
t = time.monotonic()
rc = subprocess.run(sys.argv[2:], stdout=open(sys.argv[1], "w")).returncode
u = resource.getrusage(resource.RUSAGE_CHILDREN)
print("%d %d %d" % ((time.monotonic() - t) * 1000, (u.ru_utime + u.ru_stime) * 1000, u.ru_maxrss))
sys.exit(rc)' "$e2e_work/out" "$@" >"$e2e_work/timed" 2>"$e2e_work/timed.err"
	rc=$?
	ok $rc "$what"
	[ $rc -eq 0 ] || diag <"$e2e_work/timed.err"
	read -r wall cpu rss <"$e2e_work/timed"
	figure "$what: time" "$jobs" "$wall" ms
	figure "$what: CPU" "$jobs" "$cpu" ms
	figure "$what: memory" "$jobs" "$rss" KiB
}

# total COLUMN: of the report in $e2e_work/out
total() {
	/usr/bin/python3 -c 'import csv, sys
print(*[r[sys.argv[2]] for r in csv.DictReader(open(sys.argv[1])) if r["section"] == "total"])' "$e2e_work/out" "$1"
}

measure() {
	jobs=$1
	diag "--- $jobs jobs"
	cluster_up --plugins acct_gather,jobcomp --sink-db --db-on-disk 512M --ceems-conf <(echo Sinks=mariadb)
	passes "the recorder ends" "$cluster" kill "$DIR" recorder
	. "$e2e_top/tests/e2e/history.sh"
	history_states=4,4,4,4,4,4,4,4,4,4,4,4 # half of these were cancelled before they began
	history_every="28*86400/$jobs"
	history_usage=,$(dbd_sql "SELECT group_concat(concat(id, '=', 123456 + id)) FROM tres_table WHERE
		find_in_set(concat(type, '/', name), '$tres')")
	local at begin=$SECONDS
	for ((at = 0; at < jobs; at += 50000)); do
		history_insert $((at + 1)) $((at + 50000 < jobs ? at + 50000 : jobs)) >"$e2e_work/insert" 2>&1 || {
			diag <"$e2e_work/insert"
			bail "$jobs jobs in slurmdbd"
		}
	done
	diag "slurmdbd's tables filled in $((SECONDS - begin)) s"
	figure "slurmdbd: tables of jobs and steps" "$jobs" "$(dbd_sql "SELECT round(sum(data_length + index_length) / 1024)
		FROM information_schema.tables WHERE table_name IN ('ceems_job_table', 'ceems_step_table')")" KiB
	is "$(dbd_sql "SELECT id_job, id_array_job, id_array_task, het_job_id, het_job_offset, id_user, time_submit,
			time_eligible, time_start, time_end, state FROM ceems_job_table ORDER BY id_job" |
		inside setpriv --reuid=slurm --regid=slurm --init-groups "$build/tests/bench/fill_inbox" "$INBOX_DIR")" \
		"$jobs" "$jobs job ends in the inbox"
	figure inbox "$jobs" "$(du -k -s "$INBOX_DIR" | cut -f 1)" KiB

	used_begin
	passes "the recorder starts" "$cluster" start-daemon "$DIR" recorder
	wait_for $((120 + jobs / 100)) left
	ok $? "all records are in MariaDB"
	used_end records "$jobs"
	figure "records: most memory, ceems-recorder" "$jobs" "$(max_kib recorder)" KiB
	figure "records: most memory, slurmdbd" "$jobs" "$(max_kib slurmdbd)" KiB
	figure "store, at the end" "$jobs" "$(du -k "$STORE_DIR/store.db" | cut -f 1)" KiB
	figure "MariaDB of the sink" "$jobs" "$(sql "ANALYZE TABLE job, step" >/dev/null; sql "SELECT
		round(sum(data_length + index_length) / 1024) FROM information_schema.tables WHERE table_schema = 'ceems'")" KiB

	is "$(sql 'SELECT count(*), count(DISTINCT jobid), sum(energy_final) FROM job' | tr '\t' ' ')" "$jobs $jobs $jobs" \
		"exactly one record of each job, and final"
	is "$(sql 'SELECT sum(energy_j) FROM job WHERE start_time IS NOT NULL')" "$(inside sacct -a -X -n -P -S "$month-01" -E now -o ConsumedEnergyRaw |
		awk '{ s += $1 } END { printf "%.0f\n", s }')" "those that began have sacct's energy"
	timed "ceems db maintain" "$build/src/cmd/ceems" db maintain
	timed "report from slurmdbd" "$build/src/cmd/ceems" report --month="$month" -a --by user --csv
	cp "$e2e_work/out" "$e2e_work/of-slurmdbd"
	timed "report from MariaDB" "$build/src/cmd/ceems" report --month="$month" -a --by user --csv \
		--from "mariadb:$MARIADB_DEFAULTS_FILE"
	is "$(total jobs)" "$(dbd_sql 'SELECT count(*) FROM ceems_job_table WHERE time_start')" "the report has all jobs that began"
	is "$(cksum <"$e2e_work/out")" "$(cksum <"$e2e_work/of-slurmdbd")" "both reports are the same"
	"$cluster" stop "$DIR" >/dev/null
	[ -n "${E2E_KEEP:-}" ] || rm -rf --one-file-system "$DIR"
}

for size in ${CEEMS_SCALE_RECORDS:-1000 4000}; do
	measure "$size"
done
grown
grows "records: CPU, ceems-recorder" 1.2
grows "records: CPU, all" 1.3
grows "report from MariaDB: CPU" 1.2
grows "records: most memory, ceems-recorder" 0.6
done_testing
