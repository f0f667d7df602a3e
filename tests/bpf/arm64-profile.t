#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# arm64-profile.t --builddir DIR: --ceems-profile on 64-bit Arm, emulated by QEMU with a PMU. A program of known shape is
# sampled by the clock and by cycles: without frame pointers, with signed return addresses (pointer authentication), and
# with frame pointers. Stacks must be whole and functions have their shares. DIR is a build of tests/arm64/units.t. Not
# part of `make check`; takes three minutes.
top=$(readlink -f "$(dirname "$0")/../..")
# shellcheck disable=SC1091
. "$top/tests/tap/tap.sh"
# shellcheck disable=SC1091
. "$top/tests/guest/vm.sh"

build=$PWD/build-arm64
[ "${1:-}" != --builddir ] || build=$(readlink -m "${2:?--builddir: which?}")
command -v xxd >/dev/null || skip_all "xxd is not installed"
[ -x "$build/src/profiler/ceems-profile" ] || skip_all "$build has no ceems-profile (tests/arm64/units.t builds it)"
root=$("$top/tests/arm64/root" 2>&1) || skip_all "$root"
root=${root##*$'\n'}
vm_arm64

# cross OUTPUT SOURCE FLAG...
cross() {
	local output=$1 source=$2

	shift 2
	"$cc" --sysroot="$root" -O2 -pthread "$@" -o "$guest/$output" "$source" >>"$work/log" 2>&1
}
callers=$top/tests/e2e/two_callers.c
cross init "$top/tests/bpf/arm64_profile.c" -D_GNU_SOURCE -I"$top" &&
	cross eh_frame "$callers" -fomit-frame-pointer &&
	cross pac "$callers" -fomit-frame-pointer -mbranch-protection=standard -march=armv8.3-a &&
	cross frame "$callers" -fno-omit-frame-pointer
ok $? "programs for arm64 are built" || { sed 's/^/# /' "$work/log"; done_testing; }
cp -L "$build/src/profiler/ceems-profile" "$guest/"

# add_libraries FILE: with those that they need
add_libraries() {
	local name path

	readelf -d "$1" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | while read -r name; do
		path=$(find "$root/lib" "$root/usr/lib" -name "$name" -print -quit)
		if [ -n "$path" ] && [ ! -e "$guest/lib/$name" ]; then
			cp -L "$path" "$guest/lib/"
			add_libraries "$guest/lib/$name"
		fi
	done
}
for program in init eh_frame ceems-profile; do
	add_libraries "$guest/$program"
done

# shift=3: 8 ns per instruction, so that time and interrupts do not depend on the load of this machine
vm_run_arm64 1200 -cpu max -icount shift=3,sleep=off -smp 1 -m 1024
grep -q '^GUEST over' "$work/console"
ok $? "the guest came to its end" || tail -n 20 "$work/console" | cut -c 1-200 | sed 's/^/# /'

# of NAME EXPRESSION: prints the Python EXPRESSION for the profile NAME
of() {
	/usr/bin/python3 "$top/tests/e2e/pprof.py" "$work/$1.pb.gz" "$2" 2>&1
}
has="lambda name: sum(s.ns for s in samples if any(name == f.split('.')[0] for f in s.frames))"
share="(lambda has: has('heavy') / max(1, has('heavy') + has('light')))($has)"
# samples without frames were taken in exec, which takes long here
whole="(lambda some: sum(s.count for s in some if not s.labels.get('stack')) / max(1, sum(s.count for s in some)))([s for s in samples if s.frames])"
for name in eh_frame-clock eh_frame-cycles pac-clock frame-cycles; do
	part=$(sed -n "s/^PART $name //p" "$work/console")
	sed -n "s/^FILE $name //p" "$work/console" | xxd -r -p >"$work/$name.pb.gz"
	if [ ! -s "$work/$name.pb.gz" ]; then
		ok 1 "$name: a profile"
		grep -A 3 "$name" "$work/console" | cut -c 1-200 | sed 's/^/# /'
		continue
	fi
	case $name in
	*-cycles) value=cycles/count ;;
	*) value=cpu/nanoseconds ;;
	esac
	is "$(of "$name" 'types[1]')" "$value" "$name: the value of $(of "$name" total) samples"
	# three standard deviations of 600 samples
	is "$(of "$name" "total > 500 and abs($share - $part) <= 0.053")" True "  heavy() has $(of "$name" "'%.4f' % ($share)"), of CPU time $part"
	is "$(of "$name" "$whole >= 0.97")" True "  stacks are whole: $(of "$name" "'%.1f %%' % (100 * ($whole))")"
	of "$name" comments | sed 's/^/# /'
	of "$name" "collections.Counter(s.frames[0] for s in samples if s.frames for _ in range(s.count)).most_common(12)" | sed 's/^/# /'
done
done_testing
