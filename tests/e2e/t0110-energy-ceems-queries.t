#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# CEEMS's dashboards on a Prometheus with contrib/prometheus/ceems-compat.rules: each query about a long-running job
# and its node must have a value, from a real ceems.prom.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather
. "$(dirname "$0")/energy.sh"
for tool in prometheus promtool python3 curl jq; do
	command -v $tool >/dev/null || skip_all "$tool is not installed (contrib/deps test)"
done
rules=$e2e_top/contrib/prometheus/ceems-compat.rules
passes "the rules are valid" promtool check rules "$rules"
cluster_up --plugins acct_gather --fake-rapl --cpus 4 --ceems-conf <(printf 'Country=FR\nTextfileRapl=yes\n')
prom=$TEXTFILE_DIR/n1/ceems.prom
job=$(submit user1 --mem=100 -o /dev/null --wrap "exec timeout 600 sh -c 'while :; do :; done'")
wait_for 60 job_is "$job" RUNNING

# Serves ceems.prom and, as node_exporter would, what /proc says; prints its port.
cat >"$e2e_work/serve.py" <<'EOP'
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        out = []
        for line in open('/proc/stat'):
            f = line.split()
            if f[0].startswith('cpu') and f[0] != 'cpu':
                for mode, v in zip(('user', 'nice', 'system', 'idle', 'iowait', 'irq', 'softirq', 'steal'), f[1:]):
                    out.append('node_cpu_seconds_total{cpu="%s",mode="%s"} %s' % (f[0][3:], mode, int(v) / 100))
                out.append('node_cpu_info{cpu="%s",core="%s",package="0"} 1' % (f[0][3:], f[0][3:]))
        for line in open('/proc/meminfo'):
            name, v = line.split()[:2]
            if name in ('MemTotal:', 'MemAvailable:', 'MemFree:'):
                out.append('node_memory_%s_bytes %d' % (name[:-1], int(v) * 1024))
        body = (open(sys.argv[1]).read() + '\n'.join(sorted(out)) + '\n').encode()
        self.send_response(200)
        self.send_header('Content-Type', 'text/plain; version=0.0.4')
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
with open(sys.argv[2] + '.new', 'w') as f:
    f.write('%d\n' % server.server_port)
os.rename(sys.argv[2] + '.new', sys.argv[2])
server.serve_forever()
EOP
wait_for 60 test -s "$prom"
python3 "$e2e_work/serve.py" "$prom" "$e2e_work/port" &
pids=$!
trap 'kill $pids 2>/dev/null; e2e_cleanup' EXIT
wait_for 30 test -s "$e2e_work/port"
cat >"$e2e_work/prometheus.yml" <<EOY
global: { scrape_interval: 2s, evaluation_interval: 2s }
rule_files: [ "$rules" ]
scrape_configs:
  - job_name: node
    static_configs: [ { targets: [ "127.0.0.1:$(cat "$e2e_work/port")" ], labels: { instance: n1 } } ]
EOY
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
prometheus --config.file="$e2e_work/prometheus.yml" --storage.tsdb.path="$e2e_work/tsdb" \
	--web.listen-address="127.0.0.1:$port" >"$e2e_work/prometheus.log" 2>&1 &
pids="$pids $!"

# Prints the queries of CEEMS's dashboards and rules: metric names with selectors
of_job='uuid:ceems_cpu_usage:ratio_irate uuid:ceems_host_power_watts:pue uuid:ceems_host_emissions_g_s:pue
ceems_compute_unit_cpus ceems_compute_unit_memory_total_bytes ceems_compute_unit_memory_rss_bytes
ceems_compute_unit_cpu_user_seconds_total ceems_compute_unit_cpu_system_seconds_total'
if find /sys/fs/cgroup -maxdepth 2 -name 'memory.stat' 2>/dev/null | grep -q .; then
	of_job="$of_job ceems_compute_unit_memory_used_bytes ceems_compute_unit_memory_cache_bytes
uuid:ceems_cpu_memory_usage:ratio"
fi
if bpf_is_loaded; then
	of_job="$of_job ceems_ebpf_read_bytes_total ceems_ebpf_write_bytes_total ceems_ebpf_read_requests_total
ceems_ebpf_write_requests_total ceems_perf_context_switches_total ceems_perf_cpu_migrations_total
ceems_perf_major_faults_total ceems_perf_minor_faults_total"
fi
of_node='ceems_compute_units ceems_rapl_package_joules_total ceems_rapl_dram_joules_total ceems_cpu_seconds_total
ceems_cpu_count ceems_cpu_per_core_count ceems_meminfo_MemTotal_bytes ceems_meminfo_MemAvailable_bytes'
of_all='job:ceems_cpu_usage:avg_ratio_irate job:ceems_cpu_memory_usage:avg_ratio job:ceems_host_power_watts:pue
job:ceems_host_emissions_g_s:pue'
queries() {
	local name
	for name in $of_job; do echo "$name{instance=~\"n1\",uuid=\"$job\"}"; done
	for name in $of_node; do echo "$name{instance=\"n1\"}"; done
	for name in $of_all; do echo "$name{job=~\"node\"}"; done
	echo 'ceems_emissions_gCo2_kWh{provider="ceems",country_code="FR"}'
	echo "uuid:ceems_host_emissions_g_s:pue{uuid=\"$job\",provider=\"ceems\",country_code=\"FR\"}"
	echo "sum(irate(ceems_compute_unit_cpu_user_seconds_total{uuid=\"$job\"}[1m]))"
	echo "uuid:ceems_host_power_watts:pue{uuid=\"$job\"} > 0"
	echo "uuid:ceems_cpu_usage:ratio_irate{uuid=\"$job\"} > 0"
}
# The queries that have no data.
without_data() {
	queries | python3 -c '
import json, sys, urllib.parse, urllib.request
for q in sys.stdin.read().splitlines():
    url = sys.argv[1] + "/api/v1/query?" + urllib.parse.urlencode({"query": q})
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            if json.load(answer)["data"]["result"]:
                continue
    except OSError as e:
        q += ": %s" % e
    print(q)' "http://127.0.0.1:$port"
}
have_all() {
	"$cluster" rapl "$DIR" n1 0 +5000000
	without_data >"$e2e_work/without"
	[ ! -s "$e2e_work/without" ]
}
# the file is written every 5 s, so irate() of scrapes 2 s apart is 0 now and then
wait_for 90 have_all
is "$(cat "$e2e_work/without")" "" "all of $(queries | wc -l) queries have data"
is "$(curl -s "http://127.0.0.1:$port/api/v1/rules" |
	jq -r '[.data.groups[].rules[] | select(.health != "ok") | .name + ": " + .lastError] | unique[]')" "" \
	"no rule fails"
done_testing
