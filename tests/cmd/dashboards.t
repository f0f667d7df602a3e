#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `ceems dashboards` with a fake Prometheus server: its queries, and what it prints for each answer.
. "$top_srcdir/tests/tap/tap.sh"
ceems=$top_builddir/src/cmd/ceems
"$ceems" --help 2>/dev/null | grep -q '^  dashboards ' || skip_all "built without ceems dashboards"
command -v python3 >/dev/null || skip_all "no python3"
work=$(mktemp -d)
trap 'kill $server 2>/dev/null; rm -rf "$work"' EXIT
mkdir "$work/d" "$work/none"

cat >"$work/serve.py" <<'E'
import http.server, json, os, sys, urllib.parse
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        form = self.rfile.read(int(self.headers['Content-Length'])).decode()
        query = urllib.parse.parse_qs(form)['query'][0]
        with open(sys.argv[1] + '/asked', 'a') as f:
            f.write(self.path + ' ' + query + '\n')
        status, answer = 200, {'status': 'success', 'data': {'resultType': 'vector', 'result': []}}
        if query.startswith('topk'):
            answer['data']['result'] = [{'metric': {'uuid': '7\033[2J'}, 'value': [0, '1']}]
        elif 'broken' in query:
            status, answer = 400, {'status': 'error', 'error': 'parse error\033[2J'}
        elif 'cpus' in query:
            answer['data']['result'] = [{'metric': {}, 'value': [0, '1']}]
        body = b'<html>' if 'html' in query else json.dumps(answer).encode()
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
with open(sys.argv[1] + '/port.new', 'w') as f:
    f.write(str(server.server_port))
os.rename(sys.argv[1] + '/port.new', sys.argv[1] + '/port')
server.serve_forever()
E
python3 "$work/serve.py" "$work" &
server=$!
n=0
until [ -s "$work/port" ] || [ $n -ge 600 ]; do
	sleep 0.1
	n=$((n + 1))
done
url=http://127.0.0.1:$(cat "$work/port")

# dashboard QUERY...: makes a dashboard with a panel for each QUERY
dashboard() {
	{
		echo '{"title": "D", "templating": {"list": [
			{"name": "prometheus_datasource", "type": "datasource", "query": "prometheus"},
			{"name": "cluster", "type": "query", "includeAll": true, "query": {"query": "label_values(x, cluster)"}},
			{"name": "jobid", "type": "query", "query": {"query": "label_values(y{cluster=~\"$cluster\"}, uuid)"}}]}, "panels": ['
		for query; do
			printf '{"title": "%s", "targets": [%s]},\n' "P${query%%[!a-z_]*}" "$query"
		done
		echo '{"type": "row", "title": "R"}]}'
	} >"$work/d/d.json"
}
check() {
	: >"$work/asked"
	"$ceems" dashboards --dir "$work/d" --check "$url/" "$@" 2>&1
	echo "rc $?"
}

dashboard '{"expr": "rate(ceems_compute_unit_cpus{cluster=~\"$cluster\",uuid=\"${jobid}\"}[$__rate_interval]) > $__other"}'
out=$(check --set jobid=8)
is "$out" "1 panels ask Prometheus: 1 have data, 0 in part, 0 are empty. 0 ask MariaDB and were not tried.
rc 0" "a panel with data"
is "$(cat "$work/asked")" \
	"/api/v1/query rate(ceems_compute_unit_cpus{cluster=~\".*\",uuid=\"8\"}[5m]) > \$__other" "asked with variables filled in"
check >/dev/null
is "$(head -n 1 "$work/asked")" '/api/v1/query topk(1, count by (uuid) (y{cluster=~".*"}))' \
	"a variable has the value that most series have"

dashboard '{"expr": "ceems_compute_unit_cpus / ceems_gpu_power_watts{x=\"1\"}"}, {"expr": "ceems_gpu_power_watts"}' \
	'{"expr": "ceems_perf_cpucycles_total"}' '{"expr": "ceems_x"}' '{"expr": "up"}' '{"rawSql": "SELECT 1"}'
out=$(check)
has "$out" "D, P: in part: no ceems_gpu_power_watts; it needs GPUs that NVML, AMD SMI, ROCm SMI or Intel's driver sees" "one that is empty in part"
has "$out" "empty: no ceems_perf_cpucycles_total; it needs steps with --ceems-perf=hw" "what a job has to ask for"
has "$out" "empty: no ceems_x; it needs TextfileDir in ceems.conf" "what a site has to set"
has "$out" "empty: the metrics exist, but not with these variables" "what is there for others"
has "$out" "4 panels ask Prometheus: 0 have data, 1 in part, 3 are empty. 1 ask MariaDB" "the sum"
has "$out" "rc 0" "which is no error"

dashboard '{"expr": "broken("}'
out=$(check)
has "$out" "ceems: D, P: parse error?[2J" "a query that is refused, without what a terminal would obey"
has "$out" "rc 1" "is an error"
dashboard '{"expr": "html"}'
has "$(check)" "/api/v1/query: the answer is not one of Prometheus" "another server"
kill $server
wait $server 2>/dev/null
has "$(check)" "Failed to connect" "none"
echo '[1]' >"$work/d/d.json"
has "$(check)" "d.json: not a dashboard of Grafana" "another file"
echo '{' >"$work/d/d.json"
has "$(check)" "d.json: " "a broken one"
has "$("$ceems" dashboards --dir "$work/none" 2>&1)" "no dashboards" "an empty folder"
has "$("$ceems" dashboards --dir "$work/nowhere" 2>&1)" "No such file" "and none"
has "$("$ceems" dashboards --check "$url" --set x 2>&1)" "--set needs NAME=VALUE" "a bad --set"
has "$("$ceems" dashboards --dir "$top_builddir/contrib/grafana")" "CEEMS / Job" "it lists what is installed"
done_testing
