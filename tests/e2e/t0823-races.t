#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Data races and lock inversions in our code as it runs inside slurmctld, slurmd and slurmstepd, in the recorder and in our
# helpers: ThreadSanitizer must report none. For a build with --enable-sanitizers=thread, as contrib/check --all makes it.
# Slurm's own code is not instrumented; what is reported of it, such as inversions of its locks, is not our subject.
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins jobcomp acct_gather spank
. "$e2e_top/tests/e2e/energy.sh"
tsan=$(ldd "$E2E_BUILDDIR/recorder/ceems-recorder" | sed -n 's/.*libtsan[^ ]* => \([^ ]*\) .*/\1/p')
[ -n "$tsan" ] || skip_all "not built with --enable-sanitizers=thread"

reports=$e2e_work/reports
install -d -m 1777 "$reports"
env=("LD_PRELOAD=$tsan" "TSAN_OPTIONS=exitcode=0 log_path=$reports/r")
cluster_up --nodes 2 --cpus 4 --fake-rapl --daemon-env "${env[0]}" --daemon-env "${env[1]}" \
	--ceems-conf <(printf '%s\n' SampleInterval=100ms Sinks=file)
nodes="n1 n2"
for daemon in slurmctld slurmd.n1 recorder; do
	passes "$daemon has ThreadSanitizer" inside grep -q libtsan "/proc/$(cat "$DIR/run/pid/$daemon")/maps"
done

# run USER ARG...: srun, which loads our plugin too
run() {
	as "$1" env "${env[@]}" srun "${@:2}"
}
has_record() {
	record_file "$1" >/dev/null
}
all_are_over() {
	! inside squeue -h -o %A | grep -q .
}

passes "a step with all options on two nodes" run user1 -N2 -n2 --ceems-report --ceems-trace=100ms \
	--ceems-perf=hw,sw,io,net,sched --ceems-profile sleep 2
# the job's srun has sbatch's environment
id=$(as user2 env "${env[@]}" sbatch --parsable -n1 -o /dev/null --array=1-8 \
	--wrap 'srun --ceems-trace=50ms true; srun --ceems-profile sleep 1')
feed_until all_are_over
ok $? "jobs at the same time"
inside scontrol reconfigure
ok $? "slurmctld reads its configuration again"
restart_slurmd -TERM
last=$(as user1 env "${env[@]}" sbatch --parsable -n1 -o /dev/null --wrap true)
for job in "$id" "$last"; do
	wait_for 120 has_record "$job"
	ok $? "job $job has a record"
done
"$cluster" kill "$DIR" slurmctld
"$cluster" kill "$DIR" recorder
for node in $nodes; do
	"$cluster" kill "$DIR" slurmd "$node"
done

ours=$(grep -lE '\((([a-z_]+_ceems|ceems_node)\.so|ceems-[a-z]+)\+0x' "$reports"/* 2>/dev/null)
is "$(for file in $ours; do cat "$file"; done)" "" "none is of our code"
diag "$(grep -h '^SUMMARY' "$reports"/* 2>/dev/null | sort | uniq -c)"
done_testing
