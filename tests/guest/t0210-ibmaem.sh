# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154
# An energy counter in the BMC (IBM's Active Energy Manager) by the driver ibmaem and libsensors:
# all of its energy must be measured, to its unit of a millijoule.

bmc_says watts=100 joules=5000
driver ipmi_si
driver ibmaem
has_counter() {
	compgen -G '/sys/class/hwmon/hwmon*/device/energy1_input'
}
wait_for 120 has_counter
ok $? "the driver ibmaem finds its counter"
sources_are hwmon
slurmd_reads hwmon
wait_for 60 reads_only other hwmon counter
ok $? "slurmd reads it as the whole node's"

job_begins
bmc_says watts=100 joules=5123.456
wait_for 120 is_measured 123456000
ok $? "what it counted is measured"

# if the BMC answers with an error, the driver shows the last value
bmc_count=$(bmc_asked)
bmc_says watts=100 joules=5200 code=c0
wait_for 120 bmc_is_asked 3
ok $? "a BMC that is busy is asked again"
is "$(measured_uj)" 123456000 "and nothing is made up"
bmc_says watts=100 joules=5300.5
wait_for 120 is_measured 300500000
ok $? "all of it comes with the next answer"
job_ends
sacct_agrees
adds_up "energy counter"
rmmod ibmaem
