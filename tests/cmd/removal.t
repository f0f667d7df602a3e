#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What Debian's packages say when they are removed while slurm.conf names their plugins.
. "$top_srcdir/tests/tap/tap.sh"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
SLURM_CONF=$dir/slurm.conf
export SLURM_CONF

# remove PACKAGE: runs its script, but not as root would: the recorder of this machine is not stopped
remove() {
	out=$(sed '/run.systemd.system/,/^fi/d' "$top_srcdir/contrib/debian/$1.prerm" | sh -s "$2" 2>&1)
	rc=$?
}
cat >"$dir/slurm.conf" <<END
AcctGatherEnergyType = "acct_gather_energy/ceems"
jobcomptype=jobcomp/ceems
END
remove energy remove
is $rc 0 "the package of the energy plugin can be removed"
has "$out" "$dir/slurm.conf has AcctGatherEnergyType=acct_gather_energy/ceems: without this package slurmctld and slurmd end" \
	"  and says what ends then"
remove jobcomp remove
is $rc 0 "that of the jobcomp plugin, too"
has "$out" "$dir/slurm.conf has JobCompType=jobcomp/ceems: without this package slurmctld ends" "  and says so"
remove energy upgrade
is "$rc $out" "0 " "an upgrade says nothing"
printf '#AcctGatherEnergyType=acct_gather_energy/ceems\nJobCompType=jobcomp/none\n' >"$dir/slurm.conf"
for package in energy jobcomp; do
	remove $package remove
	is "$rc $out" "0 " "$package: nor does a slurm.conf without the plugin"
done
done_testing
