# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC1091,SC2154
# --profile=energy where steps have v2 cgroups, in which slurmstepd runs too: the last row must have the same as sacct.
. "$here/../e2e/profile.sh"
if ! has_profile hdf5 || ! command -v h5dump >/dev/null; then
	skip "acct_gather_profile_hdf5.so or h5dump is not installed (contrib/deps test)"
	return
fi
h5=/tmp/h5
echo "ProfileHDF5Dir=$h5" >"$DIR/etc/acct_gather.conf"
echo AcctGatherProfileType=acct_gather_profile/hdf5 >>"$DIR/etc/slurm.conf"
"$cluster" kill "$DIR" slurmctld
"$cluster" start-daemon "$DIR" slurmctld
rapl_load packages=1 psys=0 start_uj=0
sources_are rapl
slurmd_reads rapl

job=$(submit user1 -n1 --mem=100 -o /dev/null --wrap "srun --profile=energy --acctg-freq=energy=1 sh -c '
	until [ -e /tmp/go ]; do :; done'")
wait_for 120 step_is_open
ok $? "job $job runs"
feed_some() {
	rapl_feed 0 5000000
	has_more "$job" 0 20000000
}
wait_for 120 feed_some
: >/tmp/go
wait_energy "$job" 0
series_adds_up "$job" 0 "a step in a v2 cgroup"
node_is_idle
rm -rf "$h5" /tmp/go "$DIR/etc/acct_gather.conf"
sed -i '/^AcctGatherProfileType/d' "$DIR/etc/slurm.conf"
"$cluster" kill "$DIR" slurmctld
"$cluster" start-daemon "$DIR" slurmctld
rmmod fakerapl
