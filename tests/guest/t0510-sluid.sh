# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2016,SC2154
# Slurm 26.05 names a job's cgroup by its SLUID, or, with CgroupJobIdPaths=yes, by its id as earlier versions. Steps must
# be found in both cases, and their cgroups read.
version=$(inside slurmctld -V)
version=${version##* }
cgroup_conf=$DIR/etc/cgroup.conf
scope=/sys/fs/cgroup/system.slice/n1_slurmstepd.scope
prom=$TEXTFILE_DIR/n1/ceems.prom

# folder_of ID: prints the last part of the job's cgroup path
folder_of() {
	case $folders in
	id) echo "job_$1" ;;
	sluid) inside scontrol -d show job "$1" | grep -o 'SLUID=s[0-9A-Z]*' | sed 's/.*=//' ;;
	esac
}

# of $job, in ceems.prom
prom_has_cpu_time() {
	awk -v job="uuid=\"$job\"" 'index($1, "ceems_compute_unit_cpu_seconds_total{") == 1 && index($1, job) { s = $2 }
		END { exit !(s > 0) }' "$prom"
}

is_there() {
	[ -d "$scope/$folder/step_0" ]
}

look_at_job() {
	local folder text

	rm -f /tmp/go
	rapl_load packages=1 psys=0 start_uj=0
	sources_are rapl
	slurmd_reads rapl
	has_bpf=yes
	wait_for 400 bpf_is_decided
	bpf_is_loaded || has_bpf=no
	[ $has_bpf = yes ] || grep 'not counted on this node' "$LOG_DIR/slurmd.n1.log" | diag
	job=$(submit user1 -n1 --mem=100 --ceems-report --ceems-perf=sw -o /tmp/sluid.out --wrap '
		srun sh -c "cat /proc/self/cgroup; until [ -e /tmp/go ]; do sleep 0.1; done
			dd if=/dev/zero of=/dev/null bs=64k count=100 status=none"')
	wait_for 120 step_is_open
	ok $? "job $job runs"
	folder=$(folder_of "$job")
	wait_for 60 is_there
	ok $? "its cgroup is $folder"
	rapl_feed 0 60000000 0:1 5000000
	wait_for 60 ledger_has_all
	ok $? "it is measured"
	wait_for 60 prom_has_cpu_time
	ok $? "ceems.prom has its CPU time"
	: >/tmp/go
	wait_energy "$job"
	sacct_agrees
	text=$(cat /tmp/sluid.out)
	has "$text" "/$folder/step_0/" "the task was in it"
	has "$text" "ceems: step $job.0 on n1" "the report is there"
	has "$text" "task clock" "with what --ceems-perf counted"
	[ "$has_bpf" = no ] || has "$text" "6.2" "read: 6.2 MiB, by BPF"
	isnt "$(usage "$job" 0 In ic/ceems_cpu_time)" "" "CPU time is known"
	isnt "$(usage "$job" 0 In mem)" "" "and memory"
	is "$(find "$scope" -name "$folder" 2>/dev/null)" "" "nothing is left of it"
	conserved "with folders by $folders"
	rmmod fakerapl
}

if [ "$(printf '%s\n' 26.05 "$version" | sort -V | head -n 1)" != 26.05 ]; then
	skip "Slurm $version names jobs' cgroups by their id alone"
else
	folders=sluid
	look_at_job
	echo CgroupJobIdPaths=yes >>"$cgroup_conf"
	folders=id
	look_at_job
	sed -i '/^CgroupJobIdPaths/d' "$cgroup_conf"
	node_is_idle
	rm -f /tmp/go /tmp/sluid.out
fi
