#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The dashboards on a real Prometheus with a real node_exporter, and on MariaDB: which panels have data while jobs run, and
# that a job's energy there is what sacct says. The rules are evaluated meanwhile, and three alerts brought about.
# shellcheck disable=SC1091,SC2154,SC2016
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather jobcomp
. "$(dirname "$0")/energy.sh"
for tool in prometheus prometheus-node-exporter curl; do
	command -v $tool >/dev/null || skip_all "$tool is not installed (contrib/deps test)"
done
"$ceems" --help | grep -q '^  dashboards ' || skip_all "built without ceems dashboards"
dashboards=${E2E_BUILDDIR:-$(e2e_builddir)}/contrib/grafana
perf=()
plugins=acct_gather,jobcomp
if [ -e "${E2E_BUILDDIR:-$(e2e_builddir)}/spank/.libs/spank_ceems.so" ]; then
	plugins=acct_gather,jobcomp,spank
	perf=("--ceems-perf=io,net")
fi
cluster_up --plugins $plugins --fake-rapl --fake-gpus 2 --cpus 8 \
	--ceems-conf <(printf '%s\n' Country=FR MarketFactor=20 MarketSource=test IdleWatts=1)
grep -q '^Sinks=.*mariadb' "$CEEMS_CONF" || skip_all "no MariaDB sink in this build"

# --- Prometheus and node_exporter -----------------------------------------------------------------

free_port() {
	/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
pids=
trap 'kill $pids 2>/dev/null; e2e_cleanup' EXIT
# the node's, and the controller's where its recorder writes one
targets=
for folder in n1 ceems; do
	[ -d "$TEXTFILE_DIR/$folder" ] || continue
	port=$(free_port)
	prometheus-node-exporter --collector.disable-defaults --collector.textfile \
		--collector.textfile.directory="$TEXTFILE_DIR/$folder" --web.listen-address="127.0.0.1:$port" \
		>"$e2e_work/exporter.$folder.log" 2>&1 &
	pids="$pids $!"
	targets="$targets${targets:+, }\"127.0.0.1:$port\""
done
port=$(free_port)
url=http://127.0.0.1:$port
rules=$e2e_top/contrib/prometheus
# the rules as they are, but for times: what must last for minutes lasts for seconds here; and over seconds, a rate is rough
sed 's/vector(0.9)/vector(0.5)/; s/vector(60)/vector(10)/; s/vector(120)/vector(10)/' "$rules/ceems-thresholds.rules" >"$e2e_work/ceems-thresholds.rules"
sed 's/^\( *for:\) .*/\1 1s/; s/\[[0-9]*[mh]\]/[20s]/g' "$rules/ceems.rules" >"$e2e_work/ceems.rules"
cat >"$e2e_work/prometheus.yml" <<EOY
global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: [ "$e2e_work/ceems.rules", "$e2e_work/ceems-thresholds.rules" ]
scrape_configs:
  - job_name: compute
    static_configs: [ { targets: [ $targets ], labels: { cluster: mine, node_type: a } } ]
EOY
prometheus --config.file="$e2e_work/prometheus.yml" --storage.tsdb.path="$e2e_work/tsdb" \
	--web.listen-address="127.0.0.1:$port" >"$e2e_work/prometheus.log" 2>&1 &
pids="$pids $!"
# value PROMQL
value() {
	curl -s --data-urlencode "query=$1" "$url/api/v1/query" | jq -r '.data.result[0].value[1] // empty'
}

# --- jobs ---------------------------------------------------------------------------------------------

# One GPU is used by a process, the other one by none; with what both use meanwhile.
use_gpus() {
	"$cluster" gpu "$DIR" n1 0 +500 \
		processes=1,reasons=4,gpm=1.50+2.40+3.20+5.10+10.25+12.30+11.5+13.6+20.2+21.3+60.1+61.2 30 4096
	"$cluster" gpu "$DIR" n1 1 +100 ok 0 1024
	echo $(($(fed_uj) + 600000)) >"$DIR/fed.n1"
}
use_gpus
restart_slurmd
work_write
first=$(submit user3 -n1 -o /dev/null --wrap true) # the controller tells of jobs that have ended
bpf_is_loaded || diag "no BPF here: no I/O and no network"
job=$(submit user1 -n2 --gres=gpu:1 --mem=200 -o /dev/null \
	--wrap "srun ${perf[*]} -n1 --gres=gpu:1 timeout 900 $e2e_work/work $e2e_work/end")
idle=$(submit user2 -n1 --gres=gpu:1 -o /dev/null --wrap "sleep 900")
wait_for 120 job_is "$first" COMPLETED
wait_for 120 has_step "$job" 0
wait_for 120 has_step "$idle" batch

# What has no data here, each with its reason; a metric that appears may go from the list.
known='ceems_factors_' # no factors are fetched here
known="$known|ceems_recorder_(store_max_bytes|factor_age)" # neither StoreMaxSize nor a series of factors
[ -d "$TEXTFILE_DIR/ceems" ] || known="$known|ceems_(recorder|controller)_"
known="$known|ceems_perf_(cpucycles|instructions|cache|branch)" # no PMU, and not asked for
known="$known|ceems_compute_unit_(cpu|memory|io)_(pressure|throttled|user|system)|ceems_compute_unit_memory_" # cgroups of this machine
known="$known|ceems_compute_unit_io_|ceems_ebpf_|ceems_perf_" # BPF that this kernel may refuse
known="$known|ceems_emission_factor_age" # a yearly factor does not age
known="$known|ceems_gpu_ecc_|ceems_gpu_sm_clock|ceems_gpu_memory_clock|ceems_gpu_power_limit" # the stand-in does not tell
unexpected() {
	feed 3000000 300000
	use_gpus
	"$ceems" dashboards --dir "$dashboards" --check "$url" --set jobid="$job" >"$e2e_work/panels" 2>&1 || return 1
	grep -E ': (empty|in part): ' "$e2e_work/panels" | grep -vE ": no ($known)|(Questions to Slurm's daemons|Time in slurmctld's hook): in part"
	return 0
}
all_have_data() {
	out=$(unexpected) && printf '%s\n' "$out" && [ -z "$out" ]
}
wait_for 60 all_have_data
is "$(unexpected)" "" "panels of the dashboards have data"
diag "$(tail -n 1 "$e2e_work/panels")"
grep -E ': (empty|in part): ' "$e2e_work/panels" | diag
is "$(curl -s "$url/api/v1/rules" | jq -r '[.data.groups[].rules[] | select(.health != "ok") | .name + ": " + .lastError] | unique[]')" \
	"" "no rule fails"

# --- alerts ---------------------------------------------------------------------------------------------

fires() {
	curl -s "$url/api/v1/alerts" | jq -e --arg name "$1" --arg key "$2" --arg value "$3" \
		'.data.alerts[] | select(.labels.alertname == $name and .labels[$key] == $value and .state == "firing")'
}
wait_for 120 fires CeemsGpuWithoutProcess uuid "$idle"
ok $? "a GPU that is held and that no process opens fires an alert"
has "$out" "Job $idle holds GPUs that no process uses" "which says whose"
! fires CeemsGpuWithoutProcess uuid "$job" >/dev/null
ok $? "the job whose process uses its GPU fires none"
diag "series of the node: $(grep -vc '^#' "$TEXTFILE_DIR/n1/ceems.prom"), of job $job: $(grep -c "uuid=\"$job\"" "$TEXTFILE_DIR/n1/ceems.prom")"

# --- the same energy -------------------------------------------------------------------------------------

# what was fed last has been scraped
is_scraped() {
	local j
	j=$(value "sum(last_over_time(ceems_compute_unit_energy_joules_total{uuid=\"$job\"}[1h]))")
	[ -n "$j" ] && [ "${j%.*}" = "$(($(job_energy_uj "$job") / 1000000))" ] && ledger_has_all
}
wait_for 60 is_scraped
: >"$e2e_work/end"
wait_for 120 job_is "$job" COMPLETED
inside scancel "$idle"
wait_energy "$job"
sacct_j=$(job_acct "$job" ConsumedEnergyRaw)
seen_j=$(value "sum(last_over_time(ceems_compute_unit_energy_joules_total{uuid=\"$job\"}[1h]))")
awk -v a="$sacct_j" -v b="$seen_j" 'BEGIN { exit !(a > 1 && a - b <= 1 && b - a <= 1) }'
ok $? "the sum over the job is sacct's energy: $seen_j J, $sacct_j J"

# --- MariaDB ----------------------------------------------------------------------------------------------

is_stored() {
	[ "$(sql "select count(*) from job where jobid in ($job, $idle) and energy_j is not null")" = 2 ]
}
wait_for 120 is_stored
account=$(sql "select account from job where jobid = $job")
jq -r '.title as $d | .panels[] | .title as $p | .targets[]? | select(.rawSql) | [$d + ", " + $p, .rawSql] | @tsv' \
	"$dashboards"/*.json | sed -E "s/\\\$\{username:sqlstring\}/'user1'/g; s/\\\$\{account:sqlstring\}/'$account'/g
	s/\\\$\{cluster:regex\}/.*/g; s/\\\$jobid/$job/g
	s/\\\$__timeFilter\(([a-z_]*)\)/\1 BETWEEN UTC_TIMESTAMP() - INTERVAL 2 DAY AND UTC_TIMESTAMP() + INTERVAL 1 DAY/g" \
	>"$e2e_work/sql"
n=0
while IFS=$'\t' read -r panel query; do
	n=$((n + 1))
	case $query in *'$'[a-z_\{]*) echo "$panel: a variable is left: $query" ;; esac
	rows=$(sql "$query" 2>&1) || { echo "$panel: $rows"; continue; }
	[ -n "$(printf '%s' "$rows" | grep -v '^NULL$')" ] || echo "$panel: no rows"
done <"$e2e_work/sql" >"$e2e_work/sql.bad"
is "$(cat "$e2e_work/sql.bad")" "" "MariaDB's panels have rows"
[ "$(wc -l <"$e2e_work/sql")" -ge 20 ]
ok $? "all $(wc -l <"$e2e_work/sql") of them"

# --- slurmd hangs -------------------------------------------------------------------------------------------

slurmd=$(inside cat "$DIR/run/pid/slurmd.n1")
inside kill -STOP "$slurmd"
wait_for 120 fires CeemsSampleOld hostname n1
ok $? "a slurmd that hangs fires an alert"
wait_for 120 fires CeemsTextfileStale cluster mine
ok $? "and so does its ceems.prom"
inside kill -CONT "$slurmd"
done_testing
