#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Only arguments of ceems top; tests/e2e has running jobs.
. "$top_srcdir/tests/tap/tap.sh"
ceems=$top_builddir/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"
"$ceems" --help | grep -q '^  top ' || skip_all "built without libslurm"

for args in 12 "-d 0" "-d soon" "-d 500ms" "-n 0" "-n x" "--sort nothing" "--job x" "--job 0" "-u nosuchuser" \
	"--node -a" "--node --job 12" "--foo"; do
	# shellcheck disable=SC2086 # words on purpose
	out=$("$ceems" top $args 2>/dev/null </dev/null)
	is "$?/$out" "2/" "'ceems top $args' is refused"
done
out=$(SLURM_CONF=/nonexistent/slurm.conf "$ceems" top 2>&1 </dev/null)
is "$?/$out" "1/ceems: SLURM_CONF=/nonexistent/slurm.conf: No such file or directory" \
	"a SLURM_CONF that is not there is said at once"
done_testing
