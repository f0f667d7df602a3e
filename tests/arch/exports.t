#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A plugin must export only the symbols that Slurm looks up. Slurm's library exports 1,500 plain names, which would replace
# ours in its processes, and ours would replace those of other plugins.
. "$top_srcdir/tests/tap/tap.sh"
command -v nm >/dev/null || skip_all "no nm"

# exports FILE NEEDED MAY: FILE must export all symbols of NEEDED, and no others except those of MAY (both for grep -E)
exports() {
	so=$top_builddir/$1
	if [ ! -e "$so" ]; then
		skip "$1 is not built"
		return
	fi
	got=$(nm -D --defined-only "$so" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' | sort)
	extra=$(echo "$got" | grep -vxE "($(echo $2 $3 | tr ' ' '|'))")
	is "$extra" "" "$1 exports nothing else"
	for name in $2; do
		echo "$got" | grep -qx "$name"
		ok $? "$1 exports $name"
	done
}

if grep -q 'fsanitize' "$top_builddir/config.log"; then
	skip_all "sanitizers add symbols of their own"
fi
base="plugin_name plugin_type plugin_version"
e=acct_gather_energy_p
exports acct_gather/.libs/acct_gather_energy_ceems.so \
	"$base init fini ${e}_update_node_energy ${e}_get_data ${e}_set_data ${e}_conf_options
	${e}_conf_set ${e}_conf_values" ""
exports jobcomp/.libs/jobcomp_ceems.so \
	"$base init fini jobcomp_p_set_location jobcomp_p_get_jobs" \
	"jobcomp_p_log_record jobcomp_p_record_job_start jobcomp_p_record_job_end"
exports spank/.libs/spank_ceems.so "$base" "slurm_spank_[a-z_]* spank_options"
exports src/libnode/.libs/ceems_node.so ceems_node ""
done_testing
