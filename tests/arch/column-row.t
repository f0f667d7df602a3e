#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A column of ceems jobs, of its groups, of ceems top and of a report must need a row and a setter only. With a
# column "widgets" added in copies of the four tables, all outputs have the column.
. "$top_srcdir/tests/tap/tap.sh"
grep -q fsanitize "$top_builddir/config.log" && skip_all "the build without sanitizers has shown this"
[ -f "$top_builddir/src/cmd/libcmd.la" ] || skip_all "built without the commands"
work=$(mktemp -d "$PWD/column-XXXXXX")
trap 'rm -rf "$work"' EXIT
cmd=src/cmd
mkdir -p "$work/$cmd/jobs" "$work/$cmd/top" "$work/$cmd/report"

# add FILE LINE TEXT: copies FILE with TEXT before the first line that begins with LINE
add() {
	[ -f "$work/$cmd/$1" ] || cp "$top_srcdir/$cmd/$1" "$work/$cmd/$1"
	awk -v line="$2" -v text="$3" 'index($0, line) == 1 && !done { print text; done = 1 } { print }' \
		"$work/$cmd/$1" >"$work/new" && mv "$work/new" "$work/$cmd/$1"
}

add jobs/jobs_field.c '/* --- the table' 'SETTER(set_widgets) { cell_count(cell, 10 * j->r->job_id); }'
add jobs/jobs_field.c '	{ "JobIDRaw"' '	{ "Widgets", NULL, "Widgets", "widgets_n", 9,
	NUMBER, set_widgets, 0, "widgets of a test" },'
add jobs/jobs_group.c 'static const struct {' 'SETTER(set_widgets) { cell_count(cell, 80 * s->jobs); }'
add jobs/jobs_sum.def '#undef' 'SUM(WIDGETS, "widgets", "Widgets", "widgets_n", 9, set_widgets)'
add top/top_column.c '/* --- texts' 'static double set_widgets(const struct top_row *r)
	{ return 2 * r->value[TOP_WIDGETS]; }'
add top/top_column.def '#undef' 'VALUE(WIDGETS, "WIDGETS", "widgets", '"'Z'"', "widgets of a test", 9, 2,
	.set = set_widgets, .show = show_count, .json = "widgets_per_s", RATE(OOM_KILLS))'
add report/summary_table.c '/* --- the tables' 'static void set_widgets(struct cell *cell, const struct summary_row *row)
	{ cell_count(cell, 90 * row->jobs); }'
add report/summary_table.c '	{ .text = "Jobs"' '	{ .text = "Widgets",
	.html = "#Widgets", .key = "widgets_m", .width = 9, .set = set_widgets },'

# the copies, and all that sees the size of a table
sources="$work/$cmd/jobs/jobs_field.c $work/$cmd/jobs/jobs_group.c $work/$cmd/top/top_column.c
	$work/$cmd/report/summary_table.c"
for file in top/top_answer top/top_draw top/top_frame top/top_rates report/summary_data; do
	sources="$sources $top_srcdir/$cmd/$file.c"
done
# shellcheck disable=SC2086 # several files
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O0 -I"$work" -I"$top_srcdir" -I"$top_builddir" -o "$work/columns" \
	"$top_srcdir/tests/arch/columns.c" $sources "$top_builddir/src/cmd/.libs/libcmd.a" \
	"$top_builddir/src/librecord/.libs/libreport.a" \
	"$top_builddir/src/librecord/.libs/librecord.a" "$top_builddir/src/libledger/.libs/libledger.a" \
	"$top_builddir/src/libemission/.libs/libemission.a" "$top_builddir/src/libcore/.libs/libcore.a" \
	"$top_builddir/src/libutil/.libs/libutil.a" -ljansson -lm -lpthread >"$work/log" 2>&1
built=$?
ok $built "they build"
if [ $built -ne 0 ]; then
	sed 's/^/# /' "$work/log" | head -n 20
	done_testing
	exit 1
fi

# prints WHAT: keeps what ceems WHAT prints, for has
prints() {
	TZ=UTC "$work/columns" "$1" >"$work/out" 2>&1
	ok $? "$1"
}

# has COUNT WHAT PATTERN: COUNT lines must match
has() {
	is "$(grep -cE -e "$3" "$work/out")" "$1" "  $2"
}

prints jobs
has 1 "table" '^JobID +Widgets$'
has 1 "its value" '^7 +70$'
has 1 "CSV" '^jobid,widgets_n$'
has 1 "JSON" '"widgets_n":70'
has 1 "--sort" '^sort 1 -70$'
has 1 "--helpformat, and so completion" '^Widgets +widgets of a test$'

prints groups
has 1 "table" '^User .* Widgets$'
has 1 "its value" '^ann .* 80$'
has 1 "CSV" '^user,.*,widgets_n$'
has 1 "JSON" '"widgets_n":80'
has 1 "--sort" '^sort key, .* or widgets$'

prints top
has 1 "table" '^JOBID .*WIDGETS'
has 1 "its value" '^7 .* 1000'
has 1 "JSON has it in rows and totals" '"total":\{.*"widgets_per_s":500.*"rows".*"widgets_per_s":500'
has 1 "the query for Prometheus" 'rate\(ceems_compute_unit_memory_oom_kills_total\{'
has 1 "--sort, and so completion" '^sort .*, widgets$'
has 1 "the help" '^ *Z .*sort by .*widgets of a test|^[A-Z ]*Z +sort by .*widgets of a test'

prints report
has 1 "text" '^Rank Account +Widgets +Jobs'
has 1 "its value" '^ +1 physics +90 +1'
has 1 "CSV" '^section,key,.*,widgets_n,.*,widgets_m$'
has 1 "its value" '^account,physics,1,.*,80,.*,90$'
has 1 "JSON" '"section":"account".*"widgets_n":80.*"widgets_m":90'
has 1 "HTML" '<th scope="col" class="number">Widgets</th>'
has 1 "its value" '^<td class="number">90</td>$|<td class="number">90</td>'

for page in jobs/ceems-jobs.1 top/ceems-top.1; do
	awk -f "$top_srcdir/$cmd/page.awk" -f "$top_srcdir/$cmd/columns_page.awk" "$work/$cmd/jobs/jobs_sum.def" \
		"$work/$cmd/top/top_column.def" "$top_srcdir/$cmd/$page.in" >"$work/out"
	has 1 "$page" '^key, .* and widgets\.$|^\.BR widgets " \(WIDGETS, key Z\)"$'
done
done_testing
