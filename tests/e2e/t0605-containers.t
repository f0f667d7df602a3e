#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Jobs with a private /tmp (job_container/tmpfs) and, from Slurm 24.05 on, SPANK's hooks in it (contain_spank): energy,
# metric values, report and record must be as without, also if slurmd restarts while a job runs.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
E2E_IN=/var/tmp # because jobs do not see this machine's /tmp
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank jobcomp
. "$e2e_top/tests/e2e/energy.sh"

base=$e2e_work/containers
printf '%s\n' AutoBasePath=true "BasePath=$base" >"$e2e_work/job_container.conf"
cluster_up --cpus 4 --fake-rapl --still-cpus --etc "$e2e_work/job_container.conf" \
	--slurm-conf <(printf '%s\n' JobContainerType=job_container/tmpfs PrologFlags=Contain) \
	--ceems-conf <(printf '%s\n' Sinks=file IdleWatts=0.001)
work_write
prom=$TEXTFILE_DIR/n1/ceems.prom

has_begun() {
	feed 5000001 1000003
	[ "$(job_energy_uj "$1")" -gt "$2" ]
}
is_in_prom() {
	feed 1000
	grep -q "^ceems_compute_unit_energy_joules_total{.*uuid=\"$1\"} [0-9.]*[1-9]" "$prom"
}
has_record() {
	record_file "$1" >/dev/null
}
is_gone() {
	[ -z "$(inside find "$base" -name "$1" 2>/dev/null)" ]
}

# run_jobs WHAT: runs two jobs at once, and restarts slurmd meanwhile
run_jobs() {
	local what=$1 u h j ids=() uj

	for u in user1 user2; do
		h=$DIR/home/$u
		rm -f "$h"/*
		ids+=("$(submit $u -n1 --ceems-report --ceems-perf=sw,io -o "$h/out" --wrap "
			ls -A /tmp >$h/first
			echo $u >/tmp/name
			srun sh -c '$e2e_work/work $h/go $h/runs; dd if=/dev/zero of=/tmp/data bs=64k count=100 status=none
				cat /tmp/name; ls -A /tmp' >$h/inside")")
	done
	for u in user1 user2; do
		wait_for 120 test -e "$DIR/home/$u/runs.0"
	done
	for j in "${ids[@]}"; do
		wait_for 120 has_begun "$j" 20000000
		ok $? "$what: job $j has energy while it runs"
		wait_for 60 is_in_prom "$j"
		ok $? "and is in ceems.prom"
	done
	on n1 restart_slurmd
	uj=$(job_energy_uj "${ids[0]}")
	wait_for 120 has_begun "${ids[0]}" "$uj"
	ok $? "a new slurmd goes on with them"
	for u in user1 user2; do
		touch "$DIR/home/$u/go"
	done
	for j in "${ids[@]}"; do
		wait_energy "$j"
		is_joules "$(job_acct "$j" ConsumedEnergyRaw)" "$(job_energy_uj "$j")" \
			"job $j: sacct has what the ledger has"
		is "$(job_acct "$j" ConsumedEnergyRaw extern)" "$(job_acct "$j" ConsumedEnergyRaw)" "of the extern step"
		wait_for 60 has_record "$j"
		is "$(record_file "$j" | jq -c '.energy | [.total_j, .final]')" \
			"[$(job_acct "$j" ConsumedEnergyRaw),true]" "and so has the record"
		[ "$(usage "$j" 0 Out fs/ceems)" -ge 6553600 ]
		ok $? "what was written to its /tmp counts"
		wait_for 60 is_gone "$j"
		ok $? "its /tmp is gone"
	done
	conserved "$what"
	for u in user1 user2; do
		h=$DIR/home/$u
		is "$(cat "$h/first")" "" "/tmp was $u's own"
		is "$(tr '\n' ' ' <"$h/inside")" "$u data name " "and of all steps of the job"
		for j in batch 0; do
			is "$(grep -c "^ceems: step [0-9]*[.]$j on n1" "$h/out")" 1 "step $j has a report"
		done
		is "$(sed -n 's/^  *task clock  *//p' "$h/out" | grep -c ' m\?s$')" 2 "with what --ceems-perf counted"
		is "$(grep -c 'n/a (failed)\|n/a (not measured)' "$h/out")" 0 "and a reason for what is missing"
	done
	is "$(complaints)" "" "no node had anything to complain of"
}

run_jobs "job_container/tmpfs"
IFS=. read -r major minor _ < <(inside sinfo -V | sed 's/^slurm[^0-9]*//')
if [ "$major$minor" -ge 2405 ]; then
	sed -i '/^SlurmdParameters=/s/$/,contain_spank/' "$SLURM_CONF"
	"$cluster" kill "$DIR" slurmctld
	"$cluster" start-daemon "$DIR" slurmctld
	on n1 restart_slurmd
	run_jobs "contain_spank"
else
	skip "contain_spank: Slurm $major.$minor has none"
fi
done_testing
