#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurmdbd answers late, or not at all: a job with so many steps that the answer takes too long must not delay the
# records of other jobs.
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins jobcomp

cluster_up --cpus 4 --plugins jobcomp --recorder-dbd-port "$dbd_proxy_port" \
	--ceems-conf <(printf '%s\n' Sinks=file FinalEnergyWait=20)
steps=150

mode() {
	echo "$*" >"$DIR/proxy.new" && mv "$DIR/proxy.new" "$DIR/proxy.mode"
}
mode pass
start_dbd_proxy
has_record() {
	record_file "$1" >/dev/null
}
is_final() {
	[ "$(record_file "$1" | jq .energy.final)" = true ]
}
is_with_steps() {
	[ "$(record_file "$1" | jq '.steps | length')" -ge 1 ]
}

before=$(submit user1 --wrap 'srun true')
wait_for 60 is_final "$before"
ok $? "a recorder behind the proxy"

mode rate 2000
large=$(submit user1 --wrap "for i in \$(seq $steps); do srun true; done")
wait_for 300 job_is "$large" COMPLETED
ok $? "a job of $steps steps"
others=()
for _ in 1 2 3 4; do
	others+=("$(submit user2 --wrap 'srun true')")
done
for job in "${others[@]}"; do
	wait_for 120 is_final "$job"
	ok $? "a job behind it has its record"
	is "$(record_file "$job" | jq -r '[.steps[].name] | sort | join(" ")')" "batch extern true" "  with its steps"
done
wait_for 120 has_record "$large"
ok $? "the large one gets a record, too"
is "$(record_file "$large" | jq -c '[.steps, .state]')" '[null,"COMPLETED"]' "  without its steps"

mode stall
none=$(submit user1 --wrap 'srun true')
wait_for 120 has_record "$none"
ok $? "without an answer from slurmdbd a job has a record"
is "$(record_file "$none" | jq -c '[.steps, .state]')" '[null,"COMPLETED"]' "  with what slurmctld sent"
mode cut 200
sleep 2
mode pass
wait_for 120 is_with_steps "$none"
ok $? "  until slurmdbd answers"
is "$(record_file "$none" | jq -r '[.steps[].name] | sort | join(" ")')" "batch extern true" "  then with its steps"
is "$(record_file "$none" | jq .energy.final)" true "  and final"
done_testing
