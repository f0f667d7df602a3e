#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The sandbox of each unit, as systemd-analyze judges it (0: closed, 10: open), and whom it runs as: never root.
. "$top_srcdir/tests/tap/tap.sh"
command -v systemd-analyze >/dev/null || skip_all "systemd-analyze is not installed"
systemd-analyze security --help 2>/dev/null | grep -q -- --offline || skip_all "this systemd-analyze looks at no files"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for unit in "$top_srcdir"/contrib/systemd/*.service.in; do
	name=$(basename "$unit" .in)
	sed 's,@[a-z_]*@,/usr/bin,' "$unit" >"$dir/$name"
	out=$(systemd-analyze security --offline=true --threshold=29 --no-pager "$dir/$name" 2>&1)
	is "$? $(echo "$out" | grep -c 'Overall exposure level')" "0 1" "$name: exposure below 3: $(echo "$out" | sed -n 's/.*: \([0-9.]*\) .*/\1/p' | tail -n 1)"
	is "$(grep -cE '^User=(slurm|ceems-factors)$' "$unit")" 1 "  it does not run as root"
	is "$(grep -c '^CapabilityBoundingSet=$' "$unit")" 1 "  and has no capability"
done
done_testing
