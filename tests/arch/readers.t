#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The rows of settings.def must say which programs read a setting. A program reads the members that its objects mention:
# the objects of its folder, and those whose functions they call, and so on. readers.awk follows the calls.
. "$top_srcdir/tests/tap/tap.sh"
command -v nm >/dev/null || skip_all "no nm"
grep -q fsanitize "$top_builddir/config.log" && skip_all "the build without sanitizers has shown this"
for part in acct_gather/.libs/acct_gather_energy_ceems.so spank/.libs/spank_ceems.so jobcomp/.libs/jobcomp_ceems.so \
	src/cmd/ceems recorder/ceems-recorder; do
	[ -e "$top_builddir/$part" ] || skip_all "$part is not built"
done
work=$(mktemp -d "$PWD/readers-XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
folders="acct_gather spank jobcomp recorder slurmdb bpf src"

cd "$top_builddir" || exit 1
# shellcheck disable=SC2086 # several folders
find $folders -name '*.o' -exec nm -A {} + >"$work/symbols" 2>/dev/null
cd "$top_srcdir" || exit 1
# shellcheck disable=SC2086 # several folders
find $folders -name '*.c' >"$work/sources"
# a variable "s" counts in files where there are settings of that name
{
	xargs grep -oHE '\bsettings(->|\.)[a-z_]+|SINK_SETTING\([^)]*\)' <"$work/sources"
	xargs grep -lE '\bstruct settings \*?s\b' <"$work/sources" | xargs grep -oHE '\bs(->|\.)[a-z_]+'
} | grep -v '^src/libcore/settings.c' | sed -E 's/:.*[^a-z_]([a-z_]+)\)?$/:\1/' >"$work/members"
readers() {
	awk -f "$top_srcdir/tests/arch/readers.awk" "$@" "$top_builddir/src/libcore/settings_rows.h" \
		"$work/sources" "$work/members" "$work/symbols"
}
is "$(readers -v rows=1)" "$(readers)" "settings.def has the programs that read each setting"
is "$(readers | grep -c ':$')" 0 "and each is read"
done_testing
