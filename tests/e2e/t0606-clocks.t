#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Nodes whose clocks differ from slurmctld's by 3 s to 2 minutes, ahead and behind: energy and emissions of a job over both
# nodes must be those of the ledgers, none lost, negative or doubled, and the record must be complete.
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank jobcomp
. "$e2e_top/tests/e2e/energy.sh"
faketime=$(ls /usr/lib/*/faketime/libfaketimeMT.so.1 2>/dev/null) || skip_all "faketime is not installed"

cluster_up --nodes 2 --cpus 4 --fake-rapl --still-cpus --ceems-conf <(printf '%s\n' Sinks=file IdleWatts=0.001)
faketime_begin
home=$DIR/home/user1
work_write

# slurmd_at NODE SECONDS: starts the node's slurmd with a clock that is off by SECONDS, also for its children
slurmd_at() {
	local pid

	for pid in $(inside pgrep -f "^slurmd -D -N $1"); do
		inside kill "$pid"
		wait_for 60 is_gone "$pid"
	done
	rm -f "$LOG_DIR/slurmd.$1.log"
	began=$(date +%s)
	inside env LD_PRELOAD="$faketime" FAKETIME="$2s" FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1 \
		slurmd -D -N "$1" >>"$LOG_DIR/slurmd.$1.out" 2>&1 &
	wait_for 120 as user1 srun -w "$1" true
}
is_gone() {
	! inside kill -0 "$1" 2>/dev/null
}
# is_off NODE SECONDS: the clock is off by SECONDS, as shown by the times that slurmd writes
is_off() {
	local said

	said=$(date -d "$(sed -n 's/^\[\([^.]*\)[.].*slurmd started.*/\1/p' "$LOG_DIR/slurmd.$1.log")" +%s)
	echo "$((said - began)) s"
	[ $((said - began - $2)) -ge 0 ] && [ $((said - began - $2)) -lt 60 ]
}
has_record() {
	record_file "$1" >/dev/null
}
has_begun() {
	on n1 feed 5000001 1000003
	on n2 feed 4000001 900001
	[ "$(on n1 job_energy_uj "$1")" -gt 20000000 ] && [ "$(on n2 job_energy_uj "$1")" -gt 20000000 ]
}
is_over() {
	[ -n "$(inside sacct -n -X -j "$1" -s CD,F,CA -o JobID)" ]
}

# not 120 s, the life of a step's credential (cred_expire): Slurm would say "Job credential expired"
for skew in 3 -3 100 -120; do
	rm -f "$home"/*
	slurmd_at n2 "$(printf %+d $skew)"
	passes "n2 is $skew s off" is_off n2 $skew
	job=$(submit user1 -N2 -n2 --ceems-report -o "$home/out" --wrap "srun $e2e_work/work $home/go")
	wait_for 120 has_begun "$job"
	ok $? "both nodes measure"
	: >"$home/go"
	wait_for 120 is_over "$job"
	wait_energy "$job"
	j=$(job_acct "$job" ConsumedEnergyRaw)
	is_joules "$j" $(($(on n1 job_energy_uj "$job") + $(on n2 job_energy_uj "$job"))) \
		"sacct has what the two ledgers have: $j J" 2
	on n1 conserved "n1"
	on n2 conserved "n2"
	wait_for 60 has_record "$job"
	is "$(record_file "$job" | jq -c '.energy | [.total_j, .final]')" "[$j,true]" "so has the record"
	is "$(usage "$job" extern In ic/ceems_nodes)" 2 "of both nodes"
	is "$(record_file "$job" | jq '[.steps[].energy.total_j] | length == 3 and min >= 0')" true "and of all steps"
	# 475 g/kWh; each node rounds
	ug=$(usage "$job" extern In ic/ceems_co2e)
	want=$((($(on n1 job_energy_uj "$job") + $(on n2 job_energy_uj "$job")) * 475 / 3600000))
	[ $((ug - want)) -ge -2 ] && [ $((ug - want)) -le 2 ]
	ok $? "emissions are those of this energy: $ug ug of $want"
	is "$(record_file "$job" | jq '(."@end" | fromdateiso8601) - (."@start" | fromdateiso8601) | . >= 0 and . < 300')" \
		true "its times are slurmctld's"
	is "$(grep -c "^ceems: step $job.batch on n1" "$home/out")" 1 "the report is there"
done
is "$(complaints)" "" "no node had anything to complain of"
faketime_end
done_testing
