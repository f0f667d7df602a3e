#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems export: jobs that ended before ceems-recorder began must get records, also if it is killed; jobs of the recorder
# must get no second record.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins jobcomp
build=${E2E_BUILDDIR:-$(e2e_builddir)}

cluster_up --sink-db --plugins jobcomp --ceems-conf <(echo Sinks=file,mariadb)
run_ceems() {
	inside "$build/src/cmd/ceems" "$@"
}
store() {
	inside sqlite3 "$STORE_DIR/store.db" "$@"
}
old=()
for i in 1 2 3; do
	old+=("$(submit user1 -n1 --wrap "srun true; exit $((i == 3))")")
done
STORE_DIR=$(sed -n 's/^StoreDir=//p' "$CEEMS_CONF" | tail -n 1)
for id in "${old[@]}"; do
	wait_for 120 record_file "$id" >/dev/null
	wait_booked "$id"
done
# the last job as if it had run while Slurm measured energy
energy() { # COLUMN JOULES: COLUMN, a list of TRES, with JOULES
	echo "$1 = CONCAT_WS(',', NULLIF(REGEXP_REPLACE($1, '(^|,)3=[0-9]+', ''), ''), CONCAT('3=', $2))"
}
of_step='CASE id_step WHEN -4 THEN 42 WHEN 0 THEN 40 ELSE 0 END' # -4: extern
dbd_sql "UPDATE ceems_job_table SET $(energy tres_alloc 42) WHERE id_job = ${old[2]};
	UPDATE ceems_step_table JOIN ceems_job_table USING (job_db_inx)
		SET $(energy tres_usage_in_tot "$of_step"), $(energy tres_usage_out_tot "$of_step") WHERE id_job = ${old[2]}"
# the recorder as if it were installed only now: its store and its records are removed
"$cluster" kill "$DIR" recorder
mv "$RECORD_FILE" "$e2e_work/live"
rm -rf "$STORE_DIR"
sql 'DELETE FROM step; DELETE FROM job'
sleep 1.1 # the recorder begins in a later second than the last job ended
"$cluster" start-daemon "$DIR" recorder
new=$(submit user1 -n1 --wrap true)
wait_for 120 record_file "$new" >/dev/null
ok $? "the recorder has a job of its own"

history=$RECORD_FILE.history
fails "no wrong time" run_ceems export --since yesterdays
is "$(run_ceems export --since now-1day 2>&1)" "3 jobs exported to file,mariadb" "ceems export"
is "$(jq -r .jobid "$history" | sort -n | tr '\n' ' ')" "${old[*]} " "each job of before has a record"
is "$(jq -r '[.origin, .energy.final] | join(" ")' "$history" | sort -u)" "history true" "that says what it is"
same() {
	jq -cS 'del(.origin, .energy, .emissions, .usage, .derived, .tres_alloc, .priority, .alloc_node, .comment, .db_index,
		.steps[].usage, .steps[].derived, .steps[].energy, .steps[].emissions)' "$1" | sort
}
is "$(same "$history")" "$(same <(for id in "${old[@]}"; do jq -c "select(.jobid == $id)" "$e2e_work/live" | tail -n 1; done))" \
	"and the same as the recorder's would: names, states, times, steps"
is "$(jq -r '"\(.jobid) \(.energy.total_j)"' "$history" | sort -n)" "${old[0]} null
${old[1]} null
${old[2]} 42" "energy that was not measured is null, and what Slurm measured is in the record"
is "$(jq -r "select(.jobid == ${old[2]})"' | .steps[] | "\(.name) \(.energy.total_j)"' "$history" | sort)" "batch null
extern 42
true 40" "  as in its steps, of which 0 J is null"
is "$(sql "SELECT jobid, energy_j FROM job WHERE energy_j IS NOT NULL")" "${old[2]}	42" "also in MariaDB"
is "$(run_ceems job --json "${old[2]}" | jq .energy.total_j)" 42 "ceems job shows it, though AcctGatherEnergyType is none"
is "$(sql "SELECT GROUP_CONCAT(jobid ORDER BY jobid SEPARATOR ' ') FROM job WHERE origin = 'history'")" "${old[*]}" \
	"MariaDB has them"
is "$(record_file "$new" | jq .origin)" null "the recorder's record is no history"
is "$(grep -c "\"jobid\":$new," "$history")" 0 "and its job was not exported"

passes "once more" run_ceems export --since now-12hours
is "$(wc -l <"$history")" 3 "there is nothing to do"

# a sink that is down, and a kill
"$cluster" kill "$DIR" sinkdb
run_ceems export --since now-1day --again >"$e2e_work/again" 2>&1 &
waits() {
	inside sqlite3 "$STORE_DIR/export/store.db" 'SELECT count(*) FROM record' | grep -qx 3 && [ "$(wc -l <"$history")" = 6 ]
}
wait_for 60 waits
ok $? "with MariaDB down the records wait, and the file has them"
below() {
	local pid
	for pid in $(pgrep -P "$1"); do
		if [ "$(cat "/proc/$pid/comm")" = ceems-export ]; then
			echo "$pid"
		else
			below "$pid"
		fi
	done
}
kill -KILL "$(below $!)"
wait $!
"$cluster" start-daemon "$DIR" sinkdb
passes "after a kill the same command goes on" run_ceems export --since now-1day
is "$(sql 'SELECT count(*) FROM job')" 4 "MariaDB has each job once"
is "$(wc -l <"$history")" 6 "the file got none twice"
done_testing
