#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# srun --profile=energy: Debian's profile plugins get a series of each step, which adds up to the step's energy in
# sacct.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather
. "$(dirname "$0")/energy.sh"
. "$(dirname "$0")/profile.sh"
for tool in h5dump sh5util; do
	command -v $tool >/dev/null || skip_all "$tool is not installed (contrib/deps test)"
done
has_profile hdf5 || skip_all "acct_gather_profile_hdf5.so is not installed (contrib/deps test)"

# profile_up TYPE GPUS LINE...: starts a cluster with that profile plugin, and LINEs in acct_gather.conf. The sampler
# ticks when a step asks for a reading, and every 5 s for ceems.prom.
profile_up() {
	local type=$1 gpus=$2
	shift 2
	printf '%s\n' "$@" >"$e2e_work/acct_gather.conf"
	cluster_up --plugins acct_gather --fake-rapl --fake-gpus "$gpus" --cpus 4 --ceems-conf <(echo SampleInterval=30s) \
		--slurm-conf <(echo "AcctGatherProfileType=acct_gather_profile/$type") \
		--etc "$e2e_work/acct_gather.conf"
	# runs until there is a file with the name of its first argument
	cat >"$DIR/home/busy" <<-'EOP'
		#!/bin/sh
		until [ -e "$1" ]; do :; done
	EOP
	chmod 755 "$DIR/home/busy"
	mkdir -m 1777 "$DIR/home/go"
}

# feed_until CMD...: the node uses energy until CMD succeeds.
feed_until() {
	feed 3000000 500000
	"$@"
}
step_grows() {
	feed_until has_more "$@"
}
ran() {
	feed_until job_ran "$1"
}

# --- hdf5 ------------------------------------------------------------------------------------------

h5=$e2e_work/h5
profile_up hdf5 0 "ProfileHDF5Dir=$h5"

job=$(submit user1 -n2 --profile=all --acctg-freq=energy=1 -o /dev/null \
	--wrap "srun -n2 $DIR/home/busy $DIR/home/go/1; srun -n1 sleep 0.05
		srun -n1 sh -c 'setsid $DIR/home/busy $DIR/home/go/none & sleep 2'")
job_is "$job" RUNNING || wait_for 60 job_is "$job" RUNNING
wait_for 60 step_grows "$job" 0 1000000
ok $? "a step of two tasks runs, with a series of a row a second"
restart_slurmd -KILL
wait_for 60 step_grows "$job" 0 10000000
ok $? "slurmd was killed and is back"
# rows come once a second, and only where a tick does
until=$((SECONDS + 8))
long_enough() {
	feed 3000000 500000
	[ $SECONDS -ge $until ]
}
wait_for 60 long_enough
touch "$DIR/home/go/1"
wait_for 60 ran "$job"
wait_energy "$job" batch 0 1 2
series_adds_up "$job" 0 "the step"
read -r rows _ <<<"$(series "$job" 0 Energy Power)"
[ "${rows:-0}" -ge 2 ]
ok $? "which had rows before the last one: ${rows:-none}"
is "$(series "$job" 0 Energy cpu_energy_uj | cut -d ' ' -f 1)" "$rows" "energy by domain"
read -r rows ns <<<"$(series "$job" 0 Usage cpu_time_ns)"
is "$(((${ns:-0} + 500) / 1000))" "$(usage "$job" 0 In ic/ceems_cpu_time)" "its CPU time adds up, too"
is "$(series "$job" 0 Energy gpu_energy_uj)" "" "no GPU: no column, and not 0"
series_adds_up "$job" batch "the batch step"
series_adds_up "$job" 1 "a step of 50 ms"
isnt "$(series "$job" 1 Energy energy_uj)" "" "which has a row"
read -r rows uj <<<"$(series "$job" 2 Energy energy_uj)"
[ "${rows:-0}" -ge 1 ] && [ "$uj" -le $((1000000 * $(job_acct "$job" ConsumedEnergyRaw 2) + 999999)) ]
ok $? "a step that leaves a process behind: no more than sacct has: ${uj:-no} uJ"
[ ! -e "$h5/user1/${job}_4294967292_n1.h5" ]
ok $? "the extern step, which is the whole job, has none"

read -r _ uj <<<"$(series "$job" 0 Energy energy_uj)"
passes "sh5util merges the files of a job" as user1 sh5util -j "$job" -o "$DIR/home/user1/job.h5"
passes "and extracts the series" as user1 sh5util -E -j "$job" -i "$DIR/home/user1/job.h5" -s Energy \
	-l Node:TimeSeries -o "$DIR/home/user1/job.csv"
is "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "energy_uj") c = i } $1 == "0" { s += $c }
	END { printf "%.0f", s }' "$DIR/home/user1/job.csv")" "$uj" "with the same energy"

# --- no step is profiled ---------------------------------------------------------------------------

# ticks_of JOB: prints the ticks in 6 s in which its step 0 runs.
ticks_of() {
	local ticks end
	has_step "$1" 0 || wait_for 60 has_step "$1" 0
	ticks=$(ledger .ticks)
	end=$((SECONDS + 6))
	while [ $SECONDS -lt $end ]; do
		feed 1000000
		sleep 0.5
	done
	echo $(($(ledger .ticks) - ticks))
}
quiet=$(submit user1 -n1 --acctg-freq=energy=1 -o /dev/null --wrap "srun sleep 600")
loud=$(submit user1 -n1 --profile=energy --acctg-freq=energy=1 --hold -o /dev/null --wrap "srun sleep 600")
n=$(ticks_of "$quiet")
[ "$n" -le 4 ]
ok $? "without --profile a step asks for no tick: $n in 6 s"
inside scancel "$quiet"
wait_for 60 job_ran "$quiet"
is "$(find "$h5" -name "${quiet}_*")" "" "and has no file"
inside scontrol release "$loud"
n=$(ticks_of "$loud")
[ "$n" -ge 5 ]
ok $? "with it, for one each second: $n"
inside scancel "$loud"
wait_energy "$loud" 0
series_adds_up "$loud" 0 "a step that is cancelled"
is "$(complaints)" "" "the plugin complained of nothing"
conserved "after all of that"

# --- no profile plugin -----------------------------------------------------------------------------

profile_up none 0
job=$(submit user1 -n1 -o /dev/null --wrap \
	"srun --profile=all --acctg-freq=energy=1 $DIR/home/busy $DIR/home/go/1")
wait_for 60 step_grows "$job" 0 2000000
touch "$DIR/home/go/1"
wait_for 60 ran "$job"
wait_energy "$job" 0
is "$(job_acct "$job" State 0)" COMPLETED "without a profile plugin a step with --profile runs"
[ "$(job_acct "$job" ConsumedEnergyRaw 0)" -ge 2 ]
ok $? "and has its energy"
is "$(complaints)" "" "and our plugins log nothing unusual"

# --- influxdb --------------------------------------------------------------------------------------

if ! has_profile influxdb; then
	skip "acct_gather_profile_influxdb.so is not installed (contrib/deps test)"
	done_testing
fi
profile_up influxdb 1 ProfileInfluxDBHost=http://127.0.0.1:8086 ProfileInfluxDBDatabase=slurm \
	ProfileInfluxDBRTPolicy=autogen
cat >"$DIR/home/influxdb.py" <<'EOP'
# Simulates InfluxDB 1.x: writes the lines that are posted to /write to a file.
import http.server, sys, urllib.parse

class Write(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open(sys.argv[1], "ab") as lines:
            lines.write(body)
        url = urllib.parse.urlsplit(self.path)
        asked = dict(urllib.parse.parse_qsl(url.query))
        is_ours = url.path == "/write" and asked == {"db": "slurm", "rp": "autogen", "precision": "s"}
        self.send_response(204 if is_ours else 400)
        self.end_headers()

    def log_message(self, *args):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", 8086), Write).serve_forever()
EOP
inside /usr/bin/python3 "$DIR/home/influxdb.py" "$DIR/points" >"$LOG_DIR/influxdb.out" 2>&1 &
listens() {
	inside bash -c 'exec 3<>/dev/tcp/127.0.0.1/8086'
}
wait_for 60 listens || bail "the stand-in of InfluxDB listens"
use_gpu 0 30 1024 processes=1
# Slurm 26.05 profiles only on request, older versions everything
job=$(submit user1 -n1 --gres=gpu:1 --profile=all --acctg-freq=energy=1 -o /dev/null \
	--wrap "srun $DIR/home/busy $DIR/home/go/1")
wait_for 60 step_grows "$job" 0 2000000
feed_gpu 0 5000
wait_for 60 step_grows "$job" 0 6000000
touch "$DIR/home/go/1"
wait_for 60 ran "$job"
wait_energy "$job" batch 0
# points STEP MEASUREMENT [DATASET]: "ROWS SUM". Slurm prints a batch step as -5, 4294967291 from 26.05 on, which also
# orders the tags otherwise, and omits the tag task (here the dataset).
points() {
	awk -v name="$2" -v job="$job" -v step="$1" -v dataset="${3:-Energy}" '
		{ n = split($1, part, ","); split("", tag)
		for (i = 2; i <= n; i++) { at = index(part[i], "="); tag[substr(part[i], 1, at - 1)] = substr(part[i], at + 1) }
		if (part[1] != name || tag["job"] != job || tag["host"] != "n1") next
		if (tag["step"] % 4294967296 != (step + 4294967296) % 4294967296 && tag["step"] != step) next
		if ("task" in tag && tag["task"] != dataset) next
		rows++; sum += substr($2, 7) }
		END { if (rows) printf "%d %.0f\n", rows, sum }' "$DIR/points"
}
for step in 0 -5; do
	name=${step/-5/batch}
	read -r rows uj <<<"$(points $step energy_uj)"
	is_joules "$(job_acct "$job" ConsumedEnergyRaw "$name")" "$uj" \
		"influxdb, step $name: the ${rows:-0} points add up to sacct's energy"
	isnt "$(points $step Power)" "" "its power"
done
read -r _ uj <<<"$(points 0 gpu_energy_uj)"
is_joules "$(usage "$job" 0 In ic/ceems_gpu_energy)" "$uj" "the energy of its GPU"
for name in "gpu_busy_ns In" "gpu_held_ns Out"; do
	read -r _ ns <<<"$(points 0 "${name% *}" Usage)"
	is "$(((${ns:-0} + 500) / 1000))" "$(usage "$job" 0 "${name#* }" ic/ceems_gpu_busy)" "and ${name% *}"
done
is "$(points -4 energy_uj)" "" "the extern step has no points"
is "$(complaints)" "" "influxdb: the plugin complained of nothing"
done_testing
