#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Our code as it runs inside slurmctld, slurmd and slurmstepd, in the recorder and in our helpers: ThreadSanitizer must report no
# data race or lock inversion, AddressSanitizer no wrong access, UndefinedBehaviorSanitizer nothing. For a build with
# --enable-sanitizers or --enable-sanitizers=thread; contrib/check --all makes both. Slurm's own code is not instrumented, and
# what a sanitizer reports of it, such as inversions of its locks, is left out. The unit tests and t0822 look for leaks.
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins jobcomp acct_gather spank
. "$e2e_top/tests/e2e/energy.sh"
san=$(ldd "$E2E_BUILDDIR/recorder/ceems-recorder" | sed -n 's/.*lib[at]san[^ ]* => \([^ ]*\) .*/\1/p')
[ -n "$san" ] || skip_all "not built with --enable-sanitizers"
name=$(basename "$san") && name=${name%%.*}

reports=$e2e_work/reports
install -d -m 1777 "$reports"
options="exitcode=0 log_path=$reports/r"
env=("LD_PRELOAD=$san" "TSAN_OPTIONS=$options" "ASAN_OPTIONS=$options detect_leaks=0"
	"UBSAN_OPTIONS=print_stacktrace=1 $options")
daemon_env=()
for var in "${env[@]}"; do
	daemon_env+=(--daemon-env "$var")
done
cluster_up --nodes 2 --cpus 4 --fake-rapl "${daemon_env[@]}" \
	--ceems-conf <(printf '%s\n' SampleInterval=100ms Sinks=file)
nodes="n1 n2"
for daemon in slurmctld slurmd.n1 recorder; do
	passes "$daemon has $name" inside grep -q "$name" "/proc/$(cat "$DIR/run/pid/$daemon")/maps"
done

# run USER ARG...: srun, which loads our plugin too
run() {
	as "$1" env "${env[@]}" srun "${@:2}"
}
# said_of_ours: prints what sanitizers say of our code. UndefinedBehaviorSanitizer beside AddressSanitizer writes to stderr.
said_of_ours() {
	grep -lE '\((([a-z_]+_ceems|ceems_node)\.so|ceems-[a-z]+)\+0x' "$reports"/* 2>/dev/null | xargs -r cat
	grep -h -A 12 'runtime error: ' "$LOG_DIR"/*.out
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
# an error ends the process; without slurmctld the rest would only wait
if ! passes "slurmctld still runs" inside kill -0 "$(cat "$DIR/run/pid/slurmctld")"; then
	diag "$(said_of_ours)"
	done_testing
fi
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

is "$(said_of_ours)" "" "none is of our code"
diag "$(grep -h '^SUMMARY' "$reports"/* 2>/dev/null | sort | uniq -c)"
done_testing
