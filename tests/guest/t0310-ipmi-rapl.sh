# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154
# A whole-node meter and RAPL: no joule may count twice. The BMC's energy above that of packages and memory is domain
# other; if the BMC shows less than they, the difference is published and no job's energy is reduced.

bmc_says watts=200
driver ipmi_si
driver ipmi_devintf
wait_for 60 test -c /dev/ipmi0
rapl_load packages=1 psys=0 start_uj=1000000000
begin=$(guest_ms)
sources_are rapl,ipmi
job_begins
for round in 1 2 3; do
	rapl_feed 0 20000000 0:1 5000000
	wait_for 180 measured_beyond $((round * 300000000))
	ok $? "round $round is measured"
done
wait_for 60 parts_are cpu 60000000 dram 15000000
ok $? "packages and memory are RAPL's"
at_most 200 "$begin" 0 "RAPL is within what the BMC shows"
adds_up "two sources"

bmc_says watts=4
rapl_feed 0 2000000000
wait_for 180 ledger_counts disagreement_uj 1
ok $? "a BMC that shows less than RAPL is published"
wait_for 60 parts_are cpu 2060000000 dram 15000000
ok $? "RAPL's is not cut"
adds_up "disagreement"
job_ends
sacct_agrees
rmmod fakerapl
