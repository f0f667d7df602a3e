# SPDX-License-Identifier: GPL-2.0-or-later
# dashboards.awk: makes a dashboard from its description; grafana.awk or perses.awk, which are read after it, write it down.
#
#	cc -E -P -x c src/libcore/metric_rows.h | awk -f metric_rows.awk -f dashboards.awk -f grafana.awk - NAME.dash
#
# A description has one keyword a line; a line that begins with a tab goes on with the one before.
#	uid, title, about, from, refresh	of the dashboard
#	data prometheus|mysql			a data source that is asked, in this order
#	variable NAME LABEL = QUERY		label_values(...) or SELECT
#	choice NAME LABEL = QUERY		the same, with All, of which nothing is required
#	row TITLE
#	panel KIND WIDTHxHEIGHT TITLE		KIND: timeseries stat bargauge heatmap barchart table text
#	what TEXT				its description, or the text itself
#	unit UNIT				in Grafana's words; without it, of the first metric
#	stack					areas on top of each other
#	warn VALUE				orange from here on
#	legend TEXT				of the query that follows
#	expr PROMQL, sql SQL			a query
#	rest MATCHERS				a panel for each group and unit of metrics that no panel before has
#
# In PROMQL, @NAME MATCHERS@ is the metric NAME of metrics.def; @NAME* MATCHERS@ is its family with all labels. Every
# ceems_ and node_ metric gets the matcher of the variable cluster.

function str(text) {
	gsub(/\\/, "\\\\", text)
	gsub(/"/, "\\\"", text)
	gsub(/\t/, "\\t", text)
	gsub(/\n/, "\\n", text)
	return "\"" text "\""
}

function fail(text) {
	print FILENAME ":" NR ": " text >"/dev/stderr"
	failed = 1
	exit 1
}

# --- metrics ---------------------------------------------------------------------------------

function metric_named(want,    i) {
	for (i = 1; i <= n; i++)
		if (name[i] == want)
			return i
	fail("no metric " want " in metrics.def")
}

function joined(a, b) {
	return a == "" ? b : b == "" ? a : a "," b
}

# What @TEXT@ stands for.
function selector(text,    want, matchers, family, i, k) {
	want = text
	sub(/ .*/, "", want)
	matchers = substr(text, length(want) + 2)
	family = sub(/\*$/, "", want)
	i = metric_named(want)
	if (prom[i] == "")
		fail("metric " want " is not in ceems.prom")
	for (k = 1; k <= n; k++)
		if (k == i || (family && prom[k] == prom[i]))
			used[k] = 1
	return prom[i] "{" joined(substr(family ? "" : labels[i], 2), matchers) "}"
}

function with_cluster(text,    out, word, rest) {
	out = ""
	while (match(text, /(ceems|node)_[a-z0-9_]+/)) {
		word = substr(text, RSTART, RLENGTH)
		out = out substr(text, 1, RSTART - 1) word
		rest = substr(text, RSTART + RLENGTH)
		if (rest ~ /^\{\}/)
			rest = substr(rest, 3)
		if (rest ~ /^\{/)
			rest = "{cluster=~\"$cluster\"," substr(rest, 2)
		else
			rest = "{cluster=~\"$cluster\"}" rest
		# what is in the braces is left as it is
		match(rest, /^\{[^}]*\}/)
		out = out substr(rest, 1, RLENGTH)
		text = substr(rest, RLENGTH + 1)
	}
	return out text
}

function promql(text,    part, count, out, i) {
	count = split(text, part, "@")
	if (count % 2 == 0)
		fail("an @ without its end")
	out = part[1]
	for (i = 2; i < count; i += 2)
		out = out selector(part[i]) part[i + 1]
	return with_cluster(out)
}

# Of a metric: by the table, or as Prometheus names units.
function unit_of(metric,    i) {
	for (i = 1; i <= n; i++)
		if (prom[i] == metric)
			return unit[i]
	sub(/_total$/, "", metric)
	if (metric ~ /_joules$/)
		return "J"
	if (metric ~ /_watts$/)
		return "W"
	if (metric ~ /_bytes_per_second$/)
		return "bytes/s"
	if (metric ~ /_bytes$/)
		return "bytes"
	if (metric ~ /_seconds$/)
		return "s"
	if (metric ~ /_(gco2e|grams)$/)
		return "g"
	if (metric ~ /_hertz$/)
		return "Hz"
	if (metric ~ /_ratio$/)
		return "ratio"
	return "count"
}

function grafana_unit(query,    metric, of, is_rate) {
	match(query, /ceems_[a-z0-9_]+/)
	metric = substr(query, RSTART, RLENGTH)
	of = unit_of(metric)
	is_rate = query ~ /rate\(/
	if (of == "J")
		return is_rate ? "watt" : "joule"
	if (of == "bytes")
		return is_rate ? "Bps" : "bytes"
	if (of == "s")
		return is_rate ? "short" : "s"
	if (of == "count")
		return is_rate ? "cps" : "short"
	if (of == "g")
		return "massg"
	return of == "W" ? "watt" : of == "bytes/s" ? "Bps" : of == "Hz" ? "hertz" : "percentunit"
}

# --- panels ----------------------------------------------------------------------------------

function flush_panel(    i) {
	if (kind == "")
		return
	if (what == "")
		fail("panel " title " does not say what it shows")
	if (kind != "text" && !queries)
		fail("panel " title " asks nothing")
	if (panel_unit == "")
		panel_unit = kind == "text" || query_type == "mysql" ? "short" : grafana_unit(query[1])
	if (can_draw()) {
		if (x + width > 24) {
			x = 0
			y += line_height
			line_height = 0
		}
		id++
		put_panel()
		x += width
		if (height > line_height)
			line_height = height
	}
	kind = ""
}

function begin_panel(text,    size) {
	flush_panel()
	split(text, size, / /)
	kind = size[1]
	title = substr(text, length(size[1]) + length(size[2]) + 3)
	split(size[2], size, "x")
	width = size[1] + 0
	height = size[2] + 0
	if (!width || !height || title == "")
		fail("panel KIND WIDTHxHEIGHT TITLE")
	what = panel_unit = warn = ""
	stack = queries = 0
	legend[1] = ""
}

function begin_row(text) {
	flush_panel()
	y += line_height
	x = line_height = 0
	id++
	put_row(text)
	y++
}

function add_query(type, text) {
	query_type = type
	query[++queries] = text
	legend[queries + 1] = ""
}

# Metrics that are new, or of which nothing more is known than that they count.
function rest_panels(matchers,    i, k, group_unit, seen) {
	for (i = 1; i <= n; i++) {
		group_unit = group[i] " " unit[i]
		if (prom[i] == "" || used[i] || seen[group_unit]++)
			continue
		begin_panel("timeseries 12x8 More of " group[i] ", " unit[i] " per second")
		what = "Metrics that no panel above shows; doc/metrics.md says what each is."
		for (k = i; k <= n; k++) {
			if (prom[k] == "" || used[k] || group[k] " " unit[k] != group_unit)
				continue
			legend[queries + 1] = help[k]
			add_query("prometheus", promql("sum(rate(@" name[k] " " matchers "@[$__rate_interval]))"))
		}
	}
	flush_panel()
}

# --- the dashboard ----------------------------------------------------------------------------

function begin_variable(text, is_choice,    var_name, label, text_query, type) {
	var_name = text
	sub(/ .*/, "", var_name)
	label = substr(text, length(var_name) + 2)
	text_query = label
	sub(/ = .*/, "", label)
	text_query = substr(text_query, length(label) + 4)
	type = text_query ~ /^label_values/ ? "prometheus" : "mysql"
	if (type == "prometheus" && var_name != "cluster")
		text_query = with_cluster(text_query)
	variables = joined(variables, variable(var_name, label, type, text_query, is_choice))
}

function begin_panels() {
	if (!has_begun)
		put_head()
	has_begun = 1
}

function keyword(word, text) {
	if (word ~ /^(uid|title|about|from|refresh)$/)
		of[word] = text
	else if (word == "data")
		variables = joined(variables, data_variable(text))
	else if (word == "variable" || word == "choice")
		begin_variable(text, word == "choice")
	else if (word == "row" || word == "panel") {
		begin_panels()
		if (word == "row")
			begin_row(text)
		else
			begin_panel(text)
	} else if (word == "what")
		what = text
	else if (word == "unit")
		panel_unit = text
	else if (word == "stack")
		stack = 1
	else if (word == "warn")
		warn = text
	else if (word == "legend")
		legend[queries + 1] = text
	else if (word == "expr")
		add_query("prometheus", promql(text))
	else if (word == "sql")
		add_query("mysql", text)
	else if (word == "rest") {
		flush_panel()
		rest_panels(text)
	} else
		fail("unknown keyword " word)
}

function flush_line() {
	if (pending == "")
		return
	word = pending
	sub(/ .*/, "", word)
	text = substr(pending, length(word) + 2)
	pending = ""
	keyword(word, text)
}

{
	nlines = split($0, line, "\n")
	for (k = 1; k <= nlines; k++) {
		if (line[k] ~ /^#/ || line[k] == "")
			continue
		if (line[k] ~ /^\t/) {
			sub(/^\t+/, "", line[k])
			pending = pending (word_is_text() ? "\n" : " ") line[k]
			continue
		}
		flush_line()
		pending = line[k]
	}
}

function word_is_text() {
	return pending ~ /^what / && kind == "text"
}

END {
	if (failed)
		exit 1
	flush_line()
	flush_panel()
	put_foot()
}
