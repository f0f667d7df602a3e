#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# contrib/analytics on the records of real jobs and on CEEMS_ANALYTICS_JOBS [100000] synthetic ones, with repeats and
# corrections: DuckDB, ClickHouse and Flink must find the sums that the generator computed. Flink's mini cluster is killed;
# Flink then continues from a checkpoint on a cluster of processes, whose task manager is killed. Nothing may be lost or
# counted twice.
# shellcheck disable=SC2317
. "$(dirname "$0")/lib.sh"
needs_plugins jobcomp acct_gather

jobs=${CEEMS_ANALYTICS_JOBS:-100000}
build=${E2E_BUILDDIR:-$(e2e_builddir)}
analytics=$e2e_top/contrib/analytics
for tool in java kcat mvn python3; do
	command -v $tool >/dev/null || skip_all "$tool is not installed (contrib/deps test)"
done
[ -e "$build/src/libsink/libsinkkafka.la" ] || skip_all "no Kafka sink in this build"
make -s -C "$build/tests/unit" make_records >/dev/null || skip_all "make_records is not built"
for folder in "$e2e_top/contrib/kafka" "$e2e_top/contrib/kafka/tools" "$analytics/flink"; do
	"$e2e_top/contrib/kafka/get" "$folder" >/dev/null || skip_all "no jars for $folder"
done
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache} # HOME is another inside the cluster
python=$("$analytics/python" warehouse) || skip_all "duckdb and chdb cannot be installed"

cluster_up --plugins acct_gather,jobcomp --kafka --ceems-conf <(printf '%s\n' ModelIdleWatts=400 ModelMaxWatts=1000)

# --- records of real jobs ----------------------------------------------------------------------

ids=()
for i in 1 2 3 4; do
	ids+=("$(submit user$((i % 2 + 1)) -n1 --wrap "timeout 1 sh -c 'while :; do :; done'; exit $((i == 4))")")
done
all_final() {
	local id
	for id in "${ids[@]}"; do
		[ "$(record_file "$id" | jq -r .energy.final)" = true ] || return 1
		record_kafka "$id" >/dev/null || return 1
	done
}
wait_for 180 all_final
ok $? "${#ids[@]} jobs have their records"
inside kcat -b "$KAFKA_BOOTSTRAP" -t "$KAFKA_TOPIC" -C -e -q -o beginning -u >"$e2e_work/dump" 2>/dev/null
for source in "$RECORD_FILE" "$e2e_work/dump"; do
	answers=$("$python" "$analytics/laptop/ask.py" --db "$e2e_work/jobs.db" "$source" 2>&1)
	is "$(grep -c '^[0-9]*\. ' <<<"$answers")" 10 "laptop: ten answers about ${source##*/}"
	is "$("$python" -c 'import duckdb, sys
print(*duckdb.connect(sys.argv[1]).execute("SELECT count(*), sum(energy.total_j) FROM job").fetchone())' "$e2e_work/jobs.db")" \
		"$(jq -s -r 'group_by(.key) | map(.[-1]) | "\(length) \(map(.energy.total_j) | add)"' "$source")" \
		"as many joules as jq finds"
	rm -f "$e2e_work/jobs.db"
done
passes "warehouse: real records too" "$python" "$analytics/warehouse/measure" "$RECORD_FILE"

# --- the answers in the README, and the notebook --------------------------------------------------

"$build/tests/unit/make_records" 3000 1 >"$e2e_work/few" 2>/dev/null
is "$("$python" "$analytics/laptop/ask.py" "$e2e_work/few")" \
	"$(sed -n '/^<!-- answers -->$/,/^<!-- end -->$/p' "$analytics/README.md" | sed '1,2d;$d')" \
	"README has the answers of 3,000 jobs"
passes "the notebook's cells run" env -C "$analytics/laptop" PYTHONDONTWRITEBYTECODE=1 CEEMS_RECORDS="$e2e_work/few" "$python" -c '
import json
scope = {}
for cell in json.load(open("jobs.ipynb"))["cells"]:
    assert not cell.get("outputs")
    if cell["cell_type"] == "code":
        exec("".join(cell["source"]), scope)'

# --- synthetic jobs ---------------------------------------------------------------------------------

sums=$e2e_work/sums
"$build/tests/unit/make_records" --sums "$sums" "$jobs" 2 >"$e2e_work/many" 2>"$e2e_work/many.err"
diag "$(cat "$e2e_work/many.err")"
# csv FILE: prints the sums in a common format, sorted
csv() {
	tr -d '"' <"$1" | tail -n +2 | sort
}
begin=$SECONDS
"$python" "$analytics/laptop/ask.py" --question 1 --sums "$e2e_work/laptop" "$e2e_work/many" >/dev/null
diag "laptop: $((SECONDS - begin)) s"
is "$(csv "$e2e_work/laptop" | cksum)" "$(csv "$sums" | cksum)" "laptop: $(csv "$sums" | wc -l) sums are the generator's"
begin=$SECONDS
"$python" "$analytics/warehouse/measure" --sums "$e2e_work/warehouse" "$e2e_work/many" 2>&1 | diag
diag "warehouse: $((SECONDS - begin)) s"
is "$(csv "$e2e_work/warehouse" | cksum)" "$(csv "$sums" | cksum)" "warehouse: ClickHouse has the same"
is "$(csv "$e2e_work/warehouse-parquet" | cksum)" "$(csv "$sums" | cksum)" "  and so have the Parquet files"

tools() {
	inside java -XX:-UseContainerSupport -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
		-cp "$("$e2e_top/contrib/kafka/get" "$e2e_top/contrib/kafka")/*:$("$e2e_top/contrib/kafka/get" "$e2e_top/contrib/kafka/tools")/*" "$@"
}
for topic in ceems.synthetic ceems.account_hour; do
	passes "the topic $topic is made" tools org.apache.kafka.tools.TopicCommand --bootstrap-server "$KAFKA_BOOTSTRAP" \
		--create --topic $topic --partitions 4 --config cleanup.policy=compact
done
sed "s|^KafkaTopic=.*||; \$a KafkaTopic=ceems.synthetic" "$CEEMS_CONF" >"$e2e_work/synthetic.conf"
chmod 644 "$e2e_work/synthetic.conf"
feed() {
	inside "$build/src/cmd/ceems" store replay kafka --conf "$e2e_work/synthetic.conf" --file "$1"
}
half=$(($(wc -l <"$e2e_work/many") / 2))
head -n $half "$e2e_work/many" >"$e2e_work/first"
tail -n +$((half + 1)) "$e2e_work/many" >"$e2e_work/second"

# stream [OPTION...]: starts `flink stream` in the background; without options on a mini cluster
stream() {
	inside env XDG_CACHE_HOME="$cache" "$analytics/flink/flink" stream --brokers "$KAFKA_BOOTSTRAP" --topic ceems.synthetic \
		--checkpoints "$e2e_work/checkpoints" --set 'execution.checkpointing.interval=2 s' "$@" >"$e2e_work/flink.log" 2>&1 &
	stream=$!
}
# below PID NAME: prints the pids of processes NAME that PID started
below() {
	local pid
	for pid in $(pgrep -P "$1"); do
		if [ "$(cat "/proc/$pid/comm")" = "$2" ]; then
			echo "$pid"
		else
			below "$pid" "$2"
		fi
	done
}
kill_stream() {
	kill -KILL "$(below $stream java)"
	wait $stream
}
has_checkpoint() {
	compgen -G "$e2e_work/checkpoints/*/chk-*/_metadata" >/dev/null
}
# Prints the last message of each sum as CSV like the generator's; an empty message deletes the sum.
streamed() {
	inside kcat -b "$KAFKA_BOOTSTRAP" -t ceems.account_hour -C -e -q -o beginning -f '%k\t%s\n' | python3 -c '
import json, sys
from decimal import Decimal
last = {}
for line in sys.stdin:
    key, value = line.rstrip("\n").split("\t")
    last[key] = json.loads(value, parse_float=Decimal) if value else None
print("account,hour,jobs,energy_j,co2e_g,waste_j")
for r in last.values():
    if r:
        print("%s,%s,%d,%d,%.9f,%.6f" % (r["account"], r["hour"], r["jobs"], r["energy_j"] or 0, r["co2e_g"] or 0,
                                         r["waste_j"] or 0))'
}
streamed_jobs() {
	streamed | awk -F , '{ n += $3 } END { print n + 0 }'
}
has_streamed() {
	[ "$(streamed_jobs)" -gt "$1" ]
}
is_whole() {
	streamed >"$e2e_work/streamed"
	[ "$(csv "$e2e_work/streamed" | cksum)" = "$(csv "$sums" | cksum)" ]
}
passes "the first half is fed" feed "$e2e_work/first"
stream
wait_for 240 has_streamed 0 && wait_for 120 has_checkpoint
ok $? "flink: sums come, and a checkpoint"
kill_stream
passes "flink is killed; the second half is fed" feed "$e2e_work/second"
# a cluster as a site has it: a job manager, and task managers that are killed and started
flink_conf=$e2e_work/flink
mkdir "$flink_conf"
cat >"$flink_conf/config.yaml" <<-EOT
	jobmanager.rpc.address: 127.0.0.1
	rest.address: 127.0.0.1
	rest.port: 8081
	taskmanager.host: 127.0.0.1
	taskmanager.numberOfTaskSlots: 2
	taskmanager.cpu.cores: 2.0
	taskmanager.memory.framework.heap.size: 128m
	taskmanager.memory.framework.off-heap.size: 128m
	taskmanager.memory.jvm-metaspace.size: 256m
	taskmanager.memory.jvm-overhead.min: 192m
	taskmanager.memory.jvm-overhead.max: 192m
	taskmanager.memory.task.heap.size: 512m
	taskmanager.memory.task.off-heap.size: 0m
	taskmanager.memory.managed.size: 128m
	taskmanager.memory.network.min: 64m
	taskmanager.memory.network.max: 64m
	io.tmp.dirs: $flink_conf
EOT
opens=()
for package in lang lang.reflect io net nio text time util util.concurrent util.concurrent.atomic util.concurrent.locks; do
	opens+=("--add-opens=java.base/java.$package=ALL-UNNAMED")
done
# flink_daemon NAME CLASS ARG...
flink_daemon() {
	local name=$1
	shift
	FLINK_CONF_DIR=$flink_conf inside java -XX:-UseContainerSupport -XX:+UseSerialGC -Xmx1g \
		-Dorg.slf4j.simpleLogger.defaultLogLevel=warn "${opens[@]}" \
		-cp "$("$e2e_top/contrib/kafka/get" "$analytics/flink")/*" "$@" --configDir "$flink_conf" >"$flink_conf/$name.log" 2>&1 &
	daemon[$name]=$!
}
declare -A daemon
task_manager() {
	flink_daemon "$1" org.apache.flink.runtime.taskexecutor.TaskManagerRunner
}
flink_daemon manager org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint --executionMode cluster
task_manager tasks1
before=$(streamed_jobs)
stream --address 127.0.0.1:8081
wait $stream
is $? 0 "flink: the job moves to another cluster by its address"
has "$(cat "$e2e_work/flink.log")" "goes on from" "and goes on from the checkpoint"
wait_for 240 has_streamed "$before"
ok $? "flink: more come"
kill -KILL "$(below "${daemon[tasks1]}" java)"
diag "the task manager is killed at $(streamed_jobs) of $jobs jobs"
begin=$SECONDS
task_manager tasks2
wait_for 300 is_whole
ok $? "flink: all sums are the generator's: nothing was lost or counted twice"
diag "flink: $((SECONDS - begin)) s for the rest"
kill "$(below "${daemon[tasks2]}" java)" "$(below "${daemon[manager]}" java)"
wait "${daemon[@]}"
begin=$SECONDS
passes "flink: the topic as Parquet" inside env XDG_CACHE_HOME="$cache" "$analytics/flink/flink" parquet "$e2e_work/parquet" \
	--brokers "$KAFKA_BOOTSTRAP" --topic ceems.synthetic
diag "flink: Parquet in $((SECONDS - begin)) s"
"$python" -c 'import duckdb, sys
duckdb.sql("""COPY (SELECT account, hour, jobs, coalesce(energy_j, 0), coalesce(co2e_g, 0), coalesce(waste_j, 0)
                    FROM read_parquet(\x27%s/**/*\x27, hive_partitioning = false)) TO \x27%s\x27 (HEADER)""" % tuple(sys.argv[1:]))' \
	"$e2e_work/parquet" "$e2e_work/from-parquet"
is "$(csv "$e2e_work/from-parquet" | cksum)" "$(csv "$sums" | cksum)" "with the same sums"
done_testing
