#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# arm64.t: hardware counters of 64-bit Arm, emulated. QEMU emulates a CPU whose PMU counts cycles and instructions. Our
# sources, cross-built, count a loop of known length there through libpfm4, and libpfm4 must know our table's event names
# of Neoverse CPUs. Kernel and libraries are fetched by tests/guest/kernel, not installed. Not part of `make check`; takes a
# minute of CPU time. BUILDDIR names the build whose BPF programs are used, CC_ARM64 the compiler, QEMU_ARM64 the emulator.
# --compile builds the programs that need no library of the guest, and ends (tests/arch/programs.t).
top=$(readlink -f "$(dirname "$0")/../..")
# shellcheck disable=SC1091
. "$top/tests/tap/tap.sh"
# shellcheck disable=SC1091
. "$top/tests/guest/vm.sh"

build=${BUILDDIR:-$PWD}
if [ "${1:-}" = --compile ]; then
	vm_cross_arm64
	kernel=$work
else
	vm_arm64
fi

echo '#define HAVE_LIBPFM 1' >"$work/ceems_config.h"
sources=("$top"/src/libutil/*.c
	"$top"/src/libmeter/sensor/{cpuinfo,perf_event}.c
	"$top"/src/libmeter/activity/{cgmount,cgprocs,cpuset,cputime,cputime_procs}.c
	"$top"/src/libmeter/activity/{hwevents,hwevents_table}.c
	"$top"/src/libmeter/activity/perf{,_profiler,_set,_targets}.c
	"$top"/src/libmeter/activity/{bperf,bpfsys,probes*}.c
	"$top"/src/libcore/{metric,perf_request,unit}.c)

libs=$kernel/usr/lib/aarch64-linux-gnu

# cross OUTPUT SOURCE...: builds a program with our sources that it needs
cross() {
	local output=$1

	shift
	# no helper is started there
	"$cc" -std=gnu11 -O1 -D_GNU_SOURCE -DCEEMS_LIBEXECDIR='"/"' -I"$work" -I"$top" -I"$top/tests/tap" -I"$top/tests/unit/rigs" \
		-isystem "$kernel/usr/include" -o "$output" "${sources[@]}" "$@" >"$work/log" 2>&1
}

# The BPF programs are the same for all CPUs. libbpf's headers are this machine's.
cross_ceems_bpf() {
	mkdir "$work/include" &&
		cp -r /usr/include/bpf /usr/include/libelf.h /usr/include/gelf.h \
			/usr/include/elf.h "$work/include/" &&
		cross "$guest/ceems-bpf" "$top"/bpf/{ceems-bpf,kernel_has,probes_mon}.c \
			-I"$build" -isystem "$work/include" \
			"$libs/libbpf.so.1" "$libs/libelf.so.1" -Wl,--allow-shlib-undefined
}

cross "$guest/init" "$top/tests/bpf/arm64_perf.c" &&
	cross "$guest/test_hwevents" "$top/tests/unit/libmeter/activity/test_hwevents.c"
built=$?
if [ "${1:-}" = --compile ]; then
	ok $built "arm64_perf.c and test_hwevents.c build for arm64"
	[ $built -eq 0 ] || sed 's/^/# /' "$work/log"
	done_testing
fi
if [ "$built" -eq 0 ] && [ -e "$build/bpf/probes.skel.h" ]; then
	cross_ceems_bpf
	built=$?
	cp -L "$libs"/lib{bpf.so.1,elf.so.1} "$kernel"/lib/aarch64-linux-gnu/libz.so.1 "$guest/lib/"
fi
ok $built "our sources build for arm64"
if [ "$built" -ne 0 ]; then
	sed 's/^/# /' "$work/log"
	done_testing
fi
for lib in ld-linux-aarch64.so.1 libc.so.6; do
	cp -L "$("$cc" -print-file-name="$lib")" "$guest/lib/"
done
cp -L "$libs/libpfm.so.4" "$guest/lib/"

# QEMU counts instructions only with -icount. shift=0: one instruction per ns; the CPU has 1 GHz, so one per cycle.
vm_run_arm64 900 -cpu neoverse-n1 -icount shift=0,sleep=off -smp 2 -m 512

# up to its first plan the output is arm64_perf's, then test_hwevents's
sed -n '/^1\.\./q;p' "$work/console" >"$work/perf"
while IFS= read -r line; do
	case $line in
	'ok '*'# SKIP '*) skip "${line#*# SKIP }" ;;
	'ok '*) ok 0 "${line#ok * - }" ;;
	'not ok '*) ok 1 "${line#not ok * - }" ;;
	'# '*) echo "$line" ;;
	esac
done <"$work/perf"
grep -q '^1\.\.' "$work/console"
ok $? "the guest came to its end" || tail -n 20 "$work/console" | sed 's/^/# /'
grep -q '^GUEST /test_hwevents 0' "$work/console"
ok $? "names of Neoverse CPUs are what libpfm4 takes them for"
for cpu in n1 v1 n2 v2; do
	grep -A1 "by libpfm4's arm_$cpu" "$work/console" | grep -q '^ok .* - BR_RETIRED'
	ok $? "  arm_$cpu"
done
grep -A2 '^not ok' "$work/console" | sed 's/^/# /'
done_testing
