#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Only arguments of ceems jobs; tests/e2e has lists of real jobs.
. "$top_srcdir/tests/tap/tap.sh"
ceems=$top_builddir/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"
"$ceems" --help | grep -q '^  jobs ' || skip_all "built without libslurm"

for args in 12 "-S yesterdays" "-E 2026-02-31" "-S now -E now-1day" "-u nosuchuser" "-u ," "-s DONE" "--top 0" "--top x" \
	"--sort nothing" "--sort state" "--group-by color" "--group-by user --sort state" "--group-by user --format jobid" \
	"--format nothing" "--format jobid%0" "--foo"; do
	# shellcheck disable=SC2086 # words on purpose
	out=$("$ceems" jobs $args 2>/dev/null)
	is "$?/$out" "2/" "'ceems jobs $args' is refused"
done
out=$("$ceems" jobs -S soon 2>&1)
is "$?/$out" "2/ceems: jobs: 'soon' is not a time: write now-7days, today, 10:00, 2026-11-01 or 2026-11-01T10:00" \
	"what a time should be is said"
out=$(SLURM_CONF=/nonexistent/slurm.conf "$ceems" jobs 2>&1)
is "$?/$out" "1/ceems: SLURM_CONF=/nonexistent/slurm.conf: No such file or directory" \
	"a SLURM_CONF that is not there is said at once"
out=$("$ceems" jobs --helpformat)
is "$?/$(echo "$out" | grep -c -e '^JobID ' -e '^energy_nodes ' -e '^co2e ')" "0/3" "fields are listed"
done_testing
