#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whatever is missing or malformed, slurmd logs one line that says so, jobs run, no node is drained and no daemon
# ends.
# shellcheck disable=SC2034
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather
. "$(dirname "$0")/energy.sh"

cluster_up --plugins acct_gather --fake-rapl --cpus 4
conf_good=$(cat "$CEEMS_CONF")

# with_conf LINES: writes LINES to ceems.conf, empties the log and restarts slurmd.
with_conf() {
	"$cluster" kill "$DIR" slurmd n1
	printf '%s\n' "$1" >"$CEEMS_CONF"
	: >"$LOG_DIR/slurmd.n1.log"
	"$cluster" start-daemon "$DIR" slurmd n1
}

# jobs_run WHAT: jobs must run and have their output, exit status and rows in sacct; the node must be idle.
jobs_run() {
	local job

	is "$(as user1 srun -n2 sh -c 'echo $SLURM_PROCID' 2>&1 | sort | tr '\n' ' ')" "0 1 " \
		"$1: srun runs, and says nothing of ours"
	as user1 srun sh -c 'exit 7' >/dev/null 2>&1
	is $? 7 "$1: exit status"
	job=$(submit user2 -o "$DIR/home/user2/out" --wrap 'srun echo from a step')
	wait_booked "$job"
	is "$(job_acct "$job" State)" COMPLETED "$1: a batch job completes"
	is "$(cat "$DIR/home/user2/out")" "from a step" "$1: with its output"
	wait_for 60 node_is idle
	ok $? "$1: the node is idle, not drained"
	last_job=$job # its energy, if any, reaches slurmdbd later
}

says() {
	[ "$(slurmd_says "$1")" -gt 0 ]
}

# one_line TEXT: slurmd must log TEXT once, however many steps there were.
one_line() {
	wait_for 60 says "$1"
	is "$(slurmd_says "$1")" 1 "one line says: $1"
}

with_conf "${conf_good}
SampleInterval=5 parsecs"
jobs_run "an invalid value"
one_line "$CEEMS_CONF:$(wc -l <"$CEEMS_CONF"): SampleInterval: '5 parsecs' is not a duration"

with_conf "${conf_good}
Smaple=1"
jobs_run "an unknown key"
one_line "$CEEMS_CONF:$(wc -l <"$CEEMS_CONF"): Smaple: unknown key"
wait_for 30 has_energy "$last_job"
is "$(job_acct "$last_job" ConsumedEnergyRaw)" 0 "energy is what it is without us"

with_conf "$(sed "s,^LedgerDir=.*,LedgerDir=$CEEMS_CONF," <<<"$conf_good")"
jobs_run "a LedgerDir that is a file"
one_line "energy is not accounted on this node"

with_conf "$(sed 's,^SysRoot=.*,SysRoot=/nonexistent,' <<<"$conf_good")
EnergySources=rapl"
jobs_run "no sensor"
one_line "energy is not measured on this node"
is "$(slurmd_says 'error: ceems')" 0 "which is no error"
is "$(job_acct "$last_job" ConsumedEnergyRaw)" "" "and sacct shows nothing, not 0"

with_conf "$(sed 's,^SysRoot=.*,SysRoot=/nonexistent,' <<<"$conf_good")
ModelIdleWatts=100
ModelMaxWatts=200"
jobs_run "no sensor, but a model"
one_line "energy from model (estimate"
wait_for 30 has_energy "$last_job" extern
ok $? "there is energy"
has "$(job_acct "$last_job" TRESUsageInTot%400 extern)" "ic/ceems_source_model=" \
	"marked as the model's"

with_conf "${conf_good}
Country=XX"
jobs_run "no such country"
one_line "emissions are off on this node"

inside sh -c "mkdir -p /run/small && mount -t tmpfs -o size=8k none /run/small &&
	head -c 8192 /dev/zero >/run/small/full"
with_conf "$(sed 's,^TextfileDir=.*,TextfileDir=/run/small,' <<<"$conf_good")
SampleInterval=50ms"
jobs_run "a TextfileDir without space"
one_line "ceems.prom is not updated"

with_conf "$(sed 's,^TextfileDir=.*,TextfileDir=/nonexistent,' <<<"$conf_good")
SampleInterval=50ms"
jobs_run "a TextfileDir that is not there"
one_line "ceems.prom is not updated"

"$cluster" kill "$DIR" slurmd n1
rm "$CEEMS_CONF"
: >"$LOG_DIR/slurmd.n1.log"
passes "without ceems.conf slurmd starts" "$cluster" start-daemon "$DIR" slurmd n1
jobs_run "no ceems.conf"
is "$(slurmd_says 'error: ceems')" 0 "which is no error"

with_conf "$conf_good"
jobs_run "all is well again"
# reconfigure reads ceems.conf again
printf '%s\nCountry=XX\n' "$conf_good" >"$CEEMS_CONF"
: >"$LOG_DIR/slurmd.n1.log"
passes "scontrol reconfigure" inside scontrol reconfigure
wait_for 30 grep -q "emissions are off" "$LOG_DIR/slurmd.n1.log"
ok $? "reads ceems.conf again"
jobs_run "after a reconfigure"

# slurmd is killed, the job ends, and slurmd is started again: sacct has what was used meanwhile, too
with_conf "${conf_good}
IdleWatts=1000"
job=$(submit user1 -n4 -o /dev/null --wrap 'exec sleep 1000')
wait_for 60 has_step "$job" extern
feed 3000000
has_joules() {
	[ "$(job_energy_uj "$1")" -gt 0 ]
}
wait_for 30 has_joules "$job"
ok $? "a job has energy"
before=$(job_energy_uj "$job")
"$cluster" kill "$DIR" slurmd n1 -KILL
feed 50000000
sleep 2
# the script, and the process of the extern step
for step in batch extern; do
	inside pkill -KILL -P "$(inside pgrep -f "^slurmstepd: \\[$job\\.$step\\]")" sleep
done
wait_for 60 grep -q "\\[$job\\.batch\\] .*done with " "$LOG_DIR/slurmd.n1.log"
ok $? "it ends without slurmd"
passes "slurmd is started again" "$cluster" start-daemon "$DIR" slurmd n1
wait_energy "$job" extern
after=$(job_energy_uj "$job")
[ "$after" -gt $((before + 5000000)) ]
ok $? "the job had $before uJ, and $after uJ with the time without slurmd"
is_joules "$(job_acct "$job" ConsumedEnergyRaw)" "$after" "sacct has it all"
is "$(usage "$job" extern In ic/ceems_nodes)" 1 "  and calls it complete"

# slurmd is away while a counter with a range of 40 kJ wraps: the slurmstepd of a running step reads it
zone=$DIR/sysroot/n1/sys/class/powercap/intel-rapl:0
counter_uj=30000000000
count() {
	counter_uj=$(((counter_uj + $1) % 40000000001))
	printf '%012d\n' "$counter_uj" | dd of="$zone/energy_uj" conv=notrunc bs=64 iflag=fullblock status=none
}
has_read() {
	[ "$(grep -c "RAPL is read for it" "$LOG_DIR/slurmd.n1.log")" -ge "$1" ]
}
has_measured() {
	[ "$(ledger .measured.total_uj)" -ge "$1" ]
}
"$cluster" kill "$DIR" slurmd n1
rm -f "$DIR"/run/ceems/n1.ledger
echo 40000000000 >"$zone/max_energy_range_uj"
printf '%012d\n' "$counter_uj" >"$zone/energy_uj"
printf '%s\n' "$conf_good" >"$CEEMS_CONF"
: >"$LOG_DIR/slurmd.n1.log"
"$cluster" start-daemon "$DIR" slurmd n1
job=$(submit user1 -n1 -o /dev/null --wrap 'exec sleep 1000')
wait_for 60 has_step "$job" batch
count 1000000
wait_for 30 has_measured 1000000
ok $? "a counter moves"
"$cluster" kill "$DIR" slurmd n1 -KILL
for times in 1 2 3; do
	wait_for 60 has_read $times
	count 14000000000
done
wait_for 60 has_read 4
ok $? "a slurmstepd reads it while slurmd is away"
passes "slurmd is started again" "$cluster" start-daemon "$DIR" slurmd n1
wait_for 30 has_measured 2000000000
is "$(ledger .measured.total_uj)" 42001000000 "the energy of the wraps is not lost"
as user1 scancel "$job"
done_testing
