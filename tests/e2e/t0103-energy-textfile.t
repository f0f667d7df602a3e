#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems.prom: series of jobs, of the node and of emission factors, while jobs run and when slurmd ends.
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather
. "$(dirname "$0")/energy.sh"

# an average factor of 360 g/kWh, which is 0.1 mg per joule; a marginal factor; and a contract of 0 g/kWh
now=$(date +%s)
when() {
	date -u -d "@$((now + $1))" +%FT%TZ
}
cat >"$e2e_work/series.csv" <<EOT
from,until,gco2e_per_kwh,kind,scope,region,fetched,source
$(when -900),$(when -600),360,average,direct,ZZ-1,$(when -600),a test
$(when -900),$(when 90000),700,marginal,direct,ZZ-1,$(when -600),a test
EOT
cluster_up --plugins acct_gather --fake-rapl --cpus 4 --ceems-conf <(cat <<EOT
SampleInterval=100ms
IdleWatts=1000000
EmissionSeriesFile=$e2e_work/series.csv
EmissionRegion=ZZ-1
EmissionMaxAge=1d
MarketFactor=0
MarketSource=wind
TextfileRapl=yes
TextfileMode=0640
TextfileGroup=daemon
EOT
)
prom=$TEXTFILE_DIR/n1/ceems.prom

# series NAME: prints its value, if there is exactly one.
series() {
	awk -v name="$1" '$1 == name { print $2 }' "$prom"
}

busy='exec timeout 600 sh -c "while :; do :; done"'
job=$(submit user1 -n2 --comment secret -J secretname -o /dev/null --wrap "$busy")
labels="hostname=\"n1\",manager=\"slurm\",uuid=\"$job\""
# All energy is idle energy, which is split by allocation, not by CPU time: a busy job may get no CPU time in such
# short ticks. Until the job is there, it is unallocated.
is_busy() {
	[ "$(series "ceems_compute_unit_cpu_seconds_total{$labels}" | tr -d '.0')" != "" ]
}
wait_for 60 is_busy
feed 12345678 1000001
shows_job() {
	[ "$(series "ceems_compute_unit_energy_joules_total{$labels}" | tr -d '.0')" != "" ]
}
wait_for 60 shows_job
ok $? "the job has energy in ceems.prom"
is "$(series 'ceems_compute_units{hostname="n1",manager="slurm"}')" 1 "one job runs"
is "$(series "ceems_compute_unit_cpus{$labels}")" 2 "on two CPUs"
isnt "$(series "ceems_compute_unit_emissions_gco2e_total{$labels}")" "" "it has emissions"
isnt "$(series "ceems_compute_unit_cpu_seconds_total{$labels}")" "" "and CPU time"
is "$(series "ceems_compute_unit_domain_energy_joules_total{$labels,domain=\"gpu\"}")" "" \
	"no energy of GPUs where there are none"
sum_of() {
	awk -v name="$1" 'index($1, name "{") == 1 { s += $2 } END { printf "%.6f", s }' "$prom"
}
is "$(sum_of ceems_compute_unit_domain_energy_joules_total)" \
	"$(sum_of ceems_compute_unit_energy_joules_total)" "its domains add up to the job"
is "$(grep -c '^ceems_rapl_package_joules_total{.*index="0",' "$prom")" 1 "RAPL's package is numbered 0"
is "$(grep -c '^ceems_rapl_dram_joules_total{.*index="0",' "$prom")" 1 "and so is its memory"
has_all() {
	[ "$(series 'ceems_node_energy_joules_total{hostname="n1",domain="cpu",source="rapl"}')" = 12.345678 ] &&
		[ "$(series 'ceems_node_energy_joules_total{hostname="n1",domain="dram",source="rapl"}')" = 1.000001 ]
}
wait_for 60 has_all
ok $? "the node's energy by domain is what was fed"
factor='{hostname="n1",region="ZZ-1",year="",kind'
is "$(series "ceems_emission_factor_grams_per_kwh$factor=\"average\",step=\"fresh\"}")" 360.000 \
	"the factor of the series is in force"
age=$(series "ceems_emission_factor_age_seconds$factor=\"average\",step=\"fresh\"}")
[ "${age:-0}" -ge 600 ] && [ "$age" -lt 3600 ]
ok $? "it ended $age s ago"
is "$(series "ceems_emission_factor_grams_per_kwh$factor=\"marginal\",step=\"\"}")" 700.000 \
	"the marginal one is shown beside it"
is "$(series "ceems_emission_factor_age_seconds$factor=\"marginal\",step=\"\"}")" 0 "which holds"
is "$(series 'ceems_node_emissions_gco2e_total{hostname="n1",domain="cpu"}' | cut -c1-9)" 0.0012345 \
	"12.345678 J are 1.2345 mg"
is "$(series 'ceems_node_factor_joules_total{hostname="n1",step="fresh"}')" 13.345679 \
	"every joule by a fresh factor"
is "$(series 'ceems_node_factor_joules_total{hostname="n1",step="default"}')" 0.000000 "and none otherwise"
is "$(series 'ceems_node_market_emissions_gco2e_total{hostname="n1"}')" 0.000000000 \
	"nothing by the contract"
is "$(series "ceems_compute_unit_market_emissions_gco2e_total{$labels}")" 0.000000000 "nor for the job"
is "$(series 'ceems_node_conservation_error_joules_total{hostname="n1"}')" 0.000000 \
	"the conservation error reads 0"
if command -v promtool >/dev/null; then
	out=$(promtool check metrics <"$prom" 2>&1)
	is "$?" 0 "promtool accepts it"
	is "$out" "" "without a complaint"
else
	skip 2 "promtool is not installed (Debian: prometheus)"
fi
fails "no user, account or job name is in it" grep -qE 'user1|secret|="[^"]*7101' "$prom"
is "$(stat -c '%U %G %a' "$prom")" "root daemon 640" "the file is its group's to read, and nobody else's"

inside scancel "$job"
wait_for 60 job_ran "$job"
no_job() {
	[ "$(series 'ceems_compute_units{hostname="n1",manager="slurm"}')" = 0 ]
}
wait_for 60 no_job
ok $? "no job runs any more"
isnt "$(series "ceems_compute_unit_energy_joules_total{$labels}")" "" \
	"its last figures can still be scraped"

# slurmd is down for a while: the first tick after its start uses the factor of that time
"$cluster" kill "$DIR" slurmd n1
feed 1000000 0
"$cluster" start-daemon "$DIR" slurmd n1
is_charged() {
	[ "$(series 'ceems_node_factor_joules_total{hostname="n1",step="fresh"}')" = 14.345679 ]
}
wait_for 60 is_charged
ok $? "what was used while slurmd was away is charged with the factor of that time"
is "$(series 'ceems_node_factor_joules_total{hostname="n1",step="default"}')" 0.000000 "all of it"

# slurmd ends: ceems.prom must not go on to show values that are not measured any more
"$cluster" kill "$DIR" slurmd n1
has_ended() {
	[ "$(series 'ceems_sampler_running{hostname="n1"}')" = 0 ]
}
wait_for 60 has_ended
ok $? "slurmd has ended, and the file says so"
fails "it has no series of a job any more" grep -q ceems_compute_unit_ "$prom"
fails "nor of a sensor" grep -qE '_(joules_total|watts)' "$prom"
done_testing
