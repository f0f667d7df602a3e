#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every joule must be charged with the factor of its own time. Nodes are fed before and after a second at which the grid's
# factor changes from 50 to 500 g/kWh. So emissions of jobs can be computed by hand, and sacct, records, MariaDB and
# ceems.prom must have them, to the microgram.
# shellcheck disable=SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins jobcomp acct_gather
. "$(dirname "$0")/energy.sh"

series=$e2e_work/factors.csv
head=from,until,gco2e_per_kwh,kind,scope,region,fetched,source

utc() {
	date -u -d "@$1" +%FT%TZ
}

# point FROM UNTIL GRAMS REGION
point() {
	echo "$(utc "$1"),$(utc "$2"),$3,average,direct,$4,$(utc "$1"),RTE eCO2mix"
}

# put_series: replaces the series of factors by standard input.
put_series() {
	cat >"$series.tmp" && chmod 644 "$series.tmp" && mv "$series.tmp" "$series"
}

# near A B: A and B differ at most by the rounding of two nodes
near() {
	python3 -c 'import sys; sys.exit(not abs(float(sys.argv[1]) - float(sys.argv[2])) <= 1.1e-6)' "$1" "$2" ||
		{ echo "$1 is not $2 g"; return 1; }
}

# is_grams GOT WANTED WHAT
is_grams() {
	near "${1:-nan}" "$2"
	ok $? "$3: ${1:-nothing} g"
}

field() {
	record_file "$1" | jq -r "$2"
}
has_record() {
	record_file "$1" >/dev/null
}

# All of a node's power is idle power, and its job has all CPUs, so the job is charged all of it.
common='IdleWatts=1000000
Country=FR
PUE=1.25
MarketFactor=20
MarketSource=a contract
EmbodiedGramsPerCpuHour=360
EmbodiedSource=the vendor'

kafka=()
if command -v java >/dev/null && "$e2e_top/contrib/kafka/get" >/dev/null 2>&1; then
	kafka=(--kafka)
fi
cluster_up --nodes 4 --cpus 2 --fake-rapl --plugins acct_gather,jobcomp "${kafka[@]}" --ceems-conf <(
	echo "$common"
	printf '%s\n' EmissionMaxAge=2h FinalEnergyWait=10m "EmissionSeriesFile=$series"
)
stop=$e2e_work/stop
waits="until [ -e $stop ]; do sleep 0.1; done"
two=$(submit user1 -N2 -n2 --exclusive -w n1,n2 --wrap "srun sh -c '$waits'")
one=$(submit user2 -N1 -n1 --exclusive -w n3 --wrap "srun sh -c '$waits'")
gone=$(submit user3 -N1 -n1 --exclusive -w n4 --wrap "srun sh -c '$waits'")

# Each node has its job's three steps: extern, batch on the first one, step 0.
steps_run() {
	local of
	for of in "n1 $two 3" "n2 $two 2" "n3 $one 3" "n4 $gone 3"; do
		read -r node id n <<<"$of"
		[ "$(ledger "[.steps[] | select(.job == $id)] | length")" = "$n" ] || return 1
	done
}
wait_for 120 steps_run || bail "the jobs run"

# --- the second at which it changes ----------------------------------------------------------------

# factor_is NODE TEXT: the factor that the node's sampler uses.
factor_is() {
	inside "$ceems" ledger -n "$1" | grep -F "$2"
}

# A changed file is read within a minute, and at a daemon's start. On n4 the provider does not answer: its last factor is
# used for two hours, which end at the same second.
restart_all() {
	local n
	for n in 1 2 3 4; do
		"$cluster" kill "$DIR" slurmd "n$n" &
	done
	wait
	cp "$CEEMS_CONF" "$e2e_work/ceems.conf"
	echo EmissionRegion=OUT >>"$CEEMS_CONF"
	"$cluster" start-daemon "$DIR" slurmd n4
	wait_for 60 factor_is n4 "(last, OUT, until $(utc $((change - 7200))))"
	cat "$e2e_work/ceems.conf" >"$CEEMS_CONF"
	for n in 1 2 3; do
		"$cluster" start-daemon "$DIR" slurmd "n$n" &
	done
	wait
	for n in 1 2 3; do
		wait_for 60 factor_is "n$n" "factor 50.000 g CO2e/kWh (fresh, FR, until $(utc "$change"))"
	done
}

# change_in SECONDS: lets the factor change in SECONDS; false if the daemons took longer than that to start.
change_in() {
	change=$(($(date +%s) + $1))
	{
		echo $head
		point $((change - 7200)) "$change" 50 FR
		point "$change" $((change + 7200)) 500 FR
		point $((change - 10800)) $((change - 7200)) 100 OUT
	} | put_series
	begin=$(date +%s)
	restart_all
	# long enough for all that must be done before the change
	[ $((change - $(date +%s))) -gt $((15 + 2 * ($(date +%s) - begin))) ]
}
change_in 40 || change_in 60 || change_in 180 || change_in 600 || bail "the daemons start in time"

# feed_all A B C D: feeds joules to n1 to n4 and waits until their ledgers have them. In two halves, since the plugin
# rejects more than 2500 W of a package.
feed_all() {
	local n half
	for half in 1 2; do
		for n in 1 2 3 4; do
			on "n$n" feed $((${!n} * 500000))
		done
		for n in 1 2 3 4; do
			on "n$n" wait_for 60 ledger_has_all || bail "n$n measures what it was fed ($half)"
		done
	done
}

# the job on two nodes uses energy before the change, the other job after it
feed_all 3600 1800 180 900
[ "$(date +%s)" -lt "$change" ] || bail "all was measured before the change"
is "$(node=n1 ledger '[.steps[] | select(.job == '"$two"') | .by_factor_uj.fresh] | add')" 3600000000 \
	"all of the node's energy is its job's, with a fresh factor"
past_change() {
	[ "$(date +%s)" -gt $((change + 1)) ]
}
wait_for 200 past_change
feed_all 90 90 2700 450

# --- on the nodes, while the jobs run --------------------------------------------------------------

# prom_grams JOB METRIC NODE...: prints the sum of the nodes' ceems.prom
prom_grams() {
	local id=$1 metric=$2
	shift 2
	for node; do
		cat "$DIR/textfile/$node/ceems.prom"
	done | awk -v id="uuid=\"$id\"" -v metric="$metric{" \
		'index($0, metric) == 1 && index($0, id) { sum += $2 } END { printf "%.9f\n", sum }'
}
prom_is() {
	near "$(prom_grams "$2" "${@:3}")" "$1"
}

# By hand: J / 3.6e6 x g/kWh x PUE
grams_two=$(python3 -c 'print((5400 * 50 + 180 * 500) / 3.6e6 * 1.25)')
grams_one=$(python3 -c 'print((180 * 50 + 2700 * 500) / 3.6e6 * 1.25)')
factor_fr=$(jq -n "$(awk -F, '$1 == "FR" { print $4 }' "$DIR/etc/emission-factors.csv")")
grams_gone=$(python3 -c "print((900 * 100 + 450 * $factor_fr) / 3.6e6 * 1.25)")
compute_unit=ceems_compute_unit_emissions_gco2e_total
wait_for 60 prom_is "$grams_two" "$two" $compute_unit n1 n2
ok $? "ceems.prom of two nodes: $grams_two g by hand, $(prom_grams "$two" $compute_unit n1 n2)"
wait_for 60 prom_is "$grams_one" "$one" $compute_unit n3
ok $? "of one: $grams_one g by hand, $(prom_grams "$one" $compute_unit n3)"
wait_for 60 prom_is "$grams_gone" "$gone" $compute_unit n4
ok $? "of the node without a provider: $grams_gone g by hand, $(prom_grams "$gone" $compute_unit n4)"

# --- when they have ended --------------------------------------------------------------------------

: >"$stop"

# check JOB JOULES GRAMS WHAT
check() {
	local id=$1 joules=$2 grams=$3 what=$4 steps
	wait_for 180 has_record "$id" || bail "$what: a record"
	wait_booked "$id"
	is "$(field "$id" '[.energy.total_j, .energy.final] | @csv')" "$joules,true" "$what: its energy"
	is "$(usage "$id" extern In energy)" "$joules" "as in sacct"
	is_grams "$(($(usage "$id" extern In ic/ceems_co2e)))e-6" "$grams" "sacct"
	is_grams "$(field "$id" .emissions.co2e_g)" "$grams" "the record"
	is_grams "$(sql "select co2e_g from job where jobid = $id")" "$grams" "MariaDB"
	is_grams "$(field "$id" .emissions.by_domain.cpu_g)" "$grams" "all of it is the CPUs'"
	# each is rounded by itself: half a microgram per step and node
	steps=$(field "$id" '[.steps[] | select(.name != "extern") | .emissions.co2e_g] | add')
	python3 -c "import sys; sys.exit(abs($steps - $grams) > 2.1e-6)"
	ok $? "the steps add up to it: $steps g"
	is_grams "$(field "$id" .emissions.market_co2e_g)" "$(python3 -c "print($joules / 3.6e6 * 20 * 1.25)")" \
		"by the site's contract"
	is "$(field "$id" '.emissions | [.method, .pue, .market_factor_g_per_kwh, .market_source,
		.embodied_source] | @csv')" '"per-tick",1.25,20,"a contract","the vendor"' "how"
	# a tenth of a gram per second and CPU
	is "$(field "$id" '.emissions.embodied_g - .elapsed * .total_cpus / 10 | fabs < 1e-6')" true \
		"and the machines' making"
	is "$(sql "select co2e_g, market_co2e_g, embodied_g, factor_g_per_kwh, co2e_method, fresh_factor_j,
		factor_source from job where jobid = $id" | tr '\t' ' ' | sed 's/\.\([0-9]*[1-9]\)*0* /.\1 /g; s/\. / /g')" \
		"$(field "$id" '[.emissions | .co2e_g, .market_co2e_g, .embodied_g, .factor_g_per_kwh, .method,
		.fresh_factor_j, .source | tostring] | join(" ")')" "MariaDB has what the record has"
	[ ${#kafka[@]} -gt 0 ] || return 0
	wait_for 120 record_kafka "$id"
	is "$(record_kafka "$id" | jq -cS .)" "$(record_file "$id" | jq -cS .)" "and so has Kafka"
}

in_sql() {
	[ "$(sql "select count(*) from job")" = 3 ]
}
wait_for 180 has_record "$two"
wait_for 180 in_sql
check "$two" 5580 "$grams_two" "busy before the change, on two nodes"
check "$one" 2880 "$grams_one" "busy after it"
check "$gone" 1350 "$grams_gone" "while the provider is out"
is "$(field "$two" '.emissions | [.fresh_factor_j, .last_factor_j, .static_factor_j, .default_factor_j,
	.kind, .scope, .region, .source, .year] | @csv')" '5580,0,0,0,"average","direct","FR","RTE eCO2mix",' \
	"where the first one's come from"
is "$(field "$two" '.emissions.factor_g_per_kwh - 360000 / 5580 | fabs < 0.01')" true \
	"the mean factor is weighted by energy"
is "$(field "$gone" '.emissions | [.fresh_factor_j, .last_factor_j, .static_factor_j, .default_factor_j, .kind,
	.scope] | @csv')" '0,900,450,0,"mixed","mixed"' "of an outage: the last factor, then the yearly mean"
has "$(field "$gone" .emissions.source)" "RTE eCO2mix; Ember" "with both sources"
text=$(inside "$ceems" job "$two")
has "$text" "= 1.55 Wh x 64.5 g/kWh" "ceems job: emissions are energy by factor"
has "$text" "FR, fresh, direct; RTE eCO2mix" "where the factor is from"
has "$(inside "$ceems" job --long "$two")" "0.00155 kWh" "--long: kWh"
has "$(inside "$ceems" job "$gone")" "67 % last known, 33 % yearly mean" "also of the outage"
is "$(inside "$ceems" job --json "$two" | jq -c .emissions)" "$(record_file "$two" | jq -c .emissions)" \
	"--json says what the record says"
is "$(sql "select round(sum(co2e_kg) * 1e9 - (select sum(co2e_g) * 1e6 from job)), sum(jobs) from emissions_month")" \
	"0	3" "emissions_month adds them up"
echo min-elapsed=0 >"${CEEMS_CONF%/*}/ceems-advice.conf"
out=$(inside "$ceems" job --explain "$one")
has "$out" " less CO2e at " "ceems job says at which hour there would have been less"
has "$out" "sbatch --begin=" "  and what to type"
has "$out" "  cleaner-hours: cleaner_share " "  and why"
"$cluster" stop "$DIR"

# --- without slurmdbd ------------------------------------------------------------------------------

# Writes a new factor every three seconds.
now=$(($(date +%s) - 60))
{
	echo $head
	for ((i = 0; i < 400; i++)); do
		point $((now + 3 * i)) $((now + 3 * i + 3)) $((50 + i * 37 % 400)) FR
	done
} | put_series
cluster_up --cpus 2 --no-dbd --fake-rapl --plugins acct_gather,jobcomp --ceems-conf <(
	echo "$common"
	printf '%s\n' "EmissionSeriesFile=$series" Sinks=file
)
rm "$stop"
id=$(submit user1 -N1 --exclusive --wrap "$waits")
is_in_ledger() {
	[ "$(ledger "[.steps[] | select(.job == $id)] | length")" = 2 ]
}
wait_for 60 is_in_ledger
rm "$DIR/fed.n1" 2>/dev/null
feed 1800000000
wait_for 60 ledger_has_all
: >"$stop"
wait_for 120 has_record "$id"
by_hand=$(record_file "$id" | python3 -c '
import datetime, json, sys
r = json.load(sys.stdin)
start, end = (int(datetime.datetime.fromisoformat(r[k].replace("Z", "+00:00")).timestamp()) for k in ("@start", "@end"))
first = int(sys.argv[1])
at = [50 + (t - first) // 3 * 37 % 400 for t in range(start, end)]
print("%.6f %.9f" % (sum(at) / len(at), r["energy"]["total_j"] / 3.6e6 * sum(at) / len(at) * 1.25))' "$now")
read -r mean grams <<<"$by_hand"
is "$(field "$id" '[.energy.total_j, .emissions.method, .emissions.kind] | @csv')" '1800,"mean-power","average"' \
	"without slurmdbd: as if the power had been the mean"
is_grams "$(field "$id" .emissions.co2e_g)" "$grams" "with the factors of its life, $mean g/kWh in the mean"
is "$(field "$id" ".emissions.factor_g_per_kwh - $mean | fabs < 0.001")" true "which the record says"
is "$(field "$id" '.emissions | [.fresh_factor_j, .market_co2e_g, .source] | @csv')" '1800,0.0125,"RTE eCO2mix"' \
	"all fresh; the contract's beside it"
done_testing
