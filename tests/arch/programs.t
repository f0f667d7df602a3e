#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs of tests that no Makefile builds, because a test builds them on another machine or with options of its own, must
# compile and link. No other program may be without a Makefile.
. "$top_srcdir/tests/tap/tap.sh"
grep -q fsanitize "$top_builddir/config.log" && skip_all "the other build looks at these programs"
work=$(mktemp -d "$PWD/programs-XXXXXX")
trap 'rm -rf "$work"' EXIT
here=$PWD
cd "$top_srcdir" || exit 1
cc=${CC:-cc}
listed=

# links FILE COMMAND...: COMMAND, with "-o OUTPUT FILE" in place of %, must build FILE.
links() {
	local file=$1 word words=()

	listed+=" $file"
	shift
	for word; do
		if [ "$word" = % ]; then words+=(-o "$work/out" "$file"); else words+=("$word"); fi
	done
	"${words[@]}" >"$work/log" 2>&1
	ok $? "$file is built by: $*"
	sed 's/^/# /' "$work/log"
}

# cannot FILE REASON: this machine cannot build it.
cannot() {
	listed+=" $1"
	skip "$1: $2"
}

# tests/bench/peers, in a tree of another Debian
if [ -e /usr/include/slurm/slurm.h ]; then
	links tests/bench/jobcomp_timed.c "$cc" -Wall -Werror -shared -fPIC -O2 %
else
	cannot tests/bench/jobcomp_timed.c "no slurm/slurm.h in /usr/include (contrib/deps build)"
fi
slurm_src=$(sed -n 's/^SLURM_SRC_CPPFLAGS = //p' "$top_builddir/Makefile")
slurmfull=$(find /usr/lib /usr/lib64 -name libslurmfull.so 2>/dev/null | sed -n 1p)
if [ -n "$slurm_src" ] && [ -n "$slurmfull" ]; then
	read -ra flags <<<"${slurm_src//'$(top_builddir)'/"$top_builddir"}"
	links tests/bench/jobcomp_host.c "$cc" -Wall -Werror -O2 -D_GNU_SOURCE -rdynamic -I. -I"$top_builddir" \
		"${flags[@]}" % -L"${slurmfull%/*}" -lslurmfull -Wl,-rpath,"${slurmfull%/*}"
else
	cannot tests/bench/jobcomp_host.c "no libslurmfull.so (contrib/deps test), or a build without --with-slurm-src"
fi

# tests/e2e profiles them
for file in two_callers two_functions two_regions two_waits; do
	links tests/e2e/$file.c "$cc" -Wall -Werror -O2 -fomit-frame-pointer -pthread -fopenmp %
done
if command -v c++ >/dev/null; then
	links tests/e2e/two_callers.cc c++ -Wall -Werror -O2 -pthread %
else
	cannot tests/e2e/two_callers.cc "no C++ compiler"
fi
if command -v gfortran >/dev/null; then
	links tests/e2e/two_subroutines.f90 gfortran -O2 -J "$work" %
else
	cannot tests/e2e/two_subroutines.f90 "gfortran is not installed"
fi

# tests/bpf, tests/guest and tests/arm64
arm64=${CC_ARM64:-aarch64-linux-gnu-gcc}
if command -v "$arm64" >/dev/null; then
	links tests/bpf/arm64_perf.c bash tests/bpf/arm64.t --compile
	links tests/bpf/arm64_profile.c "$arm64" -Wall -Werror -O2 -pthread -D_GNU_SOURCE -I. %
	for flag in -fomit-frame-pointer '-mbranch-protection=standard -march=armv8.3-a' -fno-omit-frame-pointer; do
		# shellcheck disable=SC2086 # several flags
		links tests/e2e/two_callers.c "$arm64" -O2 -pthread $flag %
	done
else
	cannot tests/bpf/arm64_perf.c "$arm64 is not installed (contrib/deps test)"
	cannot tests/bpf/arm64_profile.c "$arm64 is not installed (contrib/deps test)"
fi
listed+=' tests/guest/fakerapl/fakerapl.c' # tests/guest/run builds it for the guest's kernel
listed+=' tests/arch/record_field.c'         # record-field.t builds it
listed+=' tests/arch/columns.c'              # column-row.t builds it
listed+=' tests/arch/setting_row.c'          # setting-row.t builds it
listed+=' tests/arch/sensor_row.c'           # sensor-row.t builds it
listed+=' tests/arch/sink_row.c'             # sink-row.t builds it

# what a Makefile compiles is in its lists of sources or, if a program has no list, has the program's name
find tests -name '*.am' -exec sed -e ':a; /\\$/ { N; s/\\\n//; ba }' {} + | grep -v '^EXTRA_DIST' >"$work/makefiles"
for file in $(find tests -path '*/build*' -prune -o -type f \( -name '*.c' -o -name '*.cc' -o -name '*.f90' -o -name '*.S' \) -print | sort); do
	case " $listed " in
	*" $file "*) continue ;;
	esac
	name=${file##*/}
	grep -qE "^[^#]*\b${name%.*}\b" "$work/makefiles" || echo "$file: no Makefile and no line here builds it"
done >"$work/unbuilt"
is "$(cat "$work/unbuilt")" "" "each program of tests is compiled and linked by a test"

# a program that is built when asked for only is one that rots
# shellcheck disable=SC2046 # several files
unasked=$(grep -lE '^EXTRA_PROGRAMS' $(find tests src contrib recorder jobcomp -name '*.am'))
for file in $unasked; do
	for name in $(sed -n 's/^EXTRA_PROGRAMS *+*= *//p' "$file"); do
		grep -qE "^check_(DATA|PROGRAMS).*\b$name\b" "$file" || echo "$file: $name is built only when asked for"
	done
done >"$work/unasked"
is "$(cat "$work/unasked")" "" "make check builds each program of EXTRA_PROGRAMS"
cd "$here" || exit 1
done_testing
