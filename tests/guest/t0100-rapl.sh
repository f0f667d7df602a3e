# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154
# RAPL through the kernel's powercap interface: two packages with cores and memory. While a job runs, counters wrap, fail,
# and disappear with their driver.

# 500 J before the wrap, which every counter passes in round 2 or 3
rapl_load packages=2 psys=0 start_uj=$((rapl_range - 500000000))
ok $? "fakerapl is loaded"
is "$(stat -c %a /sys/class/powercap/intel-rapl:0/energy_uj)" 400 "counters are root's alone"
sources_are rapl
slurmd_reads rapl
has "$(as user1 "$ceems" check 2>&1)" "Permission denied" \
	"a user's \`ceems check\` says why it sees none"

job_begins
for round in 1 2 3; do
	rapl_feed 0 400000000 1 410000000 0:0 300000000 0:1 200000000 1:1 210000000
	wait_for 60 ledger_has_all
	ok $? "round $round: all is measured"
done
is "$(ledger .wraps)" 4 "over the wraps of four counters"

rapl_fails 0 5
rapl_feed 0 80000000 1 90000000
wait_for 60 ledger_counts rejected 1
ok $? "a reading that fails is counted"
lacks_the_failed() {
	[ "$(ledger .measured.total_uj)" = $(($(fed_uj) - 80000000)) ]
}
wait_for 60 lacks_the_failed
ok $? "the other counters go on"
rapl_fails 0 0
conserved "the failed counter's energy comes later"

job_ends
ok $? "the job is booked"
sacct_agrees

# The driver is unloaded while slurmd has its files open. A processor would count on meanwhile, so the counters are
# advanced before slurmd starts again with the driver.
before=$(fed_uj)
passes "the driver can be unloaded under slurmd" rmmod fakerapl
says_unreadable() {
	[ "$(slurmd_says 'rapl: cannot be read')" = 1 ]
}
wait_for 60 says_unreadable
ok $? "one line says so"
"$cluster" kill "$DIR" slurmd n1
rapl_load packages=2 psys=0 start_uj=0
rapl_move 0 $((3 * 400000000 - 500000000 + 80000000 - 1))
rapl_move 1 $((3 * 410000000 - 500000000 + 90000000 - 1))
rapl_move 0:1 $((3 * 200000000 - 500000000 - 1))
rapl_move 1:1 $((3 * 210000000 - 500000000 - 1))
rapl_feed 0 60000000 1:1 20000000
"$cluster" start-daemon "$DIR" slurmd n1
conserved "slurmd goes on where the counters were"
isnt "$(fed_uj)" "$before" "which is further"
node_is_idle
rmmod fakerapl
