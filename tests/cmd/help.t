#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `ceems help` must have every command's options, an example and the man page; the command must accept the options.
. "$top_srcdir/tests/tap/tap.sh"
ceems=$top_builddir/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"

for args in "help nosuch" "help --foo"; do
	# shellcheck disable=SC2086 # words on purpose
	out=$("$ceems" $args 2>/dev/null)
	is "$?/$out" "2/" "'ceems $args' is refused with exit 2 and prints nothing"
done
is "$("$ceems" help)" "$("$ceems" --help)" "ceems help is ceems --help"
has "$("$ceems" help)" "For operators:" "commands are grouped"

commands=$("$ceems" help | sed -n 's/^  \([a-z]*\) .*/\1/p')
for command in $commands; do
	help=$("$ceems" help "$command")
	is "$("$ceems" "$command" --help)" "$help" "ceems $command --help is ceems help $command"
	has "$help" "usage: ceems $command" "  has a usage line"
	has "$help" "Example:
  ceems $command" "  has an example"
	is "$(echo "$help" | awk 'length($0) > 80')" "" "  fits into 80 columns"
	page=$(echo "$help" | sed -n 's/^See \(ceems-[a-z]*\)(\([18]\))\.$/\1.\2.in/p')
	page=$(find "$top_srcdir/src/cmd" -name "${page:-none}")
	[ -f "$page" ]
	ok $? "  names its man page"
	missing=
	for option in $(echo "$help" | grep -oE '^  (-.,|   ) --[a-z0-9-]+' | grep -oE -- '--.*'); do
		grep -q -- "$(echo "$option" | sed 's/-/\\\\-/g')\\b" "$page" || missing="$missing $option"
	done
	is "$missing" "" "  all of its options are in the man page"
	out=$("$ceems" "$command" --no-such-option 2>&1)
	is $? 2 "  an unknown option is refused"
	has "$out" "'ceems help $command' lists the options" "  and says where they are listed"
done
done_testing
