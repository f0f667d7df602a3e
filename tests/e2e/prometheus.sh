# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154,SC2034
# prometheus.sh - for tests with a real Prometheus, after lib.sh: starts Prometheus and exporters outside of the
# cluster's namespaces, and ends them with the test.
for e2e_tool in prometheus prometheus-node-exporter curl; do
	command -v $e2e_tool >/dev/null || skip_all "$e2e_tool is not installed (contrib/deps test)"
done
prometheus_pids=
trap prometheus_cleanup EXIT
prometheus_cleanup() {
	local status=$?

	# shellcheck disable=SC2086 # one word each
	[ -z "$prometheus_pids" ] || kill $prometheus_pids 2>/dev/null
	(exit $status)
	e2e_cleanup
}

free_port() {
	/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# beside NAME COMMAND...: starts COMMAND in the background. Its output is in $e2e_work/NAME.log, its pid in $beside.
beside() {
	local name=$1

	shift
	"$@" >"$e2e_work/$name.log" 2>&1 &
	beside=$!
	prometheus_pids="$prometheus_pids $beside"
}

# start_exporter FOLDER [OPTION...]: starts node_exporter for a folder in TEXTFILE_DIR, adds it to $targets, and sets
# ${exporter[FOLDER]} to its address.
targets=
declare -A exporter
start_exporter() {
	local folder=$1

	shift
	exporter[$folder]=127.0.0.1:$(free_port)
	beside "exporter.$folder" prometheus-node-exporter --collector.disable-defaults --collector.textfile \
		--collector.textfile.directory="$TEXTFILE_DIR/$folder" --web.listen-address="${exporter[$folder]}" "$@"
	targets="$targets${targets:+, }\"${exporter[$folder]}\""
}

# start_prometheus RULES [LINE]: starts Prometheus with these rule files, separated by commas, and LINE in its
# configuration. Sets $url and $prometheus (its pid).
start_prometheus() {
	local port

	port=$(free_port)
	url=http://127.0.0.1:$port
	cat >"$e2e_work/prometheus.yml" <<-EOT
		global: { scrape_interval: 1s, evaluation_interval: 1s }
		rule_files: [ $1 ]
		${2:-}
		scrape_configs:
		  - job_name: compute
		    static_configs: [ { targets: [ $targets ], labels: { cluster: mine, node_type: a } } ]
	EOT
	beside prometheus prometheus --config.file="$e2e_work/prometheus.yml" --storage.tsdb.path="$e2e_work/tsdb" \
		--web.listen-address="127.0.0.1:$port"
	prometheus=$beside
}

# is_firing ALERT LABEL VALUE: prints the firing alert as Prometheus has it; false if it does not fire.
is_firing() {
	curl -s "$url/api/v1/alerts" | jq -e --arg name "$1" --arg key "$2" --arg value "$3" 'first(.data.alerts[]
		| select(.labels.alertname == $name and .labels[$key] == $value and .state == "firing"))'
}

# failing_rules: prints the rules that Prometheus cannot evaluate
failing_rules() {
	curl -s "$url/api/v1/rules" |
		jq -r '[.data.groups[].rules[] | select(.health != "ok") | .name + ": " + .lastError] | unique[]'
}
