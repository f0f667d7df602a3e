#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Nothing is lost, nothing is doubled, nothing is wrong. Jobs run while several things at a time fail: the broker,
# both databases, slurmdbd, slurmctld, the recorder, slurmd, the disk of inbox and store, the network. Sinks refuse
# all records, and slurmdbd answers the recorder late. At the end all sinks and sacct must have the same jobs with
# the same values. CEEMS_CHAOS_ROUNDS is the number of rounds; CEEMS_CHAOS_SEED chooses the faults. With an odd seed
# slurmdbd has CommitDelay=5, as busy sites have. slurmdbd and its MariaDB are then not killed: rows that are not
# committed would be lost.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins jobcomp acct_gather
. "$e2e_top/tests/e2e/chaos.sh"

rounds=${CEEMS_CHAOS_ROUNDS:-50}
seed=${CEEMS_CHAOS_SEED:-$RANDOM$RANDOM}
diag "CEEMS_CHAOS_ROUNDS=$rounds CEEMS_CHAOS_SEED=$seed"

commit_delay=$((seed % 2 * 5))

# short waits, so that faults outlast them; enough watts for a short job to have joules
cluster_up --nodes 2 --cpus 8 --kafka --sink-db --spool-disk 8M --plugins acct_gather,jobcomp \
	--slurm-conf <(echo MessageTimeout=20) --slurmdbd-conf <(echo CommitDelay=$commit_delay) \
	--recorder-dbd-port "$dbd_proxy_port" \
	--ceems-conf <(printf '%s\n' Sinks=file,kafka,mariadb StoreMaxSize=6M FinalEnergyWait=10s \
		CorrectionWait=3m ModelIdleWatts=400 ModelMaxWatts=1000)
start_dbd_proxy
/usr/bin/python3 "$e2e_top/tests/e2e/chaos_storm.py" "$cluster" "$DIR" "$rounds" "$seed" $commit_delay \
	"$e2e_work/storm.json"
ok $? "$rounds rounds are over and no job is left"
all_is_told
replay_refused
nothing_is_refused
compare "$e2e_work/storm.json"
slurmctld_died_of_nothing_else
done_testing
