#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Jobs change while they run, in a random order: nodes leave them, they are suspended and requeued. The sums of
# sacct, of the records and of ceems jobs must be those of the ledgers. If Slurm drops what a node used, the record
# says lower-bound, and that node's ledger has what is missing. CHANGES_SEED=N repeats a run.
# shellcheck disable=SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins jobcomp acct_gather
. "$(dirname "$0")/energy.sh"

nodes='n1 n2 n3'
seed=${CHANGES_SEED:-$((SRANDOM % 32768))}
RANDOM=$seed
diag "CHANGES_SEED=$seed"
cluster_up --plugins acct_gather,jobcomp --fake-rapl --still-cpus --nodes 3 --cpus 8 --slurm-conf <(echo KillWait=2) \
	--ceems-conf <(printf '%s\n' IdleWatts=0.001 Sinks=file FinalEnergyWait=10s)
work_write
busy="timeout 900 $e2e_work/work $e2e_work/leave"

# rows ID: prints sacct's rows of a job, one per run and size: index, state, joules. They are the row's; else those of the
# extern step, as of a run that was requeued; else those of the other steps: slurmd of 22.05 may start no extern step
# for a run that begins soon after the last one, for which Slurm itself waits two minutes.
rows() {
	inside sacct -D -a -n -P --noconvert -j "$1" -o DBIndex,JobIDRaw,State,ConsumedEnergyRaw |
		awk -F '|' -v OFS='|' '
			$2 !~ /[.]/ { state[$1] = $3; row[$1] = $4 }
			$2 ~ /[.]extern$/ { extern[$1] = $4 }
			$2 ~ /[.]/ && $2 !~ /extern$/ { steps[$1] += $4 }
			END { for (i in state) print i, state[i], (row[i] > 0 ? row[i] : extern[i] > 0 ? extern[i] : steps[i] + 0) }' |
		sort -n
}
runs_on() {
	[ "$(inside squeue -h -j "$1" -o '%T %D')" = "RUNNING $2" ]
}
has_row() {
	rows "$1" | grep -q '|RUNNING|'
}
# uses_all ID: feeds the nodes; true when the job has used each of its nodes
uses_all() {
	local n

	feed_all $((RANDOM * 100 + 1)) $((RANDOM + 1))
	for n in $(inside squeue -h -j "$1" -o %N | inside xargs scontrol show hostnames); do
		[ "$(on "$n" ledger "[.steps[] | select(.job == $1) | .total_uj] | add // 0")" -gt 2000000 ] || return 1
	done
}
# no step of the job is in the node's ledger any more
has_left() {
	[ "$(ledger "[.steps[] | select(.job == $1)] | length")" = 0 ]
}
is_later() {
	[ "$EPOCHSECONDS" -gt "$1" ]
}

declare -A size=() is_shrunk=() missing_uj=() is_paused=() runs=()
jobs=()
# begin NODES ARG...: submits a job on NODES nodes, and waits until it has used each. Without --ntasks-per-node: Slurm 24.11
# then refuses to take a node from the running job ("Job is no longer pending execution").
begin() {
	local n=$1

	shift
	job=$(submit "user$((RANDOM % 3 + 1))" -N"$n" -n"$n" --requeue --no-kill -o /dev/null "$@" \
		--wrap "srun $busy; exec $busy")
	jobs+=("$job")
	size[$job]=$n
	runs[$job]=1
	wait_for 120 runs_on "$job" "$n"
	wait_for 120 has_row "$job"
	wait_for 120 uses_all "$job"
}

# --- the changes -----------------------------------------------------------------------------------

shrink() {
	local before after left now=$EPOCHSECONDS

	# slurmdbd cannot tell two parts apart that begin in one second
	wait_for 10 is_later "$now"
	before=$(inside squeue -h -j "$1" -o %N | inside xargs scontrol show hostnames)
	size[$1]=$((${size[$1]} - 1))
	passes "job $1 gives a node back: ${size[$1]} left" inside scontrol update jobid="$1" numnodes="${size[$1]}"
	wait_for 60 runs_on "$1" "${size[$1]}"
	after=$(inside squeue -h -j "$1" -o %N | inside xargs scontrol show hostnames)
	left=$(comm -23 <(sort <<<"$before") <(sort <<<"$after"))
	on "$left" wait_for 60 has_left "$1"
	missing_uj[$1]=$((${missing_uj[$1]:-0} + $(on "$left" job_energy_uj "$1")))
	is_shrunk[$1]=yes
}
pause() {
	passes "job $1 is suspended" inside scontrol suspend "$1"
	wait_for 60 job_is "$1" SUSPENDED
	is_paused[$1]=yes
}
go_on() {
	passes "job $1 goes on" inside scontrol resume "$1"
	wait_for 60 job_is "$1" RUNNING
	unset "is_paused[$1]"
}
again() {
	passes "job $1 is requeued" inside scontrol requeue "$1"
	wait_for 120 job_is "$1" PENDING
	runs[$1]=$((${runs[$1]} + 1))
	wait_for 60 inside scontrol update jobid="$1" starttime=now
	wait_for 120 runs_on "$1" "${size[$1]}"
	wait_for 120 has_row "$1"
	wait_for 120 uses_all "$1"
}
# change ID: one change, of those that the job allows. A job that lost nodes is not requeued, since Slurm starts it with
# its first size again. A run without extern step loses no nodes: before 26.05, its energy would be in no output.
change() {
	local can=()

	if [ -n "${is_paused[$1]:-}" ]; then
		can=(go_on)
	else
		can=(pause)
		[ "${size[$1]}" -lt 2 ] || [ "${runs[$1]}" -gt 1 ] || can+=(shrink shrink)
		[ -n "${is_shrunk[$1]:-}" ] || [ "${runs[$1]}" -gt 1 ] || [ "$1" = "$wide" ] || can+=(again again)
	fi
	"${can[RANDOM % ${#can[@]}]}" "$1"
	feed_all $((RANDOM * 100 + 1)) $((RANDOM + 1))
}

begin 3
wide=$job
begin 2
begin 1
for ((i = 0; i < 5; i++)); do
	change "${jobs[RANDOM % ${#jobs[@]}]}"
done
# the two that matter most, whatever chance has chosen
[ -z "${is_paused[$wide]:-}" ] || go_on "$wide"
[ -n "${is_shrunk[$wide]:-}" ] || shrink "$wide"
[ -z "${is_paused[$job]:-}" ] || go_on "$job"
[ "${runs[$job]}" -gt 1 ] || again "$job"
for job in "${jobs[@]}"; do
	[ -z "${is_paused[$job]:-}" ] || go_on "$job"
done
feed_all 5000001 7
: >"$e2e_work/leave"
array=$(submit user2 --array=1-2 -o /dev/null --wrap "srun timeout 900 $e2e_work/work $e2e_work/leave2")
het=$(submit user3 -n1 -o /dev/null --wrap "srun timeout 900 $e2e_work/work $e2e_work/leave2" : -n1)
four_run() {
	[ "$(inside squeue -h -t RUNNING -j "$array,$het" -o %i | wc -l)" = 4 ]
}
wait_for 120 four_run
feed_all 9000001 9
: >"$e2e_work/leave2"

# --- the sums --------------------------------------------------------------------------------------

all=$(IFS=,; echo "${jobs[*]},$array,$het")
is_over() {
	! inside squeue -h -t all -j "$all" -o %T | grep -q 'RUNNING\|PENDING\|COMPLETING\|SUSPENDED' &&
		! rows "$all" | grep -q '|RUNNING|\|PENDING'
}
wait_for 120 is_over
records() {
	jq -s -c 'group_by(.key) | map(last)[]' "$RECORD_FILE"
}
# each row of slurmdbd has a record, and each record the energy that sacct has of it
has_all_records() {
	diff <(rows "$all" | cut -d '|' -f 3 | sort -n) \
		<(records | jq '.energy.total_j // 0' | sort -n)
}
wait_for 120 has_all_records
ok $? "each run and size has a record, with the joules that sacct has" || diag "$out"
jobs_j() {
	inside "$ceems" jobs -a -S now-1day -n -P -o consumedenergyraw | awk '{ sum += $1 } END { print sum + 0 }'
}

fed=0
nobodys=0
for n in $nodes; do
	on "$n" conserved "$n"
	fed=$((fed + $(on "$n" fed_uj)))
	nobodys=$((nobodys + $(on "$n" ledger '.unallocated.total_uj + .system.total_uj')))
done
told=$(records | jq -s 'map(.energy.total_j // 0) | add')
missing=0
for job in "${!missing_uj[@]}"; do
	missing=$((missing + missing_uj[$job]))
done
off=$((fed - nobodys - missing - told * 1000000))
# each extern step rounds once on each node, in each run
slack=$(((3 * (2 + 2 + 2) + 4) * 500000))
[ ${off#-} -le $slack ]
ok $? "the records have $told J of $(((fed - nobodys) / 1000000)) J, nodes that left $((missing / 1000000)) J"
[ "$missing" -gt 1000000 ]
ok $? "  which is not little"
is "$(jobs_j)" "$told" "ceems jobs adds up to the same"
is "$(inside "$ceems" report --week=this -a --json | jq '.rows[] | select(.section == "total") | .energy_j')" "$told" \
	"and ceems report"
for job in "${jobs[@]}"; do
	quality=$(records | jq -r "select(.jobid == $job and .energy.total_j) | .energy.quality" | sort -u | tr '\n' ' ')
	want='measured '
	[ -z "${is_shrunk[$job]:-}" ] || want='lower-bound '
	is "$quality" "$want" "job $job, ${runs[$job]} runs${is_shrunk[$job]:+, and nodes left}"
done
has "$(inside "$ceems" job "$wide")" "the job was resized" "ceems job says why"
done_testing
