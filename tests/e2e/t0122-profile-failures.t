#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --ceems-profile when things go wrong: eight steps at different rates at once, a job that is suspended, a job that is requeued,
# full ring buffers, and slurmd and slurmstepd killed. t0117 kills ceems-profile, t0614 has a full disk, t0612 other users.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank
. "$(dirname "$0")/energy.sh"
needs_profiles
type cc >/dev/null 2>&1 || skip_all "no C compiler"
cluster_up --plugins acct_gather,spank --fake-rapl --nodes 1 --cpus 8
home=$DIR/home/user1
here=$e2e_top/tests/e2e
cc -O1 -fno-omit-frame-pointer -fPIE -pie -o "$e2e_work/two" "$here/two_functions.c" || bail "cannot compile"

of() {
	/usr/bin/python3 "$here/pprof.py" "$@"
}

file_of() {
	echo "$home/ceems-profile-$1.$2-n1.pb.gz"
}

no_program() {
	! inside pgrep -x ceems-profile
}

# stands_for FILE CPU WHAT: the samples must stand for CPU seconds, within a tenth or four standard deviations
stands_for() {
	is "$(of "$1" "(lambda ns, n: abs(ns / 1e9 - $2) <= max(0.1 * $2, 4 * $2 / max(1, n) ** 0.5))(sum(s.ns for s in of(process='two')), sum(s.count for s in of(process='two')))")" \
		True "$3: $(of "$1" "sum(s.ns for s in of(process='two')) / 1e9") of $2 s"
}

# --- eight steps ---------------------------------------------------------------------------------------

rates="19 49 99 149 199 299 499 999"
cat >"$e2e_work/eight" <<-EOT
	#!/bin/sh
	for hz in $rates; do
		srun --overlap -n1 --ceems-profile=\$hz sh -c 'echo "\$0 \$SLURM_STEP_ID \$($e2e_work/two 2 75)"' \$hz &
	done
	wait
EOT
chmod 755 "$e2e_work/eight"
job=$(submit user1 -n8 -o "$home/eight.out" --wrap "$e2e_work/eight")
wait_booked "$job"
for hz in $rates; do
	read -r _ step pid part cpu <<<"$(grep "^$hz " "$home/eight.out")"
	file=$(file_of "$job" "$step")
	is "$(of "$file" period)" $((1000000000 / hz)) "$hz Hz, beside seven other rates"
	stands_for "$file" "$cpu" "  its samples stand for the CPU time"
	is "$(of "$file" "{s.labels['pid'] for s in of(process='two')}")" "{$pid}" "  of its own process"
	is "$(of "$file" "is_part(share('$e2e_work/two', 'heavy', 'light'), $part)")" True "  each function has its part"
done

# --- suspended -----------------------------------------------------------------------------------------

job=$(submit user1 -n1 -o "$home/paused.out" --wrap "srun --ceems-profile=199 $e2e_work/two 4 75")
wait_for 60 has_step "$job" 0
wait_for 60 inside pgrep -x ceems-profile
passes "a job is suspended" inside scontrol suspend "$job"
sleep 3
passes "and goes on" inside scontrol resume "$job"
wait_booked "$job"
read -r _ part cpu <"$home/paused.out"
file=$(file_of "$job" 0)
stands_for "$file" "$cpu" "it is not sampled while it is suspended"
is "$(of "$file" 'duration_ns >= 3e9')" True "the profile has the time of both parts"

# --- requeued ------------------------------------------------------------------------------------------

job=$(submit user1 -n1 --requeue -o /dev/null --wrap "srun --ceems-profile=99 $e2e_work/two \$((600 - 599 * \${SLURM_RESTART_COUNT:-0})) 75")
wait_for 60 test -s "$(file_of "$job" 0)" || bail "the first file: $(grep profile "$LOG_DIR/slurmd.n1.log")"
passes "a job is requeued" inside scontrol requeue "$job"
wait_for 60 job_is "$job" PENDING
wait_for 60 no_program
passes "it need not wait" inside scontrol update "JobId=$job" StartTime=now
second=$home/ceems-profile-$job.0-n1-2.pb.gz
wait_for 180 test -s "$second"
ok $? "its second run has a file of its own"
wait_booked "$job"
for file in "$(file_of "$job" 0)" "$second"; do
	is "$(of "$file" "sum(s.count for s in of(process='two')) > 0")" True "  which is whole: ${file##*/}"
done

# --- lost samples --------------------------------------------------------------------------------------

# On one CPU, a program fills the ring, and then another one begins: its exec and mappings are lost, too.
cp "$e2e_work/two" "$e2e_work/later"
go=$home/go
cat >"$e2e_work/lossy" <<-EOT
	#!/bin/sh
	$e2e_work/two 6 75 &
	while ! [ -e $go ]; do sleep 0.1; done
	exec $e2e_work/later 4 75
EOT
chmod 755 "$e2e_work/lossy"
job=$(submit user1 -n1 -o /dev/null --wrap "srun --ceems-profile=999 taskset -c 0 $e2e_work/lossy")
wait_for 60 inside pgrep -x two
sampler=$(inside pgrep -x -u root ceems-profile)
inside kill -STOP "$sampler"
# the ring of a CPU has room for 0.3 s
sleep 4
as user1 touch "$go"
wait_for 60 inside pgrep -x later
inside kill -CONT "$sampler"
wait_booked "$job"
file=$(file_of "$job" 0)
lost=$(of "$file" "[int(c.split(':')[1]) for c in comments if c.startswith('ceems.lost=n1:')]")
[[ $lost =~ ^\[[1-9][0-9]*\]$ ]]
ok $? "samples that no ring has room for are counted: $lost"
out=$(as user1 env -C "$home" "$BUILD_DIR/src/cmd/ceems" flame "$job" 2>&1)
has "$out" "${lost//[][]/}" "  and ceems flame shows them"
diag <<<"$(head -n 4 <<<"$out")"
stands_in='sum(s.count for s in of(process="%s") if {"heavy", "light"} & set(s.frames))'
# shellcheck disable=SC2059
is "$(of "$file" "$(printf "$stands_in" later) > 1000 and $(printf "$stands_in" lossy) == 0")" True \
	"a program whose exec was lost has its own name and functions: $(of "$file" "[(n, sum(s.count for s in of(process=n))) for n in sorted({s.labels['process'] for s in samples})]")"

# --- slurmd is killed ----------------------------------------------------------------------------------

job=$(submit user1 -n1 -o "$home/slurmd.out" --wrap "srun --ceems-profile=199 $e2e_work/two 5 75")
wait_for 60 inside pgrep -x ceems-profile
passes "slurmd is killed and comes back" restart_slurmd -KILL
wait_booked "$job"
read -r _ part cpu <"$home/slurmd.out"
stands_for "$(file_of "$job" 0)" "$cpu" "the profile has all of the step"

# --- slurmstepd is killed ------------------------------------------------------------------------------

job=$(submit user1 -n1 -o /dev/null --wrap "srun --ceems-profile=99 $e2e_work/two 600 75")
file=$(file_of "$job" 0)
wait_for 60 test -s "$file" || bail "the first file: $(grep profile "$LOG_DIR/slurmd.n1.log")"
stepd=$(inside pgrep -f "^slurmstepd: \[$job\.0\]")
passes "slurmstepd is killed" inside kill -KILL "$stepd"
wait_for 30 no_program
ok $? "ceems-profile ends with it"
is "$(of "$file" "sum(s.count for s in of(process='two')) > 0")" True "and the file has what was sampled"
inside scancel "$job"
wait_for 60 job_ran "$job"
is "$(find "$home" -name '*.tmp')" "" "no temporary file is left"
is "$(profile_filters)" 0 "and no program in the kernel"
done_testing
