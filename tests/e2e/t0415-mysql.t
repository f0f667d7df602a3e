#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Jobs in MySQL (contrib/mysql-tree) by TCP: ceems-recorder, ceems db, report and check work with it as with MariaDB.
# CEEMS_MYSQL is the tree, if it is not where contrib/mysql-tree makes it.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins jobcomp
build=${E2E_BUILDDIR:-$(e2e_builddir)}
mysql=${CEEMS_MYSQL:-${CEEMS_ROOTS:-/var/tmp/ceems-roots}/mysql}
[ -x "$mysql/mysqld" ] || skip_all "no MySQL in $mysql (contrib/mysql-tree makes it)"

cluster_up --sink-mysql "$mysql" --plugins jobcomp --ceems-conf <(echo Sinks=file,mysql)
run_ceems() {
	inside "$build/src/cmd/ceems" "$@"
}
has "$(sql 'SELECT VERSION()')" . "a server"
is "$(sql "SELECT VERSION() LIKE '%MariaDB%'")" 0 "which is MySQL"
jobs=()
for i in 1 2 3; do
	jobs+=("$(submit user1 -n1 --comment="it's $i" --wrap 'srun true')")
done
in_mysql() {
	[ "$(sql 'SELECT COUNT(*) FROM job')" = "$1" ]
}
wait_for 120 in_mysql 3
ok $? "each job is a row" || diag "$(tail -n 5 "$DIR/log/recorder.out")"
is "$(sql 'SELECT GROUP_CONCAT(jobid ORDER BY jobid SEPARATOR " ") FROM job')" "${jobs[*]}" "with its number"
is "$(sql "SELECT comment FROM job WHERE jobid = ${jobs[1]}")" "it's 2" "and its texts"
is "$(sql "SELECT JSON_UNQUOTE(JSON_EXTRACT(record, '\$.state')) = state FROM job WHERE jobid = ${jobs[0]}")" 1 "and the record"
"$cluster" kill "$DIR" sinkdb
jobs+=("$(submit user1 -n1 --wrap true)")
wait_for 120 record_file "${jobs[3]}" >/dev/null
ok $? "while MySQL is down, the file has the record"
"$cluster" start-daemon "$DIR" sinkdb
wait_for 180 in_mysql 4
ok $? "MySQL gets it later" || diag "$(tail -n 5 "$DIR/log/recorder.out")"
has "$(run_ceems db status)" "MySQL" "ceems db status names the server"
passes "ceems db maintain" run_ceems db maintain
has "$(run_ceems check 2>&1)" ", MySQL " "ceems check names it, too"
total='[.. | objects | select(.section? == "total") | .jobs] | first'
is "$(run_ceems report --month "$(date -u +%Y-%m)" --from mysql -a --json | jq "$total")" 4 \
	"ceems report --from mysql has all jobs"
done_testing
