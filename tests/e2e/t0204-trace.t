#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --ceems-trace: a file per step and node, written as the user. Its energy must be sacct's. If the file cannot be
# written, the step must run and end as without the option.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank
. "$(dirname "$0")/energy.sh"
[ -x /usr/bin/python3 ] || skip_all "python3 is not installed"
cluster_up --plugins acct_gather,spank --fake-rapl --nodes 2 --cpus 4
nodes="n1 n2"
home=$DIR/home/user1
here=$e2e_top/tests/e2e
work_write

# of FILE EXPRESSION: prints an expression of trace_csv.py about a trace
of() {
	/usr/bin/python3 "$here/trace_csv.py" "$@"
}

# conf LINE: adds LINE to the nodes' ceems.conf, which steps read when they start.
conf() {
	sed -i '/^TraceDir=/d' "$DIR/etc/ceems.conf"
	echo "$1" >>"$DIR/etc/ceems.conf"
}

traces_said() {
	local n

	for n in $nodes; do
		grep -h 'ceems: trace: ' "$LOG_DIR/slurmd.$n.log"
	done
}

# says COUNT TEXT: COUNT of all log lines about traces so far have TEXT.
says() {
	[ "$(traces_said | grep -c -F -- "$2")" = "$1" ]
}

programs() {
	inside pgrep -x ceems-trace
}

no_program() {
	! programs
}

one_program() {
	[ "$(programs | wc -l)" = 1 ]
}

# run COMMAND ARG...: runs a step of user1 on n1, srun ARG... COMMAND. Sets $job, and returns srun's exit status.
run() {
	local command=$1 rc
	shift
	# shellcheck disable=SC2016
	as user1 srun -w n1 "$@" sh -c 'echo "job $SLURM_JOB_ID"; eval "exec $1"' sh "$command" >"$e2e_work/run.out" 2>&1
	rc=$?
	job=$(sed -n 's/^job //p' "$e2e_work/run.out")
	[ $rc -eq 0 ] || diag <"$e2e_work/run.out"
	return $rc
}

# --- the option ------------------------------------------------------------------------------------

for interval in 9ms 61m 0 soon; do
	fails "srun refuses the interval $interval" as user1 srun --ceems-trace=$interval true
	has "$out" "is not a time from 10ms to 1h" "and says what it takes"
done
has "$(inside srun --help)" "--ceems-trace" "srun --help knows the option"

# --- two nodes: the energy is sacct's --------------------------------------------------------------

job=$(submit user1 -N 2 -n 2 -o /dev/null --wrap "srun --ceems-trace=100ms $e2e_work/work $e2e_work/two")
for n in $nodes; do
	on "$n" wait_for 60 has_step "$job" 0 || bail "the step runs on both nodes"
done
has_rows() {
	local n

	for n in $nodes; do
		[ "$(of "$home/ceems-trace-$job.0-$n.csv" 'len(rows)')" -ge "$1" ] || return 1
	done
}
for _ in 1 2 3 4 5 6; do
	feed_all 30000001 5000003
	sleep 0.2
done
wait_for 30 has_rows 10
ok $? "the files grow while the step runs"
: >"$e2e_work/two"
wait_energy "$job" 0
sum=0
for n in $nodes; do
	file=$home/ceems-trace-$job.0-$n.csv
	is "$(inside stat -c '%U %a' "$file")" "user1 600" "$n: the file is the user's own"
	fails "and nobody else's" as user2 cat "$file"
	is "$(of "$file" 'rows[0]["event"] + " " + rows[-1]["event"]')" "start end" "it has a beginning and an end"
	is "$(of "$file" 'rows[-1]["node"]')" "$n" "and the node's name"
	is "$(of "$file" 'last("dropped_samples")')" 0.0 "nothing was dropped"
	energy=$(of "$file" 'last("energy_j")')
	sum=$((sum + $(printf %.0f "$energy")))
	is "$(of "$file" 'abs(integral("power_w") - last("energy_j")) < 1e-3')" True "power integrates to $energy J"
	is "$(of "$file" 'abs(sum(last(d + "_energy_j") for d in ("cpu", "dram")) - last("energy_j")) < 1e-5')" True \
		"which is that of its domains"
	is "$(of "$file" 'number("energy_j") == sorted(number("energy_j"))')" True "and never falls"
	is "$(of "$file" 'number("monotonic_s") == sorted(set(number("monotonic_s")))')" True "as time does not"
	is "$(of "$file" 'last("cpu_time_s") > 0 and last("memory_peak_bytes") > 0')" True "CPU time and memory are there"
	! bpf_is_loaded || is "$(of "$file" 'last("read_bytes") > 0')" True "and I/O"
done
is "$sum" "$(job_acct "$job" ConsumedEnergyRaw 0)" "the energy of both is sacct's"
out=$(cd "$home" && inside "$ceems" trace "$job.0" --dir "$home" --csv --resample 1h --metrics energy_j,power_w 2>&1)
# sacct's value was rounded on each node
joules=$(tail -n 1 <<<"$out" | tr -d '\r' | cut -d, -f3)
awk -v j="${joules:-0}" -v sacct="$(job_acct "$job" ConsumedEnergyRaw 0)" 'BEGIN { exit !(j > 0 && j - sacct <= 1 && sacct - j <= 1) }'
ok $? "as ceems trace has it of both: $joules J"
has "$(inside "$ceems" trace "$job" --dir "$home" 2>&1)" "job $job on 2 nodes, from " "which draws them"
has "$(as user2 "$ceems" trace "$job" --dir "$home" 2>&1)" "you own no trace of job $job" "but not for another user"
is "$(find "$home" -name 'ceems-trace-*' | wc -l)" 2 "the batch step, which was not asked for, has none"
on n1 conserved "with traces"

# --- each 10 ms ----------------------------------------------------------------------------------------

feed_all 1000000
run "sleep 4" --ceems-trace=10ms
ok $? "a step with a sample each 10 ms"
file=$home/ceems-trace-$job.0-n1.csv
is "$(of "$file" 'last("dropped_samples")')" 0.0 "none of its samples is lost"
rows=$(of "$file" 'len(rows)')
[ "$rows" -ge 100 ]
ok $? "there are $rows of 400, on a machine that may be busy"
# The trace has a row for each interval from the first sample to the last. Corrections of the wall clock shift some.
off=$(of "$file" '(len(rows) - 3 + last("missed_samples") -
	(float(rows[-2]["monotonic_s"]) - float(rows[1]["monotonic_s"])) / 0.01)')
clock=$(of "$file" 'corrected() / 0.01')
awk -v off="${off:-99}" -v clock="${clock:-0}" 'BEGIN { exit !(off * off <= (2.5 + clock) ^ 2) }'
ok $? "and the rest is counted: $off more than intervals, the clock was corrected by $clock"

# --- sbatch, salloc, a second run ------------------------------------------------------------------------

job=$(submit user1 -w n1 --requeue -o /dev/null --ceems-trace --wrap 'srun true; srun true; sleep 1')
wait_booked "$job"
is "$(cd "$home" && ls ceems-trace-"$job".*)" "ceems-trace-$job.0-n1.csv
ceems-trace-$job.1-n1.csv
ceems-trace-$job.batch-n1.csv" "sbatch --ceems-trace: a file of each step"
is "$(of "$home/ceems-trace-$job.0-n1.csv" 'rows[-1]["event"]')" end "also of one that is over at once"

# --- an array, a het job: ids as sacct writes them --------------------------------------------------------

# jobs_of ID: prints the steps that ceems trace finds, such as "5_3.0 5_3.batch "
jobs_of() {
	inside "$ceems" trace "$1" --dir "$home" --csv --metrics energy_j 2>/dev/null | sed 1d | cut -d, -f1,2 | tr , . | sort -u |
		tr '\n' ' '
}
array=$(submit user1 --array=1-2 -n1 -o /dev/null --ceems-trace --wrap 'srun true')
het=$(submit user1 -n1 -o /dev/null --ceems-trace : -n1 --wrap 'srun --het-group=0,1 true')
has_traces() {
	[ "$(find "$home" -name "ceems-trace-$1_*" -o -name "ceems-trace-$1+*" | wc -l)" -ge "$2" ]
}
wait_for 120 has_traces "$array" 4
wait_for 120 has_traces "$het" 3
wait_booked "$array"
wait_booked "$het"
is "$(jobs_of "${array}_2")" "${array}_2.0 ${array}_2.batch " "a task of an array by its number"
is "$(jobs_of "$array")" "${array}_1.0 ${array}_1.batch ${array}_2.0 ${array}_2.batch " "an array with all its tasks"
is "$(jobs_of "${array}_[1-2].batch")" "${array}_1.batch ${array}_2.batch " "their batch steps"
is "$(jobs_of "$het+1")" "$het+1.0 " "a component of a het job"
is "$(jobs_of "$het")" "$het+0.0 $het+0.batch $het+1.0 " "a het job with both"
is "$(jobs_of "$((het + 1))")" "$het+1.0 " "or by its own id"

# --- a folder that is full, hangs or does not exist; ceems-trace killed ------------------------------------

mkdir "$DIR/full" "$DIR/hang" "$DIR/traces"
chmod 1777 "$DIR/traces"
inside mount -t tmpfs -o size=32k,mode=1777 trace "$DIR/full"
run "sleep 3" -D "$DIR/full" --ceems-trace=10ms
ok $? "a step whose folder is full runs"
wait_for 10 says 1 "No space left on device; the trace of this step ends there"
ok $? "and its trace ends, with one line"
is "$(inside tail -c 2 "$DIR/full/ceems-trace-$job.0-n1.csv" | od -An -tx1)" " 0d 0a" "behind a whole row"
has "$(cat "$e2e_work/run.out")" "ceems: n1: trace: $DIR/full/ceems-trace-$job.0-n1.csv: No space left on device" \
	"which srun tells its user"
run "sleep 1" -D "$DIR/full" --ceems-trace=10ms
ok $? "a step without room for a byte runs"

conf "TraceDir=$DIR/nowhere"
run true --ceems-trace
ok $? "a step without its folder runs"
wait_for 10 says 1 "$DIR/nowhere/ceems-trace-$job.0-n1.csv: No such file or directory"
ok $? "the log says what is not there"

inside /usr/bin/python3 "$here/hang_mount.py" "$DIR/hang" >"$e2e_work/hang.out" 2>&1 &
wait_for 30 grep -q mounted "$e2e_work/hang.out" || bail "a file system that hangs: $(cat "$e2e_work/hang.out")"
conf "TraceDir=$DIR/hang"
began=$(date +%s%N)
run "sleep 1" --ceems-trace
ok $? "a step whose folder hangs runs"
diag "it took $((($(date +%s%N) - began) / 1000000)) ms"
wait_for 10 says 1 "ceems-trace was killed, or its folder did not answer"
ok $? "and says so"
wait_for 30 no_program
ok $? "its program is gone"
has "$(inside "$ceems" check --node n1 2>&1)" "TraceDir       $DIR/hang does not answer" "ceems check finds it"
inside umount -l "$DIR/hang"

conf "TraceDir=$DIR/traces"
for signal in KILL STOP; do
	before=$(traces_said | grep -c "ceems-trace was killed")
	rm -f "$e2e_work/go"
	job=$(submit user1 -w n1 -o /dev/null --wrap "srun --ceems-trace=50ms $e2e_work/work $e2e_work/go")
	wait_for 60 one_program || bail "the step's program runs"
	as user1 kill -"$signal" "$(programs)"
	feed_all 1000000
	[ $signal = STOP ] || wait_for 10 says $((before + 1)) "ceems-trace was killed"
	: >"$e2e_work/go"
	wait_booked "$job"
	is "$(job_acct "$job" State 0)" COMPLETED "a step whose program got SIG$signal ends well"
	wait_for 10 says $((before + 1)) "ceems-trace was killed"
	ok $? "with one line in the log"
	wait_for 30 no_program
	ok $? "and no program is left"
done

# --- TraceDir, and other users' files there ----------------------------------------------------------------

run true
next=$((job + 1))
: >"$DIR/home/user2/mine"
chown user2 "$DIR/home/user2/mine" 2>/dev/null || inside chown user2 "$DIR/home/user2/mine"
chmod 666 "$DIR/home/user2/mine"
as user2 ln -s "$DIR/home/user2/mine" "$DIR/traces/ceems-trace-$next.0-n1.csv"
run true --ceems-trace
is "$job" "$next" "a job whose number was to be guessed"
is "$(inside stat -c '%U %a %F' "$DIR/traces/ceems-trace-$job.0-n1-2.csv")" "user1 600 regular file" \
	"a name that is taken is left alone"
is "$(stat -c %s "$DIR/home/user2/mine")" 0 "and nothing is written through it"

# --- slurmd is restarted meanwhile --------------------------------------------------------------------------

rm -f "$e2e_work/go"
job=$(submit user1 -w n1 -o /dev/null --wrap "srun --ceems-trace=50ms $e2e_work/work $e2e_work/go")
wait_for 60 has_step "$job" 0
file=$DIR/traces/ceems-trace-$job.0-n1.csv
grows() {
	[ "$(of "$file" 'len(rows)')" -gt "$1" ]
}
wait_for 30 grows 5
restart_slurmd
rows=$(of "$file" 'len(rows)')
feed_all 2000000
wait_for 60 grows $((rows + 20))
ok $? "after a restart of slurmd the trace goes on"
: >"$e2e_work/go"
wait_energy "$job" 0
is "$(printf %.0f "$(of "$file" 'last("energy_j")')")" "$(job_acct "$job" ConsumedEnergyRaw 0)" "and its energy is sacct's"
is "$(of "$file" 'rows[-1]["event"]')" end "up to the end"

# --- a site that allows no traces -----------------------------------------------------------------------------

conf "TraceDir=none"
run true --ceems-trace
ok $? "a step whose trace is forbidden runs"
has "$(cat "$e2e_work/run.out")" "this step is not traced: this cluster does not allow traces" "and its user is told"
wait_for 10 slurmd_says "--ceems-trace: TraceDir=none in ceems.conf; this step is not traced" >/dev/null
ok $? "and the log says why it has none"
is "$(find "$DIR" -name "ceems-trace-$job*" 2>/dev/null)" "" "there is no file"

is "$(programs)" "" "nothing is left behind"
is "$(complaints | grep -vE 'ceems: (--ceems-)?trace: ')" "" "and nothing else was said"
done_testing
