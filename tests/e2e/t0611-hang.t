#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every path of ceems.conf is on a file system whose server does not answer. The daemons must start, run jobs, reconfigure
# and stop as without our plugins; the node must stay up; and each loss must be one line in a log.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank jobcomp
. "$(dirname "$0")/energy.sh"
[ -x /usr/bin/python3 ] || skip_all "python3 is not installed"
cluster_up --plugins acct_gather,spank,jobcomp --fake-rapl --cpus 4
conf=$DIR/etc/ceems.conf
mkdir "$DIR/hang"

inside /usr/bin/python3 "$e2e_top/tests/e2e/hang_mount.py" "$DIR/hang" >"$e2e_work/hang.out" 2>&1 &
wait_for 30 grep -q mounted "$e2e_work/hang.out" || bail "a file system that hangs: $(cat "$e2e_work/hang.out")"
sed -i -E '/^(TextfileDir|ExternalSource|EmissionSeriesFile|EmissionRegion|TraceDir|ProfileDir|StoreDir|SampleInterval)=/d' "$conf"
cat >>"$conf" <<END
SampleInterval=200ms
TextfileDir=$DIR/hang/prom
ExternalSource=$DIR/hang/meter
EmissionSeriesFile=$DIR/hang/series.csv
EmissionRegion=FR
TraceDir=$DIR/hang/traces
ProfileDir=$DIR/hang/profiles
StoreDir=$DIR/hang/store
END

slurmctld_is_up() {
	inside scontrol ping | grep -q "is UP"
}

registered() {
	wait_for 30 node_is idle
}

# run TEXT ARG...: a step of user1's.
run() {
	local text=$1
	shift
	as user1 timeout 60 srun "$@" sh -c "$text"
}

took 10 "slurmd stops" "$cluster" kill "$DIR" slurmd n1
took 5 "slurmd starts" "$cluster" start-daemon "$DIR" slurmd n1
took 5 "and registers" registered
took 10 "slurmctld stops" "$cluster" kill "$DIR" slurmctld
took 10 "slurmctld starts" "$cluster" start-daemon "$DIR" slurmctld
took 10 "and answers" wait_for 30 slurmctld_is_up
took 5 "scontrol reconfigure" inside scontrol reconfigure
registered
took 20 "a step runs" run "sleep 1"
took 20 "with a trace" run "sleep 1" --ceems-trace
took 20 "with a profile" run "sleep 1" --ceems-profile
took 20 "with a report" run "sleep 1" --ceems-report
job=$(submit user1 -o /dev/null --wrap "srun sleep 1")
wait_booked "$job"
is "$(job_acct "$job" State)" COMPLETED "and a batch job"
wait_for 60 node_is idle
ok $? "the node is idle again, and not drained"
# the node's own helpers wait for the server as long as slurmd lives
no_user_helper() {
	! inside pgrep -x 'ceems-trace|ceems-profile'
}
wait_for 60 no_user_helper
ok $? "no helper of a step is left"
has "$(grep -h 'ceems' "$LOG_DIR/slurmd.n1.log")" "ceems-trace was killed, or its folder did not answer" \
	"a line says that the trace is lost"

began=$EPOCHREALTIME
inside timeout -k 5 150 "$ceems" check --node n1 >"$e2e_work/check.out" 2>&1
rc=$?
ms=$(((${EPOCHREALTIME/./} - ${began/./}) / 1000))
[ $rc -ne 124 ] && [ $rc -ne 137 ] # by SIGTERM, by SIGKILL
ok $? "ceems check does not hang"
[ $ms -le 30000 ] # 5 s and its work; one path after another took 63 s
ok $? "  and waits once for all paths: $ms ms"
out=$(cat "$e2e_work/check.out")
for key in TextfileDir ExternalSource; do
	has "$(echo "$out" | grep '^warn' | grep " $key ")" "on a network file system" "ceems check warns of $key"
done
has "$(echo "$out" | grep '^error')" "is on FUSE, not a disk of this host; set StoreDir=" "and refuses StoreDir"
has "$out" "$DIR/hang/traces does not answer" "and of TraceDir"
has "$out" "-> see why the file server of $DIR/hang (FUSE, hang) does not answer" "and says which server it is"
is "$(echo "$out" | grep -cE 'setfacl|chown|install -d')" 0 "and not to change rights"

took 10 "slurmd stops again" "$cluster" kill "$DIR" slurmd n1
took 5 "and starts" "$cluster" start-daemon "$DIR" slurmd n1
took 5 "and registers" registered
inside umount -l "$DIR/hang"
is "$(cat "$LOG_DIR"/slurmd.n1.log "$LOG_DIR"/slurmctld*.log | grep -c 'fatal:')" 0 "no daemon gave up"
done_testing
