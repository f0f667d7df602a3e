# SPDX-License-Identifier: GPL-2.0-or-later
# metrics.awk: fills lists of metrics into a template.
#
#	cc -E -P -x c src/libcore/metric_rows.h | awk -f metric_rows.awk -f metrics.awk - TEMPLATE
#
# A line of TEMPLATE that has only @LIST@ is replaced by the list; a comma behind @LIST@ is put
# behind each item. LIST is one of:
#	sql_columns	columns of the tables job and step
#	sql_day_columns	columns of usage_day, for metrics with METRIC_BY_DAY
#	sql_day_sums	"SUM(x) AS x" for these columns
#	sql_day_names	names of these columns
#	json OBJECT	members of OBJECT in a record's JSON Schema: "json usage.io"
#	md		rows of the metrics in doc/metrics.md
#	controller	rows of the controller's metrics in doc/metrics.md
#	include FILE	the lines of FILE, beside TEMPLATE; they may have lists too

function quoted(text) {
	gsub("'", "''", text)
	return "'" text "'"
}

function item(list, i) {
	if (list == "sql_columns")
		return column[i] (is_decimal[i] ? " DECIMAL(20,9)" : " BIGINT") " UNSIGNED NULL COMMENT " quoted(help[i]) ","
	if (list == "md")
		return sprintf("| `%s` | %s | %s | %s | %s | `%s` | `%s` | %s |", name[i], help[i], unit[i], demand[i],
			       tres[i] == "" ? "-" : "`" tres[i] "` " side[i], json[i], column[i],
			       prom[i] == "" ? "-" : "`" prom[i] "`")
	if (!by_day[i])
		return ""
	if (list == "sql_day_columns")
		return column[i] " DECIMAL(38," (is_decimal[i] ? 9 : 0) ") UNSIGNED NULL,"
	if (list == "sql_day_sums")
		return "SUM(" column[i] ") AS " column[i] ","
	if (list == "sql_day_names")
		return column[i] ","
	return ""
}

# Prints the members of one object, without a comma behind the last one.
function print_json(indent, object,    i, last, any) {
	last = ""
	for (i = 1; i <= n; i++) {
		if (substr(json[i], 1, length(object) + 1) != object ".")
			continue
		any = substr(json[i], length(object) + 2)
		if (any ~ /\./)
			continue
		if (last != "")
			print last ","
		any = indent "\"" any "\": {\"description\": \"" help[i] "\", \"$ref\": \"#/$defs/amount\"}"
		last = any
	}
	print last after
}

function print_line(line,    indent, list, i, text) {
	if (line !~ /^[ \t]*@[a-z_]+( [a-z_.0-9]+)?@,?$/) {
		print line
		return
	}
	indent = line
	sub(/@.*/, "", indent)
	list = line
	sub(/^[ \t]*@/, "", list)
	after = list ~ /,$/ ? "," : ""
	sub(/@,?$/, "", list)
	if (list ~ /^include /)
		print_file(substr(list, 9))
	else if (list ~ /^json /)
		print_json(indent, substr(list, 6))
	else if (list == "controller")
		for (i = 1; i <= ncontroller; i++)
			print controller[i]
	else
		for (i = 1; i <= n; i++)
			if ((text = item(list, i)) != "")
				print indent text
}

function print_file(name,    line, path, lines, nlines, k) {
	path = FILENAME
	sub(/[^\/]*$/, "", path)
	RS = "\n"
	while ((getline line <(path name)) > 0)
		lines[++nlines] = line
	RS = "@@"
	if (!nlines)
		exit 1
	for (k = 1; k <= nlines; k++)
		print_line(lines[k])
}

{
	nlines = split($0, line, "\n")
	for (k = 1; k <= nlines; k++) {
		if (k == nlines && line[k] == "")
			break
		print_line(line[k])
	}
}
