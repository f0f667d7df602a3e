#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Fifty jobs as traces: parents, times and energies must be sacct's. Tasks must get TRACEPARENT, and the collector the
# span of their step. With CEEMS_JAEGER=FILE, the program all-in-one or jaeger (doc/traces.md says how to build it), a real
# Jaeger gets the traces as well, and its query API must return them.
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank jobcomp
# with opentelemetry-proto of PyPI, which contrib/check --all gets: OpenTelemetry's own messages decode
python=${CEEMS_OTLP_PYTHON:-/usr/bin/python3}
here=$e2e_top/tests/e2e
decoder=$("$python" "$here/otlp_collector.py" decoder) || skip_all "python3 is not installed"
encoding=protobuf
[ "$decoder" != none ] || encoding=json
cluster_up --fake-rapl --nodes 2 --cpus 8 --ceems-conf <(printf '%s\n' Sinks=file,otlp OtlpUrl=http://127.0.0.1:4318 \
	"OtlpEncoding=$encoding" EnergySources=rapl IdleWatts=0)
"$BUILD_DIR/src/cmd/ceems" store replay otlp --file /dev/null --conf "$CEEMS_CONF" 2>&1 | grep -q 'no sink' &&
	skip_all "the sink otlp is not built"
spans=$e2e_work/spans
home=$DIR/home/user1

inside "$python" "$here/otlp_collector.py" serve 127.0.0.1:4318 "$spans" &
collector=$!
wait_for 30 test -e "$spans.port"
ok $? "a collector is there, which decodes $encoding ($decoder)"

# sha N TEXT: prints the first N bytes of TEXT's hash
sha() {
	printf %s "$2" | sha256sum | cut -c "1-$((2 * $1))"
}

trace=0af7651916cd43dd8448eb211c80319c
parent=00-$trace-b7ad6b7169203331-01
cd "$home" || bail "user1 has no folder"
tell='echo "$TRACEPARENT $TRACESTATE" >%s; srun -n1 /bin/sh -c "echo \$TRACEPARENT" >%s.step'
# tells NAME ARG...: submits a job of user1 that writes the TRACEPARENT of its batch step and of step 0
tells() {
	local name=$1
	shift
	# shellcheck disable=SC2059
	as user1 env -u TRACEPARENT "${env[@]}" sbatch --parsable -o /dev/null -D "$home" "$@" \
		--wrap "$(printf "$tell" "$home/$name" "$home/$name")" 2>"$e2e_work/$name.err"
}

ids=()
env=("TRACEPARENT=$parent" TRACESTATE=vendor=1)
with=$(tells with)
none=$(tells none --export=NONE)
env=()
asked=$(tells asked --ceems-trace-context)
plain=$(tells plain)
env=(TRACEPARENT='00-$(reboot)-b7ad6b7169203331-01')
hostile=$(tells hostile)
env=()
array=$(submit user1 -o /dev/null --array=0-4 --ceems-trace-context --wrap 'srun sleep 1')
failed=$(submit user2 -o /dev/null --wrap 'srun false; exit 3')
held=$(submit user2 -o /dev/null -H --wrap true)
inside scancel "$held"
as user1 env "TRACEPARENT=$parent" srun -n1 sh -c 'echo "$SLURM_JOB_ID $TRACEPARENT"' >"$home/srun"
for i in $(seq 37); do
	ids+=("$(submit "user$((i % 3 + 1))" -o /dev/null -n1 --wrap "srun sh -c 'i=0; while [ \$i -lt 20000 ]; do i=\$((i+1)); done'; srun true")")
done
ids+=("$with" "$none" "$asked" "$plain" "$hostile" "$failed" "$held" "$(cut -d ' ' -f 1 "$home/srun")")

all_final() {
	[ "$(jq -s 'map(select(.energy.final)) | map(.key) | unique | length' "$RECORD_FILE")" -ge 50 ]
}
wait_for 300 all_final
ok $? "fifty jobs have final records"
all_sent() {
	[ "$(jq -s '[.[] | select(.name == "job" and .attributes["ceems.energy.final"]) | .span] | unique | length' "$spans")" -ge 50 ]
}
wait_for 60 all_sent
ok $? "and traces"
is "$(cat "$spans.bad" 2>/dev/null)" "" "each request is OTLP's"
check() {
	inside env SLURM_TIME_FORMAT=%s sacct -nPa -j "$(jq -r .jobid "$RECORD_FILE" | sort -u | paste -sd ,)" \
		-o JobIDRaw,Submit,Start,End,ConsumedEnergyRaw >"$e2e_work/sacct"
	"$python" "$here/otlp_collector.py" check "$spans" "$RECORD_FILE" "$e2e_work/sacct"
}
wait_for 60 check
ok $? "parents, times and energies are those of sacct: $(echo "$out" | tail -n 1)"
diag "$out"
has "$out" " 0 with a name, " "no trace has the name of a user or account"
is "$(jq -r "select(.name == \"job\" and .attributes[\"slurm.job.id\"] == $failed) | \"\(.error) \(.attributes[\"error.type\"]) \(.attributes[\"process.exit.code\"])\"" "$spans" | tail -n 1)" \
	"true FAILED 3" "a job that failed"

# --- TRACEPARENT -------------------------------------------------------------------------------------

cluster_name=$(jq -r .cluster "$RECORD_FILE" | head -n 1)
# span_of JOB STEP: as doc/traces.md has it
span_of() {
	sha 8 "$cluster_name/$1,0.$2"
}
is "$(cat with)" "00-$trace-$(span_of "$with" 4294967291)-01 vendor=1" "the batch script is below its step, TRACESTATE as it was"
is "$(cat with.step)" "00-$trace-$(span_of "$with" 0)-01" "the tasks of a step below theirs"
is "$(record_file "$with" | jq -r .trace_parent)" "$parent" "the record has the parent"
is "$(jq -r "select(.name == \"job\" and .attributes[\"slurm.job.id\"] == $with) | \"\(.trace) \(.parent)\"" "$spans" | tail -n 1)" \
	"$trace b7ad6b7169203331" "and so has the job's span"
is "$(cut -d ' ' -f 2 srun)" "00-$trace-$(span_of "$(cut -d ' ' -f 1 srun)" 0)-01" "srun by itself"
is "$(cat none.step)" "00-$trace-$(span_of "$none" 0)-01" "sbatch --export=NONE"
begun=$(record_file "$asked" | jq -r .trace_parent)
has "$begun" "-0000000000000000-01" "--ceems-trace-context begins a trace with the job"
is "$(cat asked.step)" "${begun%-*-*}-$(span_of "$asked" 0)-01" "and the tasks are in it"
is "$(cat plain) $(cat plain.step)" "  " "who does not ask gets none"
has "$(cat "$e2e_work/hostile.err")" "TRACEPARENT is not valid and is ignored" "one that is not valid is ignored, and said"
is "$(record_file "$hostile" | jq -r .trace_parent)" null "  the record has none"
is "$(jq -r "select(.array_job_id == $array) | .trace_parent" "$RECORD_FILE" | sort -u | wc -l)" 1 "the tasks of an array are in one trace"

# --- a collector that is down ------------------------------------------------------------------------

echo "503 Retry-After: 1" >"$spans.status"
last=$(submit user1 -o /dev/null --wrap true)
has_trace() {
	jq -c "select(.name == \"job\" and .attributes[\"slurm.job.id\"] == $last)" "$spans" | grep -q .
}
wait_for 120 has_trace
ok $? "a collector that was busy gets the trace later"
# the processes of the cluster only: it has its own PID namespace
inside pkill -f otlp_collector.py
wait "$collector" 2>/dev/null
fails "the collector is away" inside curl -s http://127.0.0.1:4318/
away=$(submit user1 -o /dev/null --wrap true)
has_record() {
	record_file "$away" >/dev/null
}
wait_for 120 has_record
ok $? "one that is away does not hold up the other sinks"

# --- Jaeger ------------------------------------------------------------------------------------------

if [ -z "${CEEMS_JAEGER:-}" ]; then
	skip "CEEMS_JAEGER is not set: no traces in a real Jaeger"
	done_testing
fi
url=http://127.0.0.1:16686
name=${CEEMS_JAEGER##*/}
answers() {
	inside curl -sf "$url/api/services" >/dev/null
}
# start_jaeger: in the place of the collector; it keeps the traces in memory
start_jaeger() {
	inside "$CEEMS_JAEGER" >"$e2e_work/jaeger.log" 2>&1 &
	jaeger=$!
	wait_for 120 answers
}
stop_jaeger() {
	inside pkill -x "${name:0:15}"
	wait "$jaeger" 2>/dev/null
}
read_jaeger() {
	inside "$python" "$here/otlp_collector.py" jaeger "$url" "$e2e_work/jaeger.$1"
}
# is_in_jaeger ENCODING: compares all traces of Jaeger with records and sacct
is_in_jaeger() {
	read_jaeger "$1" || return 1
	"$python" "$here/otlp_collector.py" check "$e2e_work/jaeger.$1" "$e2e_work/records" "$e2e_work/sacct"
}
start_jaeger
ok $? "Jaeger is there instead of the collector"
spans=$e2e_work/jaeger.live
has_waiting() {
	read_jaeger live &&
		jq -c "select(.name == \"job\" and .attributes[\"slurm.job.id\"] == $away)" "$spans" | grep -q .
}
wait_for 120 has_waiting
ok $? "the recorder sends it the trace that waited"
is_away_final() {
	[ "$(record_file "$away" | jq .energy.final)" = true ] && [ "$(record_file "$last" | jq .energy.final)" = true ]
}
wait_for 120 is_away_final
ok $? "all records are final"
# Jaeger keeps the spans of a record and of its correction, and returns them in any order
jq -cs 'group_by(.key) | map(.[-1]) | .[]' "$RECORD_FILE" >"$e2e_work/records"
check >/dev/null # sacct's rows of the last jobs
has "$(inside "$BUILD_DIR/src/cmd/ceems" check --conf "$CEEMS_CONF" 2>&1)" "127.0.0.1:4318/v1/traces takes traces" "ceems check has Jaeger's answer"
stop_jaeger
for encoding in protobuf json; do
	start_jaeger
	ok $? "an empty Jaeger"
	sed "s/^OtlpEncoding=.*/OtlpEncoding=$encoding/" "$CEEMS_CONF" >"$e2e_work/$encoding.conf"
	passes "takes each record in $encoding" inside "$BUILD_DIR/src/cmd/ceems" store replay otlp --conf "$e2e_work/$encoding.conf" \
		--file "$e2e_work/records"
	wait_for 60 is_in_jaeger $encoding
	ok $? "  parents, times and energies are those of sacct: $(tail -n 1 <<<"$out")"
	diag "$out"
	stop_jaeger
done
# members that Jaeger converts, such as numbers in JSON's text
same() {
	jq -cS 'del(.token)' "$e2e_work/jaeger.$1" | sort -u
}
is "$(same json | cksum)" "$(same protobuf | cksum)" "each attribute is the same in both encodings"
done_testing
