# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154
# The source ipmi, over /dev/ipmi0: DCMI's power reading and a sensor by name; answers that are late, wrong or missing.

bmc_says watts=300
driver ipmi_si
driver ipmi_devintf
wait_for 60 test -c /dev/ipmi0
ok $? "the kernel finds the BMC"
begin=$(guest_ms)
sources_are ipmi
slurmd_reads ipmi
job_begins
wait_for 180 measured_beyond 1200000000
ok $? "energy is measured"
at_most 300 "$begin" 0 "300 W by DCMI"

# a reading counts for the time of the request, not of the answer
bmc_count=$(bmc_asked)
bmc_says watts=300 delay=1
wait_for 180 bmc_is_asked 3
ok $? "late answers come"
at_most 300 "$begin" 0 "late answers"

bmc_says watts=65000 code=c3
wait_for 180 ledger_counts rejected 1
ok $? "a completion code is counted"
at_most 300 "$begin" 0 "and is no number"

# slurmd and jobs do not wait for it
bmc_says watts=300 mute=1
is "$(inside srun -n1 echo runs)" runs "a job runs while the BMC is silent"
from=$(measured_uj)
bmc_says watts=300
wait_for 300 measured_beyond "$from"
ok $? "it goes on when the BMC answers again"
at_most 300 "$begin" 0 "silence"
job_ends
sacct_agrees
adds_up "DCMI"

# the first sensor shows 100 W, the second half of that
bmc_says watts=100
begin=$(guest_ms)
sources_are ipmi "IpmiSensor=Half Power"
wait_for 180 measured_beyond 150000000
ok $? "a sensor by its name is measured"
at_most 50 "$begin" 0 "50 W by a sensor"
adds_up "sensor"

bmc_says watts=100 dcmi=off
sources_are ipmi
says_unmeasured() {
	[ "$(slurmd_says 'energy is not measured on this node')" = 1 ]
}
wait_for 60 says_unmeasured
ok $? "a BMC without DCMI: one line"
is "$(inside srun -n1 echo runs)" runs "and jobs run"
