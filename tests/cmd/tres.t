#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
. "$top_srcdir/tests/tap/tap.sh"
ceems=$top_builddir/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"

# bad input first
for args in "" --foo nosuch "tres --foo" "tres more" "tres --table more" \
	"tres --set" "tres --set most"; do
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
has "$("$ceems" tres --help)" "--set=basic|standard|all" "a command's --help"

out=$("$ceems" tres)
is "$(echo "$out" | wc -l)" 2 "tres prints a comment and a line"
has "$out" "# set all: up to some " "  which says what it costs"
line=$(echo "$out" | tail -n 1)
has "$line" "AccountingStorageTRES=energy,ic/ceems_co2e," "for slurm.conf"
is "$(echo "$line" | cut -d= -f2 | tr , '\n' | sort | uniq -d)" "" "with no TRES twice"
is "$(echo "$line" | cut -d= -f2 | tr , '\n' | grep -Evc '^(energy|(fs|ic)/ceems[a-z_0-9]*)$')" 0 \
	"and only names that Slurm accepts"
is "$("$ceems" tres --table | awk 'NR > 1 { print $1 }' | sort -u)" \
	"$(echo "$line" | cut -d= -f2 | tr , '\n' | sort -u)" "--table explains each of them"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# the sets: each contains the one before
for set in basic standard all; do
	"$ceems" tres --set "$set" | tail -n 1 | cut -d= -f2 | tr , '\n' | sort >"$dir/$set"
done
is "$(comm -23 "$dir/basic" "$dir/standard")$(comm -23 "$dir/standard" "$dir/all")" "" \
	"basic is a part of standard, standard of all"
is "$(grep -c 'ceems_home$' "$dir/standard")$(grep -c 'ceems_home$' "$dir/all")" 01 \
	"what --ceems-perf counts is in all alone"
is "$(grep -c '^ic/ceems_memory$' "$dir/basic")$(grep -c '^fs/ceems$' "$dir/basic")" 10 \
	"basic has memory and no I/O"

done_testing
