#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs without frame pointers, with known shares of CPU time: in each profile heavy() must have its share of the
# samples, and stacks must be whole. perf(1) profiles the same run for comparison. CEEMS_PROFILE_SECONDS is the CPU time
# of each program [30].
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank
needs_profiles
type cc >/dev/null 2>&1 || skip_all "no C compiler"
[ -r /sys/kernel/btf/vmlinux ] || skip_all "this kernel has no BTF, so no stack is copied"
cluster_up --plugins acct_gather,spank --fake-rapl --nodes 1 --cpus 4
here=$e2e_top/tests/e2e
home=$DIR/home/user1
seconds=${CEEMS_PROFILE_SECONDS:-30}
flags=(-O2 -fomit-frame-pointer -pthread)
programs=()

# build NAME SOURCE COMPILER ARG...: builds the program NAME; skips it if the compiler fails
build() {
	local name=$1 source=$2
	shift 2
	if "$@" "${flags[@]}" -o "$e2e_work/$name" "$here/$source" >/dev/null 2>&1; then
		programs+=("$name")
	else
		skip "$name: $1 ${*:2} compiles nothing here"
	fi
}

build c-plain two_callers.c cc -no-pie
build c-pie two_callers.c cc -fPIE -pie
build c-static two_callers.c cc -static
build c-dlopen two_callers.c cc -DBY_DLOPEN
build cpp two_callers.cc c++
build openmp two_regions.c cc -fopenmp
build fortran two_subroutines.f90 gfortran -J "$e2e_work"
cp "$e2e_work/c-pie" "$e2e_work/c-threads" && programs+=(c-threads)
cp "$e2e_work/c-pie" "$e2e_work/c-short" && programs+=(c-short)
cc "${flags[@]}" -DLIBRARY -shared -fPIC -o "$e2e_work/callers.so" "$here/two_callers.c" || bail "cannot compile a library"
ln -s /usr/bin/python3 "$e2e_work/python" && programs+=(python)
cp "$e2e_work/callers.so" "$e2e_work/deleted.so"
cp "$e2e_work/c-dlopen" "$e2e_work/c-deleted" && programs+=(c-deleted)
# a root that has nothing but the program
mkdir "$e2e_work/root"
if cp "$e2e_work/c-static" "$e2e_work/root/c-chroot" 2>/dev/null &&
	as user1 unshare -r -R "$e2e_work/root" /c-chroot 0.01 75 >/dev/null 2>&1; then
	programs+=(c-chroot)
else
	skip "c-chroot: a user cannot make a root of its own here"
fi
cp "$e2e_work/c-pie" "$e2e_work/c-root" && chmod 4755 "$e2e_work/c-root"

cat >"$e2e_work/work.py" <<-EOT
	import ctypes, sys, time
	lib = ctypes.CDLL("$e2e_work/callers.so")
	lib.heavy.argtypes = lib.light.argtypes = [ctypes.c_long]
	in_heavy = 0
	while time.process_time() < float(sys.argv[1]):
	    begin = time.process_time()
	    lib.heavy(150000000)
	    in_heavy += time.process_time() - begin
	    lib.light(50000000)
	print("%.4f" % (in_heavy / time.process_time()))
EOT
cat >"$e2e_work/all" <<-EOT
	#!/bin/bash
	# two at once
	cd $e2e_work/out
	one() {
		case \$1 in
		c-dlopen) $e2e_work/\$1 $seconds 75 0 $e2e_work/callers.so ;;
		c-deleted)
			$e2e_work/\$1 $seconds 75 0 $e2e_work/deleted.so &
			sleep 3
			rm $e2e_work/deleted.so
			wait
			;;
		c-chroot) unshare -r -R $e2e_work/root /\$1 $seconds 75 ;;
		c-threads) $e2e_work/\$1 $((seconds / 4 + 1)) 75 4 ;;
		c-short) for ((i = 0; i < $seconds * 50; i++)); do $e2e_work/\$1 0.02 75; done ;;
		openmp) OMP_WAIT_POLICY=passive OMP_NUM_THREADS=2 $e2e_work/\$1 $((seconds / 2 + 1)) 75 ;;
		python) $e2e_work/\$1 $e2e_work/work.py $seconds ;;
		*) $e2e_work/\$1 $seconds 75 ;;
		esac >\$1
	}
	for name in \$1; do
		while [ \$(jobs -pr | wc -l) -ge 2 ]; do wait -n; done
		one \$name &
	done
	wait
EOT
chmod 755 "$e2e_work/all"
mkdir -m 1777 "$e2e_work/out"

has_ended() {
	! job_state "$1" 2>/dev/null | grep -qvE "COMPLETED|FAILED|TIMEOUT"
}

of() {
	/usr/bin/python3 "$here/pprof.py" "$@"
}

# --- each program ------------------------------------------------------------------------------------

perf=$(PATH=$PATH:/usr/bin command -v perf || true)
if [ -n "$perf" ]; then
	# -B: perf 6.1 crashes when it collects build ids of other programs of this machine
	"$perf" record -q -B -N -e cpu-clock -F 99 -a -o "$e2e_work/perf.data" >/dev/null 2>&1 &
	perf_pid=$!
fi
job=$(submit user1 -n1 -c4 -o /dev/null --wrap "srun -c4 --ceems-profile=99 $e2e_work/all '${programs[*]}'")
wait_for 1200 has_ended "$job" || bail "the job ends"
if [ -n "$perf" ]; then
	kill -INT "$perf_pid"
	wait "$perf_pid" 2>/dev/null
fi
file=$home/ceems-profile-$job.0-n1.pb.gz
[ -s "$file" ] || bail "no $file: $(grep profile "$LOG_DIR/slurmd.n1.log")"
diag <<<"$(of "$file" "comments")"

for name in "${programs[@]}"; do
	mine="[s for s in samples if s.labels.get('process') == '${name:0:15}']"
	count="sum(s.count for s in $mine)"
	has="lambda name: sum(s.count for s in $mine if any(name in f.split('(')[0].replace('::', '.').replace(' ', '.').split('.') for f in s.frames))"
	share="(lambda has: has('heavy') / max(1, has('heavy') + has('light')))($has)"
	whole="1 - sum(s.count for s in $mine if s.labels.get('stack')) / max(1, $count)"
	part=$(tail -n 1 "$e2e_work/out/$name")
	[ "$name" != c-short ] || part=0.75 # fixed, because the number that it prints includes the time before main()
	is "$(of "$file" "(lambda n: abs($share - $part) <= max(0.02, 4 * ($part * (1 - $part) / max(1, n)) ** 0.5))($count)")" True \
		"$name: heavy() has $(of "$file" "'%.4f' % ($share)") of $(of "$file" "$count") samples, of CPU time $part"
	least=0.99
	[ "$name" != c-short ] || least=0.97 # some samples are in exec and exit, which have no user stack
	is "$(of "$file" "$whole >= $least")" True "  and $(of "$file" "'%.2f %%' % (100 * ($whole))") of its stacks are whole"
done

for name in c-plain c-pie c-static c-threads c-short c-deleted c-chroot; do
	[[ " ${programs[*]} " == *" $name "* ]] || continue
	frames="[(s.count, f) for s in samples if s.labels.get('process') == '$name' for f in s.frames]"
	is "$(of "$file" "sum(n for n, f in $frames if '+0x' not in f) >= 0.99 * sum(n for n, f in $frames)")" True \
		"$name: 99 % of its frames have names"
done

for pair in "openmp:heavy [OpenMP]" "fortran:work::heavy"; do
	name=${pair%%:*}
	[[ " ${programs[*]} " == *" $name "* ]] || continue
	is "$(of "$file" "any('${pair#*:}' in s.frames for s in samples if s.labels.get('process') == '$name')")" True \
		"$name: a function reads ${pair#*:}"
done

# --- perf --------------------------------------------------------------------------------------------

if [ -n "$perf" ]; then
	"$perf" script -i "$e2e_work/perf.data" -F comm,ip,sym 2>/dev/null |
		awk '$1 == "c-pie" && NF >= 3 && plain($3) != "" { n[plain($3)]++; all++ }
			# perf shows one of several symbols of an address, and the names of parts that the compiler split off
			function plain(name) {
				sub(/[+.@].*/, "", name); sub(/^__GI_/, "", name); sub(/memmove/, "memcpy", name); return name
			}
			END { for (f in n) print f, n[f] / all, all }' |
		sort -k2 -rn >"$e2e_work/perf.txt"
	head -n 5 "$e2e_work/perf.txt" >"$e2e_work/perf.top"
	while read -r name part all; do
		mine="[s for s in samples if s.labels.get('process') == 'c-pie' and s.frames]"
		plain="s.frames[0].split(' ')[0].split('@')[0].split('.')[0].replace('memmove', 'memcpy')"
		share="sum(s.count for s in $mine if $plain == '$name') / sum(s.count for s in $mine)"
		is "$(of "$file" "abs($share - $part) <= max(0.02, 4 * (2 * $part * (1 - $part) / $all) ** 0.5)")" True \
			"perf record has $name at $part, the profile at $(of "$file" "'%.4f' % ($share)")"
	done <"$e2e_work/perf.top"
else
	skip "perf is not installed"
fi

# --- two tasks of different code -----------------------------------------------------------------------

cat >"$e2e_work/two" <<-EOT
	#!/bin/sh
	[ \$SLURM_PROCID = 0 ] && exec $e2e_work/c-pie $((seconds / 3)) 75
	exec $e2e_work/cpp $((seconds / 3)) 30
EOT
chmod 755 "$e2e_work/two"
job=$(submit user1 -n2 -o "$home/two.out" --wrap "srun -l -n2 --ceems-profile=99 $e2e_work/two")
wait_for 300 has_ended "$job" || bail "the job of two tasks ends"
file=$home/ceems-profile-$job.0-n1.pb.gz
for task in "0 c-pie" "1 cpp"; do
	read -r rank name <<<"$task"
	part=$(sed -n "s/^$rank: //p" "$home/two.out")
	mine="[s for s in samples if s.labels.get('task') == $rank]"
	has="lambda name: sum(s.count for s in $mine if any(name in f.split('(')[0].split('.') for f in s.frames))"
	share="(lambda has: has('heavy') / max(1, has('heavy') + has('light')))($has)"
	is "$(of "$file" "{s.labels.get('process') for s in $mine} - {'srun', 'slurmstepd', 'two', 'sh'}")" "{'$name'}" "task $rank is $name alone"
	is "$(of "$file" "(lambda n: abs($share - $part) <= max(0.02, 4 * ($part * (1 - $part) / max(1, n)) ** 0.5))(sum(s.count for s in $mine))")" True \
		"  heavy() has $(of "$file" "'%.4f' % ($share)"), of CPU time $part"
done

# --- a program with more rights than its user ---------------------------------------------------------

job=$(submit user1 -n1 -o /dev/null --wrap "srun --ceems-profile=99 $e2e_work/c-root 1 75")
wait_for 60 has_ended "$job" || bail "the job ends"
file=$home/ceems-profile-$job.0-n1.pb.gz
is "$(of "$file" "sum(s.count for s in of(process='c-root')) > 0")" True "a set-user-ID program is counted"
is "$(of "$file" "[s.frames for s in of(process='c-root') if 'main' in s.frames]")" "[]" "  and its stack is not copied"
done_testing
