#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# For CEEMS_SOAK_SECONDS [600; contrib/check --all: 3600] jobs of all kinds run, and things fail at random, in phases
# with calm ones between. No process of Slurm's or ours may grow in memory, fds, threads or mappings, and no cgroup, BPF
# object or file may be left. At the end all sinks and sacct must have the same jobs with the same values, and the ledgers
# must add up. CEEMS_SOAK_SEED chooses jobs and faults. An even seed repeats with slurmdbd's CommitDelay=0.
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins jobcomp acct_gather spank
. "$e2e_top/tests/e2e/chaos.sh"
. "$e2e_top/tests/e2e/energy.sh"

seconds=${CEEMS_SOAK_SECONDS:-600}
seed=${CEEMS_SOAK_SEED:-$RANDOM$RANDOM}
diag "CEEMS_SOAK_SECONDS=$seconds CEEMS_SOAK_SEED=$seed"
commit_delay=$((seed % 2 * 5))
samples=${CEEMS_SOAK_SAMPLES:-$e2e_work/samples} # CEEMS_SOAK_SAMPLES: a file to keep

umask 022
# the nodes' meter shows 400 W; a helper reads it
meter='while read -r uptime _ </proc/uptime; do
	echo "node energy_joules $((4 * ${uptime/./})) $EPOCHREALTIME" >"$1.new" && mv "$1.new" "$1"
	sleep 1
done'
bash -c "${meter/sleep 1/break}" meter "$e2e_work/meter"
# One heap for all threads of a process: those of slurmctld's many threads grow for an hour without a leak, as each keeps what its
# thread once had.
cluster_up --daemon-env MALLOC_ARENA_MAX=1 --nodes 2 --cpus 8 --kafka --sink-db --spool-disk 32M --plugins acct_gather,spank,jobcomp \
	--slurm-conf <(printf '%s\n' MessageTimeout=20 MinJobAge=60 SlurmctldDebug=info SlurmdDebug=info) \
	--slurmdbd-conf <(echo CommitDelay=$commit_delay) --recorder-dbd-port "$dbd_proxy_port" \
	--ceems-conf <(printf '%s\n' Sinks=file,kafka,mariadb StoreMaxSize=24M FinalEnergyWait=10s CorrectionWait=3m \
		"ExternalSource=$e2e_work/meter")
start_dbd_proxy
inside bash -c "$meter" meter "$e2e_work/meter" &
bpf_is_loaded || diag "no BPF here"

sampler=$e2e_top/tests/e2e/soak_sample.py
counts() {
	rm -f "$e2e_work/once"
	inside /usr/bin/python3 "$sampler" "$DIR" 0 "$e2e_work/once" && jq -r ".counts.\"$1\" // 0" "$e2e_work/once"
}

# --- before: what is there after each kind of step was there once ------------------------------------

id=$(submit user1 -N2 -n2 -o /dev/null --wrap 'srun --ceems-perf=hw,sw,io,net,sched --ceems-trace --ceems-profile sleep 2; rm -f ceems-*')
wait_for 120 job_is "$id" COMPLETED || bail "a job runs"
no_step_is_left() {
	! inside pgrep -x slurmstepd && ! inside pgrep 'ceems-[pt]r'
}
wait_for 60 no_step_is_left || bail "and leaves no process"
things=("unpinned BPF progs" "unpinned BPF maps" "unpinned BPF links" "pinned BPF objects"
	"files of LedgerDir" "files of TextfileDir" "files of StoreDir")
declare -A before
for thing in "${things[@]}"; do
	before[$thing]=$(counts "$thing")
done

# --- the soak ---------------------------------------------------------------------------------------

rm -f "$samples" "$samples.stop"
inside /usr/bin/python3 "$sampler" "$DIR" 10 "$samples" >"$e2e_work/sampler" 2>&1 &
sampling=$!
/usr/bin/python3 "$e2e_top/tests/e2e/chaos_storm.py" "$cluster" "$DIR" "${seconds}s" "$seed" $commit_delay \
	"$e2e_work/storm.json"
ok $? "$seconds s are over and no job is left"
touch "$samples.stop"
wait $sampling
diag <"$e2e_work/sampler"
growth=$(/usr/bin/python3 "$e2e_top/tests/e2e/soak_growth.py" "$samples" 900 "$e2e_work/storm.json")
ok $? "nothing grows"
diag "$growth"

# --- after ------------------------------------------------------------------------------------------

wait_for 120 no_step_is_left
ok $? "no process of a step is left"
killed=$(jq -r '.stepds | unique | map("job_\(.)") | join("|")' "$e2e_work/storm.json")
# In Slurm 24.11 a thread of the extern slurmstepd becomes the job's user at the end, to close X11, while another removes the
# cgroups, which fails then and says so (mgr.c:1584, 24.11.5). This happens without our plugins, too. 26.05 closes X11 only
# for jobs that have it.
denied=
if [[ $(inside slurmctld -V) == *' 24.11.'* ]]; then
	denied=$(sed -n 's/.* \[\([0-9]*\)\.extern\] error: Unable to move pid [0-9]* to root cgroup$/job_\1/p' \
		"$LOG_DIR"/slurmd.n*.log | sort -u | paste -sd '|')
	diag "cgroups that Slurm was denied to remove: ${denied:-none}"
fi
# leftovers: prints the cgroups that are left, without those that are Slurm's
leftovers() {
	inside find /sys/fs/cgroup -type d -name 'job_*' | grep -vE "/(${killed:-none}|${denied:-none})(/|\$)"
}
nothing_of() {
	[ "$(counts "$1")" -le "${before[$1]}" ] || { echo "$(counts "$1") $1, before ${before[$1]}"; return 1; }
}
# In 22.05, slurmstepd is in its job's freezer cgroup. At its end it waits for its message thread, goes to the root cgroup and
# removes the folders. A thread that has been joined may still be on its way out: in 16 of 143,000 tries of a program that does
# the same, the folder had a process then, and Slurm does not try again. The folder is empty a moment later.
strays() {
	leftovers | inside bash -c 'while IFS= read -r folder; do
		[[ $folder != /sys/fs/cgroup/freezer/* ]] || [ -n "$(cat "$folder/cgroup.procs")" ] ||
			[ -n "$(find "$folder" -mindepth 1 -type d)" ] || echo "$folder"
	done'
}
others() {
	leftovers | grep -vxF -f <(strays; echo /)
}
fails "no cgroup of a job is left, other than of jobs whose slurmstepd was killed or was denied to remove it" others
[ "$(strays | wc -l)" -le $((seconds / 3600 + 1)) ]
ok $? "  but at most $((seconds / 3600 + 1)) empty ones of freezer, which Slurm leaves: $(strays | wc -l)"
for job in $(leftovers | sed 's/.*job_//' | sort -u); do
	inside find /sys/fs/cgroup -type d '(' -path "*/job_$job" -o -path "*/job_$job/*" ')' | diag
	grep -E "\\b(JobId=|job )?$job\\b" "$LOG_DIR"/slurmd.n*.log "$LOG_DIR"/slurmctld.log | tail -n 60 | diag
done
for thing in "${things[@]}"; do
	wait_for 30 nothing_of "$thing"
	ok $? "not more $thing than before: $(counts "$thing"), ${before[$thing]}"
done
for node in n1 n2; do
	is "$(ledger '"\(.conservation_error_uj)"')" 0 "$node: the ledger adds up"
	is "$(ledger '.steps | length')" 0 "  and has no step any more"
done
all_is_told
replay_refused
nothing_is_refused
compare "$e2e_work/storm.json"
slurmctld_died_of_nothing_else
is "$(grep -hE 'terminate called|Segmentation|core dumped|double free|corrupt' "$LOG_DIR"/*.out "$LOG_DIR"/slurmd*.log)" '' \
	"no other process died of a defect"
done_testing
