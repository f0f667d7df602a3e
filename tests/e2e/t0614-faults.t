#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each of our own processes is stopped (SIGSTOP) while jobs run and end: no daemon of Slurm may wait for it, and it must do
# its work later. And the disks of ceems.prom and of a profile are full. t0204 tests ceems-trace, t0402 a full store, and
# tests/unit/libstore/test_disk_faults.c the failure of each single call.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank jobcomp
. "$(dirname "$0")/energy.sh"
umask 022
printf 'node energy_joules 1000 %s\n' "$(date +%s.%N)" >"$e2e_work/meter"
cluster_up --plugins acct_gather,spank,jobcomp --fake-rapl --cpus 4 \
	--ceems-conf <(printf '%s\n' SampleInterval=200ms "ExternalSource=$e2e_work/meter" FinalEnergyWait=20s)
work_write
go=$e2e_work/go

# The names of our processes, and the pids of those with a name.
names() {
	inside ps -e -o comm= | grep '^ceems-' | sort -u
}

pids() {
	inside pgrep -x "${1:0:15}" "${@:2}"
}

# signal SIGNAL NAME...
signal() {
	local name

	for name in "${@:2}"; do
		pids "$name" | while read -r pid; do inside kill "-$1" "$pid"; done
	done
}

has_record() {
	record_file "$1" >/dev/null
}

# A job with a step runs and ends, and the node answers.
work_is_done() {
	local id

	id=$(submit user1 -o /dev/null --wrap 'srun --ceems-report sleep 1') && wait_for 60 job_is "$id" COMPLETED &&
		echo "$id" >"$e2e_work/job" && inside scontrol ping | grep -q 'is UP' && wait_for 60 node_is idle
}

work_is_done || bail "a job runs"
wait_for 60 has_record "$(cat "$e2e_work/job")" || bail "and has a record"
bpf_is_loaded || diag "no BPF here"
mapfile -t all < <(names)
diag "our processes: ${all[*]}"
for name in ceems-recorder ceems-textfile ceems-external; do
	has " ${all[*]} " " $name " "there is $name"
done

for name in "${all[@]}"; do
	signal STOP "$name"
	took 20 "$name is stopped: a job runs and ends" work_is_done
	signal CONT "$name"
	wait_for 120 has_record "$(cat "$e2e_work/job")"
	ok $? "  and its record comes"
done

signal STOP "${all[@]}"
took 20 "all are stopped: a job runs and ends" work_is_done
first=$(cat "$e2e_work/job")
took 20 "  and another one" work_is_done
took 10 "  slurmd ends" "$cluster" kill "$DIR" slurmd n1
took 10 "  and starts" "$cluster" start-daemon "$DIR" slurmd n1
took 10 "  slurmctld ends" "$cluster" kill "$DIR" slurmctld
took 10 "  and starts" "$cluster" start-daemon "$DIR" slurmctld
signal CONT "${all[@]}"
for id in "$first" "$(cat "$e2e_work/job")"; do
	wait_for 120 has_record "$id"
	ok $? "  the record of job $id comes"
done

# --- ceems-bpf, which loads the programs when slurmd starts -------------------------------------------

is_stopped() {
	inside ps -e -o stat=,args= | grep '^T.*ceems-bpf'
}

bpf_is_given_up() {
	grep -h 'ceems: bpf: ' "$LOG_DIR/slurmd.n1.log" | grep 'I/O and network are not counted on this node'
}

if [ -x "$DIR/helpers/ceems-bpf" ]; then
	"$cluster" kill "$DIR" slurmd n1
	mv "$DIR/helpers/ceems-bpf" "$DIR/helpers/real"
	# shellcheck disable=SC2016
	printf '#!/bin/sh\nkill -STOP $$\nexec %s "$@"\n' "$DIR/helpers/real" >"$DIR/helpers/ceems-bpf"
	chmod 755 "$DIR/helpers/ceems-bpf"
	before=$(bpf_is_given_up | wc -l)
	took 10 "slurmd starts with a ceems-bpf that stops" "$cluster" start-daemon "$DIR" slurmd n1
	wait_for 30 is_stopped
	ok $? "  it is stopped"
	took 20 "  a job runs and ends" work_is_done
	given_up() {
		[ "$(bpf_is_given_up | wc -l)" -gt "$before" ]
	}
	wait_for 120 given_up
	ok $? "  slurmd gives it up, with a line in its log"
	fails "  and it is gone" is_stopped
	wait_for 120 has_record "$(cat "$e2e_work/job")"
	ok $? "  the record comes"
	"$cluster" kill "$DIR" slurmd n1
	mv "$DIR/helpers/real" "$DIR/helpers/ceems-bpf"
	"$cluster" start-daemon "$DIR" slurmd n1
else
	skip "ceems-bpf: built without BPF"
fi

# --- the program of a step -------------------------------------------------------------------------

no_program() {
	! pids ceems-profile
}

two_programs() {
	[ "$(pids ceems-profile | wc -l)" = 2 ]
}

if [ -x "$E2E_BUILDDIR/src/profiler/ceems-profile" ]; then
	for user in root user1; do
		rm -f "$go"
		id=$(submit user1 -n1 -o /dev/null --wrap "srun --ceems-profile $e2e_work/work $go")
		wait_for 60 two_programs || bail "the step's program runs"
		inside kill -STOP "$(pids ceems-profile -u "$user")"
		: >"$go"
		took 20 "half of ceems-profile, that of $user, is stopped: the job ends" wait_for 60 job_is "$id" COMPLETED
		wait_for 30 no_program
		ok $? "  no program is left"
		wait_for 60 node_is idle
		ok $? "  and the node is idle"
		wait_for 120 has_record "$id"
		ok $? "  the record comes"
	done
else
	skip "ceems-profile: built without profiles"
fi
# --- full disks --------------------------------------------------------------------------------------

# full_disk DIR: mounts a small file system at DIR and fills it.
full_disk() {
	mkdir -p "$1"
	inside mount -t tmpfs -o size=16k,mode=1777 full "$1"
	inside dd if=/dev/zero of="$1/ballast" bs=4k status=none
}

# is_said WHAT: prints how often slurmd logs that the disk of WHAT is full.
is_said() {
	grep -h "ceems: $1: " "$LOG_DIR/slurmd.n1.log" | grep "No space left on device"
}

full_disk "$TEXTFILE_DIR/n1" 2>/dev/null
wait_for 60 is_said textfile
ok $? "the disk of ceems.prom is full: the log says so"
took 20 "  a job runs and ends" work_is_done
is "$(is_said textfile | wc -l)" 1 "  one line"
inside rm "$TEXTFILE_DIR/n1/ballast"
wait_for 60 inside grep -q '^ceems_' "$TEXTFILE_DIR/n1/ceems.prom"
ok $? "  it is written again when there is room"
inside umount -l "$TEXTFILE_DIR/n1"
if [ -x "$E2E_BUILDDIR/src/profiler/ceems-profile" ]; then
	full_disk "$DIR/full" 2>/dev/null
	took 20 "a profile on a full disk: the step runs" as user1 srun -D "$DIR/full" --ceems-profile sleep 1
	wait_for 30 is_said profile
	ok $? "  the log says so"
	is "$(is_said profile | wc -l)" 1 "  with one line"
	is "$(inside ls "$DIR/full")" ballast "  and without an empty file"
	inside rm "$DIR/full/ballast"
	rm -f "$go"
	id=$(submit user1 -n1 -o /dev/null --wrap "srun -D $DIR/full --ceems-profile $e2e_work/work $go")
	file=$DIR/full/ceems-profile-$id.0-n1.pb.gz
	wait_for 60 inside test -s "$file" || bail "the first file of a profile"
	inside dd if=/dev/zero of="$DIR/full/ballast" bs=4k status=none 2>/dev/null
	before=$(inside sha256sum "$file")
	: >"$go"
	wait_for 60 job_is "$id" COMPLETED
	ok $? "the disk is full when a step ends, but was not before: the step ends well"
	is "$(inside sha256sum "$file")" "$before" "  the profile of before stays"
	is "$(inside ls "$DIR/full" | wc -l)" 2 "  with no file beside it"
	is "$(is_said profile | wc -l)" 2 "  the log has a line"
	inside umount -l "$DIR/full"
fi
is "$(cat "$LOG_DIR"/slurmd.n1.log "$LOG_DIR"/slurmctld*.log | grep -c 'fatal:')" 0 "no daemon gave up"
done_testing
