#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
. "$top_srcdir/tests/tap/tap.sh"
ceems=$top_builddir/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

for args in --foo more "--json more" --node; do
	# shellcheck disable=SC2086 # words on purpose
	out=$("$ceems" ledger $args 2>/dev/null)
	is "$?/$out" "2/" "'ceems ledger $args' is refused"
done
echo "LedgerDir=$dir" >"$dir/ceems.conf"
out=$("$ceems" ledger --conf "$dir/nosuch.conf" 2>&1)
is $? 1 "a ceems.conf that is not there"
has "$out" "$dir/nosuch.conf" "is named"
out=$("$ceems" ledger --conf "$dir/ceems.conf" --node n1 2>&1)
is $? 1 "no ledger"
has "$out" "$dir/n1.ledger" "names the file"
echo "not a ledger" >"$dir/n7.ledger"
out=$("$ceems" ledger --conf "$dir/ceems.conf" 2>&1)
is $? 1 "a file that is no ledger"
has "$out" "$dir/n7.ledger" "was found without --node, as the only one"
done_testing
