#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The dashboards on a real Prometheus with a real node_exporter, and on MariaDB: all panels that can have data on this
# machine must have it while jobs run, and a job's energy must be sacct's. The rules must evaluate, and three alerts are
# caused and must fire.
# shellcheck disable=SC1091,SC2154,SC2016
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather jobcomp
. "$(dirname "$0")/energy.sh"
. "$(dirname "$0")/prometheus.sh"
"$ceems" --help | grep -q '^  dashboards ' || skip_all "built without ceems dashboards"
dashboards=${E2E_BUILDDIR:-$(e2e_builddir)}/contrib/grafana
perf=()
plugins=acct_gather,jobcomp
if [ -e "${E2E_BUILDDIR:-$(e2e_builddir)}/spank/.libs/spank_ceems.so" ]; then
	plugins=acct_gather,jobcomp,spank
	perf=("--ceems-perf=io,net")
fi
series=$e2e_work/factors.csv
now=$(date +%s)
cat >"$series" <<EOS
from,until,gco2e_per_kwh,kind,scope,region,fetched,source
$(date -u -d "@$((now - 3600))" +%FT%TZ),$(date -u -d "@$((now + 7200))" +%FT%TZ),50,average,direct,FR,$(date -u +%FT%TZ),test
EOS
chmod 644 "$series"
cluster_up --plugins $plugins --fake-rapl --fake-gpus 2 --cpus 8 \
	--ceems-conf <(printf '%s\n' Country=FR MarketFactor=20 MarketSource=test IdleWatts=1 "EmissionSeriesFile=$series")
grep -q '^Sinks=.*mariadb' "$CEEMS_CONF" || skip_all "no MariaDB sink in this build"

# --- Prometheus and node_exporter -----------------------------------------------------------------

# the node's, and the controller's where its recorder writes one
for folder in n1 ceems; do
	[ ! -d "$TEXTFILE_DIR/$folder" ] || start_exporter $folder --collector.cpu --collector.cpu.info --collector.meminfo
done
rules=$e2e_top/contrib/prometheus
# the rules with shorter times: seconds instead of minutes. Over seconds a rate is only approximate
sed 's/vector(0.9)/vector(0.5)/; s/vector(60)/vector(10)/; s/vector(120)/vector(10)/' "$rules/ceems-thresholds.rules" >"$e2e_work/ceems-thresholds.rules"
sed 's/^\( *for:\) .*/\1 1s/; s/\[[0-9]*[mh]\]/[20s]/g' "$rules/ceems.rules" >"$e2e_work/ceems.rules"
start_prometheus "$e2e_work/ceems.rules, $e2e_work/ceems-thresholds.rules, $rules/ceems-compat.rules"
# value PROMQL
value() {
	curl -s --data-urlencode "query=$1" "$url/api/v1/query" | jq -r '.data.result[0].value[1] // empty'
}

# --- jobs ---------------------------------------------------------------------------------------------

# A process uses one GPU, none the other; both use energy.
use_gpus() {
	"$cluster" gpu "$DIR" n1 0 +500 \
		processes=1,reasons=4,gpm=1.50+2.40+3.20+5.10+10.25+12.30+11.5+13.6+20.2+21.3+60.1+61.2 30 4096
	"$cluster" gpu "$DIR" n1 1 +100 ok 0 1024
	echo $(($(fed_uj) + 600000)) >"$DIR/fed.n1"
}
use_gpus
restart_slurmd
work_write
bpf_is_loaded || diag "no BPF here: no I/O and no network"
job=$(submit user1 -n2 --gres=gpu:1 --mem=200 -o /dev/null \
	--wrap "srun ${perf[*]} -n1 --gres=gpu:1 timeout 900 $e2e_work/work $e2e_work/end")
idle=$(submit user2 -n1 --gres=gpu:1 -o /dev/null --wrap "sleep 900")
wait_for 120 has_step "$job" 0
wait_for 120 has_step "$idle" batch

# An update of factors that fails has numbers, too.
printf '%s\n' Providers=rte "SeriesFile=$e2e_work/fetched.csv" RteUrl=https://127.0.0.1:1 Tries=1 >"$e2e_work/ceems-factors.conf"
inside "$ceems" factors update --conf "$CEEMS_CONF" --factors-conf "$e2e_work/ceems-factors.conf" >/dev/null 2>&1

# Metrics that have no data in this test, with the reason. Remove a metric that has data.
known='ceems_factors_until' # no provider answers
known="$known|ceems_perf_(cpucycles|instructions|cache|branch)" # no PMU, and not asked for
known="$known|ceems_compute_unit_(cpu|memory|io)_(pressure|throttled|user|system)|ceems_compute_unit_memory_" # depends on this machine's cgroups
known="$known|ceems_compute_unit_io_|ceems_ebpf_|ceems_perf_" # this kernel may refuse BPF
known="$known|ceems_emission_factor_age" # a yearly factor does not age
known="$known|ceems_gpu_ecc_|ceems_gpu_sm_clock|ceems_gpu_memory_clock|ceems_gpu_power_limit" # not in tests/fake's NVML library
unexpected() {
	feed 3000000 300000
	use_gpus
	submit user3 -n1 -o /dev/null --wrap true >/dev/null # a job that ends, for the controller's series
	"$ceems" dashboards --dir "$dashboards" --check "$url" --set jobid="$job" >"$e2e_work/panels" 2>&1 || return 1
	grep -E ': (empty|in part): ' "$e2e_work/panels" | grep -vE ": no ($known)"
	return 0
}
all_have_data() {
	out=$(unexpected) && printf '%s\n' "$out" && [ -z "$out" ]
}
wait_for 60 all_have_data
is "$out" "" "panels of the dashboards have data"
diag "$(tail -n 1 "$e2e_work/panels")"
grep -E ': (empty|in part): ' "$e2e_work/panels" | diag
is "$(failing_rules)" "" "no rule fails"

# --- CEEMS's dashboards --------------------------------------------------------------------------------

# Prints the metrics of doc/ceems-compat.md that should have data on this machine and have none.
there='always|GPM'
find /sys/fs/cgroup -maxdepth 2 -name memory.stat 2>/dev/null | grep -q . && there="$there|memory cgroup"
! bpf_is_loaded || there="$there|with BPF${perf:+|ceems-perf=net}"
ceems_without_data() {
	feed 3000000 300000
	use_gpus
	grep -E "^\\| (Cluster Status|Single Job Metrics) .*\\| [^|]*($there)[^|]* \\|\$" "$e2e_top/doc/ceems-compat.md" |
		grep -oE '`([a-z]+:)?ceems_[a-z0-9_:]+`' | tr -d '`' | sort -u >"$e2e_work/asked"
	while read -r name; do
		[ -n "$(value "last_over_time(${name}[1m])")" ] || echo "$name"
	done <"$e2e_work/asked"
}
ceems_has_data() {
	out=$(ceems_without_data)
	printf '%s\n' "$out"
	[ -z "$out" ]
}
wait_for 60 ceems_has_data
is "$out" "" "all $(wc -l <"$e2e_work/asked") series that CEEMS's dashboards ask for have data, as doc/ceems-compat.md says"

# --- alerts ---------------------------------------------------------------------------------------------

wait_for 120 is_firing CeemsGpuWithoutProcess uuid "$idle"
ok $? "a GPU that is held and that no process opens fires an alert"
has "$out" "Job $idle holds GPUs that no process uses" "which says whose"
! is_firing CeemsGpuWithoutProcess uuid "$job" >/dev/null
ok $? "the job whose process uses its GPU fires none"
diag "series of the node: $(grep -vc '^#' "$TEXTFILE_DIR/n1/ceems.prom"), of job $job: $(grep -c "uuid=\"$job\"" "$TEXTFILE_DIR/n1/ceems.prom")"

# --- the same energy -------------------------------------------------------------------------------------

# wait until the last feed has been scraped
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
	s/\\\$\{cluster:regex\}/.*/g; s/\\\$\{jobid:sqlstring\}/'$job'/g; s/\\\$jobid/$job/g
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
wait_for 120 is_firing CeemsSampleOld hostname n1
ok $? "a slurmd that hangs fires an alert"
wait_for 120 is_firing CeemsTextfileStale cluster mine
ok $? "and so does its ceems.prom"
inside kill -CONT "$slurmd"
done_testing
