# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2016,SC2154
# A node as sites have them: systemd, pure cgroup v2, slurmd a service that asks for the scope of its steps;
# their cores, memory and devices constrained, and accounted by cgroup.
rapl_load packages=1 psys=0 start_uj=0
sources_are rapl
slurmd_reads rapl

read="6.2"
bpf_is_loaded || read="n/a (no BPF)"
job=$(submit user1 -n1 --mem=100 --ceems-report --ceems-perf=sw -o /tmp/machine.out --wrap '
	srun sh -c "cat /proc/self/cgroup; until [ -e /tmp/go ]; do sleep 0.1; done
		dd if=/dev/zero of=/dev/null bs=64k count=100 status=none"')
wait_for 120 step_is_open
ok $? "job $job runs"
scope=/sys/fs/cgroup/system.slice/n1_slurmstepd.scope
if [ "$(cat /proc/1/comm)" = systemd ]; then
	is "$(systemctl is-active n1_slurmstepd.scope)" active "its steps are in a scope of systemd's"
	is "$(cat "$scope/job_$job/step_0/cpuset.cpus.effective")" 0 "on the CPU that it was given"
	is "$(cat "$scope/job_$job/memory.max")" $((100 << 20)) "with the memory that it asked for"
	has "$(cat "/proc/$(cat "$DIR/run/pid/slurmd.n1")/cgroup")" "0::/system.slice/" "slurmd is systemd's, too"
else
	skip "systemd is not process 1"
fi
rapl_feed 0 60000000 0:1 5000000
wait_for 60 ledger_has_all
ok $? "it is measured"

# slurmd goes and comes back, and systemd reads its units again; the job goes on
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
has "$text" "/job_$job/step_0/user/task_0" "the task was in the step's cgroup"
has "$text" "ceems: step $job.0 on n1" "the report is there"
has "$text" "task clock" "with what --ceems-perf counted"
has "$text" "$read" "read: $read"
isnt "$(usage "$job" 0 In ic/ceems_cpu_time)" "" "CPU time is known"
is "$(find "$scope" -name "job_$job" 2>/dev/null)" "" "nothing is left of it"
conserved "at the end"
node_is_idle
rm -f /tmp/go /tmp/machine.out
rmmod fakerapl
