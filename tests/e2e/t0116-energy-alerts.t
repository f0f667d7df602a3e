#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each alert of ceems.rules is caused on a real Prometheus with real node_exporters. It must fire with the right text and
# end when the cause ends, and Alertmanager must send it to the receivers of the example of routes. The causes:
#	n1	jobs hold GPUs, with and without a process, and use none
#	n2	its sensors disagree; then they are removed
#	n3	it needs more idle power than the others; a job sleeps; a slurmstepd is killed
#	n4	a counter jumps; slurmd hangs, then is stopped, and its ledger is edited
#	controller	slurmdbd is down, then the broker; the store has no room; the recorder is killed; MariaDB refuses a row
#	factors		a series that ended, a provider that does not answer
# Two alerts cannot be caused: a conservation error would be a bug of ours, so the ledger is edited; and the hook is
# never slow, so its limit is lowered to 0.
# shellcheck disable=SC1091,SC2154,SC2016
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather jobcomp
. "$(dirname "$0")/energy.sh"
. "$(dirname "$0")/prometheus.sh"
command -v prometheus-alertmanager >/dev/null || skip_all "prometheus-alertmanager is not installed (contrib/deps test)"
build=${E2E_BUILDDIR:-$(e2e_builddir)}
[ -e "$build/src/libsink/libsinkmariadb.la" ] || skip_all "no MariaDB sink in this build"

series=$e2e_work/factors.csv
# Prints a series of the grid's factor that ended that many hours ago.
put_series() {
	local until
	until=$(($(date +%s) - $1 * 3600))
	{
		echo from,until,gco2e_per_kwh,kind,scope,region,fetched,source
		echo "$(date -u -d "@$((until - 7200))" +%FT%TZ),$(date -u -d "@$until" +%FT%TZ),50,average,direct,FR,$(date -u +%FT%TZ),test"
	} >"$series.tmp"
	chmod 644 "$series.tmp"
	mv "$series.tmp" "$series"
}
put_series 4

# The broker is Kafka if it is installed, else the sink's MariaDB.
broker=sinkdb sink=mariadb kafka=()
if command -v java >/dev/null && "$e2e_top/contrib/kafka/get" >/dev/null 2>&1 && [ -e "$build/src/libsink/libsinkkafka.la" ]; then
	broker=kafka sink=kafka kafka=(--kafka)
fi
cluster_up --nodes 4 --cpus 4 --plugins acct_gather,jobcomp --fake-rapl --still-cpus --fake-gpus 2 --sink-db "${kafka[@]}" \
	--ceems-conf <(printf '%s\n' Country=FR "EmissionSeriesFile=$series")
cp "$CEEMS_CONF" "$e2e_work/ceems.conf"

# --- Prometheus, node_exporters and Alertmanager ----------------------------------------------------

for folder in n1 n2 n3 n4 ceems; do
	start_exporter $folder
done

# The example of Alertmanager's configuration, with shorter times, and a web hook as each receiver.
hook=$(free_port)
beside hook /usr/bin/python3 -c '
import http.server, json, sys
class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with open(sys.argv[2], "a") as f:
            for alert in body["alerts"]:
                f.write(json.dumps({"to": self.path[1:], **alert}) + "\n")
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Hook).serve_forever()' "$hook" "$e2e_work/received"
: >"$e2e_work/received"
rules=$e2e_top/contrib/prometheus
awk -v url="http://127.0.0.1:$hook/" '
	/^receivers:/ { in_receivers = 1; print; next }
	in_receivers && /- name: / { print; print "    webhook_configs: [ { url: \"" url $3 "\" } ]" }
	in_receivers { next }
	{ sub(/group_wait: .*/, "group_wait: 1s"); sub(/group_interval: .*/, "group_interval: 1s"); print }
' "$rules/alertmanager.yml.example" >"$e2e_work/alertmanager.yml"
manager=$(free_port)
beside alertmanager prometheus-alertmanager --config.file="$e2e_work/alertmanager.yml" --storage.path="$e2e_work/alertmanager" \
	--web.listen-address="127.0.0.1:$manager" --cluster.listen-address=

# The rules, with one second instead of minutes. All other changes are those that a site may make.
sed 's/^\( *for:\) .*/\1 1s/; s/\[[0-9]*[mh]\]/[20s]/g' "$rules/ceems.rules" >"$e2e_work/ceems.rules"
awk '
	BEGIN {
		n = split("gpus_without_process 0.5 bad_readings 1 sample_age_seconds 20 textfile_age_seconds 20 sink_lag_seconds 5 " \
			"inbox_lag_seconds 5 final_energy_wait_seconds 5 hook_seconds 0", list, " ")
		for (i = 1; i < n; i += 2)
			to[list[i]] = list[i + 1]
	}
	/record: / { name = $3; sub(/.*:/, "", name) }
	/expr: / && name in to { sub(/vector\(.*\)/, "vector(" to[name] ")") }
	{ print }
' "$rules/ceems-thresholds.rules" >"$e2e_work/ceems-thresholds.rules"
start_prometheus "$e2e_work/ceems.rules, $e2e_work/ceems-thresholds.rules" \
	"alerting: { alertmanagers: [ { static_configs: [ { targets: [ '127.0.0.1:$manager' ] } ] } ] }"

# --- firing and not firing ----------------------------------------------------------------------------

mkdir "$e2e_work/fired"
# told ALERT LABEL VALUE: the alert fires; keeps what Prometheus has of it.
told() {
	is_firing "$@" >"$e2e_work/alert" && mv "$e2e_work/alert" "$e2e_work/fired/$1"
}
fires() {
	local cause=$1
	shift
	wait_for 60 told "$@"
	ok $? "$1 fires: $cause"
}
is_silent() {
	! is_firing "$@" >/dev/null
}
ends() {
	local cause=$1
	shift
	wait_for 60 is_silent "$@"
	ok $? "$1 ends: $cause"
}

# --- what happens on the nodes, all the time ----------------------------------------------------------

# Feeds all nodes every second; n3 idles at three times the power of the others. Files control what else happens.
touch "$e2e_work/rejected"
node_uses() {
	[ -e "$DIR/sysroot/$1/sys/class/powercap" ] || return 0
	"$cluster" rapl "$DIR" "$1" 0 "+$2"
	"$cluster" rapl "$DIR" "$1" 0:0 +1000000
}
feeder() {
	while :; do
		node_uses n1 10000000
		node_uses n2 10000000
		[ ! -e "$DIR/sysroot/n2/sys/class/powercap/intel-rapl:1" ] || "$cluster" rapl "$DIR" n2 1 +2000000
		node_uses n3 30000000
		if [ -e "$e2e_work/rejected" ]; then
			node_uses n4 100000000000
		else
			node_uses n4 10000000
		fi
		sleep 0.5
	done
}
psys=$DIR/sysroot/n2/sys/class/powercap/intel-rapl:1
cp -r "${psys%:1}:0" "$psys"
echo psys >"$psys/name"
echo 0 >"$psys/energy_uj"
on n2 restart_slurmd
beside feeder feeder

# One GPU has a process that does nothing, the other GPU no process.
"$cluster" gpu "$DIR" n1 0 +0 processes=1 0 1024
"$cluster" gpu "$DIR" n1 1 +0 ok 0 1024
asleep=$(submit user1 -w n1 -n1 --gres=gpu:1 -o /dev/null --wrap "sleep 900")
wait_for 120 has_step "$asleep" batch
unused=$(submit user2 -w n1 -n1 --gres=gpu:1 -o /dev/null --wrap "sleep 900")
killed=$(submit user3 -w n3 -n1 -o /dev/null --wrap "sleep 900")

# --- factors: no provider answers ---------------------------------------------------------------------

mkdir "$e2e_work/providers"
beside providers inside env PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 /usr/bin/python3 -c '
import sys, time
sys.path.insert(0, sys.argv[1])
import providers
providers.values["rte"] = [50, 51, 52, 53]
providers.begin(sys.argv[2])
print(providers.ports["good"])
time.sleep(3600)' "$e2e_top/tests/cmd" "$e2e_work/providers"
# update PORT
update() {
	printf '%s\n' Providers=rte "SeriesFile=$e2e_work/fetched.csv" "RteUrl=https://127.0.0.1:$1" \
		"CAFile=$e2e_work/providers/ca.pem" Tries=1 >"$e2e_work/ceems-factors.conf"
	inside "$ceems" factors update --conf "$CEEMS_CONF" --factors-conf "$e2e_work/ceems-factors.conf"
}
fails "emission factors cannot be fetched" update 1

# --- the controller: slurmdbd is down -----------------------------------------------------------------

prom() {
	awk -v name="$1" '{ sub(/hostname="ceems",?/, "") } $1 == name { print $2 }' "$TEXTFILE_DIR/ceems/ceems_controller.prom"
}
prom_is() {
	[ "$(prom "$1")" = "$2" ]
}
# job_ends NAME
job_ends() {
	local id
	id=$(submit user1 -J "$1" -w n3 -n1 -o /dev/null --wrap true)
	wait_for 60 job_is "$id" COMPLETED
}
"$cluster" kill "$DIR" slurmdbd -KILL
job_ends waits

fires "no process opens the GPU of a job" CeemsGpuWithoutProcess uuid "$unused"
fires "a process opens a GPU and leaves it idle" CeemsGpuIdle uuid "$asleep"
is_silent CeemsGpuIdle uuid "$unused"
ok $? "of a GPU that nobody opens only the other alert"
fires "a job sleeps" CeemsJobNoProgress uuid "$killed"
fires "the parts have more energy than the node's sensor" CeemsSensorsDisagree hostname n2
fires "an idle node needs more than its kind" CeemsIdlePowerHigh hostname n3
fires "a counter jumps" CeemsSensorBad hostname n4
fires "hardly anything runs" CeemsUnallocatedHigh cluster mine
fires "the factor ended four hours ago" CeemsFactorStale region FR
fires "a provider does not answer" CeemsFactorUpdateFails hostname ceems
fires "slurmdbd is down" CeemsSlurmSilent daemon slurmdbd
fires "and does not tell the energy of a job" CeemsEnergyNotFinal hostname ceems

# --- the causes go, and others come ---------------------------------------------------------------------

wait_for 120 on n3 has_step "$killed" batch
inside sh -c "grep -sl -a 'slurmstepd: \\[$killed.batch\\]' /proc/[0-9]*/cmdline" | while IFS=/ read -r _ _ pid _; do
	inside kill -KILL "$pid"
done
fires "slurmstepd is killed" CeemsStepsLost hostname n3
inside scancel "$asleep" "$unused" "$killed"
rm "$e2e_work/rejected"
put_series 0
have_port() {
	[ -s "$e2e_work/providers.log" ]
}
wait_for 60 have_port
passes "factors are fetched" update "$(cat "$e2e_work/providers.log")"
"$cluster" start-daemon "$DIR" slurmdbd

# The store has room for some records, and the broker is gone.
store_used() {
	prom 'ceems_recorder_store_used_bytes{}' | grep .
}
wait_for 60 prom_is 'ceems_recorder_jobs_waiting{}' 0
used=$(store_used)
# recorder_with LINE: starts the recorder with LINE in ceems.conf
recorder_with() {
	{
		cat "$e2e_work/ceems.conf"
		printf '%s\n' "$@"
	} >"$CEEMS_CONF"
	"$cluster" start-daemon "$DIR" recorder
}
"$cluster" kill "$DIR" recorder
passes "the store is a small one" recorder_with StoreMaxSize=$((used * 11 / 5))
"$cluster" kill "$DIR" $broker -KILL

mv "$DIR/sysroot/n2/sys/class/powercap" "$e2e_work/powercap"
passes "slurmd of n2 restarts without sensors" on n2 restart_slurmd
slurmd=$(inside cat "$DIR/run/pid/slurmd.n4")
inside kill -STOP "$slurmd"

ends "the jobs are over" CeemsGpuWithoutProcess uuid "$unused"
ends "the jobs are over" CeemsGpuIdle uuid "$asleep"
ends "the jobs are over" CeemsJobNoProgress uuid "$killed"
ends "no slurmstepd dies" CeemsStepsLost hostname n3
ends "the counter goes on" CeemsSensorBad hostname n4
ends "slurmdbd is back" CeemsSlurmSilent daemon slurmdbd
ends "and has told of the job" CeemsEnergyNotFinal hostname ceems
ends "the provider answers" CeemsFactorUpdateFails hostname ceems
fires "the sensors are gone" CeemsSensorReplaced hostname n2
ends "there is no sensor of the node" CeemsSensorsDisagree hostname n2
fires "slurmd hangs" CeemsSampleOld hostname n4
fires "and does not write ceems.prom" CeemsTextfileStale instance "${exporter[n4]}"
store_grows() {
	job_ends undelivered
	told CeemsStoreGrowing hostname ceems
}
wait_for 120 store_grows
ok $? "CeemsStoreGrowing fires: records wait for $broker"
fires "the oldest of them does for long" CeemsSinkBehind sink $sink
is_slow() {
	job_ends slow
	told CeemsHookSlow hostname ceems
}
wait_for 120 is_slow
ok $? "CeemsHookSlow fires: the hook takes more than the limit, which is 0"

# --- the last ones ---------------------------------------------------------------------------------------

inside kill -CONT "$slurmd"
mv "$e2e_work/powercap" "$DIR/sysroot/n2/sys/class/powercap"
rm -r "$psys"
passes "slurmd of n2 restarts with sensors" on n2 restart_slurmd
"$cluster" kill "$DIR" recorder
passes "the store has no room" recorder_with StoreMaxSize=1
job_ends not-taken
fires "the recorder does not take what slurmctld wrote" CeemsInboxWaiting hostname ceems
"$cluster" kill "$DIR" recorder -KILL
ends "slurmd of n4 goes on" CeemsSampleOld hostname n4
ends "and writes" CeemsTextfileStale instance "${exporter[n4]}"
ends "n2 has a sensor again" CeemsSensorReplaced hostname n2
ends "the grid's factor is fresh" CeemsFactorStale region FR
fires "the recorder was killed" CeemsRecorderDown hostname ceems

# edit_error FROM TO: changes conservation_error_uj in both pages of n4's ledger. The field lies between the numbers of
# ticks and of rejected readings.
edit_error() {
	/usr/bin/python3 - "$DIR/run/ceems/n4.ledger" "$(on n4 ledger '"\(.ticks) \(.rejected)"')" "$@" <<-'EOT'
		import struct, sys
		path, (ticks, rejected), (old, new) = sys.argv[1], map(int, sys.argv[2].split()), map(int, sys.argv[3:])
		data = bytearray(open(path, "rb").read())
		found = 0
		for at in range(0, len(data) - 24, 8):
		    value = struct.unpack_from("<3Q", data, at)
		    if ticks - 1 <= value[0] <= ticks and value[1:] == (old, rejected):
		        struct.pack_into("<Q", data, at + 8, new)
		        found += 1
		assert found == 2, found
		open(path, "r+b").write(data)
	EOT
}
passes "slurmd of n4 is stopped" "$cluster" kill "$DIR" slurmd n4
passes "an error is put into its ledger" edit_error 0 2500000
fires "slurmd is stopped" CeemsTextfileStale instance "${exporter[n4]}"
is_silent CeemsSampleOld hostname n4
ok $? "it does not say that slurmd hangs"
"$cluster" start-daemon "$DIR" slurmd n4
fires "the ledger has an error" CeemsConservationError hostname n4
has "$(jq -r .annotations.description "$e2e_work/fired/CeemsConservationError")" "2.5 J were" "with its size"
"$cluster" kill "$DIR" slurmd n4
edit_error 2500000 0
"$cluster" start-daemon "$DIR" slurmd n4
ends "the ledger has none" CeemsConservationError hostname n4

# --- the recorder is back; MariaDB refuses a row ----------------------------------------------------------

# An alert that another alert explains is inhibited.
is_inhibited() {
	curl -s "http://127.0.0.1:$manager/api/v2/alerts" | jq -e --arg name "$1" \
		'any(.[]; .labels.alertname == $name and (.status.inhibitedBy | length > 0))'
}
wait_for 60 is_inhibited CeemsSinkBehind
ok $? "while the recorder is down, Alertmanager holds back that a sink is behind"
"$cluster" start-daemon "$DIR" $broker
sql "ALTER TABLE job ADD CONSTRAINT narrow CHECK (job_name <> 'refused')"
passes "the recorder is back" recorder_with
job_ends refused
job_ends taken # so that the sink takes some records; one that takes none counts as down
ends "the recorder runs" CeemsRecorderDown hostname ceems
ends "it takes job ends" CeemsInboxWaiting hostname ceems
ends "the store has room" CeemsStoreGrowing hostname ceems
ends "$broker is back" CeemsSinkBehind sink $sink
fires "a row breaks a rule of the table" CeemsRecordsRefused sink mariadb
sql "ALTER TABLE job DROP CONSTRAINT narrow"
passes "it is sent again" inside "$ceems" store replay mariadb --refused
ends "the table takes it" CeemsRecordsRefused sink mariadb
ends "no job ends any more" CeemsHookSlow hostname ceems

# --- a node whose ceems.conf has no Country ----------------------------------------------------------------

cp "$CEEMS_CONF" "$e2e_work/with-country"
sed -i '/^Country=/d; /^EmissionSeriesFile=/d' "$CEEMS_CONF"
passes "slurmd of n4 has no emission factor" on n4 restart_slurmd
cp "$e2e_work/with-country" "$CEEMS_CONF"
submit user1 -w n4 -n1 -o /dev/null --wrap "sleep 5" >/dev/null
fires "a node charges the world mean" CeemsFactorMissingOnNodes hostname ceems

sed -i '/^rule_files/s/, .*/ ]/' "$e2e_work/prometheus.yml"
kill -HUP "$prometheus"
fires "their file is not loaded" CeemsThresholdsMissing component recorder

# --- texts and receivers of alerts ----------------------------------------------------------------------------

is "$(cd "$e2e_work/fired" && printf '%s\n' *)" "$(sed -n 's/^ *- alert: //p' "$rules/ceems.rules" | LC_ALL=C sort)" \
	"every alert has fired"
is "$(for alert in "$e2e_work"/fired/*; do
	jq -r '.labels.alertname as $name | .annotations | (["summary", "description", "runbook_url", "dashboard"] - keys)[],
		(to_entries[] | select(.value == "" or (.value | test("<no value>|<error|%!|[{][{]|NaN")))) | "\($name): \(.)"' "$alert"
done)" "" "with all that it has to say"
is "$(for alert in "$e2e_work"/fired/*; do
	section=$(jq -r '.annotations.runbook_url' "$alert")
	grep -qix "## ${section#*#}" "$e2e_top/doc/runbook.md" || echo "$section"
done)" "" "and a section of the runbook"
# goes_to RECEIVER ALERT STATE: the alert went to RECEIVER and to no other
goes_to() {
	[ "$(jq -r --arg name "$2" --arg status "$3" 'select(.labels.alertname == $name and .status == $status) | .to' \
		"$e2e_work/received" | sort -u)" = "$1" ]
}
for is in "mail-user-support CeemsGpuIdle" "pagerduty CeemsRecorderDown" "slack CeemsStepsLost" "mail-operators CeemsUnallocatedHigh"; do
	read -r receiver alert <<<"$is"
	wait_for 60 goes_to "$receiver" "$alert" firing
	ok $? "$alert is sent to $receiver"
done
wait_for 60 goes_to pagerduty CeemsRecorderDown resolved
ok $? "and that it is over, too"
has "$(jq -r 'select(.labels.alertname == "CeemsStepsLost") | .annotations.description' "$e2e_work/received")" \
	"found no room in the node ledger" "with its description"
diag "$(wc -l <"$e2e_work/received") alerts were received"
done_testing
