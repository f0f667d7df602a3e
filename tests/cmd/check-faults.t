#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems check on a site with one fault at a time: it must name each, and its advice, typed literally, must mend it. The faults of
# a database server are in tests/unit/libsink/mariadb, those of running daemons and a broker in tests/e2e.
. "$top_srcdir/tests/tap/tap.sh"
[ -x "$top_builddir/src/cmd/ceems" ] || skip_all "the ceems command is not built"
[ "$(id -u)" = 0 ] || skip_all "needs root, for SlurmUser's rights and mounts"
[ -x /usr/bin/python3 ] || skip_all "python3 is not installed"
for so in acct_gather/.libs/acct_gather_energy_ceems.so jobcomp/.libs/jobcomp_ceems.so spank/.libs/spank_ceems.so; do
	[ -e "$top_builddir/$so" ] || skip_all "$so is not built"
done
# mounts and processes are of this test alone
exec unshare -m -p --fork --mount-proc --propagation private /usr/bin/python3 "$top_srcdir/tests/cmd/check_faults.py"
