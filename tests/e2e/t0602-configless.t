#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Nodes whose only configuration file is ceems.conf, which slurmctld does not send: it must be found in the configured
# folder. Without it the plugins must do nothing.
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/lib.sh"
[ -d /etc/slurm ] || skip_all "there is no /etc/slurm to put ceems.conf into"
needs_plugins acct_gather spank jobcomp
. "$e2e_top/tests/e2e/energy.sh"

cluster_up --configless --fake-rapl --still-cpus \
	--ceems-conf <(printf '%s\n' Sinks=file IdleWatts=0.001 FinalEnergyWait=10m)
is "$(inside readlink /run/slurm/conf)" "$DIR/slurmd/n1/conf-cache" "slurmd has what slurmctld sent"
fails "ceems.conf is not of it" test -e "$DIR/slurmd/n1/conf-cache/ceems.conf"
wait_for 60 slurmd_says "ceems: energy from rapl"
is "$(slurmd_says "ceems: energy from rapl")" 1 "slurmd finds it all the same"

# as an admin on such a node: no slurm.conf where ceems.conf is
on_node() {
	inside env -u SLURM_CONF unshare --mount sh -c "mount --bind $DIR/etc/node /etc/slurm && exec \"\$@\"" sh "$@"
}
out=$(on_node "$ceems" check -n n1)
has "$out" "ok     ceems.conf     /etc/slurm/ceems.conf" "ceems check finds it"
has "$out" "ok     slurm.conf     AcctGatherEnergyType=acct_gather_energy/ceems" "and the slurm.conf that was sent"
has "$out" "/run/slurm/conf/plugstack.conf:1 loads spank_ceems.so" "and plugstack.conf"

work_write
home=$DIR/home/user1
job=$(submit user1 -n1 --ceems-report --ceems-perf=sw,io -o "$home/out" --wrap "srun $e2e_work/work $home/go")
has_begun() {
	feed 5000001 1000003
	[ "$(job_energy_uj "$job")" -gt 20000000 ]
}
wait_for 120 has_begun
ok $? "a job has energy"
: >"$home/go"
wait_energy "$job"
is_joules "$(job_acct "$job" ConsumedEnergyRaw)" "$(job_energy_uj "$job")" \
	"sacct has what the ledger has"
text=$(cat "$home/out")
has "$text" "ceems: step $job.0 on n1" "the report comes through"
has "$text" "task clock" "with what --ceems-perf counted"
is "$(grep -c 'n/a (failed)' <<<"$text")" 0 "nothing failed"
has_record() {
	record_file "$job" >/dev/null
}
wait_for 60 has_record
is "$(record_file "$job" | jq .energy.total_j)" "$(job_acct "$job" ConsumedEnergyRaw)" "the record has it, too"
conserved "n1"

# --- scontrol reconfigure sends the files again -------------------------------------------------------

sed -i 's/^TreeWidth=.*/TreeWidth=3/' "$SLURM_CONF"
passes "scontrol reconfigure" inside scontrol reconfigure
is_sent() {
	grep -q '^TreeWidth=3' "$DIR/slurmd/n1/conf-cache/slurm.conf"
}
wait_for 60 is_sent
ok $? "slurmd has the new slurm.conf"
passes "a step runs" as user1 srun true
feed 4000000
conserved "it goes on measuring"

# --- and no ceems.conf at all --------------------------------------------------------------------------

mv "$DIR/etc/node/ceems.conf" "$e2e_work/"
on n1 restart_slurmd
says_none() {
	[ "$(slurmd_says 'ceems.conf does not exist; every setting has its default')" = 1 ]
}
wait_for 60 says_none
ok $? "one line says that there is no ceems.conf"
passes "jobs run" as user1 srun true
done_testing
