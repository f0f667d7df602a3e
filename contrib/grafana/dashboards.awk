# SPDX-License-Identifier: GPL-2.0-or-later
# dashboards.awk: makes a Grafana dashboard from its description.
#
#	cc -E -P -x c src/libcore/metric_rows.h | awk -f metric_rows.awk -f dashboards.awk - NAME.dash
#
# A description has one keyword a line; a line that begins with a tab goes on with the one before.
#	uid, title, about, from, refresh	of the dashboard
#	data prometheus|mysql			a data source that is asked, in this order
#	variable NAME LABEL = QUERY		label_values(...) or SELECT
#	choice NAME LABEL = QUERY		the same, with All, of which nothing is required
#	row TITLE
#	panel KIND WIDTHxHEIGHT TITLE		KIND: timeseries stat bargauge heatmap barchart table text
#	what TEXT				its description, or the text itself
#	unit UNIT				Grafana's; without it, of the first metric
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

function source(type) {
	return "{\"type\": \"" type "\", \"uid\": \"${" type "_datasource}\"}"
}

function defaults(    custom, steps) {
	steps = "{\"color\": \"green\", \"value\": null}"
	if (warn != "")
		steps = steps ", {\"color\": \"orange\", \"value\": " warn "}"
	custom = ""
	if (kind == "timeseries")
		custom = ", \"custom\": {\"fillOpacity\": " (stack ? 40 : 10) ", \"showPoints\": \"never\", \"spanNulls\": false" \
			(stack ? ", \"stacking\": {\"group\": \"A\", \"mode\": \"normal\"}" : "") "}"
	return "{\"unit\": " str(panel_unit) (kind == "heatmap" ? "" : ", \"min\": 0") \
		(panel_unit == "percentunit" && (kind == "bargauge" || kind == "heatmap") ? ", \"max\": 1" : "") \
		", \"color\": {\"mode\": \"" (kind == "timeseries" || kind == "barchart" ? "palette-classic" : "thresholds") "\"}" \
		", \"thresholds\": {\"mode\": \"absolute\", \"steps\": [" steps "]}" custom "}"
}

function options() {
	if (kind == "timeseries")
		return "{\"legend\": {\"calcs\": [\"mean\", \"max\"], \"displayMode\": \"table\", \"placement\": \"bottom\", " \
			"\"showLegend\": true}, \"tooltip\": {\"mode\": \"multi\", \"sort\": \"desc\"}}"
	if (kind == "stat" || kind == "bargauge")
		return "{\"reduceOptions\": {\"calcs\": [\"lastNotNull\"], \"fields\": \"\", \"values\": " \
			(query_type == "mysql" ? "true" : "false") "}, \"orientation\": " \
			(kind == "stat" ? "\"auto\", \"colorMode\": \"value\", \"graphMode\": \"none\"" : \
			"\"horizontal\", \"displayMode\": \"basic\"") "}"
	if (kind == "heatmap")
		return "{\"calculate\": false, \"cellGap\": 1, \"color\": {\"mode\": \"scheme\", \"scheme\": \"Oranges\", " \
			"\"steps\": 64, \"reverse\": false, \"exponent\": 0.5, \"fill\": \"dark-orange\"}, " \
			"\"cellValues\": {\"unit\": " str(panel_unit) "}, \"yAxis\": {\"axisPlacement\": \"left\"}, " \
			"\"rowsFrame\": {\"layout\": \"auto\"}, \"legend\": {\"show\": true}, \"showValue\": \"never\", " \
			"\"exemplars\": {\"color\": \"red\"}, \"filterValues\": {\"le\": 1e-9}, " \
			"\"tooltip\": {\"mode\": \"single\", \"showColorScale\": false, \"yHistogram\": false}}"
	if (kind == "barchart")
		return "{\"orientation\": \"horizontal\", \"showValue\": \"auto\", \"stacking\": \"normal\", \"groupWidth\": 0.7, " \
			"\"barWidth\": 0.9, \"fullHighlight\": false, \"xTickLabelRotation\": 0, \"xTickLabelSpacing\": 0, " \
			"\"legend\": {\"calcs\": [], \"displayMode\": \"list\", \"placement\": \"bottom\", \"showLegend\": true}, " \
			"\"tooltip\": {\"mode\": \"multi\", \"sort\": \"none\"}}"
	if (kind == "table")
		return "{\"showHeader\": true, \"cellHeight\": \"sm\"}"
	return "{\"mode\": \"markdown\", \"content\": " str(what) "}"
}

# A column of a table has the unit that its name ends with, as in SQL.
function overrides() {
	if (kind != "table" && kind != "barchart")
		return "[]"
	return "[" override(".*_kwh$", "kwatth") ", " override(".*_kg$", "masskg") ", " override(".*_g$", "massg") ", " \
		override(".*_j$", "joule") ", " override(".*_w$", "watt") ", " override(".*_s$", "s") ", " \
		override(".*_bytes$", "bytes") ", " override(".*(_share|_rate|efficiency|utilization)$", "percentunit") "]"
}

function override(pattern, to) {
	return "{\"matcher\": {\"id\": \"byRegexp\", \"options\": " str(pattern) "}, \"properties\": [{\"id\": \"unit\", \"value\": " \
		str(to) "}]}"
}

function target(i,    ref) {
	ref = "{\"refId\": \"" substr("ABCDEFGHIJKLMNOPQRSTUVWXYZ", i, 1) "\", \"datasource\": " source(query_type) ", "
	if (query_type == "mysql")
		return ref "\"editorMode\": \"code\", \"rawQuery\": true, \"format\": \"" \
			(kind == "timeseries" ? "time_series" : "table") "\", \"rawSql\": " str(query[i]) "}"
	return ref "\"editorMode\": \"code\", \"expr\": " str(query[i]) ", \"legendFormat\": " str(legend[i]) \
		(kind == "timeseries" || kind == "heatmap" ? ", \"range\": true, \"instant\": false" : ", \"range\": false, \"instant\": true") \
		(kind == "table" ? ", \"format\": \"table\"" : "") "}"
}

function put(text) {
	print sep text
	sep = ","
}

function flush_panel(    i, targets) {
	if (kind == "")
		return
	if (what == "")
		fail("panel " title " does not say what it shows")
	if (kind != "text" && !queries)
		fail("panel " title " asks nothing")
	if (panel_unit == "")
		panel_unit = kind == "text" || query_type == "mysql" ? "short" : grafana_unit(query[1])
	if (x + width > 24) {
		x = 0
		y += line_height
		line_height = 0
	}
	targets = ""
	for (i = 1; i <= queries; i++)
		targets = targets (i > 1 ? ",\n    " : "") target(i)
	put("  {\"id\": " (++id) ", \"type\": \"" kind "\", \"title\": " str(title) ",\n" \
		"   \"gridPos\": {\"x\": " x ", \"y\": " y ", \"w\": " width ", \"h\": " height "}" \
		(kind == "text" ? "" : ",\n   \"description\": " str(what) ", \"datasource\": " source(query_type) \
		",\n   \"fieldConfig\": {\"defaults\": " defaults() ", \"overrides\": " overrides() "}") \
		",\n   \"options\": " options() \
		(kind == "text" ? "" : (kind == "table" && query_type == "prometheus" ? ",\n   \"transformations\": [{\"id\": \"merge\", \"options\": {}}, " \
		"{\"id\": \"organize\", \"options\": {\"excludeByName\": {\"Time\": true}}}]" : "") \
		",\n   \"targets\": [" targets "]") "}")
	x += width
	if (height > line_height)
		line_height = height
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
	put("  {\"id\": " (++id) ", \"type\": \"row\", \"title\": " str(text) ", \"collapsed\": false, \"panels\": [],\n" \
		"   \"gridPos\": {\"x\": 0, \"y\": " y++ ", \"w\": 24, \"h\": 1}}")
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

function variable(text, is_choice,    var_name, label, text_query, type) {
	var_name = text
	sub(/ .*/, "", var_name)
	label = substr(text, length(var_name) + 2)
	text_query = label
	sub(/ = .*/, "", label)
	text_query = substr(text_query, length(label) + 4)
	type = text_query ~ /^label_values/ ? "prometheus" : "mysql"
	if (type == "prometheus" && var_name != "cluster")
		text_query = with_cluster(text_query)
	return "  {\"name\": " str(var_name) ", \"label\": " str(label) ", \"type\": \"query\", \"datasource\": " source(type) \
		", \"query\": " (type == "mysql" ? str(text_query) : \
		"{\"qryType\": 1, \"query\": " str(text_query) ", \"refId\": \"Variable-" var_name "\"}") \
		", \"refresh\": 2, \"sort\": 3, \"regex\": \"\", \"hide\": 0, \"skipUrlSync\": false" \
		", \"multi\": false, \"includeAll\": " (is_choice ? "true, \"allValue\": \".*\", " \
		"\"current\": {\"selected\": true, \"text\": \"All\", \"value\": \"$__all\"}" : "false") \
		", \"options\": []}"
}

function data_variable(type,    shown) {
	shown = type == "mysql" ? "Mysql" : "Prometheus"
	return "  {\"name\": \"" type "_datasource\", \"label\": \"" shown " data source\", \"type\": \"datasource\", \"query\": \"" \
		type "\", \"refresh\": 1, \"regex\": \"\", \"hide\": 0, \"skipUrlSync\": false, \"multi\": false, \"includeAll\": false, " \
		"\"options\": []}"
}

function keyword(word, text) {
	if (word ~ /^(uid|title|about|from|refresh)$/)
		of[word] = text
	else if (word == "data")
		variables = joined(variables, "\n" data_variable(text))
	else if (word == "variable" || word == "choice")
		variables = joined(variables, "\n" variable(text, word == "choice"))
	else if (word == "row" || word == "panel") {
		head()
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

function head() {
	if (has_head)
		return
	has_head = 1
	print "{\"uid\": " str(of["uid"]) ", \"title\": " str(of["title"]) ", \"description\": " str(of["about"]) ","
	print " \"tags\": [\"ceems\", \"slurm\"], \"schemaVersion\": 39, \"version\": 1, \"editable\": false, \"graphTooltip\": 1,"
	print " \"time\": {\"from\": \"" of["from"] "\", \"to\": \"now\"}, \"refresh\": \"" of["refresh"] "\", \"timezone\": \"browser\","
	print " \"links\": [{\"type\": \"dashboards\", \"title\": \"CEEMS\", \"tags\": [\"ceems\"], \"asDropdown\": true, \"icon\": \"external link\","
	print "  \"includeVars\": true, \"keepTime\": true, \"targetBlank\": false, \"tooltip\": \"\", \"url\": \"\"}],"
	print " \"annotations\": {\"list\": []}, \"fiscalYearStartMonth\": 0, \"liveNow\": false, \"weekStart\": \"\","
	print " \"timepicker\": {}, \"templating\": {\"list\": [" variables "]},"
	print " \"panels\": ["
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
	print " ]}"
}
