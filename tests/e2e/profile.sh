# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC1091,SC2154
# profile.sh - for tests of Slurm's profile plugins, after lib.sh and energy.sh: reads the HDF5 files below $h5.

. "$e2e_top/contrib/cluster/lib/conf.sh" # $distro_plugindir

# has_profile TYPE: Slurm's own plugin is installed.
has_profile() {
	[ -e "$distro_plugindir/acct_gather_profile_$1.so" ]
}

# series JOB STEP DATASET COLUMN: prints "ROWS SUM" of a column in user1's file of that step.
series() {
	h5dump -w 0 -d "/n1/$3" "$h5/user1/$1_$2_n1.h5" 2>/dev/null | awk -v column="$4" '
		/H5T_[A-Z0-9_]* "/ { name[n++] = substr($2, 2, length($2) - 3) }
		/^ +[0-9.e+-]+,?$/ { if (name[i++ % n] == column) { rows++; sum += $1 } }
		END { if (rows) printf "%d %.0f\n", rows, sum }'
}

# series_adds_up JOB STEP WHAT: energy and emissions of the series must add up to sacct's, within rounding.
series_adds_up() {
	local job=$1 step=$2 what=$3 rows uj ng joules

	read -r rows uj <<<"$(series "$job" "$step" Energy energy_uj)"
	diag "$what: ${rows:-0} rows, ${uj:-no} uJ"
	joules=$(job_acct "$job" ConsumedEnergyRaw "$step")
	is_joules "$joules" "$uj" "$what: the energy of the series is sacct's"
	read -r rows ng <<<"$(series "$job" "$step" Energy co2e_ng)"
	is "$(((${ng:--2000} + 500) / 1000))" "$(usage "$job" "$step" In ic/ceems_co2e)" "$what: and the emissions"
}

# has_more JOB STEP UJ: the running step has more energy than UJ.
has_more() {
	local uj
	uj=$(ledger ".steps[] | select(.job == $1 and .step == \"$2\") | .total_uj")
	[ "${uj:-0}" -gt "$3" ]
}
