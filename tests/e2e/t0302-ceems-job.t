#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `ceems job --json` must print the same record as the sinks have, for every kind of job.
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather jobcomp

cluster_up --nodes 2 --fake-rapl --ceems-conf <(printf '%s\n' Sinks=file Country=DE EnergySources=rapl IdleWatts=0)
rapl_moves n1 n2
ceems=$BUILD_DIR/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"

keys_of() {
	jq -r "select(.jobid == $1 or .array_job_id == $1 or .het_job_id == $1) | .key" "$RECORD_FILE" 2>/dev/null |
		sort -u
}
has_keys() {
	[ "$(keys_of "$1" | wc -l)" -ge "$2" ]
}
# line_of KEY: prints the last line of a key in RecordFile.
line_of() {
	grep -F "\"key\":\"$1\"" "$RECORD_FILE" | tail -n 1
}
is_final() {
	[ "$(line_of "$1" | jq .energy.final)" = true ]
}

# Members that only the record has, because slurmctld does not send them to slurmdbd.
lacks='["alloc_node"]'

# lacks_of LINE: members that the record has and LINE of `ceems job` cannot have. During a requeue, slurmctld
# 22.05 may overwrite a run's eligible time in slurmdbd: then slurmdbd no longer has the right one.
lacks_of() {
	jq -c --argjson lacks "$lacks" '$lacks + if .["@eligible"] then [] else ["@eligible", "@queue_wait"] end' <<<"$1"
}

# is_same ID WHAT: ceems job and the record must be the same for every run of the job, but for what slurmdbd lacks.
is_same() {
	local id=$1 what=$2 key record job not_there n=0
	inside "$ceems" job --duplicates --json "$id" >"$DIR/jobs.jsonl" 2>&1
	for key in $(keys_of "${id%+*}"); do
		wait_for 120 is_final "$key"
		record=$(line_of "$key")
		job=$(grep -F "\"key\":\"$key\"" "$DIR/jobs.jsonl")
		if [ "$job" = "$record" ]; then
			ok 0 "$what: $key"
		else
			not_there=$(lacks_of "$job")
			jq -S --argjson lacks "$not_there" 'delpaths([$lacks[] | [.]])' <<<"$job" >"$DIR/job.json"
			jq -S --argjson lacks "$not_there" 'delpaths([$lacks[] | [.]])' <<<"$record" >"$DIR/record.json"
			is "$(diff "$DIR/job.json" "$DIR/record.json")" "" "$what: $key, but for what slurmdbd lacks"
		fi
		n=$((n + 1))
	done
	is "$(wc -l <"$DIR/jobs.jsonl")" "$n" "$what: as many as there are records"
}

good=$(submit user1 -J 'a name' -t 5 --wrap 'srun true; srun -N2 -n2 sleep 1' -N2)
bad=$(submit user1 --wrap 'srun sh -c "exit 3"; exit 1')
# The batch script ends when slurmctld knows the step's end: else the job's derived exit code may lack the step.
killed=$(submit user2 --wrap 'srun sh -c "kill -9 \$\$"
	while squeue -h -s -j "$SLURM_JOB_ID" -o %i | grep -q "[.]0$"; do sleep 0.1; done')
array=$(submit user2 --array=1-3 --wrap true)
pending=$(submit user2 --begin=now+1hour --wrap true)
held=$(submit user2 --array=1-5 --begin=now+1hour --wrap true)
het=$(submit user3 -n1 : -n1 --wrap 'srun --het-group=0,1 true')
mkdir -m 1777 "$DIR/home/again"
again=$(submit user1 --requeue -o /dev/null --wrap "srun sh -c 'touch $DIR/home/again/runs; exec sleep 600'")

passes "pending ones are cancelled" inside scancel "$pending" "$held"
# a step that ends before its slurmstepd reported leaves a record that never becomes final
wait_for 120 test -e "$DIR/home/again/runs"
ok $? "one runs"
passes "and is requeued" inside scontrol requeue "$again"
wait_for 180 has_keys "$again" 1
ok $? "its first run has a record"
wait_for 180 is_requeued "$again"
ok $? "its second can come"
inside scontrol update jobid="$again" StartTime=now >/dev/null
inside scancel "$again"
wait_for 180 has_keys "$again" 2
ok $? "and its second"

for job in $good $bad $killed $pending $held; do
	wait_for 180 has_keys "$job" 1
done
wait_for 180 has_keys "$array" 3
wait_for 180 has_keys "$het" 2

is_same "$good" "a job"
is_same "$bad" "a failed job"
is_same "$killed" "a job with a step that was killed"
is_same "$array" "an array"
is_same "$pending" "a job that was cancelled while pending"
is_same "$held" "an array that was cancelled while pending"
is_same "$het" "a het job"
is_same "$again" "a requeued job"

# as sacct's
job_json() {
	inside "$ceems" job --json "$@" | jq -c "${filter:-.}"
}
filter='[.jobid, .array_task_id]'
is "$(job_json "${array}_2" | jq .[1])" 2 "a task of an array by its number"
is "$(job_json "$array" | wc -l)" 3 "an array with all its tasks"
filter='[.het_job_id, .het_job_offset]'
is "$(job_json "$het+1")" "[$het,1]" "a component of a het job"
is "$(job_json "$het" | wc -l)" 2 "a het job with all of them"
filter='.array_task_id'
is "$(job_json "${array}_[1-2]" | tr '\n' ' ')" "1 2 " "two tasks of it by squeue's notation"
is "$(job_json -j "${array}_3,${array}_1" | tr '\n' ' ')" "1 3 " "a list of ids, in order"
is "$(job_json "$array" "${array}_2" | wc -l)" 3 "none comes twice"
filter='.jobid'
is "$(job_json "$good" "$bad" | tr '\n' ' ')" "$good $bad " "several arguments"
is "$(job_json -M all "$good")" "$good" "of all clusters"
inside "$ceems" job "$good.batch,$good.0" >"$DIR/steps.out"
is "$(sed -n 's/^Step \([^ ]*\) .*/\1/p' "$DIR/steps.out" | tr '\n' ' ')" "$good.batch $good.0 " "two steps, each by its id"

# no such job, step or cluster: exit code 1, and the message says which
absent() {
	out=$(inside "$ceems" job --json "$@" 2>"$DIR/err")
	echo "$?/$(wc -l <<<"$out")/$(tail -n 1 "$DIR/err")"
}
is "$(absent 4000000)" "1/1/ceems: slurmdbd shows no job 4000000 to this user" "an unknown job"
is "$(absent -M nowhere "$good")" "1/1/ceems: slurmdbd knows no cluster 'nowhere'" "an unknown cluster"
is "$(absent "$good,${array}_9,4000000,$bad")" "1/2/ceems: slurmdbd shows no job 4000000 to this user" \
	"the others of a list are shown"
is "$(head -n 1 "$DIR/err")" "ceems: slurmdbd shows no job ${array}_9 to this user" "and each that is missing is named"
filter=.state
is "$(job_json "$again")" '"CANCELLED"' "the last run of a requeued job"
is "$(job_json --duplicates "$again" | sort)" $'"CANCELLED"\n"REQUEUED"' "and each, if asked for"
filter='.exit_code'
is "$(job_json "$bad")" '"1:0"' "exit status 1 is no signal"
filter='[.steps[] | select(.name == "sh") | .exit_code]'
is "$(job_json "$killed")" '["0:9"]' "a signal is one"
filter='.derived_ec'
is "$(job_json "$killed")" "\"$(job_acct "$killed" DerivedExitCode)\"" "the job's derived exit code is sacct's"
is "$(record_file "$killed" | jq -r .derived_ec)" "0:9" "  in the recorder's record, too"
filter='.qos + " " + .groupname + " " + .tres_req'
good_tres="cpu=2,mem=200M,node=2,billing=2"
is "$(job_json "$good")" "\"normal user1 $good_tres\"" "names of QOS, group and TRES"
# --- the screen ----------------------------------------------------------------------------------

# screen_of ID: prints the screen of ceems job; it must fit into its width.
screen_of() {
	inside "$ceems" job "$@" >"$DIR/screen" 2>&1
	is "$(LC_ALL=C.UTF-8 awk 'length > 80' "$DIR/screen")" "" "job $*: 80 columns"
	[ "$(wc -l <"$DIR/screen")" -le 20 ]
	ok $? "  and 20 lines"
}
on_screen() {
	grep -qE -- "$1" "$DIR/screen"
	ok $? "$2"
	grep -qE -- "$1" "$DIR/screen" || diag <"$DIR/screen"
}
screen_of "$array"
on_screen "^Array $array .* 3 parts  3 COMPLETED$" "an array as a whole"
is "$(grep -c "^  ${array}_[123] " "$DIR/screen")" 3 "a line per task"
on_screen "^  time .* in all, longest " "and their sum"
screen_of "$het"
on_screen "^Het job $het " "a het job as a whole"
is "$(grep -c "^  $het+[01] " "$DIR/screen")" 2 "a line per component"
screen_of "${array}_2"
on_screen "^Job ${array}_2 .* COMPLETED 0:0$" "one task"
screen_of "$bad"
on_screen "^Job $bad .* FAILED 1:0$" "the exit code"
screen_of "$killed"
on_screen "^  note +a step ended with 0:9$" "a step's, where the job's is 0"
screen_of "$pending"
on_screen "^  time +never started, waited " "a job that never ran"
is "$(inside "$ceems" job --long "$pending" | grep -c 2106)" 0 "which has no time in 2106"
on_screen "^  asked for +cpu=1," "and what it asked for"
evil=$(submit user2 -J $'a\e[31m\nb\xc2\x9b2J' -o /dev/null --wrap true)
wait_for 180 has_keys "$evil" 1
screen_of "$evil"
on_screen "^Job $evil  a\\?\\[31m\\?b\\?2J  user2/" "a name that would command the terminal"
is "$(inside "$ceems" job --long "$evil" | LC_ALL=C grep -c $'[\e\x9b]')" 0 "also in the list"

# --- advice --------------------------------------------------------------------------------------

screen_of "$bad"
is "$(grep -c '^  advice' "$DIR/screen")" 0 "no advice on a job of seconds"
printf '%s\n' min-elapsed=0 'failed.type="read the log"' failed.link=https://hpc.example/failed >"$DIR/etc/ceems-advice.conf"
screen_of "$bad"
on_screen "^  advice +failed after .* read the log" "unless the site wants it, in its words"
inside "$ceems" job --explain "$bad" >"$DIR/screen"
on_screen '^  failed: is_failed 1 > 0$' "by which values"
on_screen '^    https://hpc.example/failed$' "and where to read more"
echo 'failed.threshold=often' >"$DIR/etc/ceems-advice.conf"
has "$(inside "$ceems" check 2>&1)" "ceems-advice.conf:1: failed.threshold: 'often' is not a number" "ceems check names a bad line"
rm "$DIR/etc/ceems-advice.conf"

# --- while it runs -------------------------------------------------------------------------------

live=$(submit user1 -J live -t 10 -o /dev/null --wrap 'srun sh -c "while :; do :; done"')
wait_for 120 job_is "$live" RUNNING
shows_live() {
	"$cluster" rapl "$DIR" n1 0 +20000000
	"$cluster" rapl "$DIR" n2 0 +20000000
	inside "$ceems" job "$live" >"$DIR/screen" 2>&1
	grep -qE '^  CPU +\[#' "$DIR/screen" && grep -qE '^  energy .* rapl$' "$DIR/screen"
}
wait_for 120 shows_live
ok $? "CPU time and energy of a running job"
screen_of "$live"
on_screen "^Job $live  live .* RUNNING$" "which is said"
on_screen '^  time .* of 10m00s \(' "how much of its time limit is over"
filter='[.end, .["@end"], (.usage.perf.cpu_time_s > 0), (.energy.total_j > 0), .energy.final]'
is "$(job_json "$live")" "[null,null,true,true,false]" "--json as well, and it is not final"
filter='[.steps[] | select(.stepid == 0) | .user_cpu_s, .usage.perf.cpu_time_s > 0]'
is "$(job_json "$live")" "[null,true]" "a running step's CPU time by slurmdbd is unknown, not 0"
as user2 "$ceems" job "$live" >"$DIR/screen" 2>&1
on_screen '^  note +running steps: sstat: ' "another user learns nothing, and why"
on_screen '^  energy +n/a$' "which is not 0"
inside scancel "$live"

filter=.energy.total_j
is "$(job_json "$good")" "$(job_acct "$good" ConsumedEnergyRaw)" "sacct's energy"
done_testing
