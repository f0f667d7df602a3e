#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Eight jobs at once on one node, each with a different known load; four hold a GPU each. Each job must have its own
# memory, CPU time and energy, and all energy must add up to the node's.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather
. "$(dirname "$0")/energy.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed (contrib/deps test)"
cluster_up --plugins acct_gather --fake-rapl --still-cpus --fake-gpus 4 --cpus 16 --ceems-conf <(echo IdleWatts=0.001)
if [ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then
	echo ConstrainRAMSpace=yes >>"$DIR/etc/cgroup.conf"
	restart_slurmd
fi
. "$(dirname "$0")/eight.sh"

# Feeds the node 1 J per ms of the jobs' CPU time, in portions as they use it. So the energy of each job is known.
feed_work() {
	local ms

	ms=$(eight_ms)
	[ "$ms" -le "$fed_ms" ] || feed $(((ms - fed_ms) * 1000000))
	fed_ms=$ms
}
eight_start "$DIR/home/mix" 200 "--gres=gpu:1"
fed_ms=0
declare -A gpu
for ((i = 5; i <= 8; i++)); do
	gpu[$i]=$(cat "$mix/gpu.$i")
	feed_gpu "${gpu[$i]}" $((i * 100000))
	use_gpu "${gpu[$i]}" 50 $((i * 1000)) processes=1
done
is "$(printf '%s\n' "${gpu[@]}" | sort -n | xargs)" "0 1 2 3" "four jobs hold a GPU each"
eight_work feed_work
eight_memory_now "$TEXTFILE_DIR/n1/ceems.prom"
eight_end
eight_agree
for ((i = 1; i <= 8; i++)); do
	cpu=$(usage "${job[$i]}" batch In ic/ceems_cpu_energy)
	ms=$(eight_worked_ms "$i")
	# a tick may fall between a job's CPU time and the feed for it; and a job that waits uses some CPU time
	within "job $i, J for $ms ms of work" "${cpu:-}" $((ms * 9 / 10 - 15)) $((ms * 11 / 10 + 30))
	if [ "$i" -lt 5 ]; then
		is "$(usage "${job[$i]}" batch In ic/ceems_gpu_energy)" 0 "none of the GPUs that others hold"
		continue
	fi
	is "$(usage "${job[$i]}" batch In ic/ceems_gpu_energy)" $((i * 100)) "the joules of its GPU, and of no other"
	is "$(job_acct "${job[$i]}" "TRESUsageInMax%2000" batch | tr , '\n' | sed -n 's|^ic/ceems_gpu_memory=||p')" \
		$((i * 1000 * MIB)) "and its memory"
done
conserved "after all of that"
eight_adds_up
done_testing
