#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A site's own meter (source external) as the node's only sensor. What it counts is booked to the microjoule; values
# that cannot be true are refused and add no energy.
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather
. "$(dirname "$0")/energy.sh"

meter=$e2e_work/meter

# meter_says JOULES [SECONDS_AGO]: writes the meter's file by a rename, as ceems.conf(5) demands.
meter_says() {
	local now
	now=$(date +%s.%N)
	printf 'node energy_joules %s %s\n' "$1" "$((${now%.*} - ${2:-0})).${now#*.}" >"$meter.tmp"
	mv "$meter.tmp" "$meter"
}

cat >"$e2e_work/ceems.conf" <<EOT
EnergySources=external
ExternalSource=$meter
EOT
umask 022
meter_says 1000
cluster_up --plugins acct_gather --ceems-conf "$e2e_work/ceems.conf"

measured_is() {
	[ "$(ledger ".measured.$1")" = "$2" ] || { ledger .measured; return 1; }
}

# more_than FIELD NUMBER
more_than() {
	[ "$(ledger ".$1")" -gt "$2" ]
}

# Two more ticks: the first may have been under way.
wait_ticks() {
	wait_for 60 more_than ticks $(($(ledger .ticks) + 1))
}

wait_for 60 slurmd_says "external ($meter: node energy)"
ok $? "slurmd says what it reads"

# --- what it counts ----------------------------------------------------------------------------------

# A fresh base value, since the cluster may have taken long to start.
meter_says 1000
wait_ticks
meter_says 4500.000001
wait_for 300 measured_is total_uj 3500000001
ok $? "what the meter counted, to the microjoule"
is "$(ledger .measured.other)" 3500000001 "of the node as a whole"

# --- what cannot be true -----------------------------------------------------------------------------

printf 'node energy_joules 9' >"$meter.tmp"
mv "$meter.tmp" "$meter"
wait_for 60 slurmd_says "$meter: does not end with a whole line"
ok $? "a file that is cut off is named"
wait_ticks
meter_says 7000
wait_for 300 measured_is total_uj 6000000000
ok $? "what the meter showed meanwhile comes later, once"
is "$(slurmd_says "does not end with a whole line")" 1 "one log line"

late=$(ledger .late)
meter_says 9000 300
wait_for 60 more_than late "$late"
ok $? "a file of five minutes ago is late"
meter_says 9000 -300
wait_for 60 slurmd_says "node cannot be read: its time is "
ok $? "one of times to come is refused"
rejected=$(ledger .rejected)
meter_says 900000000
wait_for 60 more_than rejected "$rejected"
ok $? "as is more than a node can draw"
rm "$meter"
wait_ticks
is "$(ledger .measured.total_uj)" 6000000000 "no joule of any of them"
meter_says 7250
wait_for 300 measured_is total_uj 6250000000
ok $? "the meter is back, and counts on from what was true"
is "$(ledger '"\(.difference_uj) \(.conservation_error_uj)"')" "0 0" \
	"jobs, unallocated and system add up to it"

done_testing
