#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems.prom: what Prometheus gets to see.
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather
. "$(dirname "$0")/energy.sh"

cluster_up --plugins acct_gather --fake-rapl --cpus 4 --ceems-conf <(echo SampleInterval=100ms)
prom=$TEXTFILE_DIR/n1/ceems.prom

# series NAME: its value, when there is just one.
series() {
	awk -v name="$1" '$1 == name { print $2 }' "$prom"
}

busy='exec timeout 600 sh -c "while :; do :; done"'
job=$(submit user1 -n2 --comment secret -J secretname -o /dev/null --wrap "$busy")
labels="hostname=\"n1\",manager=\"slurm\",uuid=\"$job\""
# until the job uses the node: what it draws before that is not the job's
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
has_all() {
	[ "$(series 'ceems_node_energy_joules_total{hostname="n1",domain="cpu",source="rapl"}')" = 12.345678 ] &&
		[ "$(series 'ceems_node_energy_joules_total{hostname="n1",domain="dram",source="rapl"}')" = 1.000001 ]
}
wait_for 60 has_all
ok $? "the node's energy by domain is what was fed"
is "$(series 'ceems_node_conservation_error_joules_total{hostname="n1"}')" 0.000000 \
	"the conservation error reads 0"
if command -v promtool >/dev/null; then
	out=$(promtool check metrics <"$prom" 2>&1)
	is "$?" 0 "promtool accepts it"
	is "$out" "" "without a complaint"
else
	skip 2 "promtool is not installed (Debian: prometheus)"
fi
fails "no user, account or job name is in it" grep -qE 'user1|secret|7101' "$prom"
is "$(stat -c %a "$prom")" 644 "it is for all to read"

inside scancel "$job"
wait_for 60 job_ran "$job"
no_job() {
	[ "$(series 'ceems_compute_units{hostname="n1",manager="slurm"}')" = 0 ]
}
wait_for 60 no_job
ok $? "no job runs any more"
isnt "$(series "ceems_compute_unit_energy_joules_total{$labels}")" "" \
	"its last figures can still be scraped"
done_testing
