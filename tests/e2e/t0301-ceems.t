#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The ceems command on a live cluster.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank jobcomp

cluster_up --fake-rapl --ceems-conf <(printf '%s\n' Country=DE EnergySources=rapl IdleWatts=0)
ceems=$BUILD_DIR/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"
conf=(--conf "$CEEMS_CONF" --node n1)

# --- check -----------------------------------------------------------------------------------------

wait_for 60 inside "$ceems" check "${conf[@]}"
ok $? "check finds nothing wrong"
out=$(inside "$ceems" check "${conf[@]}")
has "$out" "ok     rapl " "it reads the sensor"
has "$out" "AccountingStorageTRES has all TRES of slurm-ceems" "slurm.conf"
has "$out" "jobcomp_ceems.so, for Slurm" "the plugins' version"
has "$out" "ok     mariadb        database ceems, schema" "and the database"
is "$(inside "$ceems" check --json "${conf[@]}" | jq -c '[.errors, ([.findings[] | select(.level == "error")] | length)]')" \
	"[0,0]" "as JSON, too"
sed 's/^Country=.*/Country=XX/' "$CEEMS_CONF" >"$DIR/etc/bad.conf"
fails "a country that is none is an error" inside "$ceems" check --conf "$DIR/etc/bad.conf" --node n1
has "$out" "error  emissions" "named as such"

# --- check: sensors that are configured wrongly ----------------------------------------------------

# check_with NAME=VALUE...: runs ceems check, by "${check_env[@]}", with these values instead of ceems.conf's.
check_env=()
check_with() {
	local name
	name=$(printf '%s\n' "${@%%=*}" | paste -sd '|')
	{
		grep -vE "^($name)=" "$CEEMS_CONF"
		printf '%s\n' "$@"
	} >"$DIR/etc/bad.conf"
	out=$(inside "${check_env[@]}" "$ceems" check --conf "$DIR/etc/bad.conf" --node n1 2>&1)
}

check_with EnergySources=auto ExternalSource=/nowhere IpmiSensor=Nonesuch IdleWatts=90000
has "$out" "error  external " "a meter's file that is not there"
has "$out" "error  ipmi " "an IpmiSensor that is not there"
has "$out" "warn   IdleWatts " "an idle power above what is measured"
meter=$e2e_work/meter
echo "node energy_joules 5 $(($(date +%s) - 600)).0" >"$meter"
chmod 0644 "$meter"
echo URL=https://127.0.0.1 >"$DIR/etc/bmc.conf"
chmod 0644 "$DIR/etc/bmc.conf"
check_env=(env CEEMS_NVML_LIBRARY=/nowhere/libnvidia-ml.so.1)
check_with EnergySources=auto "ExternalSource=$meter" "RedfishConf=$DIR/etc/bmc.conf"
check_env=()
has "$out" "error  external " "a meter's file that is not written any more"
has "$out" "error  nvml " "a library that cannot be loaded"
if [ -e "$BUILD_DIR/src/helpers/ceems-redfish" ]; then
	has "$out" "error  redfish " "a BMC's password that others may read"
else
	skip "the source redfish is not built"
fi
check_with MariadbDatabase=nowhere
has "$out" "error  mariadb " "a database that does not exist"
has "$out" "GRANT SELECT, INSERT, UPDATE ON nowhere.* TO 'ceems'@'localhost'" \
	"  MariaDB does not say so to a user without rights there: what gives them"
admin() {
	inside mariadb --no-defaults --socket=/run/mysqld/mysqld.sock -u root -e "$1 ON nowhere.* $2 'ceems'@'localhost'"
}
passes "  they are given" admin "GRANT SELECT, INSERT, UPDATE" TO
check_with MariadbDatabase=nowhere
has "$out" "-> ceems db migrate" "  then what makes the database"
passes "  they are taken back" admin "REVOKE SELECT, INSERT, UPDATE" FROM
check_with EnergySources=rapl,hwmon HelperDir=/nowhere SysRoot=/
has "$out" "error  hwmon " "a source whose helper program is not there"

# --- check: daemons that are down, or run without our plugins --------------------------------------

check() {
	out=$(inside "$ceems" check "${conf[@]}" 2>&1)
}
check
has "$out" "ok     slurmctld      answers" "daemons that answer"
has "$out" "ok     slurmdbd       answers" "  all of them"
has "$out" "ok     slurmctld      runs jobcomp_ceems.so" "what slurmctld has loaded"
has "$out" "ok     slurmd         runs acct_gather_energy_ceems.so" "and slurmd"
daemons_run_plugins() {
	check
	echo "$out"
	[[ $out == *"ok     slurmctld      runs jobcomp_ceems.so"*"ok     slurmd         runs acct_gather_energy_ceems.so"* ]]
}
# since Slurm 23.11 they execute themselves anew for it, on Debian by another name
passes "slurmctld and slurmd are reconfigured" inside scontrol reconfigure
wait_for 60 daemons_run_plugins
ok $? "  and are found with their plugins"
sed 's/^password.*/password = wrong/' "$MARIADB_DEFAULTS_FILE" >"$DIR/etc/denied.cnf"
chown slurm: "$DIR/etc/denied.cnf"
chmod 600 "$DIR/etc/denied.cnf"
check_with "MariadbDefaultsFile=$DIR/etc/denied.cnf"
has "$out" "Access denied" "a password that MariaDB does not know"
has "$out" "-> user and password in MariadbDefaultsFile" "  what to do"
# the file is replaced, as a package manager does
so=$DIR/plugins/jobcomp_ceems.so
cp "$BUILD_DIR/jobcomp/.libs/jobcomp_ceems.so" "$so.new" && mv "$so.new" "$so"
"$cluster" kill "$DIR" slurmctld
"$cluster" start-daemon "$DIR" slurmctld
cp "$so" "$so.new" && mv "$so.new" "$so"
check
has "$out" "warn   slurmctld      runs an older file of jobcomp_ceems.so" "a plugin that came after the start"
has "$out" "-> systemctl restart slurmctld" "  what to do"
is "$(sed -n '/^  then$/,$p' <<<"$out" | grep -c '^    systemctl restart slurmctld')" 1 "  once more at the end"
sed -i 's/^JobCompType=.*/JobCompType=jobcomp\/none/' "$SLURM_CONF"
"$cluster" kill "$DIR" slurmctld
"$cluster" start-daemon "$DIR" slurmctld
sed -i 's/^JobCompType=.*/JobCompType=jobcomp\/ceems/' "$SLURM_CONF"
check
has "$out" "error  slurmctld      runs without jobcomp_ceems.so" "a slurmctld that was not restarted"
"$cluster" kill "$DIR" slurmctld
check
has "$out" "error  slurmctld      does not answer" "a slurmctld that is down"
"$cluster" start-daemon "$DIR" slurmctld
"$cluster" kill "$DIR" slurmdbd
check
has "$out" "error  slurmdbd       does not answer" "a slurmdbd that is down"
has "$out" "-> systemctl start slurmdbd  # or AccountingStorageHost=" "  what to do"
"$cluster" start-daemon "$DIR" slurmdbd
"$cluster" kill "$DIR" munged
check
has "$out" "error  munge          does not answer" "a munged that is down"
has "$out" "-> systemctl enable --now munge" "  what to do"
"$cluster" start-daemon "$DIR" munged
check
is "$(grep -cE '^(error|warn) +(munge|slurmctld|slurmdbd|slurmd) ' <<<"$out")" 0 "and all is well again"

# --- a job -----------------------------------------------------------------------------------------

# Longer than a second: Slurm's times are whole seconds, and a job of 0 s has no efficiency. Busy, so that it has energy
# in every tick.
rapl_moves n1
job=$(submit user1 --wrap 'srun --ceems-perf dd if=/dev/zero of=/dev/null bs=1M count=20; touch go
	until [ -e end ]; do :; done')
wait_for 60 test -e "$DIR/home/user1/go"
for _ in 1 2 3 4 5; do
	"$cluster" rapl "$DIR" n1 0 +10000000
	sleep 0.4
done
touch "$DIR/home/user1/end"
ok $? "a job of 50 J was submitted"
wait_booked "$job"
wait_for 60 record_file "$job" >/dev/null

json=$(inside "$ceems" job --json "$job")
is "$(jq .energy.total_j <<<"$json")" "$(job_acct "$job" ConsumedEnergyRaw)" "job --json: sacct's energy"
is "$(jq .energy.total_j <<<"$json")" "$(record_file "$job" | jq .energy.total_j)" "and the record's"
is "$(jq .emissions.co2e_g <<<"$json")" "$(record_file "$job" | jq .emissions.co2e_g)" "emissions as well"
# ceems job and ceems-recorder both read slurmdbd; they must agree
ratios='.derived, (.steps | sort_by(.stepid)[] | .nnodes, .ncpus, .derived, .load_imbalance, .usage)'
is "$(jq -cS "$ratios" <<<"$json")" "$(record_file "$job" | jq -cS "$ratios")" "ratios and usage of steps, too"
is "$(jq '.derived.cpu_efficiency > 0 and .steps[0].load_imbalance == null' <<<"$json")" true \
	"CPU efficiency is known, and one node has no imbalance"
is "$(jq -r .energy.source <<<"$json")" rapl "measured by RAPL"
is "$(jq -r '[.steps[].name] | sort | join(" ")' <<<"$json")" "batch dd extern" "all steps"
if /usr/bin/python3 -c 'import jsonschema; jsonschema.Draft202012Validator' 2>/dev/null; then
	echo "$json" >"$DIR/job.json"
	passes "job --json is a ceems.job.v1 record" /usr/bin/python3 -c '
import json, jsonschema, sys
schema, record = (json.load(open(name)) for name in sys.argv[1:])
jsonschema.Draft202012Validator(schema).validate(record)' \
		"${E2E_BUILDDIR:-$(e2e_builddir)}/src/librecord/ceems.job.v1.schema.json" "$DIR/job.json"
else
	skip "python3-jsonschema with draft 2020-12 is missing"
fi
out=$(inside "$ceems" job "$job")
has "$out" "Job $job  wrap  user1/" "job for people"
[[ $(head -n 1 <<<"$out") == *"  COMPLETED 0:0" ]]
ok $? "with its state and exit code"
is "$(grep -cE '^  energy .* rapl$' <<<"$out")" 1 "energy with the source"
is "$(grep -cE '^  CPU +\[#+ *\] +[0-9]+ %   .* \(1 CPU\)$' <<<"$out")" 1 "CPU time as a bar"
is "$(awk 'length > 80' <<<"$out")" "" "in 80 columns"
[ "$(wc -l <<<"$out")" -le 20 ]
ok $? "and 20 lines"
out=$(inside "$ceems" job --long "$job")
has "$out" "job $job  wrap  COMPLETED  user user1" "--long: the whole list"
has "$out" "  energy source          rapl" "with the source"
has "$out" "  CPU efficiency         " "and ratios"
is "$(grep -cE '^  extern +whole job ' <<<"$out")" 1 "the step table says that extern is the whole job"
has "$out" "CPU EFF" "--long has them step by step"
has "$out" "  instructions per cycle " "and what was not measured, as no option asked for it"
has "$(inside "$ceems" job "$job.0")" "Step $job.0  dd  user1/" "one step"
has "$(inside "$ceems" job --long "$job.0")" "step $job.0  dd  COMPLETED" "and all of it"
fails "a step that is none" inside "$ceems" job "$job.7"
has "$out" "job $job has no step 7" "is said"
fails "a job that is none" inside "$ceems" job 4000000
has "$out" "shows no job 4000000" "is said"

passes "another user sees the job" as user2 "$ceems" job "$job"
echo "PrivateData=jobs" >>"$DIR/etc/slurmdbd.conf"
"$cluster" kill "$DIR" slurmdbd
"$cluster" start-daemon "$DIR" slurmdbd
fails "with PrivateData=jobs he does not" as user2 "$ceems" job "$job"
passes "its owner does" as user1 "$ceems" job "$job"
"$cluster" kill "$DIR" slurmdbd
fails "without slurmdbd job fails" timeout 600 "$cluster" exec "$DIR" "$ceems" job "$job"
has "$out" "slurmdbd" "and says who is missing"
"$cluster" start-daemon "$DIR" slurmdbd

# --- the ledger ------------------------------------------------------------------------------------

passes "the ledger adds up" inside "$ceems" ledger "${conf[@]}"
json=$(inside "$ceems" ledger --json "${conf[@]}")
is "$(jq .difference_uj <<<"$json")" 0 "to the microjoule"
is "$(jq '.measured.total_uj - .unallocated.total_uj - .system.total_uj - .retired.total_uj
	- ([.ended[].total_uj, .steps[].total_uj] | add // 0)' <<<"$json")" 0 "also added up here"
is "$(jq ".measured.total_uj >= 50000000" <<<"$json")" true "and it is what was fed, and what the idle node uses"
is "$(jq '[.measured, .steps[], .ended[] | .total_uj - ([.by_factor_uj[]] | add)] | unique' -c <<<"$json")" \
	"[0]" "every joule has a factor"
is "$(jq '.measured.co2e_ng - .unallocated.co2e_ng - .system.co2e_ng - .retired.co2e_ng
	- ([.ended[].co2e_ng, .steps[].co2e_ng] | add // 0)' <<<"$json")" 0 "emissions add up, to the nanogram"
has "$(inside "$ceems" ledger "${conf[@]}")" "g CO2e/kWh (" "and the factor is said"
fails "a user may not look" as user1 "$ceems" ledger "${conf[@]}"
has "$out" "only root can read the ledger" "and is told why"

# --- the database ----------------------------------------------------------------------------------

passes "migrating again changes nothing" inside "$ceems" db migrate --conf "$CEEMS_CONF" \
	--sql-dir /run/ceems-build/sql
in_database() {
	[ "$(sql "SELECT jobid FROM job WHERE jobid = $job")" = "$job" ]
}
wait_for 60 in_database
out=$(inside "$ceems" db status --conf "$CEEMS_CONF")
is "$(awk '$1 == "jobs" && NF == 2 { print $2 }' <<<"$out")" 1 "db status counts the job"
is "$(awk '$1 == "steps" { print $2 }' <<<"$out")" 3 "and its steps"

done_testing
