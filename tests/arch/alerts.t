#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# contrib/prometheus: each alert must fire and not fire in the cases below, have a section in the runbook, and go to the
# right receiver of Alertmanager's example. Series are in promtool's notation: "0+60x90" is 0, 60, ... 5400.
# shellcheck disable=SC2154
. "$top_srcdir/tests/tap/tap.sh"
command -v promtool >/dev/null || skip_all "promtool is not installed (contrib/deps test)"
rules=$(readlink -f "$top_srcdir/contrib/prometheus")
runbook=$top_srcdir/doc/runbook.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

begin_cases() {
	printf '%s\n' "rule_files: [ $1 ]" 'evaluation_interval: 5m' 'tests:' >"$work/tests.yml"
}

# add_case ALERT TIME COUNT: with the series on standard input, COUNT of ALERT must fire at TIME.
add_case() {
	local series values
	printf '  - interval: 1m\n    name: %s\n    input_series:\n' "$1 $3"
	while read -r series values; do
		printf "      - { series: '%s', values: '%s' }\n" "$series" "$values"
	done
	printf '    promql_expr_test:\n      - expr: %s\n        eval_time: %s\n' \
		"'count(ALERTS{alertname=\"$1\", alertstate=\"firing\"}) or vector(0)'" "$2"
	printf '        exp_samples: [ { labels: "{}", value: %s } ]\n' "$3"
}
fires() {
	echo "$1" >>"$work/fires"
	add_case "$1" "$2" 1 >>"$work/tests.yml"
}
silent() {
	echo "$1" >>"$work/silent"
	add_case "$1" "$2" 0 >>"$work/tests.yml"
}

begin_cases "\"$rules/ceems-thresholds.rules\", \"$rules/ceems.rules\""
job='uuid="7",hostname="n1"'
fires CeemsGpuWithoutProcess 2h <<E
ceems_compute_unit_gpu_no_process_seconds_total{$job} 0+60x120
E
silent CeemsGpuWithoutProcess 2h <<E
ceems_compute_unit_gpu_no_process_seconds_total{$job} 0+60x40 2400+0x80
E
fires CeemsGpuIdle 3h <<E
ceems_compute_unit_gpu_busy_seconds_total{$job} 7+0x180
ceems_compute_unit_gpu_held_seconds_total{$job} 0+60x180
E
# must not fire: a GPU busy for half of the time, and an idle GPU without a process, for which there is another alert
silent CeemsGpuIdle 3h <<E
ceems_compute_unit_gpu_busy_seconds_total{$job} 0+30x180
ceems_compute_unit_gpu_held_seconds_total{$job} 0+60x180
ceems_compute_unit_gpu_busy_seconds_total{uuid="8"} 0+0x180
ceems_compute_unit_gpu_held_seconds_total{uuid="8"} 0+60x180
ceems_compute_unit_gpu_no_process_seconds_total{uuid="8"} 0+60x180
E
fires CeemsJobNoProgress 3h <<E
ceems_compute_unit_cpu_seconds_total{$job} 0+0.1x180
ceems_compute_unit_cpus{$job} 4+0x180
ceems_ebpf_ingress_bytes_total{$job,proto="tcp"} 0+10x180
E
# must not fire: each of CPU, GPU, file and network use is progress
silent CeemsJobNoProgress 3h <<E
ceems_compute_unit_cpu_seconds_total{uuid="1"} 0+60x180
ceems_compute_unit_cpus{uuid="1"} 4+0x180
ceems_compute_unit_cpu_seconds_total{uuid="2"} 0+0x180
ceems_compute_unit_cpus{uuid="2"} 4+0x180
ceems_compute_unit_gpu_busy_seconds_total{uuid="2"} 0+30x180
ceems_compute_unit_gpu_held_seconds_total{uuid="2"} 0+60x180
ceems_compute_unit_cpu_seconds_total{uuid="3"} 0+0x180
ceems_compute_unit_cpus{uuid="3"} 4+0x180
ceems_compute_unit_io_write_bytes_total{uuid="3"} 0+600000x180
ceems_compute_unit_cpu_seconds_total{uuid="4"} 0+0x180
ceems_compute_unit_cpus{uuid="4"} 4+0x180
ceems_ebpf_ingress_bytes_total{uuid="4",proto="tcp"} 0+600000x180
E
fires CeemsSampleOld 20m <<E
ceems_ledger_last_tick_timestamp_seconds{hostname="n1"} 0+60x5 300+0x20
ceems_sampler_running{hostname="n1"} 1+0x30
E
# the second one's slurmd was stopped
silent CeemsSampleOld 20m <<E
ceems_ledger_last_tick_timestamp_seconds{hostname="n1"} 0+60x30
ceems_sampler_running{hostname="n1"} 1+0x30
ceems_ledger_last_tick_timestamp_seconds{hostname="n2"} 300+0x30
ceems_sampler_running{hostname="n2"} 0+0x30
E
fires CeemsSensorReplaced 2h <<E
ceems_energy_source_info{hostname="n1",domain="cpu",source="rapl",estimate="false"} 1+0x30 stale
ceems_energy_source_info{hostname="n1",domain="cpu",source="model",estimate="true"} _x30 1+0x90
E
# the first never had one, the second has one
silent CeemsSensorReplaced 2h <<E
ceems_energy_source_info{hostname="n1",domain="cpu",source="model",estimate="true"} 1+0x120
ceems_energy_source_info{hostname="n2",domain="cpu",source="rapl",estimate="false"} 1+0x120
E
fires CeemsSensorBad 1h <<E
ceems_sensor_late_readings_total{hostname="n1"} 0+1x60
ceems_sensor_rejected_readings_total{hostname="n1"} 3+0x60
E
silent CeemsSensorBad 1h <<E
ceems_sensor_late_readings_total{hostname="n1"} 0+0.2x60
ceems_sensor_rejected_readings_total{hostname="n1"} 300+0x60
E
fires CeemsConservationError 2m <<E
ceems_node_conservation_error_joules_total{hostname="n1"} 0.000001+0x5
E
silent CeemsConservationError 2m <<E
ceems_node_conservation_error_joules_total{hostname="n1"} 0+0x5
E
fires CeemsSensorsDisagree 4h <<E
ceems_node_sensor_disagreement_joules_total{hostname="n1"} 0+600x240
ceems_node_energy_joules_total{hostname="n1",domain="cpu"} 0+3000x240
ceems_node_energy_joules_total{hostname="n1",domain="dram"} 0+3000x240
E
silent CeemsSensorsDisagree 4h <<E
ceems_node_sensor_disagreement_joules_total{hostname="n1"} 0+60x240
ceems_node_energy_joules_total{hostname="n1",domain="cpu"} 0+3000x240
ceems_node_energy_joules_total{hostname="n1",domain="dram"} 0+3000x240
E
fires CeemsStepsLost 20m <<E
ceems_ledger_lost_steps_total{hostname="n1"} 0+0x10 1+0x20
ceems_ledger_refused_steps_total{hostname="n1"} 0+0x30
E
silent CeemsStepsLost 2h <<E
ceems_ledger_lost_steps_total{hostname="n1"} 5+0x120
ceems_ledger_refused_steps_total{hostname="n1"} 0+0x120
E
textfiles=/var/lib/prometheus/node-exporter
fires CeemsTextfileStale 20m <<E
node_textfile_mtime_seconds{instance="n1:9100",file="$textfiles/ceems.prom"} 300+0x30
E
silent CeemsTextfileStale 20m <<E
node_textfile_mtime_seconds{instance="n1:9100",file="$textfiles/ceems.prom"} 0+60x30
node_textfile_mtime_seconds{instance="n1:9100",file="$textfiles/apt.prom"} 0+0x30
E
fires CeemsIdlePowerHigh 7h <<E
ceems_node_idle_power_watts{hostname="n1",node_type="a"} 100+0x420
ceems_node_idle_power_watts{hostname="n2",node_type="a"} 100+0x420
ceems_node_idle_power_watts{hostname="n3",node_type="a"} 140+0x420
E
# must not fire: with two nodes of a type, none can be called an outlier
silent CeemsIdlePowerHigh 7h <<E
ceems_node_idle_power_watts{hostname="n1",node_type="a"} 100+0x420
ceems_node_idle_power_watts{hostname="n2",node_type="a"} 100+0x420
ceems_node_idle_power_watts{hostname="n3",node_type="a"} 110+0x420
ceems_node_idle_power_watts{hostname="n4",node_type="b"} 100+0x420
ceems_node_idle_power_watts{hostname="n5",node_type="b"} 300+0x420
E
fires CeemsUnallocatedHigh 14h <<E
ceems_node_unallocated_joules_total{hostname="n1",domain="cpu"} 0+4000x900
ceems_node_energy_joules_total{hostname="n1",domain="cpu"} 0+6000x900
ceems_node_energy_joules_total{hostname="n1",domain="other"} 0+6000x900
ceems_node_energy_joules_total{hostname="n2",domain="cpu"} 0+6000x900
E
silent CeemsUnallocatedHigh 14h <<E
ceems_node_unallocated_joules_total{hostname="n1",domain="cpu"} 0+1000x900
ceems_node_energy_joules_total{hostname="n1",domain="cpu"} 0+6000x900
E
fires CeemsFactorStale 5h <<E
ceems_emission_factor_age_seconds{hostname="n1",region="FR",kind="average",step="last"} 0+60x300
ceems_emission_factor_age_seconds{hostname="n2",region="FR",kind="average",step="last"} 0+60x300
E
silent CeemsFactorStale 5h <<E
ceems_emission_factor_age_seconds{hostname="n1",region="FR",kind="average",step="fresh"} 600+0x300
ceems_emission_factor_age_seconds{hostname="n1",region="FR",kind="marginal",step=""} 0+60x300
E
fires CeemsFactorMissingOnNodes 1h <<E
ceems_recorder_default_factor_records_total{hostname="c"} 0+0x30 1+0x60
E
silent CeemsFactorMissingOnNodes 3h <<E
ceems_recorder_default_factor_records_total{hostname="c"} 0+0x30 1+0x180
E
fires CeemsFactorUpdateFails 6h <<E
ceems_factors_last_run_timestamp_seconds{hostname="c"} 600+0x360
ceems_factors_failed_zones{hostname="c"} 0+0x360
E
silent CeemsFactorUpdateFails 6h <<E
ceems_factors_last_run_timestamp_seconds{hostname="c"} 0+60x360
ceems_factors_failed_zones{hostname="c"} 0+0x360
E
# must fire also if the whole host is down, so that its series are gone
fires CeemsRecorderDown 1h <<E
ceems_recorder_updated_timestamp_seconds{hostname="c"} 0+60x20 stale
E
silent CeemsRecorderDown 1h <<E
ceems_recorder_updated_timestamp_seconds{hostname="c"} 0+60x60
E
fires CeemsInboxWaiting 1h <<E
ceems_recorder_inbox_lag_seconds{hostname="c"} 0+60x60
E
silent CeemsInboxWaiting 1h <<E
ceems_recorder_inbox_lag_seconds{hostname="c"} 0+0x60
E
fires CeemsSinkBehind 2h <<E
ceems_recorder_sink_lag_seconds{hostname="c",sink="kafka"} 0+60x120
ceems_recorder_sink_lag_seconds{hostname="c",sink="mariadb"} 0+0x120
E
silent CeemsSinkBehind 2h <<E
ceems_recorder_sink_lag_seconds{hostname="c",sink="kafka"} 30+0x120
E
fires CeemsRecordsRefused 5m <<E
ceems_recorder_sink_refused_records{hostname="c",sink="mariadb"} 1+0x5
E
silent CeemsRecordsRefused 5m <<E
ceems_recorder_sink_refused_records{hostname="c",sink="mariadb"} 0+0x5
E
fires CeemsStoreGrowing 1h <<E
ceems_recorder_store_used_bytes{hostname="c"} 600+0x60
ceems_recorder_store_max_bytes{hostname="c"} 1000+0x60
ceems_recorder_store_full{hostname="c"} 0+0x60
E
# the second one has no limit
silent CeemsStoreGrowing 1h <<E
ceems_recorder_store_used_bytes{hostname="c"} 100+0x60
ceems_recorder_store_max_bytes{hostname="c"} 1000+0x60
ceems_recorder_store_full{hostname="c"} 0+0x60
ceems_recorder_store_used_bytes{hostname="d"} 0+1000x60
ceems_recorder_store_full{hostname="d"} 0+0x60
E
fires CeemsEnergyNotFinal 2h <<E
ceems_recorder_jobs_waiting_age_seconds{hostname="c"} 0+60x120
E
silent CeemsEnergyNotFinal 2h <<E
ceems_recorder_jobs_waiting_age_seconds{hostname="c"} 40+0x120
E
fires CeemsSlurmSilent 1h <<E
ceems_recorder_slurm_up{hostname="c",daemon="slurmdbd"} 0+0x60
ceems_recorder_slurm_up{hostname="c",daemon="slurmctld"} 1+0x60
E
silent CeemsSlurmSilent 1h <<E
ceems_recorder_slurm_up{hostname="c",daemon="slurmdbd"} 0+0x5 1+0x55
E
fires CeemsHookSlow 1h <<E
ceems_controller_hook_seconds_bucket{hostname="c",le="0.004194304"} 0+10x60
ceems_controller_hook_seconds_bucket{hostname="c",le="0.016777216"} 0+60x60
ceems_controller_hook_seconds_bucket{hostname="c",le="+Inf"} 0+60x60
E
silent CeemsHookSlow 1h <<E
ceems_controller_hook_seconds_bucket{hostname="c",le="0.000016384"} 0+60x60
ceems_controller_hook_seconds_bucket{hostname="c",le="+Inf"} 0+60x60
E
silent CeemsThresholdsMissing 1h <<E
ceems_sampler_running{hostname="n1"} 1+0x60
E
out=$(promtool test rules "$work/tests.yml" 2>&1)
rc=$?
ok $rc "alerts fire and are silent in $(cat "$work/fires" "$work/silent" | wc -l) cases"
[ $rc -eq 0 ] || printf '%s\n' "$out" | sed 's/^/# /'

begin_cases "\"$rules/ceems.rules\""
fires CeemsThresholdsMissing 1h <<E
ceems_sampler_running{hostname="n1"} 1+0x60
E
out=$(promtool test rules "$work/tests.yml" 2>&1)
ok $? "without the thresholds, one alert says so"

alerts=$(sed -n 's/^ *- alert: //p' "$rules/ceems.rules" | sort)
is "$(sort "$work/fires")" "$alerts" "there is a case that fires for each alert"
is "$(sort "$work/silent")" "$alerts" "and one that does not"
is "$(sed -n 's/^## //p' "$runbook" | grep '^Ceems' | sort)" "$alerts" "the runbook has a section for each, and no other"
is "$(sed -n 's|^ *runbook_url: .*/runbook.md#||p' "$rules/ceems.rules" | sort)" \
	"$(echo "$alerts" | tr '[:upper:]' '[:lower:]')" "which the alert links to"
is "$(grep -oh 'ceems:threshold:[a-z_]*' "$rules/ceems.rules" | sort -u)" \
	"$(sed -n 's/^ *- record: //p' "$rules/ceems-thresholds.rules" | sort -u)" "each threshold is there, and used"
for key in severity component; do
	is "$(grep -c "labels: {.*$key: " "$rules/ceems.rules")" "$(echo "$alerts" | wc -l)" "each alert has its $key"
done
has "$(promtool check rules "$rules/ceems-compat.rules" 2>&1)" SUCCESS "the rules for CEEMS's dashboards are valid"
has "$(promtool check config --syntax-only "$rules/prometheus.yml.example" 2>&1)" "is valid" \
	"the example for Prometheus is valid"

# --- Alertmanager
# goes_to RECEIVER LABEL=VALUE...
goes_to() {
	local receiver=$1
	shift
	is "$(amtool config routes test --config.file="$rules/alertmanager.yml.example" "$@" 2>/dev/null)" "$receiver" \
		"$1 goes to $receiver"
}
if command -v amtool >/dev/null; then
	has "$(amtool check-config "$rules/alertmanager.yml.example" 2>&1)" SUCCESS "the example for Alertmanager is valid"
	goes_to mail-user-support alertname=CeemsGpuIdle component=job severity=warning
	goes_to pagerduty alertname=CeemsRecorderDown component=recorder severity=critical
	goes_to slack alertname=CeemsStepsLost component=node severity=warning
	goes_to mail-operators alertname=CeemsUnallocatedHigh component=node severity=info
else
	skip "amtool is not installed (contrib/deps test)"
fi
done_testing
