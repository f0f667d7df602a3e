# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2016,SC2154
# A node as sites have it: systemd with slurmd as its service; cores, memory and devices of steps are constrained and
# accounted by cgroup. On pure v2 slurmd asks systemd for a scope for its steps. With v1, v2 is mounted too or not at all.
case $(stat -f -c %T /sys/fs/cgroup),$(stat -f -c %T /sys/fs/cgroup/unified 2>/dev/null) in
cgroup2fs,*) cgroups=v2 ;;
*,cgroup2fs) cgroups=hybrid ;;
*) cgroups=v1 ;;
esac
diag "cgroups: $cgroups, process 1: $(cat /proc/1/comm)"
rapl_load packages=1 psys=0 start_uj=0
sources_are rapl
slurmd_reads rapl

read="6.2"
bpf_is_loaded || read="n/a (no BPF)"
case $cgroups in
v2) checked="v2 at /sys/fs/cgroup" ;;
hybrid) checked="v2 at /sys/fs/cgroup/unified: steps get a v2 cgroup" ;;
v1) checked="v2 is not mounted: steps get a v2 cgroup" ;;
esac
has "$(inside "$ceems" check -n n1 2>&1 | grep 'ok *cgroups')" "$checked" "ceems check says what it found"
gpu=$DIR/gpus/n1/nvidia0
gres=
[ ! -e "$gpu" ] || gres=--gres=gpu:1
# shellcheck disable=SC2086 # one word or none
job=$(submit user1 -n1 --mem=100 $gres --ceems-report --ceems-perf=sw -o /tmp/machine.out --wrap '
	srun sh -c "cat /proc/self/cgroup; until [ -e /tmp/go ]; do sleep 0.1; done
		dd if=/dev/zero of=/dev/null bs=64k count=100 status=none"
	[ -z "'$gres'" ] || for gres in gpu:1 none; do
		srun --gres=$gres sh -c "head -c 3 '"$gpu"' | od -An -tx1 | sed \"s/^/$gres:/\"; echo $gres has ended"
	done')
wait_for 120 step_is_open
ok $? "job $job runs"

# folder CONTROLLER: prints the step's cgroup folder; without CONTROLLER that of v2
folder() {
	local root=/sys/fs/cgroup
	[ -z "$1" ] || root=$root/$1
	sed -n "s|^[0-9]*:\(.*,\)\?$1\(,.*\)\?:\(/.*/step_0\)\(/.*\)\?$|$root\3|p" /tmp/machine.out | head -n 1
}
knows_folder() {
	[ -n "$(folder "$1")" ]
}
main=
[ $cgroups = v2 ] || main=memory
wait_for 120 knows_folder "$main"
ok $? "its step has a folder: $(folder "$main")"
if [ "$(cat /proc/1/comm)" != systemd ]; then
	skip "systemd is not process 1"
elif [ $cgroups = v2 ]; then
	is "$(systemctl is-active n1_slurmstepd.scope)" active "its steps are in a scope of systemd's"
	is "$(cat "$(folder '')/cpuset.cpus.effective")" 0 "on the CPU that it was given"
	is "$(cat "$(folder '')/../memory.max")" $((100 << 20)) "with the memory that its job asked for"
else
	is "$(cat "$(folder cpuset)/cpuset.cpus")" 0 "on the CPU that it was given"
	is "$(cat "$(folder memory)/memory.limit_in_bytes")" $((100 << 20)) "with the memory that it asked for"
	is "$(grep -c step_ceems_ "/tmp/machine.out")" 1 "and has a v2 cgroup beside"
fi
[ "$(cat /proc/1/comm)" != systemd ] ||
	has "$(cat "/proc/$(cat "$DIR/run/pid/slurmd.n1")/cgroup")" "/system.slice/" "slurmd is systemd's, too"
rapl_feed 0 60000000 0:1 5000000
wait_for 60 ledger_has_all
ok $? "it is measured"

# slurmd restarts, and systemd reloads its units; the job runs on
is_restarted() {
	"$cluster" kill "$DIR" slurmd n1 && { [ "$(cat /proc/1/comm)" != systemd ] || systemctl daemon-reload; } &&
		"$cluster" start-daemon "$DIR" slurmd n1
}
rapl_feed 0 7000000
passes "slurmd is restarted under the job" is_restarted
rapl_feed 0 30000000
conserved "no energy is lost with that"
: >/tmp/go
wait_energy "$job"
sacct_agrees
text=$(cat /tmp/machine.out)
has "$text" "ceems: step $job.0 on n1" "the report is there"
has "$text" "task clock" "with what --ceems-perf counted"
has "$text" "$read" "read: $read"
is "$(grep -c 'n/a (failed)' <<<"$text")" 0 "nothing failed"
isnt "$(usage "$job" 0 In ic/ceems_cpu_time)" "" "CPU time is known"
if [ -n "$gres" ]; then
	has "$text" "gpu:1: 00 00 00" "a step with the GPU reads its device"
	if grep -qx ConstrainDevices=yes "$DIR/etc/cgroup.conf"; then
		is "$(grep -c '^none:' <<<"$text")" 0 "one without it may not"
	else
		skip "devices are not constrained without systemd"
	fi
	has "$text" "none has ended" "though it runs"
	has "$text" "ceems: step $job.2 on n1" "and has its report"
fi
is "$(find /sys/fs/cgroup -type d -name "job_$job" -o -type d -name 'step_ceems_*' 2>/dev/null)" "" "nothing is left of it"
step=$(folder "$main")
fails "not its folder either" test -e "${step%/step_0}"
conserved "at the end"
node_is_idle
rm -f /tmp/go /tmp/machine.out
rmmod fakerapl
