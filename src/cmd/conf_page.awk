# SPDX-License-Identifier: GPL-2.0-or-later
# conf_page.awk - ceems.conf(5), or with -v example=1 ceems.conf.example, from the rows of all settings, the table of the
# energy sources, the details of sinks and sensors, and the page:
#
#	awk -f page.awk -f conf_page.awk settings_rows.h sources.def settings_pages.man ceems.conf.5.in
#
# A key comes after the heading ".SS SECTION" of its row. The page orders a section's keys: below "@KEY NAME@" is the
# detail of a key. A key that the page does not name comes before the first one of the section that follows by alphabet.
# At the line "@SECTIONS@" are the sections that the page does not name, by alphabet.
#
# At the line "@SOURCES@" is what the details say below "@SOURCE NAME@" of each source, by kind and place. "@PLACES@" and
# "@NODE PLACES@" are the orders of preference, and "@FILES@" the sections that the details have below "@FILES@".

# The texts of ROW into f[1..], without the quotes.
function texts(row,    n, s)
{
	split("", f)
	while (match(row, /"([^"\\]|\\.)*"/)) {
		s = substr(row, RSTART + 1, RLENGTH - 2)
		row = substr(row, RSTART + RLENGTH)
		gsub(/\\"/, "\"", s)
		f[++n] = s
	}
}

function fail(text)
{
	print "conf_page.awk: " text >"/dev/stderr"
	is_bad = 1
	exit 1
}

# Details are a paragraph of their own.
function print_line(line)
{
	if (example)
		return
	if (after_key && line !~ /^\.(TP|SS|SH|PP|RS)/ && line != "")
		print ".IP"
	after_key = 0
	print line
}

function print_key(name)
{
	is_printed[name] = 1
	if (example) {
		print "#" name "=" initial[name]
		return
	}
	printf ".TP\n.B %s\n%s\nDefault: %s.\nExample:\n.B %s\n", roff(name), roff(help[name]),
		initial[name] == "" ? "empty" : "\\fB" roff(initial[name]) "\\fP", roff(name "=" sample[name])
	after_key = 1
	if (name in detail)
		print_detail(detail[name])
}

function print_detail(text,    line, n, i)
{
	n = split(text, line, "\n")
	for (i = 1; i < n; i++)
		print_line(line[i])
}

# Prints the keys of the section that the page does not name: those before NAME, or all if NAME is "".
function print_rest(name,    i)
{
	for (i = 1; i <= nkeys; i++)
		if (section[key[i]] == here && !(key[i] in is_named) && !is_printed[key[i]] && (name == "" || key[i] < name))
			print_key(key[i])
}

# A row of sources.def.
function add_source(row,    f, note)
{
	split(row, f, ", *")
	at_place[f[3] ~ /^[0-9]+$/ ? f[3] : "last"] = f[2]
	kind[f[2]] = f[4]
	match(row, /"[^"]*"/)
	note = substr(row, RSTART + 1, RLENGTH - 2)
	if (f[5])
		node_place[f[5]] = f[2] (note == "" ? "" : " (" note ")")
	nsources++
}

function print_sources(    kinds, k, i)
{
	split("SENSOR_LOCAL SENSOR_BMC SENSOR_GPU", kinds, " ")
	for (k = 1; k in kinds; k++)
		for (i = 0; i < nsources; i++)
			if (kind[at_place[i]] == kinds[k])
				print_detail(detail["SOURCE " at_place[i]])
	print_detail(detail["SOURCE " at_place["last"]])
}

# The sources that measure parts of the node, by place.
function part_places(    i, text)
{
	for (i = 0; i < nsources; i++)
		if (kind[at_place[i]] ~ /LOCAL|GPU/)
			text = text (text == "" ? "" : ", ") at_place[i]
	return text "."
}

function node_places(    i, text)
{
	for (i = 1; i in node_place; i++)
		text = text (text == "" ? "" : ", ") node_place[i]
	return text "."
}

function begin_section(title)
{
	here = title
	if (example)
		print "\n# --- " title " ---"
}

function print_sections(    i, first)
{
	do {
		first = ""
		for (i = 1; i <= nkeys; i++)
			if (!(section[key[i]] in is_heading) && (first == "" || section[key[i]] < first))
				first = section[key[i]]
		if (first == "")
			break
		is_heading[first] = 1
		print_line(".SS " first)
		begin_section(first)
		print_rest("")
	} while (1)
}

FNR == 1 { files++ }

# rows: a row is one or more lines
files <= 2 && /^(SETTING|SOURCE)\(/ { row = ""; is_row = 1 }
files == 2 && is_row {
	row = row $0
	if (/\)$/) {
		add_source(row)
		is_row = 0
	}
}
files == 1 && is_row {
	row = row $0
	if (/\)$/) {
		texts(row)
		key[++nkeys] = f[1]
		initial[f[1]] = f[2]
		section[f[1]] = f[3]
		help[f[1]] = f[4]
		sample[f[1]] = f[5]
		has_section[f[3]] = 1
		is_row = 0
	}
}
files <= 2 { next }

files == 3 && /^@KEY .*@$/ {
	of = substr($0, 6, length($0) - 6)
	if (!(of in help))
		fail(FILENAME ": no key " of)
	next
}
files == 3 && /^@(SOURCE .*|FILES)@$/ {
	of = substr($0, 2, length($0) - 2)
	if (of ~ /^SOURCE / && !(substr(of, 8) in kind))
		fail(FILENAME ": no source " of)
	next
}
files == 3 { detail[of] = detail[of] $0 "\n"; next }

{ page[++nlines] = $0 }
/^@KEY .*@$/ { is_named[substr($0, 6, length($0) - 6)] = 1 }
/^\.SS / { is_heading[substr($0, 5)] = 1 }

END {
	if (is_bad)
		exit 1
	if (example)
		print "# ceems.conf: beside slurm.conf. Each line is a key with its default; see ceems.conf(5).\n" \
			"# `ceems check` says what is in force and what does not work."
	for (l = 1; l <= nlines; l++) {
		line = page[l]
		if (line ~ /^\.S[HS] / || line == "@SECTIONS@") {
			print_rest("")
			here = ""
		}
		if (line == "@SECTIONS@") {
			print_sections()
			here = ""
		} else if (line == "@SOURCES@")
			print_sources()
		else if (line == "@PLACES@")
			print_line(part_places())
		else if (line == "@NODE PLACES@")
			print_line(node_places())
		else if (line == "@FILES@")
			print_detail(detail["FILES"])
		else if (line ~ /^@KEY .*@$/) {
			name = substr(line, 6, length(line) - 6)
			if (!(name in help) || section[name] != here)
				fail("no key " name " in section " here)
			print_rest(name)
			print_key(name)
		} else
			print_line(line)
		if (line ~ /^\.SS / && substr(line, 5) in has_section)
			begin_section(substr(line, 5))
	}
	for (i = 1; i <= nkeys; i++)
		if (!is_printed[key[i]])
			fail("no section for " key[i])
}
