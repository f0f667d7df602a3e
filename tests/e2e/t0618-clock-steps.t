#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The controller's clock is set forward and back by an hour while jobs run: slurmctld and ceems-recorder see the steps, and
# the nodes do not. Each job must have one final record in time, with the energy of the ledger and with times that fit.
# t0606 is about nodes whose clocks differ.
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank jobcomp
. "$e2e_top/tests/e2e/energy.sh"
faketime=$(ls /usr/lib/*/faketime/libfaketimeMT.so.1 2>/dev/null) || skip_all "faketime is not installed"

cluster_up --cpus 4 --fake-rapl --still-cpus --recorder-dbd-port "$dbd_proxy_port" --ceems-conf <(printf '%s\n' Sinks=file IdleWatts=0.001 FinalEnergyWait=60s)
faketime_begin
home=$DIR/home/user1
work_write
clock=$e2e_work/clock

# clock_is SECONDS: what the controller's clock is off by; read again each second
clock_is() {
	printf '%+ds\n' "$1" >"$clock.new" && mv "$clock.new" "$clock"
	wait_for 30 clock_shows "$1"
	ok $? "the controller's clock is off by $1 s"
}
clock_shows() {
	local shows

	shows=$(inside env LD_PRELOAD="$faketime" FAKETIME_TIMESTAMP_FILE="$clock" date +%s)
	[ $((shows - $(date +%s) - $1)) -ge -2 ] && [ $((shows - $(date +%s) - $1)) -le 2 ] && sleep 2
}
mode() {
	echo "$*" >"$DIR/proxy.new" && mv "$DIR/proxy.new" "$DIR/proxy.mode"
}
# with_clock NAME COMMAND...: starts a daemon of the controller with that clock
with_clock() {
	"$cluster" kill "$DIR" "$1" 2>/dev/null
	inside env SLURM_CONF="$DIR/etc/$([ "$1" = slurmctld ] || echo recorder/)slurm.conf" LD_PRELOAD="$faketime" FAKETIME_TIMESTAMP_FILE="$clock" FAKETIME_CACHE_DURATION=1 \
		FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1 \
		bash "$e2e_top/contrib/cluster/lib/launch.sh" "$DIR" "$@" &
	wait_for 60 "$cluster" wait-up "$DIR" "$1"
	ok $? "$1 runs with it"
}
begin() {
	job=$(submit user1 -n1 -o /dev/null --wrap "srun $e2e_work/work $home/go.$1")
	wait_for 120 has_step "$job" 0
	feed 5000003 1000001
}
is_final() {
	[ "$(record_file "$1" | jq .energy.final)" = true ]
}
# ends JOB NAME ELAPSED: the job ends; ELAPSED is a condition on the time that it took by the controller's clock
ends() {
	: >"$home/go.$2"
	wait_for 120 job_is "$1" COMPLETED
	ok $? "$2: the job ends"
	wait_for 60 is_final "$1"
	ok $? "  its record is final"
	is "$(jq -c "select(.jobid == $1) | .key" "$RECORD_FILE" | sort -u | wc -l)" 1 "  it is one job"
	wait_for 60 has_energy "$1" extern
	is "$(record_file "$1" | jq .energy.total_j)" "$(job_acct "$1" ConsumedEnergyRaw)" "  with sacct's energy"
	is_joules "$(job_acct "$1" ConsumedEnergyRaw)" "$(job_energy_uj "$1")" "  which is the ledger's"
	is "$(record_file "$1" | jq ".elapsed | $3")" true "  its elapsed time: $3"
}

mode pass
start_dbd_proxy
clock_is 0
with_clock slurmctld slurmctld -D
with_clock recorder "$DIR/sbin/ceems-recorder" -D -u slurm -f "$CEEMS_CONF"
begin forward
forward=$job
begin both
both=$job
begin waiting
waiting=$job
begin back
back=$job
clock_is 3600
ends "$forward" forward '. > 3600 and . < 4500'
# The recorder keeps a time to ask again, which is an hour away after the step back. slurmctld keeps one for its own
# connection, so slurmdbd is away for the recorder only.
mode stall
: >"$home/go.waiting"
wait_for 120 grep -q 'slurmdbd does not answer' "$LOG_DIR/recorder.out"
ok $? "a job ends, and its record waits for slurmdbd"
clock_is 0
mode cut 200
sleep 2
mode pass
ends "$waiting" waiting '. > 3600 and . < 4500'
ends "$both" both '. > 0 and . < 900'
clock_is -3600
with_clock recorder "$DIR/sbin/ceems-recorder" -D -u slurm -f "$CEEMS_CONF"
# it ended before it began: for sacct it took 0 s
ends "$back" back '. == null'
with_clock slurmctld slurmctld -D
clock_is 0
wait_for 60 node_is idle
begin after
ends "$job" after '. > 0 and . < 900'
is "$(jq -r .key "$RECORD_FILE" | sort | uniq -d | wc -l)" 0 "no record came twice"
is "$(complaints)" "" "the node had nothing to complain of"
faketime_end
done_testing
