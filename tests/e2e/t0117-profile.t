#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --ceems-profile: a file per step and node, written as the user. Each function must have the share of the samples that
# it has of the CPU time. Steps without the option are not sampled. Nothing is left if ceems-profile is killed.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank
. "$(dirname "$0")/energy.sh"
needs_profiles
type cc >/dev/null 2>&1 || skip_all "no C compiler"
cluster_up --plugins acct_gather,spank --fake-rapl --nodes 1 --cpus 4
home=$DIR/home/user1
here=$e2e_top/tests/e2e
work_write
cc -O1 -fno-omit-frame-pointer -fPIE -pie -o "$e2e_work/two" "$here/two_functions.c" || bail "cannot compile"
cp "$e2e_work/two" "$e2e_work/short"
cat >"$e2e_work/storm" <<-EOT
	#!/bin/sh
	i=0
	while [ \$i -lt 20 ]; do
		i=\$((i + 1))
		timeout 0.05 $e2e_work/short 1
	done
	true
EOT
chmod 755 "$e2e_work/storm"

# of FILE EXPRESSION: prints an expression of pprof.py about a profile
of() {
	/usr/bin/python3 "$here/pprof.py" "$@"
}

# conf LINE...: replaces the lines about profiles in the node's ceems.conf
conf() {
	sed -i '/^Profile/d' "$DIR/etc/ceems.conf"
	printf '%s\n' "$@" >>"$DIR/etc/ceems.conf"
}

programs() {
	inside pgrep -x ceems-profile
}

no_program() {
	! programs
}

two_programs() {
	[ "$(programs | wc -l)" = 2 ]
}

slurmd_says_n() {
	[ "$(slurmd_says "$2")" -ge "$1" ]
}

# said LOG COUNT TEXT: COUNT lines of LOG have TEXT
says() {
	[ "$(grep -h 'ceems: profile: ' "$LOG_DIR/slurmd.n1.log" | grep -c -F -- "$2")" = "$1" ]
}

# run COMMAND ARG...: runs a step of user1, srun ARG... COMMAND. Sets $job, and returns srun's exit status.
run() {
	local command=$1 rc
	shift
	# shellcheck disable=SC2016
	as user1 srun "$@" sh -c 'echo "job $SLURM_JOB_ID"; eval "exec $1"' sh "$command" >"$e2e_work/run.out" 2>&1
	rc=$?
	job=$(sed -n 's/^job //p' "$e2e_work/run.out" | head -n 1)
	[ $rc -eq 0 ] || diag <"$e2e_work/run.out"
	return $rc
}

file_of() {
	echo "$home/ceems-profile-$1.$2-n1.pb.gz"
}

# --- the option --------------------------------------------------------------------------------------

for value in 0 1000 soon 99,99 user,both; do
	fails "srun refuses $value" as user1 srun --ceems-profile=$value true
	has "$out" "ceems: --ceems-profile: '" "and says why"
done
has "$(inside srun --help)" "--ceems-profile" "srun --help knows the option"

# --- two at once at different rates, and one without a profile ---------------------------------------

# start USER OUTPUT PERCENT ARG...: submits a job, prints its id
start() {
	local user=$1 output=$2 percent=$3
	shift 3
	submit "$user" -n1 -o "$output" --wrap "srun $* $e2e_work/two 3 $percent"
}
a=$(start user1 "$home/a.out" 75 --overlap --ceems-profile=999)
b=$(start user2 "$DIR/home/user2/b.out" 40 --overlap --ceems-profile=199,both)
c=$(start user1 "$home/c.out" 50 --overlap)
for id in $a $b $c; do
	wait_booked "$id"
done
read -r a_pid a_part a_cpu <"$home/a.out"
read -r b_pid b_part b_cpu <"$DIR/home/user2/b.out"
read -r c_pid _ <"$home/c.out"
a_file=$(file_of "$a" 0)
b_file=$DIR/home/user2/ceems-profile-$b.0-n1.pb.gz
for file in "$a_file" "$b_file"; do
	[ -s "$file" ] || bail "no $file: $(grep profile "$LOG_DIR/slurmd.n1.log")"
done
is "$(of "$a_file" "is_part(share('$e2e_work/two', 'heavy', 'light'), $a_part)")" True \
	"heavy() has its part of the samples: $(of "$a_file" "share('$e2e_work/two', 'heavy', 'light')") of $a_part"
is "$(of "$b_file" "is_part(share('$e2e_work/two', 'heavy', 'light'), $b_part)")" True \
	"at a lower rate, too: $(of "$b_file" "share('$e2e_work/two', 'heavy', 'light')") of $b_part"
is "$(of "$a_file" "near(sum(s.ns for s in of(pid=$a_pid)) / 1e9, $a_cpu, 0.1)")" True \
	"the samples of both stand for the CPU time: $(of "$a_file" "sum(s.ns for s in of(pid=$a_pid)) / 1e9") of $a_cpu s"
is "$(of "$b_file" "near(sum(s.ns for s in of(pid=$b_pid)) / 1e9, $b_cpu, 0.2)")" True \
	"and: $(of "$b_file" "sum(s.ns for s in of(pid=$b_pid)) / 1e9") of $b_cpu s"
is "$(of "$a_file" "sum(len(of(pid=p)) for p in ($b_pid, $c_pid))")" 0 "none of them is another job's"
is "$(of "$b_file" "sum(len(of(pid=p)) for p in ($a_pid, $c_pid))")" 0 "in either file"
is "$(of "$a_file" 'types')" "['samples/count', 'cpu/nanoseconds']" "the values are samples and CPU time"
is "$(of "$a_file" 'period')" 1001001 "the period is that of 999 Hz"
is "$(of "$a_file" "{(s.labels['job'], s.labels['step'], s.labels['node'], s.labels['task'], s.labels['process'], s.labels['thread']) for s in of(pid=$a_pid) if s.labels['process'] == 'two'}")" \
	"{('$a', '0', 'n1', 0, 'two', 'two')}" "they have job, step, node, task, process and thread"
is "$(of "$a_file" "'main' in {n for s in of(pid=$a_pid) for n in names(s, '$e2e_work/two')}")" True "stacks reach main()"
is "$(of "$a_file" "{'heavy', 'light', 'leaf', 'main'} <= {f for s in of(pid=$a_pid) for f in s.frames}")" True \
	"functions have names"
if [ -x "$BUILD_DIR/src/cmd/ceems" ]; then
	out=$(as user1 env -C "$home" "$BUILD_DIR/src/cmd/ceems" flame "$a" 2>&1)
	has "$out" "leaf" "ceems flame shows those in which samples are"
	out=$(as user1 env -C "$home" "$BUILD_DIR/src/cmd/ceems" flame "$a" --format folded 2>&1)
	has "$out" "heavy;leaf" "  and who called them"
fi
is "$(of "$a_file" "'[kernel.kallsyms]' in paths")" False "no kernel, which was not asked for"
has "$(of "$b_file" "[s.frames[0] for s in samples if s.frames]")" "'" "with the kernel's functions"
has "$(of "$a_file" 'comments')" "'event=cpu-clock rate=999Hz stacks=user', 'size limit=64MiB" "comments say what it is, and its limits"

# --- cycles, or time where there is no PMU
run "$e2e_work/two 1 75" --ceems-profile=999,cycles
ok $? "a step that is sampled by cycles"
file=$(file_of "$job" 0)
without="cycles cannot be sampled: no PMU"
case $(of "$file" 'types') in
"['samples/count', 'cycles/count']") is "$(of "$file" 'total_ns > 100 * total')" True "  each sample weighs its cycles" ;;
"['samples/count', 'cpu/nanoseconds']")
	has "$(of "$file" 'comments')" "ceems.limit=n1:$without" "  without a PMU it is time, and the file says so"
	wait_for 10 says 1 "$without"
	ok $? "  the log, too, in one line"
	;;
*) ok 1 "  $(of "$file" 'types')" ;;
esac
is "$(inside stat -c '%U %a' "$a_file")" "user1 600" "the file is the user's own"
fails "and nobody else's" as user2 cat "$a_file"
is "$(find "$home" -name "ceems-profile-$a.*" -o -name "ceems-profile-$c.*" | wc -l)" 1 \
	"batch steps and the job that did not ask have none"

# --- tasks, short processes --------------------------------------------------------------------------

run "$e2e_work/two 1 50" -n2 --ceems-profile=499
ok $? "a step of two tasks"
is "$(of "$(file_of "$job" 0)" "sorted({s.labels.get('task') for s in samples if s.labels['process'] == 'two'})")" "[0, 1]" \
	"each sample has its task"
run "$e2e_work/storm" --ceems-profile=999
file=$(file_of "$job" 0)
is "$(of "$file" "sum('main' in s.frames for s in of(process='short')) > 0")" True \
	"processes of 50 ms are known: $(of "$file" "len({s.labels['pid'] for s in of(process='short')})") of 20"
is "$(of "$file" "sum(s.count for s in samples if s.labels.get('stack') == 'failed' and '$e2e_work/short' in str(s.frames)) < 0.02 * total")" True \
	"with whole stacks"

# --- a program that is killed; scancel ----------------------------------------------------------------

# half USER: prints the pid of the ceems-profile that runs as USER. A step has one as root and one as its own user.
half() {
	inside pgrep -x -u "$1" ceems-profile
}
for user in root user1; do
	rm -f "$e2e_work/go"
	job=$(submit user1 -n1 -o /dev/null --wrap "srun --ceems-profile $e2e_work/work $e2e_work/go")
	wait_for 60 two_programs || bail "the step's program runs"
	wait_for 60 test -s "$(file_of "$job" 0)" || bail "the first file: $(grep profile "$LOG_DIR/slurmd.n1.log")"
	[ "$(profile_filters)" -gt 0 ]
	ok $? "a step is sampled by a program in the kernel"
	inside kill -KILL "$(half "$user")"
	wait_for 10 no_program
	ok $? "if one half is killed, that of $user, the other one ends"
	: >"$e2e_work/go"
	wait_booked "$job"
	is "$(job_acct "$job" State 0)" COMPLETED "the step ends well"
	is "$(of "$(file_of "$job" 0)" 'total > 0')" True "and the file has what was sampled"
done
rm -f "$e2e_work/go"
job=$(submit user1 -n1 -o /dev/null --wrap "srun --ceems-profile $e2e_work/two 600 50")
wait_for 60 two_programs
wait_for 60 has_step "$job" 0
inside scancel "$job"
wait_booked "$job"
is "$(of "$(file_of "$job" 0)" 'total > 0')" True "a job that is cancelled has its profile"

# --- a Pyroscope server -------------------------------------------------------------------------------

# waits_in_queue N: N parts of profiles are in the queue
waits_in_queue() {
	[ "$(find "$DIR/push" -name '*.part' 2>/dev/null | wc -l)" = "$1" ]
}
if [ -x "$E2E_BUILDDIR/src/profiler/ceems-push" ]; then
	pyro=$e2e_work/pyro
	mkdir "$pyro"
	echo 503 >"$pyro/status"
	inside /usr/bin/python3 "$here/pyroscope.py" "$pyro" >"$LOG_DIR/pyroscope.out" 2>&1 &
	wait_for 30 test -s "$pyro/port" || bail "the server: $(cat "$LOG_DIR/pyroscope.out")"
	conf "ProfilePushUrl=http://127.0.0.1:$(cat "$pyro/port")" "ProfilePushDir=$DIR/push"
	passes "slurmd with ProfilePushUrl" restart_slurmd
	run "$e2e_work/two 1 75" --ceems-profile=499
	ok $? "a step runs while the server is away"
	wait_for 10 waits_in_queue 1
	ok $? "its profile waits"
	is "$(stat -c '%U %a' "$DIR/push") $(find "$DIR/push" -name '*.part' -exec stat -c '%U %a' {} +)" "root 700 root 600" \
		"where no user can look"
	wait_for 60 slurmd_says_n 1 "profile push: http://127.0.0.1:$(cat "$pyro/port"): HTTP 503; profiles wait in $DIR/push"
	ok $? "slurmd says why"
	echo 200 >"$pyro/status"
	wait_for 60 waits_in_queue 0
	ok $? "when it is back, it gets the profile"
	read -r service labels from until <"$pyro/log"
	is "$service $labels" "$job cluster=$(inside scontrol show config | sed -n 's/^ClusterName *= //p'),node=n1,step=0,user=user1}" \
		"the job is the service, with cluster, node, step and user"
	is "$((until - from >= 0 && until - from < 30 && $(date +%s) - until < 300))" 1 "with its time"
	part=$(awk 'END { print $2 }' "$e2e_work/run.out")
	is "$(of "$pyro/1.pb.gz" "is_part(share('$e2e_work/two', 'heavy', 'light'), $part)")" True \
		"and its samples: $(of "$pyro/1.pb.gz" "share('$e2e_work/two', 'heavy', 'light')") of $part"
	is "$(of "$pyro/1.pb.gz" 'total')" "$(of "$(file_of "$job" 0)" 'total')" "as many as the file has"
	is "$(wc -l <"$pyro/log")" 1 "once"
fi

# --- the site -----------------------------------------------------------------------------------------

conf "ProfileMaxRate=50"
run "$e2e_work/two 1 50" --ceems-profile=999
is "$(of "$(file_of "$job" 0)" 'period')" 20000000 "ProfileMaxRate is the highest rate"
conf "ProfileDir=$DIR/nowhere"
run true --ceems-profile
ok $? "a step without its folder runs"
wait_for 10 says 1 "$DIR/nowhere/ceems-profile-$job.0-n1.pb.gz: No such file or directory; the profile of this step ends there"
ok $? "the log says what is not there"
conf "ProfileDir=none"
has "$(inside "$ceems" check --node n1 2>&1)" "ProfileDir     --ceems-profile is off" "ceems check says that profiles are off"
run true --ceems-profile
ok $? "a step whose profile is forbidden runs"
has "$(cat "$e2e_work/run.out")" "this step is not profiled: this cluster does not allow profiles" "and its user is told"

wait_for 10 no_program
ok $? "no program is left"
is "$(profile_filters)" 0 "and nothing in the kernel"
is "$(find "$DIR" -name '*.tmp')" "" "no temporary file"
is "$(complaints | grep -vE 'ceems: ((--ceems-)?profile: |profile push: .* HTTP 503; |profile push: profiles are sent again)')" "" "nothing else was said"
done_testing
