# SPDX-License-Identifier: GPL-2.0-or-later
# metric_rows.awk: reads the rows of metrics.def into arrays (name[1..n], help, unit, prom, ...) and
# those of controller.def into controller[1..ncontroller]. Other awk programs follow it on the
# command line and read the files behind the rows:
#
#	cc -E -P -x c src/libcore/metric_rows.h | awk -f metric_rows.awk -f OTHER.awk - FILE

# fields(ROW): splits a row such as: a, "b, c", d - into f[1..n], without the quotes; returns n
function fields(row,    n, c, i, in_text, text) {
	n = 1
	text = ""
	in_text = 0
	for (i = 1; i <= length(row); i++) {
		c = substr(row, i, 1)
		if (c == "\\" && in_text)
			c = substr(row, ++i, 1)
		else if (c == "\"") {
			in_text = !in_text
			continue
		} else if (!in_text && c == ",") {
			f[n++] = text
			text = ""
			continue
		} else if (!in_text && c ~ /[ \t\n]/)
			continue
		text = text c
	}
	f[n] = text
	return n
}

BEGIN {
	demands["DEMAND_NONE"] = "always"
	demands["DEMAND_IO"] = "`--ceems-perf=io`"
	demands["DEMAND_NET"] = "`--ceems-perf=net`"
	demands["DEMAND_HW"] = "`--ceems-perf=hw`"
	RS = "@@"
}

FNR == 1 && NR == 1 {
	rows = FILENAME
}

FILENAME == rows {
	if (fields($0) == 15 && f[1] == "unit") {
		suffix["UNIT_" f[2]] = f[4]
		units["UNIT_" f[2]] = f[7]
		has_fraction["UNIT_" f[2]] = f[9] == "true"
		next
	}
	if (fields($0) == 5 && f[1] == "controller")
		controller[++ncontroller] = sprintf("| `%s` | %s | %s | %s |", f[2], f[3], f[4] == "" ? "-" : f[4], f[5])
	if (fields($0) < 15)
		next
	n++
	name[n] = f[2]
	help[n] = f[4]
	group[n] = f[5]
	is_decimal[n] = has_fraction[f[6]]
	column[n] = f[2] suffix[f[6]]
	unit[n] = units[f[6]]
	tres[n] = f[8]
	side[n] = f[9] == "SIDE_IN" ? "in" : "out"
	json[n] = f[10]
	demand[n] = demands[f[12]]
	by_day[n] = f[13] ~ /METRIC_BY_DAY/
	prom[n] = f[14]
	labels[n] = f[15]
	RS = "@@"
	next
}
