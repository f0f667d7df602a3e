#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sensors that stand still, never count, or are lost: no job has 0 J of them, and all outputs name the part.
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather jobcomp
. "$(dirname "$0")/energy.sh"

cluster_up --plugins acct_gather,jobcomp --fake-rapl --cpus 2 --ceems-conf <(printf 'FinalEnergyWait=1s\nSinks=file\n')
powercap=$DIR/sysroot/$node/sys/class/powercap
nodes=$node

# zone FOLDER NAME: adds a zone of RAPL that does not count.
zone() {
	mkdir "$powercap/$1"
	echo "$2" >"$powercap/$1/name"
	echo 262143328850 >"$powercap/$1/max_energy_range_uj"
	echo 000123456789 >"$powercap/$1/energy_uj"
}

# says_all TEXT...: slurmd has logged all of these.
says_all() {
	local text

	for text; do
		[ "$(slurmd_says "$text")" -gt 0 ] || { echo "slurmd does not say: $text"; return 1; }
	done
}

# energy_of ID FIELD: prints a field of the record's energy, when the energy is final.
energy_of() {
	record_file "$1" | jq -r ".energy | select(.final) | $2" | grep .
}

# ended_has ID: ends the job, and waits for its record.
ended_has() {
	: >"$e2e_work/end.$1"
	wait_booked "$1"
	wait_for 120 energy_of "$1" .final
	ok $? "job $1 has its record"
}

# working: submits a job that uses CPU time until its file is there.
working() {
	job=$(submit user1 -n1 -o /dev/null --wrap "exec $e2e_work/work $e2e_work/end.\$SLURM_JOB_ID")
	wait_for 120 has_step "$job" batch || bail "job $job starts"
}

work_write
"$cluster" kill "$DIR" slurmd "$node"
zone intel-rapl:1 package-1
zone intel-rapl:2 psys
"$cluster" start-daemon "$DIR" slurmd "$node"

# --- a package that stands still, and a platform that never counts ------------------------------------

working
feed_until says_all "the sensor of CPU 1 stands still" "the sensor of the whole node never moved" >/dev/null
ok $? "slurmd says what stands still"
is "$(slurmd_says 'the sensor of CPU 0 stands still') $(slurmd_says 'rapl: is lost') $(slurmd_says 'has no new readings')" \
	"0 0 0" "and no more"
has "$(inside "$ceems" check --node "$node" 2>&1 | grep rapl)" "cpu 1 stood still" "so does ceems check"
[ "$(inside "$ceems" check --node "$node" 2>&1 | grep -cE '^ok +rapl')" = 0 ]
ok $? "for which the source is not well"
ended_has "$job"
is "$(energy_of "$job" .quality)" lower-bound "the energy is a lower bound"
has "$(energy_of "$job" .missing)" "cpu: stood still" "the record says of what"
has "$(energy_of "$job" .missing)" "other: never counted" "and what is not known at all"
is "$(energy_of "$job" '[.by_domain.cpu_j > 0, .by_domain.other_j] | tostring')" "[true,null]" \
	"a platform that never counts is no 0 J"
is "$(ledger .disagreement_uj)" 0 "and disagrees with nothing"
has "$(inside "$ceems" job "$job")" "energy lacks cpu: stood still" "ceems job says it"
[ "$(usage "$job" extern In ic/ceems_nodes)" = 0 ]
ok $? "sacct has no node whose energy is known"
wait_for 60 grep -q 'ceems_node_part_doubt{.*domain="cpu",unit="1",source="rapl"} 5' "$TEXTFILE_DIR/$node/ceems.prom"
ok $? "ceems.prom has the part"

# --- no sensor is left --------------------------------------------------------------------------------

find "$powercap" -name energy_uj | while read -r file; do
	: >"$file"
done
wait_for 60 says_all "rapl: is lost"
ok $? "all counters are lost"
working
ended_has "$job"
is "$(energy_of "$job" '[.total_j, .by_domain.cpu_j, .by_source.rapl_j] | tostring')" "[null,null,null]" \
	"the energy of a job without a sensor is unknown"
has "$(energy_of "$job" .missing)" "cpu: " "and the record says why"
has "$(inside "$ceems" job "$job")" "n/a: cpu: " "so does ceems job"
done_testing
