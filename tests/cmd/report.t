#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Only arguments of ceems report; tests/e2e has reports of real jobs, tests/unit the output formats.
. "$top_srcdir/tests/tap/tap.sh"
ceems=$top_builddir/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"
"$ceems" --help | grep -q '^  report ' || skip_all "built without libslurm"

for args in "" 12 "job" "job 12 13" "job x" "--month 2026-13" "--month=2026-W01" "--week 2026-W54" "--week=2026-11" \
	"--week --month" "--month --by name" "--month --by color" "--month -u nosuchuser" "--month -A ,p" "--month job 12" \
	"--month --site x" "--site" "--foo"; do
	# shellcheck disable=SC2086 # words on purpose
	out=$("$ceems" report $args 2>/dev/null)
	is "$?/$out" "2/" "'ceems report $args' is refused"
done
out=$("$ceems" report --month soon 2>&1)
is "$?/$out" "2/ceems: report: 'soon' is not a month: write this, last, 2026-11 (a month) or 2026-W48 (a week)" \
	"what a month should be is said"
out=$("$ceems" report --month 2099-01 2>&1)
is "$?/$out" "1/ceems: report: the month or week has not begun" "the future is not reported"
for args in "--week" "--week 2026-W05 --by user" "job 12" "--site /tmp"; do
	# shellcheck disable=SC2086 # words on purpose
	out=$(SLURM_CONF=/nonexistent/slurm.conf "$ceems" report $args 2>&1)
	is "$?/$out" "1/ceems: SLURM_CONF=/nonexistent/slurm.conf: No such file or directory" "'$args': no slurm.conf is said"
done
done_testing
