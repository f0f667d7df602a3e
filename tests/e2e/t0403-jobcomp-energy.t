#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job's energy must be the same in sacct and in every record, and its emissions those that the nodes computed.
# shellcheck disable=SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins jobcomp acct_gather
. "$(dirname "$0")/energy.sh"

kafka=()
if command -v java >/dev/null && "$e2e_top/contrib/kafka/get" >/dev/null 2>&1; then
	kafka=(--kafka)
fi
# enough watts for a job of seconds to have many joules and micrograms, whatever machine this is
cluster_up --nodes 2 --plugins acct_gather,jobcomp "${kafka[@]}" \
	--ceems-conf <(printf '%s\n' ModelIdleWatts=400 ModelMaxWatts=1000 PUE=1.5)

field() {
	record_file "$1" | jq -r "$2"
}
has_record() {
	record_file "$1" >/dev/null
}
is_final() {
	[ "$(field "$1" .energy.final)" = true ]
}
# extern_tres ID NAME: prints a TRES in TRESUsageInTot of the extern step
extern_tres() {
	inside sacct -n -P --noconvert -j "$1" -o JobID,TRESUsageInTot%2000 |
		awk -F '|' -v id="$1.extern" '$1 == id { print $2 }' |
		tr ',' '\n' | sed -n "s|^$2=||p"
}

# check ID WHAT
check() {
	local id=$1 what=$2 total co2e_ug

	wait_for 180 has_record "$id"
	ok $? "$what: it has a record"
	# on a slow machine that takes longer than FinalEnergyWait
	wait_for 180 is_final "$id"
	wait_booked "$id"
	wait_for 60 is_used "$id" extern In energy
	total=$(field "$id" .energy.total_j)
	is "$(field "$id" .energy.final)" true "its energy is final"
	[ "$total" != null ] && [ "$total" -gt 0 ]
	ok $? "and there is some: $total J"
	is "$total" "$(extern_tres "$id" energy)" "as much as the extern step has"
	has "$(field "$id" .tres_alloc)" "energy=$total" "as much as in tres_alloc"
	co2e_ug=$(extern_tres "$id" ic/ceems_co2e)
	is "$(field "$id" '.emissions.co2e_g * 1e6 | round')" "$co2e_ug" \
		"the emissions are the extern step's: $co2e_ug ug"
	is "$(field "$id" .emissions.method)" per-tick "which the nodes computed"
	is "$(field "$id" '(.energy.by_domain.cpu_j // 0) + (.energy.by_domain.dram_j // 0)
		+ (.energy.by_domain.gpu_j // 0) + (.energy.by_domain.other_j // 0) - .energy.total_j
		| fabs < 3')" true "the domains make the total"
}

good=$(submit user1 -N2 -n2 --wrap 'srun timeout 3 sh -c "while :; do :; done"; true')
# one node works, the other waits
uneven=$(submit user1 -N2 -n2 --wrap 'srun sh -c "[ \$SLURM_NODEID = 1 ] || exec sleep 5
	(ulimit -t 4; while :; do :; done); true"; srun -N1 -n1 sleep 0.1; true')
late=$(submit user2 -n1 -t 1 --wrap 'sleep 600')
cancelled=$(submit user3 -n1 --wrap 'sleep 600')
has_some() {
	[ "$(ledger "[.steps[] | select(.job == $cancelled) | .total_uj] | add // 0")" -gt 3000000 ]
}
# its node is known only once it runs; earlier jobs may hold the nodes for a while
wait_for 60 job_is "$cancelled" RUNNING
node=$(inside squeue -h -j "$cancelled" -o %N)
wait_for 60 has_some
ok $? "the job to be cancelled has used 3 J on $node"
inside scancel "$cancelled"

check "$good" "a job on two nodes"
is "$(field "$good" .energy.total_j)" "$(job_acct "$good" ConsumedEnergyRaw)" \
	"sacct's job row says the same"
is "$(field "$good" '([.steps[] | select(.name != "extern") | .energy.total_j] | add) as $s
	| $s > 0 and $s <= .energy.total_j + 2')" true "the other steps share it"
check "$cancelled" "a cancelled job"
row=$(job_acct "$cancelled" ConsumedEnergyRaw)
# Slurm 22.05 may leave the value empty after scancel; it is never another value
[ -z "$row" ] || [ "$row" = "$(field "$cancelled" .energy.total_j)" ]
ok $? "sacct's job row says the same, or nothing: '$row'"

# --- ratios, and how uneven the nodes were ---------------------------------------------------------

check "$uneven" "a job whose nodes work unevenly"
# prints a value of step 0: FIELD TRES, such as "TRESUsageInMax ic/ceems_cpu_time"
step_tres() {
	job_acct "$uneven" "$1%2000" 0 | tr ',' '\n' | sed -n "s|^$2=||p"
}
busy=$(as user1 scontrol show hostnames "$(field "$uneven" .nodes)" | sed -n 2p)
step0='.steps[] | select(.stepid == 0)'
for of in "cpu_time ic/ceems_cpu_time" "energy energy"; do
	read -r name tres <<<"$of"
	max=$(step_tres TRESUsageInMax "$tres")
	tot=$(step_tres TRESUsageInTot "$tres")
	node=$(step_tres TRESUsageInMaxNode "$tres")
	is "$node" "$busy" "sacct: most $name on $busy"
	is "$(field "$uneven" "$step0 | .load_imbalance.$name |
		(.imbalance - (2 * $max / $tot - 1) | fabs < 1e-5) and .max_node == \"$node\"")" true \
		"the record's imbalance of $name is that of $max in $tot"
done
is "$(field "$uneven" "$step0 | .load_imbalance | .cpu_time.imbalance > 0.8 and
	.cpu_time.imbalance > .energy.imbalance and .energy.imbalance > 0")" true \
	"CPU time more so than energy, of which most machines use some when idle"
is "$(field "$uneven" "$step0 | [.nnodes, .usage.nodes.energy_nodes, .usage.nodes.cpu_time_nodes] | @csv")" \
	2,2,2 "both nodes reported"
is "$(field "$uneven" '.steps[] | select(.stepid == 1) | .load_imbalance')" null \
	"a step on one node has no imbalance"
is "$(field "$uneven" "$step0 | .derived.cpu_efficiency -
	.usage.perf.cpu_time_s / .elapsed / .ncpus | fabs < 1e-5")" true "CPU efficiency of the step"
is "$(field "$uneven" '.derived | .cpu_efficiency > 0 and .instructions_per_cycle == null')" true \
	"and of the job; no counters were asked for: no instructions per cycle, not 0"

if [ ${#kafka[@]} -gt 0 ]; then
	wait_for 120 record_kafka "$good"
	kafka_agrees() {
		[ "$(record_kafka "$good" | jq -cS .)" = "$(record_file "$good" | jq -cS .)" ]
	}
	wait_for 60 kafka_agrees
	ok $? "Kafka has the same record"
else
	skip "no Kafka here"
fi
if grep -q '^Sinks=.*mariadb' "$CEEMS_CONF"; then
	in_sql() {
		[ -n "$(sql "select 1 from job where jobid = $good and energy_final")" ]
	}
	wait_for 120 in_sql
	is "$(sql "select energy_j, round(co2e_g * 1000000), energy_final from job where jobid = $good")" \
		"$(record_file "$good" | jq -r '[.energy.total_j, (.emissions.co2e_g * 1e6 | round), 1] | @tsv')" \
		"MariaDB has the same figures"
	in_sql_too() {
		[ -n "$(sql "select 1 from job where jobid = $uneven and energy_final")" ]
	}
	wait_for 120 in_sql_too
	is "$(sql "select abs(cpu_time_imbalance - $(field "$uneven" "$step0 | .load_imbalance.cpu_time.imbalance")) < 1e-4
		and cpu_time_max_node = '$busy' from step_summary join job using (record_key)
		where jobid = $uneven and step_id = 0")" 1 \
		"step_summary has the imbalance"
fi

# --- a node that reports no usage ------------------------------------------------------------------

mv "$LEDGER_DIR/n2.ledger" "$DIR/away"
half=$(submit user1 -N2 -n2 --wrap 'srun sleep 0.5; true')
wait_for 180 has_record "$half"
mv "$DIR/away" "$LEDGER_DIR/n2.ledger"
is "$(field "$half" "$step0 | [.nnodes, .usage.nodes.cpu_time_nodes] | @csv")" 2,1 \
	"one of two nodes reported its CPU time"
is "$(field "$half" "$step0 | .load_imbalance")" null "so how uneven they were is not known"

# over a minute: TIMEOUT is decided by slurmctld's own clock
wait_for 180 has_record "$late"
is "$(field "$late" .state)" TIMEOUT "a job that ran out of time"
check "$late" "it"
done_testing
