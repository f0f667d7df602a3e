#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A node whose ceems.conf has no Country charges its jobs with the world mean, and has a PUE of 1. The record has the
# controller's factor and PUE; the recorder's log, its metric and `ceems check` name the node. When the node has the
# file, its own emissions count again.
# shellcheck disable=SC2154
. "$(dirname "$0")/lib.sh"
[ -d /etc/slurm ] || skip_all "there is no /etc/slurm to put ceems.conf into"
needs_plugins acct_gather jobcomp
. "$e2e_top/tests/e2e/energy.sh"

textfiles=$e2e_work/textfiles
mkdir "$textfiles"
chmod 777 "$textfiles"
cluster_up --configless --fake-rapl --still-cpus --ceems-conf <(printf '%s\n' Sinks=file IdleWatts=1000000 Country=FR PUE=1.25 \
	"TextfileDir=$textfiles" FinalEnergyWait=10m)
node_conf=$DIR/etc/node/ceems.conf
sed -i '/^Country=/d; /^PUE=/d; /^TextfileDir=/d' "$node_conf"
passes "slurmd starts with a ceems.conf without Country" restart_slurmd

# job_of_joules: runs a job of some joules; $job is its id
job_of_joules() {
	job=$(submit user1 -n1 --wrap "srun sh -c 'until [ -e $e2e_work/go ]; do sleep 0.1; done'")
	wait_for 60 job_is_running "$job"
	feed 36000000 0
	wait_for 60 has_fed
	: >"$e2e_work/go"
	wait_energy "$job"
	rm "$e2e_work/go"
	wait_for 90 record_file "$job" >/dev/null
	ok $? "job $job has a record"
}
job_is_running() {
	[ "$(job_state "$1")" = RUNNING ]
}
has_fed() {
	[ "$(job_energy_uj "$job")" -gt 1000000 ]
}
emissions() {
	record_file "$job" | jq -r "$1"
}
# grams WH_G: the emissions that the job's energy has at that factor and the PUE
at_factor() {
	record_file "$job" | jq -e "(.emissions.co2e_g - .energy.total_j / 3600000 * $1) | fabs < 0.00001" >/dev/null
}
factor=$(inside "$ceems" check 2>/dev/null | sed -n 's/.* \([0-9.]*\) g CO2e\/kWh.*/\1/p' | head -n 1)
diag "the factor of FR is $factor g/kWh"

job_of_joules
is "$(emissions .emissions.method)" mean-power "the recorder computed its emissions"
is "$(emissions .emissions.kind)" static "by the controller's kind of factor"
is "$(emissions .emissions.region)" FR "and country"
is "$(emissions .emissions.default_factor_j)" 0 "no joule has the world mean"
passes "CO2e is energy x $factor x PUE" at_factor "$factor * 1.25"
says() {
	grep -c 'n1: no emission factor there' "$LOG_DIR/recorder.out"
}
is "$(says)" 1 "the recorder's log names the node"
has_metric() {
	grep -q '^ceems_recorder_default_factor_records_total{.*} [1-9]' "$textfiles/ceems_controller.prom"
}
wait_for 60 has_metric
ok $? "the metric counts the record"
out=$(inside "$ceems" check 2>&1)
has "$out" "n1 charged jobs of the last day with the world mean" "ceems check on the controller names the node"
has "$out" "copy ceems.conf to these nodes" "and says what to do"
job_of_joules
is "$(emissions .emissions.method)" mean-power "another job: the same"
is "$(says)" 1 "without another line in the log"

cp "$DIR/etc/ceems.conf" "$node_conf"
passes "the node has the file" restart_slurmd
job_of_joules
is "$(emissions .emissions.method)" per-tick "the node computes emissions again"
passes "CO2e is energy x $factor x PUE" at_factor "$factor * 1.25"
done_testing
