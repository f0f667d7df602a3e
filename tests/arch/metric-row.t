#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A metric must need only one row: a build with the row TEST_WIDGETS of metrics.def must have the metric everywhere.
. "$top_srcdir/tests/tap/tap.sh"
grep -q fsanitize "$top_builddir/config.log" && skip_all "the build without sanitizers has shown this"
work=$(mktemp -d "$PWD/row-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

passes_here() {
	what=$1
	shift
	"$@" >log 2>&1 </dev/null
	rc=$?
	[ $rc -eq 0 ] || tail -n 20 log | sed 's/^/# /'
	ok $rc "$what"
	[ $rc -eq 0 ] || { done_testing; exit 1; }
}

# found COUNT WHAT PATTERN FILE: COUNT lines of FILE must match PATTERN
found() {
	is "$(grep -cE "$3" "$4")" "$1" "$2"
}

passes_here "it is configured" "$top_srcdir/configure" -q CPPFLAGS=-DCEEMS_TEST_METRIC CFLAGS=-O0 --disable-bpf \
	--disable-acct-gather --disable-jobcomp --disable-spank --disable-factors --disable-source-redfish \
	--disable-source-ipmi --disable-source-hwmon
for folder in slurmdb bpf/profile src; do
	passes_here "$folder is built" make -s -j2 -C $folder
done
passes_here "SQL is made" make -s -C sql
passes_here "so is a dashboard" make -s -C contrib grafana/job.json
passes_here "so are the table for doc/ and a program" make -s -C tests/arch metrics.md metric_row
passes_here "which runs" sh -c 'tests/arch/metric_row >out'
passes_here "ceems tres" sh -c 'src/cmd/ceems tres >tres && src/cmd/ceems tres --table >table'

found 1 "the line for slurm.conf has its TRES" ',ic/ceems_test(,|$)' tres
found 1 "ceems tres --table tells of it" '^ic/ceems_test .* Widgets that a test counts$' table
found 2 "job and step have its column" 'test_widgets BIGINT UNSIGNED NULL' sql/0001-schema.sql
found 1 "usage_day has its sum" 'test_widgets DECIMAL' sql/0001-schema.sql
found 1 "which the view makes" 'SUM\(test_widgets\) AS test_widgets' sql/views.sql
for schema in job steps; do
	found 1 "the schema of ceems.$schema.v1 describes it" '"test_widgets": \{"description": "Widgets that a test counts"' \
		src/librecord/ceems.$schema.v1.schema.json
done
found 1 "doc/metrics.md lists it" '^\| .test_widgets. \| Widgets that a test counts \| count \| always ' tests/arch/metrics.md
found 1 "a record has it" '"io":\{[^}]*"test_widgets":4711000000' out
found 1 "the sink mariadb writes it" '^column test_widgets$' out
found 1 "the dashboard of a job draws it" 'rate\(ceems_test_widgets_total\{.*"legendFormat": "Widgets that a test counts"' contrib/grafana/job.json
found 1 "ceems.prom has it" '^ceems_test_widgets_total\{.*\} 4711000000$' out
done_testing
