#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --ceems-profile=offcpu: a program sleeps for three quarters of its time and waits for a futex for one quarter. Each
# function must have the time that the program measures, and ceems flame --offcpu must show them.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank
needs_profiles
type cc >/dev/null 2>&1 || skip_all "no C compiler"
[ -r /sys/kernel/btf/vmlinux ] || skip_all "this kernel has no BTF"
cluster_up --plugins acct_gather,spank --fake-rapl --nodes 1 --cpus 4
here=$e2e_top/tests/e2e
home=$DIR/home/user1
cc -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$e2e_work/two_waits" "$here/two_waits.c" || bail "cannot compile"

of() {
	/usr/bin/python3 "$here/pprof.py" "$@"
}

fails "srun refuses offcpu twice" as user1 srun --ceems-profile=offcpu,offcpu true
out=$(as user1 srun --ceems-profile=99,both,offcpu sh -c "echo \$SLURM_JOB_ID; exec $e2e_work/two_waits 3" 2>&1)
ok $? "a step that waits: $out"
job=$(head -n 1 <<<"$out")
read -r slept locked <<<"$(tail -n 1 <<<"$out")"
file=$home/ceems-profile-$job.0-n1.pb.gz
[ -s "$file" ] || bail "no $file: $(grep profile "$LOG_DIR/slurmd.n1.log")"
diag <<<"$(of "$file" comments)"
is "$(of "$file" types)" "['samples/count', 'cpu/nanoseconds', 'off-cpu/nanoseconds']" "the profile has a third value"
for pair in "sleeps $slept" "locks $locked"; do
	read -r name seconds <<<"$pair"
	got=$(of "$file" "sum(s.wait_ns for s in samples if s.labels.get('process') == 'two_waits' and '$name' in s.frames) / 1e9")
	is "$(of "$file" "0.8 * $seconds < $got <= $seconds")" True "$name() waits $seconds s, the profile has $got"
done
is "$(of "$file" "sum(s.wait_ns for s in samples if s.labels.get('process') == 'slurmstepd')")" 0 "others are not counted"
has "$(of "$file" comments)" "off-cpu stacks by frame pointers" "comments say how many stacks are whole"
out=$(as user1 env -C "$home" "$BUILD_DIR/src/cmd/ceems" flame "$job" --offcpu 2>&1)
has "$out" "of off-CPU time" "ceems flame --offcpu says what it shows"
out=$(as user1 env -C "$home" "$BUILD_DIR/src/cmd/ceems" flame "$job" --offcpu --format folded 2>&1)
has "$out" "main;sleeps" "  and where"
is "$(of "$file" "any('hrtimer_nanosleep' in s.frames and 'sleeps' in s.frames for s in samples if s.wait_ns)")" True \
	"the kernel's part of a stack is there, too"
is "$(grep -c bpf_ <<<"$out")" 0 "  without our own functions"
passes "a step without offcpu" as user1 srun --ceems-profile sh -c "exec $e2e_work/two_waits 1"
is "$(inside bpftool prog show 2>/dev/null | grep -c ceems_offcpu)" 0 "no program is left in the kernel"
done_testing
