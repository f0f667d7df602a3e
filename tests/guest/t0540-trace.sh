# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154
# --ceems-trace where steps have v2 cgroups, in which slurmstepd and ceems-trace run too: the file must have energy,
# memory and pressure of the tasks. An emulated machine may be too slow for the last row (STEPTRACE_END_NS).
trace_csv=$here/../e2e/trace_csv.py
load=$here/../e2e/memload.py
traces=/tmp/traces
mkdir -m 1777 "$traces"
rapl_load packages=1 psys=0 start_uj=0
sources_are rapl "TraceDir=$traces"
slurmd_reads rapl

job=$(submit user1 -n1 --mem=200 -o /dev/null --wrap "srun --ceems-trace=100ms sh -c '
	$load hold 20 5 4 8; until [ -e /tmp/go ]; do :; done'")
wait_for 120 step_is_open
ok $? "job $job runs"
trace_has_rows() {
	rapl_feed 0 5000000
	[ "$(wc -l <"$traces/ceems-trace-$job.0-n1.csv")" -gt "$1" ]
}
wait_for 120 trace_has_rows 20
: >/tmp/go
wait_energy "$job" 0
file=$traces/ceems-trace-$job.0-n1.csv
of() {
	/usr/bin/python3 "$trace_csv" "$file" "$1"
}
diag "$(of 'len(rows)') rows"
is "$(inside stat -c '%U %a' "$file")" "user1 600" "the file is the user's own"
is "$(of 'last("dropped_samples")')" 0.0 "nothing was dropped"
is "$(of 'abs(integral("power_w") - last("energy_j")) < 1e-3')" True "power integrates to its energy"
is "$(of 'int(last("memory_peak_bytes"))')" "$(usage "$job" 0 In ic/ceems_memory)" "and the memory's peak"
is "$(of '40 << 20 <= max(number("working_set_bytes")) <= 90 << 20')" True "40 MiB and four Pythons were held"
is "$(of 'last("cpu_pressure_some_s") is not None')" True "there is pressure"
is "$(cd "$traces" && inside "$ceems" trace "$job.0" --dir "$traces" --csv --resample 1h --metrics energy_j | wc -l)" 2 \
	"ceems trace reads it"
node_is_idle
is "$(pgrep -x ceems-trace)" "" "no program is left"
rm -rf "$traces" /tmp/go
rmmod fakerapl
