# SPDX-License-Identifier: GPL-2.0-or-later
# perses.awk: writes down for Perses what dashboards.awk has read. Perses has no data source for MariaDB, so panels that
# ask it are left out. All queries go to the default Prometheus data source.

function can_draw() {
	return kind == "text" || query_type == "prometheus"
}

function data_variable(type) {
	return ""
}

# label_values(METRIC, LABEL)
function variable(var_name, label, type, text, is_choice,    metric, of_label) {
	if (type != "prometheus")
		return ""
	metric = text
	sub(/^label_values\(/, "", metric)
	of_label = metric
	sub(/.*, */, "", of_label)
	sub(/\)$/, "", of_label)
	metric = substr(metric, 1, length(metric) - length(of_label) - 1)
	sub(/, *$/, "", metric)
	return "\n  {\"kind\": \"ListVariable\", \"spec\": {\"name\": " str(var_name) ", \"display\": {\"name\": " str(label) "}, " \
		"\"allowMultiple\": false, \"allowAllValue\": " (is_choice ? "true, \"customAllValue\": \".*\", \"defaultValue\": \"$__all\"" : "false") \
		",\n   \"plugin\": {\"kind\": \"PrometheusLabelValuesVariable\", \"spec\": {\"labelName\": " str(of_label) ", \"matchers\": [" \
		str(metric) "]}}}}"
}

function format(    to) {
	if (panel_unit == "percentunit")
		return "\"format\": {\"unit\": \"percent-decimal\"}"
	if (panel_unit == "s")
		return "\"format\": {\"unit\": \"seconds\"}"
	to["bytes"] = "bytes"
	to["Bps"] = "bytes/sec"
	to["pps"] = "packets/sec"
	to["cps"] = "counts/sec"
	return "\"format\": {\"unit\": \"" (panel_unit in to ? to[panel_unit] : "decimal") "\", \"shortValues\": true}"
}

# Perses writes no unit behind watts, joules, grams and hertz, so the title has it.
function unit_in_title() {
	return panel_unit == "watt" ? " (W)" : panel_unit == "joule" ? " (J)" : panel_unit == "massg" ? " (g)" : panel_unit == "hertz" ? " (Hz)" : ""
}

function plugin(name, spec) {
	return "{\"kind\": \"" name "\", \"spec\": {" spec "}}"
}

function thresholds() {
	return warn == "" ? "" : ", \"thresholds\": {\"steps\": [{\"value\": " warn "}]}"
}

function panel_plugin() {
	if (kind == "text")
		return plugin("Markdown", "\"text\": " str(what))
	if (kind == "table")
		return plugin("Table", "\"density\": \"compact\", \"columnSettings\": [{\"name\": \"timestamp\", \"hide\": true}]" \
			(queries > 1 ? ", \"transforms\": [{\"kind\": \"MergeSeries\", \"spec\": {}}]" : ""))
	if (kind == "stat")
		return plugin("StatChart", "\"calculation\": \"last-number\", " format() thresholds())
	if (kind == "bargauge")
		return plugin("BarChart", "\"calculation\": \"last-number\", \"sort\": \"desc\", " format())
	return plugin("TimeSeriesChart", "\"legend\": {\"position\": \"bottom\"}, \"yAxis\": {\"min\": 0, " format() "}" thresholds() \
		", \"visual\": {\"areaOpacity\": " (stack ? "0.4, \"stack\": \"all\"" : "0.1") "}")
}

# Perses has no $__range; what the dashboard shows unless told is as long.
function perses_query(i,    text) {
	text = query[i]
	gsub(/\$__range/, duration, text)
	return "{\"kind\": \"TimeSeriesQuery\", \"spec\": {\"plugin\": " \
		plugin("PrometheusTimeSeriesQuery", "\"query\": " str(text) ", \"seriesNameFormat\": " str(legend[i])) "}}"
}

function put_head() {
	duration = of["from"]
	sub(/^now-/, "", duration)
	print "{\"kind\": \"Dashboard\", \"metadata\": {\"name\": " str(of["uid"]) ", \"project\": \"ceems\"},"
	print " \"spec\": {\"display\": {\"name\": " str(of["title"]) ", \"description\": " str(of["about"]) "},"
	print " \"duration\": \"" duration "\", \"refreshInterval\": \"" of["refresh"] "\","
	print " \"variables\": [" variables "],"
	print " \"panels\": {"
}

function put_row(text) {
	end_grid()
	grid_title = text
	grid_y = y + 1
}

function end_grid() {
	if (items != "")
		grids = joined(grids, "\n  {\"kind\": \"Grid\", \"spec\": {\"display\": {\"title\": " str(grid_title) \
			", \"collapse\": {\"open\": true}}, \"items\": [" items "]}}")
	items = ""
}

function put_panel(    i, targets) {
	targets = ""
	for (i = 1; i <= queries; i++)
		targets = joined(targets, "\n    " perses_query(i))
	print sep "  \"panel" id "\": {\"kind\": \"Panel\", \"spec\": {\"display\": {\"name\": " str(title (kind == "text" ? "" : unit_in_title())) \
		(kind == "text" ? "" : ", \"description\": " str(what)) "},\n   \"plugin\": " panel_plugin() ",\n   \"queries\": [" targets "]}}"
	sep = ","
	items = joined(items, "\n   {\"x\": " x ", \"y\": " (y - grid_y) ", \"width\": " width ", \"height\": " height \
		", \"content\": {\"$ref\": \"#/spec/panels/panel" id "\"}}")
}

function put_foot() {
	end_grid()
	print " },"
	print " \"layouts\": [" grids "]}}"
}
