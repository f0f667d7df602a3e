#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# mysql.t [--builddir DIR]: the tests of the sink mariadb against MySQL (contrib/mysql-tree), and 5,000 jobs in MariaDB and
# MySQL compared. The tests are those of `make check`, which runs them against MariaDB. CEEMS_MYSQL_FETCH=no: only if the tree
# is there already.
set -u
here=$(dirname "$(readlink -f "$0")")
top=$(readlink -f "$here/../..")
# shellcheck disable=SC1091
. "$top/tests/tap/tap.sh"

build=$PWD
[ "${1:-}" != --builddir ] || build=$(readlink -f "${2:?--builddir: which?}")
roots=${CEEMS_ROOTS:-/var/tmp/ceems-roots}
[ -e "$build/config.status" ] || skip_all "$build is no build"
grep -q '^#define HAVE_MARIADB 1' "$build/ceems_config.h" || skip_all "the sink mariadb is not built"
[ "${CEEMS_MYSQL_FETCH:-yes}" = yes ] || [ -e "$roots/mysql" ] || skip_all "no $roots/mysql (contrib/mysql-tree)"
CEEMS_MYSQL=$("$top/contrib/mysql-tree" 2>&1) || skip_all "${CEEMS_MYSQL##*$'\n'}"
export CEEMS_MYSQL=${CEEMS_MYSQL##*$'\n'} top_srcdir=$top top_builddir=$build
tests='test_sink_mariadb test_db_maintain test_db_rights test_db_texts test_db_trouble test_mysql_equal'
# shellcheck disable=SC2086 # words
make -s -C "$build/tests/unit" $tests >&2 </dev/null || { ok 1 "the tests are built"; done_testing; }
cd "$build/tests/unit" || exit 1

version=$("$CEEMS_MYSQL/mysqld" --version | sed 's/.*Ver \([^ ]*\).*/\1/')
for test in $tests; do
	passed=0
	failed=0
	rc=1
	while IFS= read -r line; do
		case $line in
		'ok '*'# SKIP'*) skip "$test: ${line##*# SKIP }" ;;
		'ok '*) passed=$((passed + 1)) ;;
		'not ok '*) failed=$((failed + 1)) ;;&
		'not ok '* | '#'*) echo "# $test: $line" ;;
		'status '*) rc=${line#status } ;;
		esac
	done < <("./$test" </dev/null; echo "status $?")
	[ "$rc" -eq 0 ] && [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
	ok $? "$test on MySQL $version: $passed passed, $failed failed"
done
done_testing
