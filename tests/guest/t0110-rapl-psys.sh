# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154
# RAPL with a counter for the whole platform (psys): its energy above that of packages and memory is domain other.
# And counters that begin again at 0, as after a reset of the processor, which must add no energy.

# a range so long that a reset cannot be taken for a wrap
rapl_range=65532610987654 rapl_load packages=1 psys=1 start_uj=1000000000
sources_are rapl
job_begins

# psys last: else a tick between the two would book psys's joules as other
rapl_move 0 500000000
rapl_move 0:0 400000000
rapl_move 0:1 100000000
wait_for 60 parts_are cpu 500000000 dram 100000000
ok $? "packages and memory are measured"
rapl_move 1 900000000
# psys has not advanced since the job began; its surplus is booked over an equal time from now on
wait_for 300 is_measured 900000000
ok $? "cores, packages and memory are not counted twice"
wait_for 60 parts_are cpu 500000000 dram 100000000 other 300000000
ok $? "the rest of the platform is other"

rapl_move 0 200000000
wait_for 60 is_measured 1100000000
ok $? "a package ahead of psys: what it used is booked"
rapl_move 1 250000000
wait_for 300 is_measured 1150000000
ok $? "and psys is not booked again"
wait_for 60 parts_are cpu 700000000 dram 100000000 other 350000000
ok $? "other is what is left of it"
job_ends
sacct_agrees

"$cluster" kill "$DIR" slurmd n1
rmmod fakerapl
rapl_range=65532610987654 rapl_load packages=1 psys=1 start_uj=0
# before slurmd reads them; later advances are energy
rapl_move 1 70000000
rapl_move 0 40000000
"$cluster" start-daemon "$DIR" slurmd n1
wait_for 60 ledger_counts rejected 1
ok $? "counters that began anew are seen"
rapl_move 0 20000000
wait_for 60 parts_are cpu 720000000
ok $? "a package goes on from there"
rapl_move 1 30000000
# is booked over as much time as slurmd was down
wait_for 300 is_measured 1180000000
ok $? "and are no energy"
adds_up "after the reset"
rmmod fakerapl
