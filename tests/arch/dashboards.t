#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# contrib/grafana: Grafana must be able to load the dashboards from files, each panel must have what a reader needs, and
# each query must be valid PromQL. Mostly the rules of Grafana's dashboard-linter.
. "$top_srcdir/tests/tap/tap.sh"
for tool in jq promtool; do
	command -v $tool >/dev/null || skip_all "$tool is not installed (contrib/deps test)"
done
dir=$top_builddir/contrib/grafana
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
all='account ceems cluster job node user'

# none WHAT JQ: the expression must find nothing in any dashboard.
none() {
	what=$1
	found=$(for name in $all; do jq -r "\"$name: \" + ($2 | tostring)" "$dir/$name.json"; done 2>&1)
	is "$found" "" "$what"
}
panels='.panels[] | select(.type != "row")'
asked="$panels | select(.type != \"text\")"

is "$(for name in $all; do jq -r .uid "$dir/$name.json"; done | sort -u | wc -l)" 6 "each has a uid of its own"
none "none can be edited or has inputs" 'select(.editable or has("__inputs") or has("id"))'
none "panels have a title" "$panels | select((.title // \"\") == \"\") | .id"
none "and say what they show" "$asked | select((.description // \"\" | length) < 20) | .title"
none "they have a unit" "$asked | select((.fieldConfig.defaults.unit // \"\") == \"\") | .title"
none "and ask something" "$asked | select((.targets | length) == 0) | .title"
none "of a data source that is chosen" "$asked | .datasource as \$d | select([.datasource, .targets[].datasource] | any(
	. != \$d or (.uid | test(\"^[$]{(prometheus|mysql)_datasource}\$\") | not))) | .title"
none "whose variable is there" '([.templating.list[] | select(.type == "datasource") | .name]) as $have
	| .panels[].datasource.uid // empty | select((ltrimstr("${") | rtrimstr("}")) as $name | $have | index($name) | not)'
none "variables are read anew when the time changes" \
	'.templating.list[] | select(.type == "query" and .refresh != 2) | .name'
none "no two panels have one id" 'select([.panels[].id] | length != (unique | length)) | .uid'
none "panels do not overlap" '.panels as $p | $p[] | . as $a | $p[] | select(.id > $a.id and .gridPos.x < $a.gridPos.x + $a.gridPos.w
	and $a.gridPos.x < .gridPos.x + .gridPos.w and .gridPos.y < $a.gridPos.y + $a.gridPos.h
	and $a.gridPos.y < .gridPos.y + .gridPos.h) | .title'
none "rates are of \$__rate_interval, or of a time that the panel names" \
	"$asked | select(.title | startswith(\"Jobs with\") | not) | .targets[].expr // empty | select(test(\"rate\\\\([^\\\\[]*\\\\[[0-9]\"))"
none "counters are under a rate, or their last value is what is asked for" "$asked | .targets[].expr // empty
	| select(test(\"_total\\\\b\") and (test(\"rate\\\\(|increase\\\\(|last_over_time\\\\(\") or test(\"conservation_error|refused_steps|lost_steps|ecc_uncorrected\") | not))"

none "Grafana quotes the variables of SQL, which a viewer chooses" \
	"$asked"' | .targets[]?.rawSql // empty | select(test("[$][a-z]|[$][{](?![a-z]+:(sqlstring|regex)[}])"))'

# makes a rule of each query, with numbers for Grafana's variables, so that promtool can check it
{
	echo 'groups: [ { name: panels, rules: ['
	for name in $all; do
		jq -r '.panels[].targets[]?.expr // empty' "$dir/$name.json" | sed 's/\$__[a-z_]*/5m/g; s/\$[a-z]*/x/g' | jq -cR '{record: "x", expr: .}' | sed 's/$/,/'
	done | tr '\n' ' ' | sed 's/, *$//'
	echo '] } ]'
} >"$work/panels.yml"
out=$(promtool check rules --lint=none "$work/panels.yml" 2>&1)
ok $? "each query of a Prometheus is PromQL"
printf '%s\n' "$out" | grep -v SUCCESS | sed 's/^/# /' | head -n 20
has "$out" "$(for name in $all; do jq -r '.panels[].targets[]?.expr // empty' "$dir/$name.json"; done | wc -l) rules found" \
	"all of them"

# every metric of ceems.prom must be in a panel
jq -r '.panels[].targets[]?.expr // empty' "$dir/job.json" >"$work/exprs"
is "$(sed -n 's/^| .*| `\(ceems_[a-z0-9_]*\)` |$/\1/p' "$top_builddir/tests/arch/metrics.md" | sort -u |
	while read -r metric; do grep -q "$metric{" "$work/exprs" || echo "$metric"; done)" "" \
	"the dashboard of a job has each metric of a job"

# Perses's dashboards must have the same panels, except those that query MariaDB
for name in ceems cluster job node; do
	grafana=$(jq -r '.panels[] | select(.type == "text" or any(.targets[]?; .expr)) | .gridPos | "\(.w)x\(.h)"' "$dir/$name.json")
	perses=$(jq -r '.spec | .panels as $p | .layouts[].spec.items[] | select($p[.content."$ref" | sub(".*/"; "")].spec.plugin.kind)
		| "\(.width)x\(.height)"' "$dir/../perses/$name.json")
	is "$perses" "$grafana" "Perses has each panel of $name, of the same size, in the same order"
done
is "$(jq -r '.spec.panels[].spec | (.queries[].spec.plugin.spec.query | select(test("\\$__range|_datasource"))),
	(.display.name | select(. == ""))' "$dir"/../perses/*.json)" "" "no query has what Perses does not know"
done_testing
