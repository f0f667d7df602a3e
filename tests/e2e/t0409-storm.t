#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CEEMS_STORM_JOBS jobs (contrib/check --all: 20,000) of three users as fast as this machine runs them, without faults.
# At the end sacct, Kafka, MariaDB and RecordFile must have the same jobs with the same values. Prints jobs/s, how far
# the recorder was behind, and the CPU time of each daemon.
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins jobcomp acct_gather
. "$e2e_top/tests/e2e/chaos.sh"

jobs=${CEEMS_STORM_JOBS:-1000}
round=189 # runs of one round of a user
rounds=$(((jobs + 3 * round - 1) / (3 * round)))
diag "CEEMS_STORM_JOBS=$jobs: $((3 * rounds * round)) runs"

# enough watts for a short job to have joules; jobs that are over leave slurmctld's memory soon
cluster_up --nodes 2 --cpus 8 --kafka --sink-db --plugins acct_gather,jobcomp \
	--slurm-conf <(printf '%s\n' MaxJobCount=100000 MinJobAge=30 SlurmctldDebug=info SlurmdDebug=info) \
	--ceems-conf <(printf '%s\n' Sinks=file,kafka,mariadb ModelIdleWatts=400 ModelMaxWatts=1000)

# storm USER: in each round 130 tasks of an array that do nothing, 20 with 0 to 3 steps, 12 that fail, 6 that cancel
# themselves, an array of 16 that is cancelled while pending, half of it first, 10 jobs that are no array, 2 components
# of a het job. 4 for each round requeue themselves: first, since slurmctld holds such a job for two minutes.
storm() {
	as "$1" bash -c '
		exec >/dev/null
		sbatch() {
			command sbatch --parsable -n1 -o /dev/null "$@" || echo "sbatch $*: failed" >&2
		}
		sbatch --requeue --array="1-$((4 * $1))" --wrap \
			"[ -n \"\$SLURM_RESTART_COUNT\" ] || { scontrol requeue \$SLURM_JOB_ID; sleep 600; }"
		for ((i = 0; i < $1; i++)); do
			sbatch --array=1-130 --wrap true
			sbatch --array=0-19 --wrap "for i in \$(seq \$((SLURM_ARRAY_TASK_ID % 4))); do srun true; done"
			sbatch --array=1-12 --wrap "exit \$SLURM_ARRAY_TASK_ID"
			sbatch --array=1-6 --wrap "scancel \$SLURM_JOB_ID; sleep 600"
			job=$(sbatch --array=1-16 --begin=now+1hour --wrap true)
			scancel "${job}_[1-8]"
			scancel "$job"
			for ((k = 0; k < 10; k++)); do
				sbatch --wrap true
			done
			sbatch : -n1 --wrap "srun true"
		done' storm "$rounds"
}

no_job_is_left() {
	local left
	left=$(inside squeue -h -r -o %A) && { wc -w <<<"$left"; [ -z "$left" ]; }
}

# cpu_s DAEMON: prints the CPU seconds of it and of its running children
cpu_s() {
	local pid
	pid=$(cat "$DIR/run/pid/$1")
	inside ps -o cputimes= -p "$pid" --ppid "$pid" | awk '{ s += $1 } END { print s + 0 }'
}
daemons=(slurmctld recorder slurmdbd mariadb sinkdb kafka slurmd.n1 slurmd.n2)
declare -A before
for daemon in "${daemons[@]}"; do
	before[$daemon]=$(cpu_s "$daemon")
done

begin=$EPOCHREALTIME
pids=()
for user in user1 user2 user3; do
	storm $user 2>"$e2e_work/$user.err" &
	pids+=($!)
done
wait "${pids[@]}"
submitted=$EPOCHREALTIME
is "$(cat "$e2e_work"/user?.err)" "" "all jobs are submitted"
wait_for 4000 no_job_is_left
ok $? "all jobs are over"
over=$EPOCHREALTIME
behind=$(inside sqlite3 -readonly "$STORE_DIR/store.db" \
	'SELECT (SELECT count(*) FROM job WHERE next_try IS NOT NULL AND state = 1) || " jobs without their record, " ||
		(SELECT count(*) FROM record) || " records undelivered"')
wait_for 600 is_drained
drained=$EPOCHREALTIME
all_is_told
nothing_is_refused

runs=$(jq -r .key "$RECORD_FILE" | sort -u | wc -l)
[ "$runs" -ge "$jobs" ]
ok $? "$runs runs have a record"
awk -v n="$runs" -v a="$begin" -v b="$submitted" -v c="$over" -v d="$drained" 'BEGIN {
	printf "# %d runs in %.0f s, submitted within %.0f s: %.1f runs/s\n", n, c - a, b - a, n / (c - a)
	printf "# all delivered %.1f s after the last end; then: ", d - c }'
echo "$behind"
for daemon in "${daemons[@]}"; do
	cpu=$(($(cpu_s "$daemon") - ${before[$daemon]}))
	diag "$daemon: $cpu s of CPU time, $(awk -v s=$cpu -v n="$runs" 'BEGIN { printf "%.2f ms a run", s * 1000 / n }')"
done

echo '{ "names": {}, "counts": {}, "kills": [], "starts": [] }' >"$e2e_work/storm.json"
compare "$e2e_work/storm.json"
passes "slurmctld ends" "$cluster" kill "$DIR" slurmctld -TERM
hook=$(grep -o 'time in slurmctld: .*' "$LOG_DIR/slurmctld.log")
[ -n "$hook" ]
ok $? "and says what the hook cost"
diag "$hook"
is "$(grep -E '^slurmctld: fatal|terminate called|Segmentation' "$LOG_DIR/slurmctld.out")" '' "slurmctld did not die"
done_testing
