# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154
# An ACPI power meter through libsensors: power is integrated over time; while a job runs, it changes, cannot be read,
# and disappears.

driver acpi_power_meter
ok $? "the driver acpi_power_meter finds the meter"
meter_shows 200000
is "$(cat /sys/class/hwmon/hwmon*/device/power1_average)" 200000000 "which shows 200 W"
begin=$(guest_ms)
sources_are hwmon
slurmd_reads hwmon
wait_for 60 reads_only other hwmon integrated
ok $? "as the whole node's, integrated"

job_begins
wait_for 120 measured_beyond 800000000
ok $? "energy is measured"
at_most 200 "$begin" 0 "200 W"

from=$(measured_uj)
meter_shows 50000
wait_for 120 measured_beyond $((from + 200000000))
ok $? "it goes on at 50 W"
at_most 200 "$begin" 0 "after the power changed"

meter_shows 0xffffffff
says_unreadable() {
	[ "$(slurmd_says 'cannot be read: No data available; its energy is missing until it can')" = 1 ]
}
wait_for 120 says_unreadable
ok $? "one line says that it cannot be read"
# the last reading is spread over the ticks until the next one
ticks_pass 12
from=$(measured_uj)
ticks_pass 8
is "$(measured_uj)" "$from" "and nothing is measured"
passes "nor said again" says_unreadable
meter_shows 100000
wait_for 120 measured_beyond "$from"
ok $? "it goes on when it can be read"
at_most 200 "$begin" 0 "with the time that it could not be read"

job_ends
sacct_agrees
adds_up "power meter"
passes "the driver can be unloaded under slurmd" rmmod acpi_power_meter
is "$(inside srun -n1 echo runs)" runs "jobs run without it"
node_is_idle
