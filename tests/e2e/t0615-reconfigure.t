#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# From Slurm 23.11 on, slurmd and slurmctld execute themselves anew at `scontrol reconfigure` and do not unload their
# plugins. With -D they keep their pid, else they get a new one. After each reconfigure slurmd must have one helper of
# each kind and no zombie, and both no more threads and open files than after the first reconfigure.
# shellcheck disable=SC1091,SC2015,SC2016,SC2119,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather jobcomp
. "$(dirname "$0")/energy.sh"

umask 022
meter=$e2e_work/meter
printf 'node energy_joules 1000 %s\n' "$(date +%s.%N)" >"$meter"
echo 'from,until,gco2e_per_kwh,kind,scope,region,fetched,source' >"$e2e_work/series.csv"
printf '%s\n' URL=https://127.0.0.1:9 User=u Password=p >"$e2e_work/bmc.conf"
chmod 600 "$e2e_work/bmc.conf"
executes=0
! slurm_is_from 23.11 || executes=1
build=${E2E_BUILDDIR:-$(e2e_builddir)}
helpers='ceems-external ceems-gpu ceems-series ceems-textfile'
sources=external,nvml,hwmon
push=()
if [ -x "$build/src/profiler/ceems-push" ]; then
	helpers+=' ceems-push'
	push=(ProfilePushUrl=http://127.0.0.1:9 "ProfilePushDir=$e2e_work/push")
fi
if [ -x "$build/src/helpers/ceems-redfish" ]; then
	helpers+=' ceems-redfish'
	sources+=,redfish
fi
cluster_up --plugins acct_gather,jobcomp --cpus 4 --fake-gpus 1 \
	--ceems-conf <(printf '%s\n' SampleInterval=200ms SysRoot=/ "EnergySources=$sources" "ExternalSource=$meter" \
		"RedfishConf=$e2e_work/bmc.conf" "EmissionSeriesFile=$e2e_work/series.csv" EmissionRegion=FR \
		"${push[@]+"${push[@]}"}")
bpf_is_loaded
has_bpf=$?

if [ -x "$DIR/helpers/ceems-hwmon" ]; then
	helpers+=' ceems-hwmon'
	power_meter 120
fi
helpers=$(tr ' ' '\n' <<<"$helpers" | sort)

# pid_of DAEMON: prints its pid. With --systemd a daemon writes no pid file. Otherwise the file is read, since a slurmd that has
# executed itself anew may have another name in ps.
pid_of() {
	case $how:$1 in
	--systemd:*) inside pgrep -o -f "^$1 .*--systemd" ;;
	*:slurmd) inside cat /run/slurm/slurmd.n1.pid ;;
	*:slurmctld) inside cat /run/slurm/slurmctld.pid ;;
	esac
}

# children DAEMON: its helpers and zombies
children() {
	inside ps --ppid "$(pid_of "$1")" -o comm= -o stat= | awk '
		$NF ~ /^Z/ { print $1, "zombie"; next }
		/^ceems-/ { print $1 }' | sort
}

# slurmd has each helper once, and nothing else.
has_helpers() {
	[ "$(children slurmd)" = "$helpers" ] || { children slurmd; return 1; }
}

has_no_zombie() {
	! children "$1" | grep zombie
}

# How many threads and open files a daemon has
threads_of() {
	inside sh -c 'ls "/proc/$1/task" | wc -l' sh "$(pid_of "$1")"
}

files_of() {
	inside sh -c 'ls "/proc/$1/fd" | wc -l' sh "$(pid_of "$1")"
}

# no_more_than N CMD...: CMD prints a number up to N
no_more_than() {
	local n

	n=$("${@:2}")
	[ "$n" -gt 0 ] && [ "$n" -le "$1" ] || { echo "$n"; return 1; }
}

our_threads() {
	inside sh -c 'cat "/proc/$1"/task/*/comm' sh "$(pid_of "$1")" | grep '^ceems' | sort
}

# Processes of ours whose parent is gone; those of the recorder are not slurmd's.
orphans() {
	inside ps --ppid 1 -o comm= -o stat= | grep '^ceems-' | grep -v '^ceems-recorder '
}

has_no_orphan() {
	! orphans
}

slurmd_measures_again() {
	[ "$(slurmd_says "energy from ")" -gt "$1" ] && has_helpers
}

# How often slurmctld has started. Before 23.11 it only reads its configuration again.
controllers() {
	grep -c "Running as primary controller" "$LOG_DIR/slurmctld.log"
}

slurmctld_runs_again() {
	[ "$(controllers)" -ge "$1" ] && inside scontrol ping | grep -q "is UP"
}

reconfigures() {
	local said began

	said=$(slurmd_says "energy from ")
	began=$(controllers)
	inside scontrol reconfigure || return
	wait_for 60 slurmd_measures_again "$said" && wait_for 60 slurmctld_runs_again $((began + executes))
}

# stays_as_is: reconfigures five times, and counts what the daemons have before and after that.
stays_as_is() {
	local i d failed=0
	local -A threads files

	reconfigures
	ok $? "$how: after a reconfigure slurmd has each helper once, and no zombie" || children slurmd | diag
	for d in slurmd slurmctld; do
		threads[$d]=$(threads_of $d) files[$d]=$(files_of $d)
	done
	for ((i = 1; i <= 5; i++)); do
		reconfigures || failed=1
	done
	ok $failed "$how: after five more as well"
	for d in slurmd slurmctld; do
		wait_for 60 has_no_zombie $d
		ok $? "  $d has no zombie"
		wait_for 60 no_more_than "${threads[$d]}" threads_of $d
		ok $? "  $d has no more than the ${threads[$d]} threads it had"
		wait_for 60 no_more_than "${files[$d]}" files_of $d
		ok $? "  $d has no more than the ${files[$d]} open files it had"
		diag "$d: $(threads_of $d) threads, $(files_of $d) open files"
	done
	is "$(our_threads slurmd)" ceems-sampler "  slurmd has one thread of ours"
	is "$(our_threads slurmctld)" ceems-intake "  and slurmctld"
	wait_for 90 has_no_orphan
	ok $? "  no helper is left of the slurmds before" || orphans | diag
	if [ $has_bpf = 0 ]; then
		is "$(inside "$DIR/helpers/ceems-bpf" status | awk '$1 == "daemons" { print $2 }')" 1 \
			"  the BPF programs have one slurmd as their user"
	else
		skip "  no BPF here"
	fi
}

# a job has its energy and its record
works() {
	local job

	job=$(submit user1 -o /dev/null --wrap "srun sleep 1")
	wait_energy "$job" extern
	ok $? "$how: a job has its energy"
	wait_for 60 has_record "$job"
	ok $? "  and its record"
}

how=-D
restart_slurmd
wait_for 60 has_helpers
ok $? "slurmd starts each helper" || children slurmd | diag
stays_as_is
works

[ ! -e /sys/fs/cgroup/cgroup.controllers ] || {
	skip "with a pid that changes: contrib/cluster must put slurmd into its v2 cgroup"
	done_testing
}
"$cluster" kill "$DIR" slurmd n1
"$cluster" kill "$DIR" slurmctld
slurmctld_is_up() {
	inside scontrol ping | grep -q "is UP"
}

# start CMD...: starts a daemon as the units of Slurm do: with --systemd from 23.11 on. The daemon then needs
# NOTIFY_SOCKET, but goes on if nobody listens there.
start() {
	if [ "$how" = --systemd ]; then
		inside sh -c '"$@" --systemd </dev/null >/dev/null 2>&1 &' sh env NOTIFY_SOCKET=/nonexistent setsid "$@"
	else
		inside "$@"
	fi
}

how="in the background"
[ $executes = 0 ] || how=--systemd
# with --systemd, slurmctld does not change its user itself
start setpriv --reuid=slurm --regid=slurm --init-groups slurmctld -i && wait_for 60 slurmctld_is_up ||
	bail "slurmctld starts $how"
start env CEEMS_FAKE_GPUS="$DIR/gpus/n1/state" CEEMS_NVML_LIBRARY="$(echo "$DIR"/modules/*nvml*)" slurmd -N n1 &&
	wait_for 60 has_helpers || bail "slurmd starts $how"
wait_for 60 node_is idle
stays_as_is
works
done_testing
