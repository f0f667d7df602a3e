#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A BMC that measures the whole node, together with RAPL: the BMC's energy less RAPL's is domain other, which jobs
# have in sacct. If the BMC hangs, RAPL is still read and booked. A program in the place of ceems-ipmi simulates the
# BMC.
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather
[ -e "${E2E_BUILDDIR:-$(e2e_builddir)}/src/helpers/ceems-ipmi" ] || skip_all "the source ipmi is not built"
[ -x /usr/bin/python3 ] || skip_all "no python3 to play a BMC"
. "$(dirname "$0")/energy.sh"

mkdir "$e2e_work/helpers"
bmc=$e2e_work/bmc
told=$e2e_work/told
: >"$told"

# Speaks the protocol of helper.h. The file $bmc has milliwatts, or "hang". Each sample is kept in $told. The sampler
# bridges gaps of up to 20 s, so after a longer gap this sends samples of past times, 15 s apart, up to now.
cat >"$e2e_work/helpers/ceems-ipmi" <<EOT
#!/usr/bin/python3
import select, sys, time

print("meter ipmi other 0 power 25000 node", flush=True)
while True:
    mw = open("$bmc").read().strip()
    if mw != "hang":
        last = open("$told").read().split()[-1:]
        t = min([time.monotonic_ns()] + [int(ns) + 15 * 10**9 for ns in last])
        sample = f"{mw} {t}"
        with open("$told", "a") as told:
            print(sample, file=told)
        print("reading", sample.split()[1], "ipmi", mw, flush=True)
    if select.select([sys.stdin], [], [], 0.5)[0]:
        break
EOT
chmod +x "$e2e_work/helpers/ceems-ipmi"

# bmc_shows MILLIWATTS|hang
bmc_shows() {
	echo "$1" >"$bmc.tmp"
	mv "$bmc.tmp" "$bmc"
}

# Prints the energy of the samples so far, by the trapezoid rule.
node_uj() {
	local mw t last_mw='' last_t units=0
	while read -r mw t; do
		[ -z "$last_t" ] || units=$((units + (mw + last_mw) * (t - last_t)))
		last_mw=$mw last_t=$t
	done <"$told"
	echo $((units / 2000000))
}

bmc_shows 2000000
cluster_up --plugins acct_gather --fake-rapl --cpus 4 --ceems-conf <(echo "HelperDir=$e2e_work/helpers")

mkdir -p "$DIR/sysroot/n1/dev"
: >"$DIR/sysroot/n1/dev/ipmi0"
passes "slurmd restarts with a BMC" restart_slurmd

# is_above EXPRESSION NUMBER: of the ledger.
is_above() {
	[ "$(ledger "$1")" -gt "$2" ]
}

# has_rest: all energy that the BMC showed is booked, RAPL's part in its own domains.
has_rest() {
	local uj
	uj=$(ledger .measured.total_uj)
	[ "$uj" = "$(node_uj)" ] || { echo "measured $uj uJ of $(node_uj)"; return 1; }
}

has_rapl() {
	[ "$(ledger '.measured | .cpu + .dram')" = "$(fed_uj)" ]
}

wait_for 60 is_above .measured.other 0
ok $? "domain other has the BMC's energy before RAPL is fed"

# --- a job ---------------------------------------------------------------------------------------

job=$(submit user1 -n2 -o /dev/null --wrap 'exec timeout 1000 sh -c "while :; do :; done"')
of_batch=".steps[] | select(.job == $job and .step == \"batch\")"
wait_for 120 is_above "[$of_batch] | length" 0
ok $? "a busy job runs"
# less than the BMC shows, however busy this machine is
job_has_rest() {
	feed 20000000 2000000
	is_above "$of_batch | .other" 0 && is_above "$of_batch | .cpu" 0
}
wait_for 120 job_has_rest
ok $? "it has its share of the CPUs and of the rest of the node"
wait_for 120 has_rapl
ok $? "RAPL is booked beside the BMC"
inside scancel "$job"
wait_energy "$job"
ok $? "the job is booked, with its energy"
job_j=$(job_acct "$job" ConsumedEnergyRaw)
is_joules "$job_j" "$(job_energy_uj "$job")" "sacct has what the ledger has"
isnt "$(job_acct "$job" 'TRESUsageInTot%500' extern | tr , '\n' | grep -c '^ic/ceems_other_energy=[1-9]')" 0 \
	"and how much of it the rest of the node was"
is "$(job_acct "$job" 'TRESUsageOutMax%500' extern | tr , '\n' | grep '^ic/ceems_by_counters=')" \
	"ic/ceems_by_counters=5000000" "and that the BMC may be 5 s behind"

# --- the BMC hangs -------------------------------------------------------------------------------

# The BMC hangs only after it has shown the power until all of RAPL was booked; else RAPL would exceed the BMC.
has_told() {
	[ "$(wc -l <"$told")" -ge "$1" ]
}
wait_for 60 has_told $(($(wc -l <"$told") + 2))
ok $? "the BMC's samples arrive"
bmc_shows hang
wait_for 120 slurmd_says "ipmi: has no new readings"
ok $? "slurmd logs that the BMC has no new readings"
wait_for 120 has_rest
ok $? "parts and rest are what the BMC showed, to the microjoule"
is "$(ledger '"\(.difference_uj) \(.conservation_error_uj)"')" "0 0" \
	"jobs, unallocated and system add up to it"
other=$(ledger .measured.other)
feed 7000003 1000009
wait_for 120 has_rapl
ok $? "RAPL is read on"
is "$(ledger .measured.other)" "$other" "of the rest nothing is guessed"
passes "slurmd restarts all the same" restart_slurmd
feed 7000003 1000009
wait_for 120 has_rapl
ok $? "and reads RAPL"

bmc_shows 1000000
wait_for 120 is_above .measured.other "$other"
ok $? "the BMC is back"
bmc_shows hang
wait_for 120 has_rest
ok $? "and what it showed is booked, the gap as the mean of its ends"

done_testing
