# SPDX-License-Identifier: GPL-2.0-or-later
# grafana.awk: writes down for Grafana what dashboards.awk has read.

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

function variable(var_name, label, type, text, is_choice) {
	return "\n  {\"name\": " str(var_name) ", \"label\": " str(label) ", \"type\": \"query\", \"datasource\": " source(type) \
		", \"query\": " (type == "mysql" ? str(text) : \
		"{\"qryType\": 1, \"query\": " str(text) ", \"refId\": \"Variable-" var_name "\"}") \
		", \"refresh\": 2, \"sort\": 3, \"regex\": \"\", \"hide\": 0, \"skipUrlSync\": false" \
		", \"multi\": false, \"includeAll\": " (is_choice ? "true, \"allValue\": \".*\", " \
		"\"current\": {\"selected\": true, \"text\": \"All\", \"value\": \"$__all\"}" : "false") \
		", \"options\": []}"
}

function data_variable(type,    shown) {
	shown = type == "mysql" ? "Mysql" : "Prometheus"
	return "\n  {\"name\": \"" type "_datasource\", \"label\": \"" shown " data source\", \"type\": \"datasource\", \"query\": \"" \
		type "\", \"refresh\": 1, \"regex\": \"\", \"hide\": 0, \"skipUrlSync\": false, \"multi\": false, \"includeAll\": false, " \
		"\"options\": []}"
}

function put_head() {
	print "{\"uid\": " str(of["uid"]) ", \"title\": " str(of["title"]) ", \"description\": " str(of["about"]) ","
	print " \"tags\": [\"ceems\", \"slurm\"], \"schemaVersion\": 39, \"version\": 1, \"editable\": false, \"graphTooltip\": 1,"
	print " \"time\": {\"from\": \"" of["from"] "\", \"to\": \"now\"}, \"refresh\": \"" of["refresh"] "\", \"timezone\": \"browser\","
	print " \"links\": [{\"type\": \"dashboards\", \"title\": \"CEEMS\", \"tags\": [\"ceems\"], \"asDropdown\": true, \"icon\": \"external link\","
	print "  \"includeVars\": true, \"keepTime\": true, \"targetBlank\": false, \"tooltip\": \"\", \"url\": \"\"}],"
	print " \"annotations\": {\"list\": []}, \"fiscalYearStartMonth\": 0, \"liveNow\": false, \"weekStart\": \"\","
	print " \"timepicker\": {}, \"templating\": {\"list\": [" variables "]},"
	print " \"panels\": ["
}

function put_foot() {
	print " ]}"
}

function put(text) {
	print sep text
	sep = ","
}

function can_draw() {
	return 1
}

function put_row(text) {
	put("  {\"id\": " id ", \"type\": \"row\", \"title\": " str(text) ", \"collapsed\": false, \"panels\": [],\n" \
		"   \"gridPos\": {\"x\": 0, \"y\": " y ", \"w\": 24, \"h\": 1}}")
}

function put_panel(    i, targets) {
	targets = ""
	for (i = 1; i <= queries; i++)
		targets = targets (i > 1 ? ",\n    " : "") target(i)
	put("  {\"id\": " id ", \"type\": \"" kind "\", \"title\": " str(title) ",\n" \
		"   \"gridPos\": {\"x\": " x ", \"y\": " y ", \"w\": " width ", \"h\": " height "}" \
		(kind == "text" ? "" : ",\n   \"description\": " str(what) ", \"datasource\": " source(query_type) \
		",\n   \"fieldConfig\": {\"defaults\": " defaults() ", \"overrides\": " overrides() "}") \
		",\n   \"options\": " options() \
		(kind == "text" ? "" : (kind == "table" && query_type == "prometheus" ? ",\n   \"transformations\": [{\"id\": \"merge\", \"options\": {}}, " \
		"{\"id\": \"organize\", \"options\": {\"excludeByName\": {\"Time\": true}}}]" : "") \
		",\n   \"targets\": [" targets "]") "}")
}
