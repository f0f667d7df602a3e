#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
. "$top_srcdir/tests/tap/tap.sh"
ceems=$top_builddir/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"

# bad input first
for args in "" --foo nosuch "tres --foo" "tres more" "tres --table more"; do
	# shellcheck disable=SC2086 # words on purpose
	out=$("$ceems" $args 2>/dev/null)
	is "$?/$out" "2/" "'ceems $args' is refused with exit 2 and prints nothing"
done
has "$("$ceems" nosuch 2>&1)" "unknown command 'nosuch'" "and names the unknown command"
if [ -w /dev/full ]; then
	"$ceems" tres >/dev/full 2>/dev/null
	is $? 1 "a full disk is a failure"
else
	skip "no /dev/full"
fi

is "$("$ceems" --version | cut -d' ' -f1)" ceems "--version"
has "$("$ceems" --help)" "  tres " "--help lists the commands"
has "$("$ceems" tres --help)" "usage: ceems tres [--table]" "a command's --help"

line=$("$ceems" tres)
is "$(echo "$line" | wc -l)" 1 "tres prints one line"
has "$line" "AccountingStorageTRES=energy,ic/ceems_co2e," "for slurm.conf"
is "$(echo "$line" | cut -d= -f2 | tr , '\n' | sort | uniq -d)" "" "with no TRES twice"
is "$(echo "$line" | cut -d= -f2 | tr , '\n' | grep -Evc '^(energy|(fs|ic)/ceems[a-z_0-9]*)$')" 0 \
	"and only names that Slurm accepts"
is "$("$ceems" tres --table | awk 'NR > 1 { print $1 }' | sort -u)" \
	"$(echo "$line" | cut -d= -f2 | tr , '\n' | sort -u)" "--table explains each of them"

done_testing
