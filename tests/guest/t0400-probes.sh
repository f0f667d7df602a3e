# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2016,SC2154
# --ceems-perf=io,net with a kernel that has function hooks, on pure cgroup v2: steps at the same time, each with its own
# bytes by file system and by TCP. Other processes in a step's cgroup, such as slurmstepd, must not count for the step;
# processes in a container that a task made must.
traffic=$here/../e2e/traffic.py

for disk in scratch local; do
	inside mkdir -p "/mnt/$disk"
	inside mount -t tmpfs -o mode=1777 "$disk" "/mnt/$disk"
done
inside mkdir -p /mnt/inner
sources_are model "Filesystems=scratch:/mnt/scratch,local:/mnt/local"
bpf_is_loaded
ok $? "slurmd loads the programs"
has "$out" "io        on" "this kernel has function hooks"

# step USER CMD: submits a step that waits for the go file, then runs CMD and prints a report; prints the job's id
step() {
	as "$1" timeout 1200 srun -n1 --mem=100 --ceems-perf=io,net --ceems-report sh -c '
		echo "job $SLURM_JOB_ID"; : >/mnt/scratch/here.$SLURM_JOB_ID
		until [ -e /mnt/scratch/go ]; do sleep 0.1; done
		'"$2" >"$e2e_work/$1.out" 2>&1
}

# copies USER BLOCKS: a step that copies BLOCKS of 64 KiB to scratch, and from there to the node's disk, and sends as many
copies() {
	echo "dd if=/dev/zero of=/mnt/scratch/$1 bs=64k count=$2 status=none
		dd if=/mnt/scratch/$1 of=/mnt/local/$1 bs=64k status=none
		exec $traffic $(($2 * 65536))"
}

# a private file system that is unmounted before its mount point could be looked up
container='unshare --mount sh -c '\''
	cgroup=/sys/fs/cgroup$(sed s/^0::// /proc/self/cgroup)/inner
	mkdir $cgroup
	sh -c "echo \$\$ >$cgroup/cgroup.procs
		mount -t tmpfs inner /mnt/inner; dd if=/dev/zero of=/mnt/inner/x bs=4k count=25 status=none"
	rmdir $cgroup'\'

step user1 "$(copies user1 10)" &
steps=$!
step user2 "$(copies user2 48)" &
steps+=" $!"
# read() of a folder fails
step root "for n in 1 2 3; do dd if=/mnt/local of=/dev/null status=none 2>/dev/null; done; $container" &
steps+=" $!"
are_there() {
	[ "$(inside sh -c 'ls /mnt/scratch/here.*' | wc -l)" = 3 ]
}
wait_for 300 are_there
ok $? "three steps begin at once"

# as slurmstepd would
job=$(sed -n 's/^job //p' "$e2e_work/user1.out")
beside=$(inside find /sys/fs/cgroup -path "*/job_$job/step_0/slurm" -type d)
passes "somebody else works beside the tasks of step $job.0" inside sh -c '
	echo $$ >'"$beside"'/cgroup.procs && dd if=/dev/zero of=/mnt/scratch/beside bs=64k count=3 status=none &&
	'"$traffic"' 1000'
inside touch /mnt/scratch/go
for n in $steps; do
	wait "$n"
	is $? 0 "a step ends"
done

# row USER MOUNT: prints a row of the report's table of file systems: bytes read, calls, bytes written, calls
row() {
	awk -v mount="$2" '$7 == mount { print $1 $2, $3, $4 $5, $6 }' "$e2e_work/$1.out"
}

for who in "user1 10 640.0KiB" "user2 48 3.00MiB"; do
	read -r user blocks shown <<<"$who"
	job=$(sed -n 's/^job //p' "$e2e_work/$user.out")
	wait_booked "$job"
	for n in 0 extern; do
		bytes=$((blocks * 65536))
		is "$(for tres in fs/ceems_scratch fs/ceems_local; do
			usage "$job" $n In $tres
			usage "$job" $n Out $tres
		done | paste -sd ' ')" "$bytes $bytes 0 $bytes" "job $job, step $n: bytes by file system"
		bytes=$((bytes + 4))
		is "$(usage "$job" $n In ic/ceems_net) $(usage "$job" $n Out ic/ceems_net)" \
			"$bytes $bytes" "bytes by TCP"
	done
	is "$(row "$user" /mnt/scratch)" "$shown $((blocks + 1)) $shown $blocks" \
		"the report has the mount point scratch"
	is "$(row "$user" /mnt/local)" "0B 0 $shown $blocks" "and local"
	is "$(awk '$1 == "TCP" && $2 == "received" { print $3 $4, $5, $6 }' "$e2e_work/$user.out")" \
		"$shown 4 connections" "and the connections of the tasks only"
	is "$(grep -c 'function hooks\|failed\|no BPF\|no v2' "$e2e_work/$user.out")" 0 "nothing is missing"
done
is "$(row root /mnt/inner)" "0B 0 100.0KiB 25" "what a container wrote has its mount point's name"
[ -z "$(row root /mnt/inner)" ] && diag <"$e2e_work/root.out"
job=$(sed -n 's/^job //p' "$e2e_work/root.out")
wait_booked "$job"
is "$(usage "$job" 0 In ic/ceems_io_errors) $(usage "$job" 0 Out ic/ceems_io_errors)" "3 0" "reads that failed are counted"
is "$(slurmd_says 'is not counted')" 0 "every step was counted"
inside umount /mnt/scratch /mnt/local
node_is_idle
