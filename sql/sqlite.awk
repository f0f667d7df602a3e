# SPDX-License-Identifier: GPL-2.0-or-later
# sqlite.awk: translates MariaDB's schema, one of its files, to SQLite, so that both sinks have the
# same tables, columns and views. Left out are comments, partitions, and the views of a database
# user's own jobs. SQLite adds a column as the last one.
#
#	awk -f sqlite.awk 0001-schema.sql
#
# Dates become text, decimals become numbers of 15 digits. A statement ends with a ";" at the end of
# a line.

# Returns the text in the quotes that TEXT begins with; leaves what follows in `rest`.
function literal(text,    out) {
	out = ""
	text = substr(text, 2)
	while (match(text, /'/)) {
		out = out substr(text, 1, RSTART - 1)
		text = substr(text, RSTART + 1)
		if (substr(text, 1, 1) != "'")
			break
		out = out "'"
		text = substr(text, 2)
	}
	rest = text
	return out
}

# Concatenates a list such as: 'text', @variable, 'text' ...
function concat(text,    out) {
	out = ""
	for (;;) {
		sub(/^[ \t\n,]+/, "", text)
		if (substr(text, 1, 1) == "'") {
			out = out literal(text)
			text = rest
		} else if (match(text, /^@[a-z_]+/)) {
			out = out variable[substr(text, 1, RLENGTH)]
			text = substr(text, RLENGTH + 1)
		} else
			return out
	}
}

function index_of(owner, line,    name, columns) {
	sub(/^[ \t]*KEY /, "", line)
	name = line
	sub(/ .*/, "", name)
	columns = line
	sub(/^[^(]*\(/, "", columns)
	sub(/\),?$/, "", columns)
	gsub(/\([0-9]+\)/, "", columns) # a prefix
	return "CREATE INDEX IF NOT EXISTS " name " ON " owner " (" columns ");"
}

function column(line) {
	sub(/ COMMENT '([^']|'')*'/, "", line)
	sub(/ CHARACTER SET [a-z0-9_]+/, "", line)
	sub(/ COLLATE [a-z0-9_]+/, "", line)
	sub(/ ON UPDATE CURRENT_TIMESTAMP/, "", line)
	sub(/ UNSIGNED/, "", line)
	sub(/ BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY/, " INTEGER PRIMARY KEY", line)
	sub(/ (VARCHAR\([0-9]+\)|MEDIUMTEXT|LONGTEXT|DATETIME|TIMESTAMP|DATE|ENUM\([^)]*\))/, " TEXT", line)
	sub(/ (INT|BIGINT|BOOLEAN)/, " INTEGER", line)
	sub(/ INTEGEREGER/, " INTEGER", line)
	sub(/ DECIMAL\([0-9,]+\)/, " NUMERIC", line)
	return line
}

function table(text,    n, line, i, name, out, indexes) {
	n = split(text, line, "\n")
	name = line[1]
	sub(/^CREATE TABLE IF NOT EXISTS /, "", name)
	sub(/ .*/, "", name)
	out = line[1]
	for (i = 2; i <= n; i++) {
		if (line[i] ~ /^\) ENGINE/)
			break
		if (line[i] ~ /^[ \t]*KEY /)
			indexes = indexes "\n" index_of(name, line[i])
		else if (line[i] ~ /[^ \t]/)
			out = out "\n" column(line[i])
	}
	sub(/,$/, "", out)
	print out "\n);" indexes
}

function view(text,    name) {
	sub(/^CREATE OR REPLACE SQL SECURITY [A-Z]+ VIEW /, "", text)
	name = text
	sub(/ .*/, "", name)
	gsub(/DATE_FORMAT\(day, '%Y-%m'\)/, "strftime('%Y-%m', day)", text)
	gsub(/LEAST\(/, "min(", text)
	gsub(/UTC_TIMESTAMP\(\) - INTERVAL 30 DAY/, "datetime('now', '-30 days')", text)
	gsub(/submit_day \+ INTERVAL 1 DAY/, "date(submit_day, '+1 day')", text)
	gsub(/STRAIGHT_JOIN/, "CROSS JOIN", text)
	gsub(/ \/ /, " * 1.0 / ", text) # the quotient of two whole numbers would be one
	print "DROP VIEW IF EXISTS " name ";\nCREATE VIEW " text ";"
}

function new_column(text) {
	gsub(/[ \t\n]+/, " ", text)
	sub(/ AFTER [a-z0-9_]+$/, "", text)
	print column(text) ";"
}

function statement(text,    name) {
	if (text ~ /^CREATE TABLE/)
		table(text)
	else if (text ~ /^ALTER TABLE [a-z_]+ ADD COLUMN[ \n]/)
		new_column(text)
	else if (text ~ /^UPDATE /)
		print text ";"
	else if (sub(/^INSERT IGNORE /, "INSERT OR IGNORE ", text))
		print text ";"
	else if (text ~ /^SET @/) {
		match(text, /@[a-z_]+/)
		name = substr(text, RSTART, RLENGTH)
		variable[name] = concat(substr(text, index(text, "'")))
	} else if (text == "PREPARE view FROM @view")
		view(variable["@view"])
	else if (text == "EXECUTE view")
		return
	else if (text ~ /SQL SECURITY INVOKER VIEW/)
		view(text)
	else if (text !~ /SQL SECURITY DEFINER VIEW my_/) {
		print "sqlite.awk: not known: " substr(text, 1, 60) >"/dev/stderr"
		exit 1
	}
}

/^--/ { next }
{
	if (text == "" && $0 == "")
		next
	text = text (text == "" ? "" : "\n") $0
	if (text ~ /;$/) {
		statement(substr(text, 1, length(text) - 1))
		text = ""
	}
}
