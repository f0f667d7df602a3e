# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2016,SC2154
# --ceems-profile on Debian's stock kernel: heavy() of a program without frame pointers has its share of the samples, as in
# perf's profile of the same run; stacks have the kernel's part.
flame=/tmp/flame
program=$here/../e2e/two_callers.c
if [ ! -x "${E2E_BUILDDIR:-$(e2e_builddir)}/src/profiler/ceems-profile" ]; then
	skip "built without profiles"
	return
fi
rm -rf "$flame"
mkdir -m 1777 "$flame"
if ! cc -O2 -fomit-frame-pointer -fPIE -pie -pthread -o "$flame/two_callers" "$program" >/dev/null 2>&1; then
	skip "no C compiler"
	return
fi
sources_are model "ProfileDir=$flame"

flame_of() {
	/usr/bin/python3 "$here/../e2e/pprof.py" "$flame/ceems-profile-$1.0-n1.pb.gz" "$2"
}
job_ended() {
	! job_state "$1" 2>/dev/null | grep -qvE "COMPLETED|FAILED"
}

perf_pid=
if command -v perf >/dev/null; then
	perf record -q -B -N -e cpu-clock -F 99 -a -o "$flame/perf.data" >/dev/null 2>&1 &
	perf_pid=$!
fi
job=$(submit user1 -n1 --mem=100 -o "$flame/out" --wrap "srun --ceems-profile=99,both $flame/two_callers 30 75")
wait_for 300 job_ended "$job"
ok $? "a job with a profile ends"
if [ -n "$perf_pid" ]; then
	kill -INT "$perf_pid"
	wait "$perf_pid" 2>/dev/null
fi
part=$(tail -n 1 "$flame/out")
mine="[s for s in samples if s.labels.get('process') == 'two_callers']"
has="lambda name: sum(s.count for s in $mine if any(name == f.split('.')[0] for f in s.frames))"
share="(lambda has: has('heavy') / max(1, has('heavy') + has('light')))($has)"
# 30 s at 99 Hz: four standard deviations of a share of 75 % are 3 points, of perf's 3 more
is "$(flame_of "$job" "abs($share - $part) <= 0.032")" True \
	"heavy() has $(flame_of "$job" "'%.4f' % ($share)") of $(flame_of "$job" "sum(s.count for s in $mine)") samples, of CPU time $part"
lost="sum(int(c.split(':')[1]) for c in comments if c.startswith('ceems.lost='))"
few_are_lost="(lambda lost: lost <= 0.02 * (lost + sum(s.count for s in samples)))($lost)"
is "$(flame_of "$job" "$few_are_lost")" True "  $(flame_of "$job" "$lost") samples are lost"
whole="1 - sum(s.count for s in $mine if s.labels.get('stack')) / max(1, sum(s.count for s in $mine))"
is "$(flame_of "$job" "$whole >= 0.99")" True "  $(flame_of "$job" "'%.2f %%' % (100 * ($whole))") of its stacks are whole"
if [ -n "$perf_pid" ]; then
	# perf shows one of several symbols of an address
	perfs=$(perf script -i "$flame/perf.data" -F comm,ip,sym 2>/dev/null | awk '$1 == "two_callers" && NF >= 3 {
		sub(/[+.@].*/, "", $3); sub(/^__GI_/, "", $3); n[$3]++; all++ } END { for (f in n) print f, n[f] / all }' | sort -k2 -rn | head -n 3)
	while read -r name part; do
		top="sum(s.count for s in $mine if s.frames and s.frames[0].split('.')[0] == '$name') / sum(s.count for s in $mine if s.frames)"
		is "$(flame_of "$job" "abs($top - $part) <= 0.045")" True \
			"  perf record has $name at $part, the profile at $(flame_of "$job" "'%.4f' % ($top)")"
	done <<<"$perfs"
else
	skip "perf is not installed"
fi

# In an emulated guest on a busy machine ceems-profile reads the kernel's symbols for 1.5 to 13 s. Samples of that time wait.
job=$(submit user1 -n1 --mem=100 -o /dev/null --wrap "srun --ceems-profile=99,both sh -c '
	dd if=/dev/zero of=/dev/null bs=1M count=20000'")
wait_for 300 job_ended "$job"
ok $? "a job that is in the kernel ends"
diag <<<"$(grep -h ' profile: ' "$LOG_DIR/slurmd.n1.log" | tail -n 3; flame_of "$job" comments)"
in_kernel="sum(s.count for s in samples if s.labels.get('process') == 'dd' and any('read_zero' in f or 'clear_user' in f for f in s.frames))"
is "$(flame_of "$job" "$few_are_lost")" True "  $(flame_of "$job" "$lost") samples are lost"
is "$(flame_of "$job" "$in_kernel > 0")" True "  $(flame_of "$job" "$in_kernel") samples are in the kernel's read of /dev/zero"
node_is_idle
rm -rf "$flame"
