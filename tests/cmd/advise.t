#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Only arguments of ceems advise and ceems compare; tests/e2e has real jobs.
. "$top_srcdir/tests/tap/tap.sh"
ceems=$top_builddir/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"
"$ceems" --help | grep -q '^  compare ' || skip_all "built without libslurm"

for args in "" "a b" "-S soon a" "-u nosuchuser a" "--foo a"; do
	# shellcheck disable=SC2086 # words on purpose
	out=$("$ceems" advise $args 2>/dev/null)
	is "$?/$out" "2/" "'ceems advise $args' is refused"
done
for args in "" 1 "1 2 3" "1,2 3" "1 2_[1-3]" "1 x" "--foo 1 2"; do
	# shellcheck disable=SC2086 # words on purpose
	out=$("$ceems" compare $args 2>/dev/null)
	is "$?/$out" "2/" "'ceems compare $args' is refused"
done
out=$("$ceems" compare 1 2,3 2>&1)
is "$?/$out" "2/ceems: compare: '2,3' is several jobs" "which must be one"
out=$("$ceems" advise ./nonexistent.sh 2>&1)
is "$?/$out" "1/ceems: ./nonexistent.sh: cannot open: No such file or directory" "a script that is not there"
for args in "advise a" "compare 1 2"; do
	# shellcheck disable=SC2086 # words on purpose
	out=$(SLURM_CONF=/nonexistent/slurm.conf "$ceems" $args 2>&1)
	is "$?/$out" "1/ceems: SLURM_CONF=/nonexistent/slurm.conf: No such file or directory" \
		"'ceems $args' says at once that SLURM_CONF is not there"
done
done_testing
