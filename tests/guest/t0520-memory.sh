# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2016,SC2154
# Known loads where Slurm limits memory by cgroup. sacct must have the working set, peaks, OOM kills, and the time in which
# tasks waited for memory, a disk or their CPU quota, as the kernel's own numbers, which a step prints before it ends.
load=$here/../e2e/memload.py
MIB=1048576

if ! grep -qx ConstrainRAMSpace=yes "$DIR/etc/cgroup.conf"; then
	skip "memory is not limited without systemd"
	return
fi
[ -e /sys/fs/cgroup/cgroup.controllers ] && cgroups=v2 || cgroups=v1
sources_are model
slurmd_reads model
driver -a virtio_blk ext4
inside mkdir -p /mnt/disk
passes "a disk" inside mount /dev/vda /mnt/disk
# more than the limit of the job that reads it
inside dd if=/dev/zero of=/mnt/disk/file bs=1M count=160 conv=fsync status=none

# within WHAT VALUE LEAST MOST
within() {
	[ -n "$2" ] && [ "$2" -ge "$3" ] && [ "$2" -le "$4" ]
	ok $? "$1: ${2:-none}, of $3 to $4"
}
# step MIB CMD: runs a step of user1 with that memory limit; waits until sacct has its usage. Its output is in $text.
step() {
	job=$(submit user1 -n1 --mem="$1" -o /tmp/memory.out --wrap "srun sh -c '$2'; true")
	wait_booked "$job"
	wait_for 120 is_used "$job" 0 Out ic/ceems_memory
	text=$(cat /tmp/memory.out)
	rm -f /tmp/memory.out
}
# told KEY: prints what the step printed after KEY
told() {
	sed -n "s/^$1 //p" <<<"$text" | tail -n 1
}
# In a step: folder CONTROLLER prints its cgroup folder; without CONTROLLER that of v2.
folder='folder() {
	root=/sys/fs/cgroup
	[ -e $root/cgroup.controllers ] || root=$root/${1:-unified}
	echo $root$(sed -n "s|^[0-9]*:\(.*,\)\{0,1\}$1\(,.*\)\{0,1\}:\(/.*/step_[^/]*\).*|\3|p" /proc/self/cgroup | head -n 1)
}
'
# the kernel's peak; on v2 slurmstepd is beside the tasks' folder
peak='sed "s/^/peak /" $(folder)/user/memory.peak'
[ "$cgroups" = v2 ] || peak='sed "s/^/peak /" $(folder memory)/memory.max_usage_in_bytes'

# --- working set --------------------------------------------------------------------------------

step 200 "$folder$load hold 20 5 4 8; $peak"
# Each of four Python processes has some MiB of its own; the parent has 6 MiB.
within "20 MiB that four share and 5 of each of them" "$(usage "$job" 0 In ic/ceems_memory)" \
	$((40 * MIB)) $((75 * MIB))
within "the kernel's peak, which the step saw" "$(usage "$job" 0 Out ic/ceems_memory)" \
	"$(told peak)" $(($(told peak) + 8 * MIB))
is "$(usage "$job" 0 In ic/ceems_oom)" 0 "no OOM kill: known to be none"

# --- a peak between two samples -------------------------------------------------------------------

for _ in 1 2 3 4 5 6 7 8; do
	step 200 "$load burst 32"
	[ "$text" = "too slow" ] || break
done
diag "32 MiB were there for $text ms"
within "the sampled one is without it" "$(usage "$job" 0 In ic/ceems_memory)" $((2 * MIB)) $((25 * MIB))
within "the kernel's has it" "$(usage "$job" 0 Out ic/ceems_memory)" $((34 * MIB)) $((100 * MIB))

# --- the limit --------------------------------------------------------------------------------------

step 60 "$load hold 0 200 1 5"
within "OOM kills" "$(usage "$job" 0 In ic/ceems_oom)" 1 10
within "the kernel's peak is the limit" "$(usage "$job" 0 Out ic/ceems_memory)" $((55 * MIB)) $((60 * MIB))

# --- pressure ---------------------------------------------------------------------------------------

psi='for kind in memory io; do sed -n "s/^some.*total=/$kind /p" $(folder)/$kind.pressure; done'
inside sh -c 'echo 3 >/proc/sys/vm/drop_caches'
step 60 "$folder for i in 1 2 3; do dd if=/mnt/disk/file of=/dev/null bs=64k status=none; done; $psi"
diag "stalled for memory $(told memory) us, for I/O $(told io) us"
for tres in mem io; do
	kernel=$(told ${tres/mem/memory})
	if [ -z "$kernel" ]; then
		skip "no PSI: the step has no v2 cgroup"
		continue
	fi
	[ "$kernel" -gt 0 ]
	ok $? "a job at its limit that reads a file again waits: $tres"
	within "which sacct has, as the kernel" "$(usage "$job" 0 In ic/ceems_${tres}_psi)" "$kernel" \
		$((kernel + 1000000))
done
within "the file is no working set" "$(usage "$job" 0 In ic/ceems_memory)" 1 $((20 * MIB))
within "but page cache, up to the limit: KiB s" "$(usage "$job" 0 Out ic/ceems_memory_time)" 1 100000000

# --- a CPU quota -------------------------------------------------------------------------------------

# Slurm sets no quota, so the test sets a fifth of a CPU for a loop that would use all of it.
limit_cpu() {
	local step

	if [ "$cgroups" = v1 ]; then
		step=$(find /sys/fs/cgroup/cpu/ -type d -path "*/job_$job/step_0")
		echo 20000 >"$step/cpu.cfs_quota_us"
		return
	fi
	step=$(find /sys/fs/cgroup -type d -path "*/job_$job/step_0")
	[ -e "$step/cpu.max" ] || echo +cpu >"${step%/*}/cgroup.subtree_control"
	echo "20000 100000" >"$step/cpu.max"
}
job=$(submit user1 -n1 --mem=100 -o /tmp/memory.out --wrap "srun sh -c '$folder
	until [ -e /tmp/go ]; do sleep 0.1; done
	timeout 6 sh -c \"while :; do :; done\"
	sed -n \"s/^throttled_usec /throttled /p; s/^throttled_time \(.*\)...$/throttled \1/p\" \
		\$(folder cpu)/cpu.stat \$(folder)/cpu.stat 2>/dev/null'; true")
wait_for 120 step_is_open
passes "its step has a CPU quota" limit_cpu
: >/tmp/go
wait_booked "$job"
wait_for 120 is_used "$job" 0 In ic/ceems_throttled
text=$(cat /tmp/memory.out)
within "time that it was throttled, as the kernel" "$(usage "$job" 0 In ic/ceems_throttled)" \
	"$(told throttled)" $(($(told throttled) + 10000000))
# includes some time before the loop, while the step waited
[ "$(told throttled)" -gt 3000000 ]
ok $? "which was most of the 6 s of the loop"

adds_up "after all of that"
inside umount /mnt/disk
node_is_idle
rm -f /tmp/go /tmp/memory.out
