# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC1091,SC2034,SC2154
# Eight jobs at once where Slurm limits memory by cgroup: each must have its own memory, CPU time and energy. The guest has
# one CPU, so jobs are not bound to CPUs; and CPU time of Slurm's daemons is charged to system.
. "$here/../e2e/eight.sh"
if ! grep -qx ConstrainRAMSpace=yes "$DIR/etc/cgroup.conf"; then
	skip "memory is not limited without systemd"
	return
fi
# use_cpus OLD NEW YES|NO: changes the node from OLD to NEW CPUs; YES: jobs are bound to CPUs
use_cpus() {
	sed -i "s/\(CPUs\|CoresPerSocket\)=$1 /\1=$2 /g" "$DIR/etc/slurm.conf"
	sed -i "s/^ConstrainCores=.*/ConstrainCores=$3/" "$DIR/etc/cgroup.conf"
	"$cluster" kill "$DIR" slurmctld
	"$cluster" start-daemon "$DIR" slurmctld
}
use_cpus 4 8 no
rapl_load packages=1 psys=0 start_uj=0
sources_are rapl IdleWatts=0.001
slurmd_reads rapl

# 1 J per ms of the jobs' CPU time
feed_work() {
	local ms

	ms=$(eight_ms)
	[ "$ms" -le "$fed_ms" ] || rapl_feed 0 $(((ms - fed_ms) * 1000000))
	fed_ms=$ms
	sleep 0.2
}
eight_extra_ms=6000
eight_start /tmp/mix 500
fed_ms=0
eight_work feed_work
eight_memory_now "$TEXTFILE_DIR/n1/ceems.prom"
eight_end
eight_agree
for ((i = 1; i <= 8; i++)); do
	ms=$(eight_worked_ms "$i")
	within "job $i, J for $ms ms of work" "$(usage "${job[$i]}" batch In ic/ceems_cpu_energy)" $((ms / 4)) \
		$((ms * 11 / 10 + 300))
done
conserved "after all of that"
eight_adds_up
node_is_idle
rm -rf /tmp/mix
unset job
rmmod fakerapl
use_cpus 8 4 yes
