#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck source-path=SCRIPTDIR
# units.t [--builddir DIR]: builds the whole tree for 64-bit Arm with Debian's cross compiler and libraries, and runs the
# unit tests with QEMU's user-space emulator: one line of TAP per program. Tests that need system calls which the emulator
# lacks (BPF, perf) skip, as on a kernel without them. tests/bpf/arm64.t tests BPF programs and hardware counters on an
# emulated Arm machine. Not part of `make check`.
set -u
here=$(dirname "$(readlink -f "$0")")
top=$(readlink -f "$here/../..")
# shellcheck disable=SC1091
. "$top/tests/tap/tap.sh"

build=$PWD/build-arm64
[ "${1:-}" != --builddir ] || build=$(readlink -m "${2:?--builddir: which?}")
cc=${CC_ARM64:-aarch64-linux-gnu-gcc}
for tool in "$cc" "${QEMU_ARM64_USER:-qemu-aarch64}"; do
	command -v "$tool" >/dev/null || skip_all "$tool is not installed (contrib/deps test)"
done
ARM64_ROOT=$("$here/root" 2>&1) || skip_all "$ARM64_ROOT"
ARM64_ROOT=${ARM64_ROOT##*$'\n'}
export ARM64_ROOT PKG_CONFIG_SYSROOT_DIR=$ARM64_ROOT
export PKG_CONFIG_LIBDIR=$ARM64_ROOT/usr/lib/aarch64-linux-gnu/pkgconfig:$ARM64_ROOT/usr/share/pkgconfig

mkdir -p "$build" && cd "$build" || exit 1
log=$build/arm64.log
# -O1: most of the time is spent in the compiler
{ [ -e config.status ] || "$top/configure" -q --host=aarch64-linux-gnu --build="$("$top/config/config.guess")" \
	--enable-werror --with-slurm-src="${SLURM_SRC:-$top/slurm-src}" CC="$cc --sysroot=$ARM64_ROOT" CFLAGS=-O1; } \
	>"$log" 2>&1 </dev/null && make -s -j"$(nproc)" >>"$log" 2>&1 </dev/null
built=$?
ok $built "all parts build for arm64"
if [ $built -ne 0 ]; then
	tail -n 20 "$log" | sed 's/^/# /'
	done_testing
fi
for plugin in acct_gather/.libs/acct_gather_energy_ceems.so spank/.libs/spank_ceems.so jobcomp/.libs/jobcomp_ceems.so; do
	[ "$(od -An -j18 -N2 -tu2 "$plugin" | tr -d ' ')" = 183 ] # EM_AARCH64
	ok $? "${plugin##*/} is for arm64"
done

# Tests that need kernel features which QEMU's user-space emulator lacks.
threads="/proc/self/task has QEMU's own thread, too"
stat="/proc/self/stat is QEMU's own, without a start time" helpers="programs for arm64 cannot be started from it"
declare -A impossible=(
	[test_procstat]=$stat
	[test_ledger]=$stat
	[test_ledger_kill]=$stat
	[test_memuse]="/proc/PID/smaps is that of QEMU"
	[test_stepgroup]=$threads
	[test_redfish]=$threads
	[test_spank]="it has no perf events"
	[test_external]=$helpers
	[test_factor_feed]=$helpers
	[test_hwmon]=$helpers
	[test_nvml]=$helpers
	[test_record_python]=$helpers
	[test_record_schema]=$helpers
	[test_rocm]=$helpers
	[test_sampler]=$helpers
	[test_slurmdb_client]=$helpers
)
# on-arm64 skips these tests; some would wait half an hour for a helper
export ARM64_IMPOSSIBLE="${!impossible[*]}"
make -s -C tests/fake check >>"$log" 2>&1 </dev/null # the GPUs' libraries
make -s -k -j"$(nproc)" -C tests/unit check LOG_COMPILER="$here/on-arm64" >>"$log" 2>&1 </dev/null
for trs in $(find tests/unit -name "*.trs" | sort); do
	name=$(basename "$trs" .trs)
	passed=$(grep -c '^:test-result: PASS' "$trs")
	skips=$(sed -n 's/.*# SKIP //p' "${trs%.trs}.log" | sort -u | paste -sd ';')
	if [ -n "${impossible[$name]:-}" ]; then
		skip "$name: ${impossible[$name]}"
	elif grep -qE '^:test-result: (FAIL|ERROR|XPASS)' "$trs"; then
		ok 1 "$name"
		grep -E '^(not ok|# |ERROR)' "${trs%.trs}.log" | tail -n 12 | sed 's/^/# /'
	elif [ "$passed" -eq 0 ]; then
		skip "$name: $skips"
	else
		ok 0 "$name: $passed passed${skips:+, skipped: $skips}"
	fi
done
[ -e "$trs" ]
ok $? "the unit tests were run"
done_testing
