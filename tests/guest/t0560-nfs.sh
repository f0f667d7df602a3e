# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2016,SC2154
# An NFS server that stops while jobs run and end. The store may not be there: the recorder says so, and job ends wait in
# the inbox. All other files may: slurmctld, slurmd, slurmstepd and srun must not wait for the server, only our own
# processes may. When it is back, no record may be missing.
nfs=$DIR/nfs

nfs_missing() {
	local tool

	for tool in rpc.nfsd exportfs rpc.mountd mount.nfs4; do
		command -v $tool >/dev/null || { echo "$tool is not installed (Debian: nfs-kernel-server)"; return 0; }
	done
	return 1
}

# The kernel's server, in the cluster's network, for a folder of the guest's disk.
nfs_begin() {
	driver nfsd && driver nfsv4 && driver ext4 && driver virtio_blk && mkdir -p "$nfs" &&
		inside sh -c '
			mount -t ext4 /dev/vda /mnt && mkdir -p /mnt/nfs && chmod 777 /mnt/nfs &&
			mount -t nfsd nfsd /proc/fs/nfsd && mkdir -p /run/rpc_pipefs /var/lib/nfs/v4recovery &&
			exportfs -i -o rw,no_root_squash,insecure,fsid=0,no_subtree_check 127.0.0.1:/mnt/nfs &&
			rpc.mountd --no-nfs-version 3 && echo 10 >/proc/fs/nfsd/nfsv4leasetime &&
			echo 10 >/proc/fs/nfsd/nfsv4gracetime' && nfs_serves 1 &&
		inside mount -t nfs4 -o vers=4.2,hard 127.0.0.1:/ "$nfs"
}
nfs_serves() {
	inside rpc.nfsd --no-nfs-version 3 "$1"
}
# An access may wait 15 s for the end of the server's grace period of 10 s, and its process must not stay if it hangs.
on_nfs() {
	inside timeout -s KILL 60 "$@"
}
# our_stacks: where processes wait for the server
our_stacks() {
	local pid

	for pid in $(ps -eLo tid=,stat= | awk '$2 ~ /^D/ { print $1 }'); do
		echo "$pid $(cat "/proc/$pid/comm")" && head -n 8 "/proc/$pid/stack"
	done 2>/dev/null
}
# Slurm would drain the node if a helper that waits for the server were in the cgroup of a step. On v2, Slurm 26.05 has
# a SLUID in place of job_1.
waiting_in_steps() {
	local pid

	for pid in $(ps -eo pid=,stat=,comm= | awk '$2 ~ /^D/ && $3 ~ /^ceems-(trace|profile)/ { print $1 }'); do
		grep -HE '/(job|step)_' "/proc/$pid/cgroup"
	done 2>/dev/null
}
helpers_are_gone() {
	! ps -eo comm= | grep -E '^ceems-(trace|profile)'
}
nfs_is_back() {
	nfs_serves 1
	ok $? "the server is started again"
	wait_for 60 on_nfs ls "$nfs"
	ok $? "  and answers" || { our_stacks | diag; dmesg | tail -n 20 | diag; bail "NFS works"; }
}

# Ends the recorder and slurmd, writes these lines to ceems.conf, and starts both.
restart_with() {
	"$cluster" kill "$DIR" recorder >/dev/null 2>&1
	"$cluster" kill "$DIR" slurmd n1
	printf '%s\n' "$guest_conf" "$@" | awk -F= '{ line[$1] = $0; if (!seen[$1]++) key[++n] = $1 }
		END { for (i = 1; i <= n; i++) print line[key[i]] }' >"$CEEMS_CONF"
	"$cluster" start-daemon "$DIR" slurmd n1
	"$cluster" start-daemon "$DIR" recorder >/dev/null 2>&1
}
# run_check: its output is in $check_out, and the seconds that it took in $check_s
run_check() {
	local check_began=$SECONDS

	check_out=$(inside timeout -s KILL 120 "$ceems" check 2>&1)
	check_s=$((SECONDS - check_began))
}
# a_job WHAT [COMMAND]: runs a job, whose id goes into $jobs
a_job() {
	local id

	id=$(submit user1 -n1 --mem=100 -o /dev/null --wrap "${2:-srun true}")
	jobs+=("$id")
	wait_for 120 job_is "$id" COMPLETED
	ok $? "$1"
}
recorded() {
	on_nfs sh -c '[ ! -e "$1" ] || cat "$1"' sh "$record_file" | jq -r .jobid | sort -n | uniq | paste -sd' '
}
all_recorded() {
	local ids

	ids=$(recorded)
	[ "$ids" = "${jobs[*]}" ] || { echo "records of jobs $ids, not of ${jobs[*]}"; return 1; }
}
# Ends slurmctld, which then logs the longest time that a job end spent in the jobcomp plugin; it must be below a second.
slurmctld_was_quick() {
	local us

	"$cluster" kill "$DIR" slurmctld
	us=$(sed -n 's/.*time in slurmctld: .* worst \([0-9]*\)[.0-9]* us.*/\1/p' "$LOG_DIR/slurmctld.log" | tail -n 1)
	[ "${us:-9999999}" -lt 1000000 ]
	ok $? "slurmctld spent at most ${us:-?} us in the hook"
	"$cluster" start-daemon "$DIR" slurmctld
}

if why=$(nfs_missing); then
	skip "$why"
	return
fi
jobs=()
nfs_begin >/tmp/nfs.log 2>&1 || { diag </tmp/nfs.log; bail "an NFS server and its folder"; }
ok 0 "an NFS server and its folder"

# --- the store ---------------------------------------------------------------------------------------

recorder_refuses() {
	grep -h "$nfs/store is on NFS, not a disk of this host" "$LOG_DIR/recorder.out"
}
restart_with "StoreDir=$nfs/store"
wait_for 60 recorder_refuses
ok $? "a store on NFS is refused"
has "$(inside "$ceems" check 2>&1 | grep StoreDir)" "is on NFS, not a disk of this host" "ceems check names the file system"
a_job "a job runs"
nfs_serves 0
a_job "the server is stopped: a job runs"
nfs_is_back

# --- RecordFile, TextfileDir, TraceDir and ProfileDir ----------------------------------------------------

record_file=$nfs/records/jobs.jsonl
on_nfs install -d -o slurm "$nfs/records" "$nfs/textfile" "$nfs/textfile/ceems"
on_nfs install -d "$nfs/textfile/n1"
on_nfs install -d -m 1777 "$nfs/users"
restart_with "RecordFile=$record_file" "TextfileDir=$nfs/textfile/%n" "TraceDir=$nfs/users" "ProfileDir=$nfs/users"
wait_for 120 all_recorded
ok $? "with a store on a local disk the records come to a file on NFS"
has_prom() {
	on_nfs grep -q '^ceems_' "$nfs/textfile/n1/ceems.prom"
}
wait_for 60 has_prom
ok $? "ceems.prom is on NFS"
# a step that begins before the server stops and ends while it is away
rm -f /tmp/go
files="srun --ceems-trace=100ms --ceems-profile"
id=$(submit user1 -n1 --mem=100 -o /dev/null --wrap "$files sh -c 'until [ -e /tmp/go ]; do sleep 1; done'")
jobs+=("$id")
has_rows() {
	[ "$(on_nfs cat "$nfs/users/ceems-trace-$id.0-n1.csv" | wc -l)" -gt 3 ]
}
wait_for 120 has_rows
ok $? "a step with a trace on NFS runs"
run_check
up_s=$check_s
is "$(grep -c "does not answer" <<<"$check_out")" 0 "  ceems check finds that the server answers"
nfs_serves 0
began=$SECONDS
: >/tmp/go
wait_for 120 job_is "$id" COMPLETED
ok $? "the server is stopped: the step and its srun end"
a_job "  a step whose trace and profile cannot begin runs" "$files true"
wait_for 120 node_is idle
ok $? "  the node is idle"
has "$(grep -h "trace: ceems-trace was killed" "$LOG_DIR"/slurmd.n1.log)" "left waiting for the file system of $nfs/users/ceems-trace-$id.0-n1" \
	"  the log names the file of a program that cannot end"
is "$(waiting_in_steps)" "" "  and it is in no step's cgroup"
run_check
# four paths are on the server; it waits for all of them once
[ $((check_s - up_s)) -le 10 ]
ok $? "  ceems check takes $check_s s, and $up_s s with the server"
for key in TextfileDir TraceDir ProfileDir RecordFile; do
	has "$(grep "^error *$key " <<<"$check_out")" " does not answer" "  and names $key"
done
has "$check_out" "-> see why the file server of $nfs (NFS, 127.0.0.1:/) does not answer" "  and the server"
passes "  slurmctld answers" inside scontrol ping
passes "  slurmd ends" "$cluster" kill "$DIR" slurmd n1
passes "  and starts" "$cluster" start-daemon "$DIR" slurmd n1
a_job "  another job runs"
is "$(ps -eLo stat=,comm= | awk '$1 ~ /^D/ && $2 ~ /^(slurm|srun)/')" "" "  no thread of Slurm's waits for the server"
ps -eLo stat=,comm= | awk '$1 ~ /^D/ && $2 ~ /^ceems/' | diag
nfs_is_back
wait_for 120 all_recorded
ok $? "after $((SECONDS - began)) s the server is back: each job has its record" || our_stacks | diag
wait_for 60 helpers_are_gone
ok $? "  the programs that waited have ended" || our_stacks | diag
is "$(inside sinfo -h -o %E -n n1)" none "  nothing drained the node"
is_new() {
	[ -n "$(on_nfs find "$nfs/textfile/n1/ceems.prom" -newermt "-10 seconds")" ]
}
wait_for 60 is_new
ok $? "ceems.prom is written again"
slurmctld_was_quick
node_is_idle
restart_with
inside umount -l "$nfs"
nfs_serves 0
rm -f /tmp/go
