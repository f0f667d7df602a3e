#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two federated clusters: each job is submitted to both, runs on one, and must have one record, from the cluster on which
# sacct shows it. slurmctld calls jobcomp for the revoked copy on the other cluster, too.
# shellcheck disable=SC1091,SC2154,SC2317
. "$(dirname "$0")/lib.sh"
needs_plugins jobcomp acct_gather

cluster_up --plugins acct_gather,jobcomp --ceems-conf <(printf '%s\n' Sinks=file FinalEnergyWait=10m)

# --- the second cluster: beside the first, with a slurmctld and a slurmd of its own ----------------

other=$DIR/other
other_records=$other/records/jobs.jsonl
mkdir -p "$other"/{etc,state,slurmd,spool,records} "$DIR/textfile/m1"
chown slurm: "$other"/{state,spool,records}
chmod 700 "$other/spool"
cp "$DIR"/etc/{cgroup.conf,plugstack.conf,emission-factors.csv} "$other/etc/"
sed -e 's/^ClusterName=.*/ClusterName=other/' -e 's/^SlurmctldPort=.*/SlurmctldPort=6827/' \
	-e 's|/slurmctld\.pid|/slurmctld-other.pid|' -e "s|^StateSaveLocation=.*|StateSaveLocation=$other/state|" \
	-e "s|^SlurmdSpoolDir=.*|SlurmdSpoolDir=$other/slurmd/%n|" -e 's|/log/slurmctld\.log|/log/other.log|' \
	-e 's/Port=17001/Port=17011/' -e 's/^NodeName=n1 /NodeName=m1 /' "$SLURM_CONF" >"$other/etc/slurm.conf"
sed -e "s|^InboxDir=.*|InboxDir=$other/spool/inbox|" -e "s|^StoreDir=.*|StoreDir=$other/spool/store|" -e "s|^RecordFile=.*|RecordFile=$other_records|" \
	"$CEEMS_CONF" >"$other/etc/ceems.conf"
touch "$LOG_DIR/other.log"
chown slurm: "$LOG_DIR/other.log"

inside sacctmgr -i add cluster other >/dev/null
inside env SLURM_CONF="$other/etc/slurm.conf" slurmctld -D -i >"$LOG_DIR/other.out" 2>&1 &
inside env SLURM_CONF="$other/etc/slurm.conf" "$DIR/sbin/ceems-recorder" -D -u slurm -f "$other/etc/ceems.conf" \
	>"$LOG_DIR/other-recorder.out" 2>&1 &
inside env SLURM_CONF="$other/etc/slurm.conf" slurmd -D -N m1 >"$LOG_DIR/m1.out" 2>&1 &
is_idle() {
	inside sinfo -h -M other -o %t 2>/dev/null | grep -qx idle
}
wait_for 60 is_idle
ok $? "a second cluster runs"
inside sacctmgr -i add federation fed clusters=ceems,other >/dev/null
are_siblings() {
	inside scontrol show federation | grep -q 'Synced:Yes'
}
wait_for 60 are_siblings
ok $? "the two are federated"

# --- jobs on both ------------------------------------------------------------------------------------

# each cluster has 4 CPUs
for _ in 1 2 3 4 5 6 7 8; do
	submit user1 -n2 -o /dev/null --wrap 'srun sleep 2' >/dev/null
done
cancelled=$(submit user2 -n1 -o /dev/null --begin=now+1hour --wrap true)
inside scancel "$cancelled"

shown() {
	inside sacct --federation -D -a -X -n -P -o jobid,cluster,state | awk -F '|' '$3 != "REVOKED" {
		sub(/ by .*/, "", $3); print $1, $2, $3 }'
	inside sacct -D -X -n -P -j "$cancelled" -o jobid,cluster,state |
		awk -F '|' '{ sub(/ by .*/, "", $3); print $1, $2, $3 }'
}
recorded() {
	cat "$RECORD_FILE" "$other_records" 2>/dev/null | jq -r '"\(.jobid) \(.cluster) \(.state)"'
}
all_ended() {
	[ "$(shown | grep -c COMPLETED)" = 8 ]
}
wait_for 120 all_ended
ok $? "all jobs end"
all_recorded() {
	[ "$(recorded | sort -u | wc -l)" -ge 9 ]
}
wait_for 120 all_recorded
all_shown() {
	[ "$(recorded | sort)" = "$(shown | sort -u)" ]
}
wait_for 60 all_shown
is "$(recorded | sort)" "$(shown | sort -u)" "each has one record, of the cluster that ran it"
has "$(recorded)" " other COMPLETED" "some ran on the second cluster"
has "$(recorded)" " ceems COMPLETED" "some on the first"
is "$(inside sacct --federation -D -a -X -n -P -o state | grep -c REVOKED)" 8 "each has a revoked sibling"
is "$(cat "$RECORD_FILE" "$other_records" | jq -r .key | sort | uniq -d)" "" "no key is there twice"
is "$(cat "$RECORD_FILE" "$other_records" | jq -r 'select(.state == "COMPLETED" and .energy.final != true).key')" "" \
	"all energy is final"
is "$(grep 'error: ceems' "$LOG_DIR/other.out" "$LOG_DIR/slurmctld.log" "$LOG_DIR"/*recorder.out)" "" "no error of ours"
done_testing
