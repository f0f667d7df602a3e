#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel's OOM killer ends each of our own processes while jobs run: it must start again or its end be said in one line,
# jobs and their records must not miss it. Our code in slurmd, slurmstepd and slurmctld has no process of its own; t0102 and
# t0402 end these daemons with SIGKILL, which is what the OOM killer sends.
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank jobcomp
. "$(dirname "$0")/energy.sh"
[ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ] || skip_all "no memory controller of cgroup v1 here"
umask 022
printf 'node energy_joules 1000 %s\n' "$(date +%s.%N)" >"$e2e_work/meter"
echo 'from,until,gco2e_per_kwh,kind,scope,region,fetched,source' >"$e2e_work/series.csv"
printf '%s\n' URL=https://127.0.0.1:9 User=u Password=p >"$e2e_work/bmc.conf"
chmod 600 "$e2e_work/bmc.conf"
push=()
[ ! -x "${E2E_BUILDDIR:-$(e2e_builddir)}/src/helpers/ceems-push" ] ||
	push=(ProfilePushUrl=http://127.0.0.1:9 "ProfilePushDir=$e2e_work/push")
cluster_up --plugins acct_gather,spank,jobcomp --fake-rapl --fake-gpus 1 --cpus 4 --recorder-dbd-port "$dbd_proxy_port" \
	--ceems-conf <(printf '%s\n' SampleInterval=200ms "ExternalSource=$e2e_work/meter" FinalEnergyWait=20s Sinks=file \
		"EmissionSeriesFile=$e2e_work/series.csv" EmissionRegion=FR EnergySources=external,redfish,rapl,nvml \
		"RedfishConf=$e2e_work/bmc.conf" "${push[@]+"${push[@]}"}")
mode() {
	echo "$*" >"$DIR/proxy.new" && mv "$DIR/proxy.new" "$DIR/proxy.mode"
}
mode pass
start_dbd_proxy
work_write
go=$e2e_work/go
group=/sys/fs/cgroup/memory/oom

names() {
	inside ps -e -o comm= | grep '^ceems-' | sort -u
}

pids() {
	inside pgrep -x "${1:0:15}" "${@:2}"
}

is_gone() {
	! inside kill -0 "$1" 2>/dev/null
}

# press PID: moves it into a cgroup without room, where another process asks for memory
press() {
	inside sh -c 'echo "$2" >"$1/cgroup.procs"' sh $group "$1" 2>/dev/null
	inside sh -c 'echo $$ >"$1/cgroup.procs"; x=$(head -c 20000000 /dev/zero | tr "\0" x)' sh $group >/dev/null 2>&1
	is_gone "$1"
}

# oom_kills WHAT PID
oom_kills() {
	wait_for 30 press "$2"
	ok $? "$1 is killed for want of memory"
}

# A job with a step runs and ends, the node answers, and the job gets its record.
work_is_done() {
	local id

	id=$(submit user1 -o /dev/null --wrap 'srun --ceems-report sleep 1') && wait_for 60 job_is "$id" COMPLETED &&
		wait_for 60 node_is idle && wait_for 120 has_record "$id"
}

inside mkdir $group && inside sh -c 'echo 65536 >"$1/memory.limit_in_bytes"' sh $group || bail "a cgroup without room"
passes "a job runs" work_is_done
mapfile -t all < <(names | grep -v ceems-recorder)
diag "processes of the node: ${all[*]}"

# --- slurmd's helpers ----------------------------------------------------------------------------------

said() {
	grep -hE '(\]|error:) ceems: ' "$LOG_DIR/slurmd.n1.log" | grep -v ' debug'
}
for name in "${all[@]}"; do
	oom_kills "$name" "$(pids "$name" | head -n 1)"
	passes "  a job runs and has its record" work_is_done
	wait_for 60 pids "$name"
	ok $? "  it runs again"
done
on n1 conserved "n1"

# --- of a step -----------------------------------------------------------------------------------------

program() {
	pids "ceems-$1" -u "$2"
}
no_program() {
	! pids "ceems-$1"
}
for kind in trace profile; do
	[ -x "$DIR/helpers/ceems-$kind" ] || { skip "ceems-$kind is not built"; continue; }
	rm -f "$go"
	id=$(submit user1 -n1 -o /dev/null --wrap "srun --ceems-$kind $e2e_work/work $go")
	wait_for 60 program $kind user1 || bail "ceems-$kind of a step runs"
	oom_kills "ceems-$kind of a step" "$(program $kind user1 | head -n 1)"
	: >"$go"
	wait_for 60 job_is "$id" COMPLETED
	ok $? "  the step ends well"
	wait_for 30 no_program $kind
	ok $? "  no program is left"
	wait_for 120 has_record "$id"
	ok $? "  the record comes"
	is "$(said | grep -c "ceems: $kind: .* of this step ends there")" 1 "  one line says what is missing"
done

# --- the recorder and its worker -----------------------------------------------------------------------

worker() {
	inside pgrep -P "$recorder" -f ' --ask-'
}
is_final() {
	[ "$(record_file "$1" | jq .energy.final)" = true ]
}
recorder=$(pids ceems-recorder | head -n 1)
mode stall
id=$(submit user1 -o /dev/null --wrap 'srun true')
wait_for 60 worker || bail "a process asks slurmdbd for the recorder"
oom_kills "the process that asks slurmdbd" "$(worker | head -n 1)"
fails "  the recorder goes on" is_gone "$recorder"
mode cut 200
sleep 1
mode pass
wait_for 120 is_final "$id"
ok $? "  the record comes and is final"

"$cluster" kill "$DIR" slurmdbd -STOP
id=$(submit user1 -o /dev/null --wrap 'srun true')
wait_for 60 job_is "$id" COMPLETED
oom_kills "ceems-recorder" "$recorder"
"$cluster" kill "$DIR" slurmdbd -CONT
more=$(submit user1 -o /dev/null --wrap 'srun true')
wait_for 60 job_is "$more" COMPLETED
ok $? "  jobs end without it"
"$cluster" start-daemon "$DIR" recorder
ok $? "  it is started again, as its unit does"
for job in "$id" "$more"; do
	wait_for 120 is_final "$job"
	ok $? "  job $job has its record"
done
is "$(jq -r .key "$RECORD_FILE" | sort -u | wc -l)" "$(inside sacct -n -X -a -P -o JobID | wc -l)" "every job has a record"
is "$(grep -ch 'fatal:' "$LOG_DIR"/slurmd.n1.log "$LOG_DIR"/slurmctld*.log | paste -sd+ | bc)" 0 "no daemon gave up"
inside rmdir $group
done_testing
