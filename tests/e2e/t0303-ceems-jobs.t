#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `ceems jobs` must list the jobs that sacct shows to the same user, with the same energy; `ceems report` must add them up.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather

cluster_up --nodes 1 --cpus 8 --fake-rapl --plugins acct_gather --ceems-conf <(printf '%s\n' Country=DE EnergySources=rapl IdleWatts=0)
rapl_moves n1
ceems=$BUILD_DIR/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"

# jobs USER ARG...: prints `ceems jobs` of that user
jobs() {
	local user=$1
	shift
	as "$user" "$ceems" jobs "$@" 2>&1
}

mkdir -m 1777 "$DIR/home/go"
# until the job's file is there, so that it has energy
wait_go='srun sh -c "until [ -e '$DIR'/home/go/all ]; do :; done"'
burn=$(submit user1 -J burn -o /dev/null --wrap "$wait_go")
array=$(submit user1 -J array --array=1-3 -o /dev/null --wrap "$wait_go")
fails=$(submit user2 -J fails -o /dev/null --wrap "$wait_go; exit 3")
evil=$(submit user2 -J $'a\e[31m\nb|,\xc2\x9b2J' -o /dev/null --wrap true)
for job in "$burn" "${array}_3" "$fails"; do
	wait_for 120 job_is "$job" RUNNING
done
for _ in 1 2 3; do
	"$cluster" rapl "$DIR" n1 0 +30000000
	sleep 1 # so that there is a tick between two feeds
done
touch "$DIR/home/go/all"
for job in $burn $array $fails $evil; do
	wait_booked "$job"
	ok $? "job $job ended"
done

# sacct's energy of the whole jobs, as the list has it
sacct_sum() {
	inside sacct -X -n -P --duplicates --noconvert -S now-1day -o "JobID,ConsumedEnergyRaw,State" "$@" |
		awk -F '|' '$3 !~ /PENDING/ { n++; j += $2 } END { print n "/" j + 0 }'
}
ceems_sum() {
	jobs root -S now-1day -P -n --format jobid,consumedenergyraw "$@" | awk -F '|' '{ n++; j += $2 } END { print n "/" j + 0 }'
}
sum=$(sacct_sum -a)
is "$(ceems_sum -a)" "$sum" "as many jobs as sacct, and their energy: $sum J"
[ "${sum#*/}" -gt 0 ]
ok $? "which is some"
is "$(ceems_sum -u user1)" "$(sacct_sum -u user1)" "of one user"
is "$(ceems_sum -u user1,user2 --name burn,fails)" "$(sacct_sum -u user1,user2 --name burn,fails)" "of two, by name"
is "$(ceems_sum -a -s F)" "$(inside sacct -X -n -P -a -S now-1day -E now -s F -o ConsumedEnergyRaw |
	awk '{ n++; j += $1 } END { print n "/" j + 0 }')" "by state"
is "$(ceems_sum -a -r nowhere)" "/0" "none of another partition"
is "$(ceems_sum -a -E now-1hour)" "/0" "none before there was one"
is "$(jobs root -a -S now-1day --group-by user -P -n | awk -F '|' '{ n += $2; j += $6 } END { print n "/" j + 0 }')" \
	"$sum" "the same in groups"
is "$(jobs root -a -S now-1day --json --format consumedenergyraw |
	jq -r '[length, ([.[].consumed_energy_raw | numbers] | add)] | join("/")')" "$sum" "and as JSON"
each_is_sacct() {
	local id
	for id in "$burn" "${array}_1" "${array}_2" "${array}_3" "$fails"; do
		[ "$(jobs root -a -S now-1day -P -n --format jobid,consumedenergyraw | grep "^$id|")" = \
			"$id|$(job_acct "$id" ConsumedEnergyRaw)" ] || { echo "$id"; return 1; }
	done
}
passes "each job has sacct's energy" each_is_sacct

# --- the list ------------------------------------------------------------------------------------

jobs root -a -S now-1day >"$DIR/list"
is "$(LC_ALL=C.UTF-8 awk 'length > 120' "$DIR/list")" "" "120 columns"
is "$(sed -n '1s/  */ /gp' "$DIR/list")" "JobID Name User State Elapsed CPU % Mem % Energy CO2e Idle %" \
	"no column of GPUs on a cluster without"
is "$(LC_ALL=C grep -c $'[\e\x9b]' "$DIR/list")" 0 "a name that would command the terminal does not"
has "$(grep "^$evil " "$DIR/list")" 'a?[31m?b|,?2J' "and is shown masked"
has "$(jobs root -a -S now-1day --csv -n --format jobid,name | grep "^$evil,")" "$evil,\"a?[31m?b|,?2J\"" "quoted in CSV"
is "$(jobs root -a -S now-1day --json --format jobidraw,name | jq -c ".[] | select(.jobid_raw == $evil) | .name | explode[:10]")" \
	'[97,27,91,51,49,109,10,98,124,44]' "whole in JSON"
is "$(tail -n 1 "$DIR/list" | grep -cE '^6 jobs, .* energy [0-9.]+ m?Wh .*1 failed: ')" 1 "a sum below it"
is "$(jobs root -a -S now-1day --sort energy --top 1 -n --format jobid | wc -l)" 1 "the one with most energy"
is "$(jobs root -a -S now-1day --sort jobid --top 2 -P -n --format jobidraw | tr '\n' ' ')" \
	"$(jobs root -a -S now-1day -P -n --format jobidraw | sort -n | head -n 2 | tr '\n' ' ')" "or the first"
has "$(jobs root --helpformat)" "cache_misses" "every metric is a field"

# --- history and comparison ----------------------------------------------------------------------

advice=$(as user1 "$ceems" advise array 2>&1)
is "$?" 0 "advice from three runs of a name"
has "$advice" "array: 3 runs, " "which it counts"
has "$advice" "3 completed with 1 CPU:" "with their size"
has "$advice" "#SBATCH --time=00:05:00" "and a time limit for the next"
printf '%s\n' '#!/bin/sh' '#SBATCH --job-name=array' true >"$DIR/home/script.sh"
is "$(as user1 "$ceems" advise "$DIR/home/script.sh")" "$advice" "the same by a script of that name"
is "$(as user1 "$ceems" advise --json array | jq -c '[.name, .runs, .enough, .values.energy_j.runs]')" \
	'["array",3,true,3]' "as JSON"
is "$(as user1 "$ceems" advise burn | tail -n 1)" "not enough runs: 1 completed, 3 are needed" "one run is not enough"
is "$(as user1 "$ceems" advise -u user2 fails | sed -n 2p)" "1 FAILED" "nor one that failed"
is "$(as user1 "$ceems" compare -P "$burn" "${array}_1" | awk -F '|' '$1 == "energy_j" { print int($2) "|" int($3) }')" \
	"$(job_acct "$burn" ConsumedEnergyRaw)|$(job_acct "${array}_1" ConsumedEnergyRaw)" "two jobs beside each other have sacct's energy"
has "$(as user1 "$ceems" compare "$burn" "$burn.batch")" "energy " "a job and a step of it"
is "$(as user1 "$ceems" compare "$burn" "$array" 2>&1)" \
	"ceems: '$array' is 3 jobs: name one of them, as 12_3, 12+1, or with --cluster" "an array is not one job"
is "$(as user1 "$ceems" compare "$burn.7" "$burn" 2>&1)" "ceems: there is no step $burn.7" "a step that is none"

# --- reports -------------------------------------------------------------------------------------

# report USER ARG...: prints `ceems report` of that user
report() {
	local user=$1
	shift
	as "$user" "$ceems" report "$@" 2>&1
}
week=$(report root -a --week this --json)
since=uts$(date -d "$(jq -r .from <<<"$week")" +%s)
sum=$(inside sacct -X -n -P -a --duplicates --noconvert -S "$since" -o ConsumedEnergyRaw,State |
	awk -F '|' '$2 !~ /PENDING/ { n++; j += $1 } END { print n "/" j + 0 }')
is "$(jq -r '.rows[] | select(.section == "total") | "\(.jobs)/\(.energy_j)"' <<<"$week")" "$sum" "a week's report has sacct's sum"
for section in day account method; do
	is "$(jq -r "[.rows[] | select(.section == \"$section\")] | \"\([.[].jobs] | add)/\([.[].energy_j | numbers] | add)\"" \
		<<<"$week")" "$sum" "also by $section"
done
is "$(report root -a --week=this --csv --by user | grep -c '^user,user[12],')" 2 "by user, as CSV"
has "$(report root -u user2 --week this)" "The largest cause: jobs that failed" "in words"
report root -a --month this -o "$DIR/month.html" >"$DIR/report.out"
is "$?/$(cat "$DIR/report.out")/$(tail -n 1 "$DIR/month.html")" "0//</html>" "a page"
report root job "$evil" -o "$DIR/job.html" >"$DIR/report.out"
is "$?/$(LC_ALL=C grep -c $'[\e\x9b]' "$DIR/job.html")" "0/0" "a job's page, and nothing of its name"
is "$(report user1 job "$array" --csv | grep -c "^${array}_[123],,array,")" 3 "an array as CSV"
is "$(report user1 job "$burn" --json)" "$(as user1 "$ceems" job "$burn" --json)" "JSON is ceems job's"
passes "pages of a site" as root "$ceems" report --site "$DIR/site"
links_are_files() {
	local link page n=0
	for page in "$DIR"/site/*.html; do
		while read -r link; do
			[ -s "$DIR/site/$link" ] || { echo "$page: $link"; return 1; }
			n=$((n + 1))
		done < <(grep -o 'href="[^":]*"' "$page" | cut -d '"' -f 2)
	done
	[ "$n" -gt 5 ]
}
passes "each link is a file of it" links_are_files

live=$(submit user3 -J live -c 8 -o /dev/null --wrap 'srun sleep 600')
wait_for 120 job_is "$live" RUNNING
pending=$(submit user3 -J pending -c 8 --wrap true)
is_listed() {
	[ "$(jobs user3 -P -n --format jobid,state,end,energy)" = "$live|RUNNING||" ]
}
wait_for 120 is_listed
ok $? "a running job, with no end and no energy yet, and none that waits"
is_waiting() {
	[ "$(jobs user3 -s PD -P -n --format jobid,state,energy)" = "$pending|PENDING|" ]
}
wait_for 120 is_waiting
ok $? "unless it is asked for"
has "$(jobs user3 -n --format jobid,energy)" "n/a" "what is not known is n/a, not 0"
# --- now -----------------------------------------------------------------------------------------

top_shows() {
	as user3 "$ceems" top --json -d 1s >"$DIR/top" 2>&1
	jq -e '.rows[0] | .power_w != null and .cpus_busy != null and .energy_j != null' "$DIR/top"
}
wait_for 60 top_shows
ok $? "ceems top shows power, CPU and energy"
is "$(jq -c '[.what, (.rows | length), .rows[0].id, .rows[0].user]' "$DIR/top")" \
	"[\"running jobs of user3\",1,\"$live\",\"user3\"]" "of one's own running job"
is "$(as user1 "$ceems" top --json -d 1s | jq -c .rows)" "[]" "and no other's"
has "$(as user3 "$ceems" top --node=n1 --once 2>&1)" "(only root can read the ledger)" "the node's ledger is root's"
is "$(inside "$ceems" top --node=n1 --json -d 1s | jq -r '[.rows[].id] | contains(["'"$live"'.0", "system", "unallocated"])')" \
	true "who sees its steps, the node's own processes and what nobody holds"
as user3 env TERM=xterm script -qec "$ceems top -n 1" /dev/null </dev/null >"$DIR/screen" 2>&1
is "$?" 0 "a screen"
has "$(cat "$DIR/screen")" "running jobs of user3: 1, from" "shows the same"
has "$(tail -c 200 "$DIR/screen")" $'\e[?1049l' "and leaves the terminal as it was"

inside scancel "$live" "$pending"

# --- who may see what ----------------------------------------------------------------------------

users_of() {
	jobs "$@" -S now-1day -P -n --format user | sort -u | tr '\n' ' '
}
is "$(users_of user1)" "user1 " "one's own without options"
is "$(users_of user1 -a)" "user1 user2 user3 " "all, as sacct shows them"
echo PrivateData=jobs >>"$DIR/etc/slurmdbd.conf"
"$cluster" kill "$DIR" slurmdbd
passes "slurmdbd again, with PrivateData=jobs" "$cluster" start-daemon "$DIR" slurmdbd
is "$(users_of user1 -a)" "user1 " "then one's own"
is "$(users_of user1 -u user2)" "" "and none of another's"
is "$(users_of root -a)" "user1 user2 user3 " "all to root"
is "$(report user1 -a --week this --csv --by user | grep -c '^user,')" 1 "and in a report"

# --- errors --------------------------------------------------------------------------------------

is "$(jobs user1 -M nowhere)/$?" "ceems: slurmdbd knows no cluster 'nowhere'/1" "a cluster that is none"
"$cluster" kill "$DIR" slurmdbd
out=$(jobs user1)
is "$?" 1 "no slurmdbd"
has "$out" "ceems: slurmdbd" "is said"
is "$(report user1 --week 2>&1)/$?" "$out/1" "also to who wants a report"
done_testing
