#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
. "$top_srcdir/tests/tap/tap.sh"
command -v shellcheck >/dev/null || skip_all "no shellcheck"
grep -q fsanitize "$top_builddir/config.log" && skip_all "the other build looks at scripts"
cd "$top_srcdir" || exit 1

# With -x, shellcheck reads the library of each test again, which takes a minute more. Without it, it takes variables that the
# library uses for unused.
options=${CEEMS_SHELLCHECK:--e SC2034}
for f in $(find contrib tests .ci autogen.sh -type f | sort); do
	head -n 1 "$f" | grep -qE '^#!.*/(ba)?sh' || continue
	# shellcheck disable=SC2086 # several options
	out=$(shellcheck $options -P SCRIPTDIR -S warning -e SC2119,SC2120,SC2154 "$f" 2>&1)
	is "$out" "" "shellcheck $f"
done
done_testing
