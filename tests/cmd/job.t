#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Only arguments of ceems job; tests/e2e has values of real jobs.
. "$top_srcdir/tests/tap/tap.sh"
ceems=$top_builddir/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"
"$ceems" --help | grep -q '^  job ' || skip_all "built without libslurm"

for args in "" 0 x 1x -1 99999999999 1. 1.x 1.4294967295 ".batch" "1,x" "1 x" "1_[2-1]" "1_[1-4" "-j x" "-j" \
	"--foo 1" "--wait 1" "--wait x 1" "--json 1.0" "--json 1,2.batch"; do
	# shellcheck disable=SC2086 # words on purpose
	out=$("$ceems" job $args 2>/dev/null)
	is "$?/$out" "2/" "'ceems job $args' is refused"
done
out=$(SLURM_CONF=/nonexistent/slurm.conf "$ceems" job 1 2>&1)
is "$?/$out" "1/ceems: SLURM_CONF=/nonexistent/slurm.conf: No such file or directory" \
	"a SLURM_CONF that is not there is said at once"
out=$("$ceems" job "5_[1-" 2>&1)
is "$?/$out" "2/ceems: job: '5_[1-' is not a job id: write 12, 12_3, 12_[1-4] or 12+1, with .0, .batch or .extern for a step" \
	"what a wrong id should be is said"
done_testing
