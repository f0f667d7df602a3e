# SPDX-License-Identifier: GPL-2.0-or-later
# columns_page.awk - manual pages with the columns of tables: a line @SUM_COLUMNS@ becomes the names of jobs_sum.def, and
# @TOP_COLUMNS@ those of top_column.def: awk -f page.awk -f columns_page.awk jobs_sum.def top_column.def PAGE.in.

FNR == 1 { files++ }
files == 1 && /^SUM\(/ { rest = $0; sums = last == "" ? "key" : sums ", " last; last = quoted() }
files == 2 && /^(COLUMN|VALUE)\(/ {
	rest = $0
	title = quoted()
	name = quoted()
	key = match(rest, /'[A-Z]'/) ? substr(rest, RSTART + 1, 1) : ""
	columns = columns ".TP\n.BR " roff(name) " \" (" title (key == "" ? "" : ", key " key) ")\"\n" roff(quoted()) ".\n"
}
files < 3 { next }
/^@SUM_COLUMNS@$/ { print sums " and " last "."; next }
/^@TOP_COLUMNS@$/ { printf "%s", columns; next }
{ print }
