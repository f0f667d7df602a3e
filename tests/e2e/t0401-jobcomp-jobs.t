#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# One record for every way a job can end, with the same state, steps and key as in Slurm.
# shellcheck disable=SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins jobcomp

cluster_up --nodes 2 --plugins jobcomp --ceems-conf <(echo Sinks=file)

# field ID FILTER: prints a jq filter of the last record of a job
field() {
	record_file "$1" | jq -r "$2"
}
records_of() {
	jq -r "select(.jobid == $1 or .array_job_id == $1) | .key" "$RECORD_FILE" 2>/dev/null
}
has_records() {
	[ "$(records_of "$1" | wc -l)" -ge "$2" ]
}
started() {
	[ "$(job_state "$1")" = RUNNING ]
}

# --- all at once -------------------------------------------------------------------------------

good=$(submit user1 -J 'a "name"' --wrap 'srun true; srun -n1 sleep 1')
bad=$(submit user1 --wrap 'exit 3')
running=$(submit user1 --wrap 'sleep 600')
again=$(submit user1 --requeue --wrap 'sleep 600')
array=$(submit user2 --array=1-3 --wrap true)
pending=$(submit user2 --begin=now+1hour --wrap true)
held=$(submit user2 --array=1-5 --begin=now+1hour --wrap true)
het=$(submit user3 -n1 : -n1 --wrap 'srun true')

wait_for 60 started "$running"
passes "a running job is cancelled" inside scancel "$running"
passes "a pending one" inside scancel "$pending" "$held"
wait_for 60 started "$again"
passes "a third is requeued" inside scontrol requeue "$again"

wait_for 120 has_records "$good" 1
ok $? "the good job has a record"
is "$(field "$good" '[.state, .exit_code, .username, .groupname, .account, .job_name] | join(" ")')" \
	'COMPLETED 0:0 user1 user1 project a "name"' "with what users know of it"
is "$(field "$good" '[.steps[].name] | sort | join(" ")')" "batch extern sleep true" "and its steps"
is "$(field "$good" '.energy.total_j')" null "energy that is not measured is null"
is "$(field "$good" '.energy.final')" true "for good"
is "$(field "$good" '."@end" | rtrimstr("Z")')" \
	"$(inside env TZ=UTC SLURM_TIME_FORMAT=%FT%T sacct -nPX -j "$good" -o End)" \
	"its end is sacct's, in UTC"

wait_for 120 has_records "$bad" 1
is "$(field "$bad" '.state + " " + .exit_code')" "FAILED 3:0" "a failed job"
wait_for 120 has_records "$running" 1
is "$(field "$running" '.state')" CANCELLED "a cancelled job"
is "$(field "$running" '[.steps[].name] | sort | join(" ")')" "batch extern" "with its steps"
wait_for 120 has_records "$pending" 1
is "$(field "$pending" '[.state, ."@start", .energy.total_j, (.steps | length)] | map(tostring) | join(" ")')" \
	"CANCELLED null null 0" "one that never ran"
wait_for 120 has_records "$held" 1
is "$(records_of "$held" | wc -l)" 1 "an array cancelled as a whole"
wait_for 120 has_records "$array" 3
is "$(records_of "$array" | sort -u | wc -l)" 3 "an array has a record per task"
is "$(jq -s "[.[] | select(.array_job_id == $array) | .array_task_id] | sort | join(\" \")" -r \
	"$RECORD_FILE")" "1 2 3" "with its task"
wait_for 120 has_records "$het" 1
wait_for 120 has_records $((het + 1)) 1
is "$(field "$het" '.het_job_offset'),$(field $((het + 1)) '.het_job_offset')" 0,1 \
	"a heterogeneous job one per component"

wait_for 180 has_records "$again" 1
is "$(field "$again" '.state')" REQUEUED "a requeued run has its record"
wait_for 180 is_requeued "$again"
inside scontrol update jobid="$again" StartTime=now >/dev/null
inside scancel "$again"
wait_for 120 has_records "$again" 2
is "$(records_of "$again" | sort -u | wc -l)" 2 "the next run one of its own, with another key"

# --- what must be true of all records ------------------------------------------------------------

is "$(jq -r .key "$RECORD_FILE" | sort | uniq -d)" "" "no key twice"
if inside sacct -e | grep -qw SLUID; then
	is "$(jq -r '"\(.jobid)|\(.sluid)"' "$RECORD_FILE" | sort)" \
		"$(inside sacct -D -a -n -P -X -S 2000-01-01 -E 2100-01-01 -o JobIDRaw,SLUID | sort)" "their SLUIDs are sacct's"
else
	is "$(jq -r .sluid "$RECORD_FILE" | sort -u)" null "Slurm has no SLUID yet"
fi
if /usr/bin/python3 -c 'import jsonschema' 2>/dev/null; then
	passes "all are valid by the schema" /usr/bin/python3 -c '
import json, sys, jsonschema
v = jsonschema.Draft202012Validator(json.load(open(sys.argv[1])))
for line in open(sys.argv[2]):
    v.validate(json.loads(line))
' "${E2E_BUILDDIR:-$(e2e_builddir)}/src/librecord/ceems.job.v1.schema.json" "$RECORD_FILE"
else
	skip "python3-jsonschema is missing"
fi
is "$(inside sacct -nc 2>&1)" "" "sacct -c says nothing, and does not crash"
passes "slurmctld ends" "$cluster" kill "$DIR" slurmctld -TERM
has "$(cat "$LOG_DIR/slurmctld.log")" "ceems: jobcomp: time in slurmctld: " "and says what the hook cost"
grep -o 'ceems: jobcomp: .* job ends took.*' "$LOG_DIR/slurmctld.log" | diag
is "$(grep -c 'error: ceems' "$LOG_DIR/slurmctld.log")" 0 "without an error of ours"
done_testing
