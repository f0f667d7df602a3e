#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems db without a server: arguments, and the errors if no server answers.
. "$top_srcdir/tests/tap/tap.sh"
ceems=$top_builddir/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"
"$ceems" --help | grep -q '^  db ' || skip_all "built without MariaDB"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

for args in "" drop "migrate now" "migrate --force" "--conf" "maintain --retention"; do
	# shellcheck disable=SC2086 # words on purpose
	out=$("$ceems" db $args 2>/dev/null)
	is "$?/$out" "2/" "'ceems db $args' is refused"
done
printf '%s\n' "StoreDir=$dir" >"$dir/ceems.conf"
for action in status migrate maintain; do
	out=$("$ceems" db $action --conf "$dir/ceems.conf" --sql-dir "$top_builddir/sql" 2>&1)
	is $? 1 "$action without credentials fails"
	has "$out" "MariadbDefaultsFile" "and names the key"
done
printf '[client]\nsocket=%s/none.sock\nuser=x\n' "$dir" >"$dir/my.cnf"
chmod 600 "$dir/my.cnf"
for action in status migrate maintain; do
	out=$("$ceems" db $action --conf "$dir/ceems.conf" --sql-dir "$top_builddir/sql" \
		--defaults-file "$dir/my.cnf" 2>&1)
	is $? 1 "$action without a server fails"
	has "$out" "ceems: " "and says why"
done
out=$("$ceems" db migrate --conf "$dir/ceems.conf" --sql-dir "$dir/nosuch" \
	--defaults-file "$dir/my.cnf" 2>&1)
is $? 1 "no folder of SQL files"
has "$out" "$dir/nosuch" "is named"
for time in 30d -1d x 31dd 1e3; do
	out=$("$ceems" db maintain --conf "$dir/ceems.conf" --defaults-file "$dir/my.cnf" \
		--retention $time 2>&1)
	is $? 1 "--retention $time"
	has "$out" "'$time' is neither" "is refused"
done
done_testing
