#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Nothing is lost, nothing is doubled, nothing is wrong: jobs flow while the broker, both databases,
# slurmdbd, slurmctld, the nodes' slurmd, the spool's disk and the network fail, several at a time; at
# the end all sinks and sacct have the same jobs with the same values. CEEMS_CHAOS_ROUNDS and
# CEEMS_CHAOS_SEED say how many rounds and which.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins jobcomp acct_gather
. "$e2e_top/tests/e2e/chaos.sh"

rounds=${CEEMS_CHAOS_ROUNDS:-50}
seed=${CEEMS_CHAOS_SEED:-$RANDOM$RANDOM}
diag "CEEMS_CHAOS_ROUNDS=$rounds CEEMS_CHAOS_SEED=$seed"

# short waits, so that faults outlast them; enough watts for a short job to have joules
cluster_up --nodes 2 --cpus 8 --kafka --sink-db --spool-disk 8M --plugins acct_gather,jobcomp \
	--slurm-conf <(echo MessageTimeout=20) \
	--ceems-conf <(printf '%s\n' Sinks=file,kafka,mariadb SpoolMaxSize=6M FinalEnergyWait=10s \
		StepDetailsWait=20s CorrectionWait=3m ModelIdleWatts=400 ModelMaxWatts=1000)
/usr/bin/python3 "$e2e_top/tests/e2e/chaos_storm.py" "$cluster" "$DIR" "$rounds" "$seed" \
	"$e2e_work/storm.json"
ok $? "$rounds rounds are over and no job is left"
all_is_told
compare "$e2e_work/storm.json"
# one that begins with slurmdbd down and no state of it ends by itself
is "$(grep -E '^slurmctld: fatal|terminate called|Segmentation' "$LOG_DIR/slurmctld.out" |
	grep -v 'for some reason we have no TRES')" '' \
	"slurmctld died of nothing else"
done_testing
