#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Manual pages must format without a warning, have examples, and refer to pages that exist.
. "$top_srcdir/tests/tap/tap.sh"
cd "$top_srcdir" || exit 1
command -v groff >/dev/null || skip_all "no groff"
pages=$(find src bpf spank jobcomp recorder acct_gather -name '*.[1-8].in' | sort)

# filled PAGE: prints the page that configure made, else the .in file with some value for each @NAME@
filled() {
	if [ -f "$top_builddir/${1%.in}" ]; then
		cat "$top_builddir/${1%.in}"
	else
		sed 's/@[A-Za-z_]*@/x/g' "$1"
	fi
}

for page in $pages; do
	is "$(filled "$page" | groff -man -Tutf8 -ww -z 2>&1)" "" "$page: groff has no warning"
done
if command -v mandoc >/dev/null; then
	for page in $pages; do
		is "$(filled "$page" | mandoc -T lint -W warning)" "" "$page: mandoc has no warning"
	done
else
	skip "no mandoc"
fi
lacking=
for page in $pages; do
	grep -q '^\.SH EXAMPLES$' "$page" || lacking="$lacking $page"
done
is "$lacking" "" "every page has EXAMPLES"
theirs='^(acct_gather\.conf|slurm\.conf|plugstack\.conf|slurmdbd\.conf|scontrol|sacct|squeue|srun|sbatch|salloc|sstat|scancel|slurmctld|slurmd|slurmdbd|slurmstepd|bpftool|kcat|ipmi-sensors)$'
missing=
# shellcheck disable=SC2086 # several files
for name in $(sed -nE 's/^\.BR ([a-zA-Z_.\\-]+) \([1-8]\).*/\1/p' $pages | sed 's/\\//g' | sort -u); do
	echo "$name" | grep -qE "$theirs" && continue
	echo "$pages" | grep -qE "/$name\.[1-8]\.in$" || missing="$missing $name"
done
left=
for page in $pages; do
	grep -q '@[A-Za-z_]*@' "$top_builddir/${page%.in}" 2>/dev/null && left="$left $page"
done
is "$left" "" "no built page has a name for a value"
is "$missing" "" "every page that is pointed to is here or another project's"
done_testing
