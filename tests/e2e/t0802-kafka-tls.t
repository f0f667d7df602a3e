#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The unchanged commands and files of contrib/kafka/README.md, with brokers of Kafka 4 and of 3.9 that have TLS and an authorizer:
# they must create the topic and its ACLs; the recorder's sink can only write, the consumer can only read. The sink logs in in
# each way that README has, with the system's librdkafka and with a newer one; what cannot work, `ceems check` explains. A
# broker that is killed and a topic that is deleted lose nothing. Kafka Connect writes what the consumer reads.
# shellcheck disable=SC2317
top=$(readlink -f "$(dirname "$0")/../..")
. "$top/tests/tap/tap.sh"
build=${E2E_BUILDDIR:-$top/build}
work=$(mktemp -d)
pids=()
trap '[ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null; rm -rf "$work"' EXIT
ceems=$build/src/cmd/ceems
kafka=$top/contrib/kafka
for tool in java kcat openssl; do
	command -v $tool >/dev/null || skip_all "$tool is not installed (contrib/deps test)"
done
/usr/bin/python3 -c 'import confluent_kafka' 2>/dev/null || skip_all "python3-confluent-kafka is not installed (contrib/deps test)"
[ -e "$build/src/libsink/libsinkkafka.la" ] || skip_all "no Kafka sink in this build"
make -s -C "$build/tests/unit" make_records >/dev/null || skip_all "make_records is not built"
jars=$("$kafka/get" "$kafka") || skip_all "no broker"
tools=$("$kafka/get" "$kafka/tools") || skip_all "no jar of Kafka's tools"
new_python=$("$kafka/python" 2>/dev/null) || new_python=
"$build/tests/unit/make_records" --sums "$work/sums" 200 1 >"$work/records" 2>/dev/null
"$build/tests/unit/make_records" --sums "$work/sums" 5000 2 >"$work/many" 2>/dev/null
head -n 1 "$work/records" >"$work/one"

# wait_for SECONDS CMD...: true as soon as CMD succeeds
wait_for() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $deadline ] || return 1
		sleep 0.2
	done
}

# --- the broker ---------------------------------------------------------------------------------

is_up() {
	kcat -b "127.0.0.1:$plain" -L -m 2 2>&1 | grep -q '1 brokers'
}
start_broker() {
	eval "$command" >>"$dir/broker.log" 2>&1 7>&- & # which is an exec
	broker=$!
	pids=("$endpoint" "$broker")
	wait_for 120 is_up
}
kill_broker() {
	kill -KILL "$broker"
	wait "$broker" 2>/dev/null
	pids=("$endpoint")
}

# block NAME: prints README's lines between the comment NAME and the next <!-- end -->, changed for this broker
block() {
	sed -n "/^<!-- $1 -->\$/,/^<!-- end -->\$/p" "$kafka/README.md" | sed -n 's/^    //p' |
		sed "s|broker:9092|127.0.0.1:$plain|; s|broker:9093|localhost:$tls|; s|broker:9094|localhost:$cert|
			s|/etc/ssl/certs/ca-certificates.crt|$dir/ca.pem|; s|/etc/slurm/ceems-kafka|$dir/ceems|
			s|replication-factor 3|replication-factor 1|; s|min.insync.replicas=2|min.insync.replicas=1|
			s|https://sso.example.org/token|$token_url|; s|admin.properties|$dir/admin.properties|"
}
# commands of Kafka 4 for both brokers
kafka_java() {
	java -XX:-UseContainerSupport -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=error \
		-cp "$jars/*:$tools/*" "$@"
}
kafka-topics.sh() {
	kafka_java org.apache.kafka.tools.TopicCommand "$@"
}
kafka-acls.sh() {
	kafka_java org.apache.kafka.tools.AclCommand "$@"
}
kafka-configs.sh() {
	kafka_java kafka.admin.ConfigCommand "$@"
}
make_topic() {
	eval "$(block topic)" >"$work/out" 2>&1
}
delete_topic() {
	kafka-topics.sh --bootstrap-server "127.0.0.1:$plain" --delete --topic ceems.jobs >"$work/out" 2>&1
}

# --- clients ------------------------------------------------------------------------------------

# conf NAME: KafkaConf and ceems.conf of README's block NAME
conf() {
	rm -f "$dir/$1.kafka"
	install -m 600 /dev/null "$dir/$1.kafka"
	block "$1" >"$dir/$1.kafka"
	printf 'Sinks=kafka\nKafkaConf=%s\nStoreDir=%s\n' "$dir/$1.kafka" "$dir/store" >"$dir/$1.conf"
}
# write NAME FILE [OPTION...]: the sink sends FILE, configured by conf NAME
write() {
	"$ceems" store replay kafka --conf "$dir/$1.conf" --file "$2" "${@:3}" >"$work/out" 2>&1
}
# stock CMD...: with the librdkafka of the system
stock() {
	"$@"
}
# newer CMD...: with a newer librdkafka
newer() {
	LD_LIBRARY_PATH=$(dirname "$new_python")/../lib "$@"
}
# consumed PYTHON CONF: how many jobs there are in the topic
consumed() {
	rm -f "$dir/db"
	timeout 120 "$1" "$kafka/consumer" --db "$dir/db" --config "$2" --until-end 2>"$work/err" &&
		"$kafka/consumer" --db "$dir/db" --print | wc -l
}
check_says() {
	SLURM_CONF=$dir/none "$ceems" check --conf "$dir/$1.conf" 2>&1 | grep -i -A 1 kafka
}
offsets() {
	kcat -b "127.0.0.1:$plain" -t ceems.jobs -C -e -q -o beginning -f '%o\n' 2>/dev/null | wc -l
}
has_offsets() {
	[ "$(offsets)" -ge "$1" ]
}
# how many jobs there are in the topic; KEY#N are parts of records
count_jobs() {
	kcat -b "127.0.0.1:$plain" -t ceems.jobs -C -e -q -o beginning -f '%k\n' 2>/dev/null | grep -v '#' | sort -u | wc -l
}

# can NAME WITH CMD...: one login by README's block NAME, WITH says the library
can() {
	local name=$1 with=$2
	shift 2
	conf "$name"
	"$@" write "$name" "$work/one"
	ok $? "login by $name, $with: $(tail -n 1 "$work/out")"
}
system=$(/usr/bin/python3 -c 'import confluent_kafka; print("librdkafka", confluent_kafka.libversion()[0])')
is_mended() {
	/usr/bin/python3 -c 'import confluent_kafka, sys; sys.exit(confluent_kafka.libversion()[1] < 0x020601ff)'
}

test_logins() {
	local out

	can plain "$system" stock
	can certificate "$system" stock
	if [ "$version" = 3.9 ] || is_mended; then
		can scram "$system" stock
	else
		conf scram
		write scram "$work/one" --timeout 5s
		ok $((! $?)) "login by scram is refused, $system"
		out=$(check_says scram)
		has "$out" "librdkafka before 2.6.1 cannot log in by SCRAM at Kafka 4.0 or later" "ceems check names the cause"
		has "$out" "by PLAIN over TLS or by a client certificate, or install librdkafka 2.6.1" "and the three ways out"
	fi
	conf token
	if "$ceems" store replay kafka --conf "$dir/token.conf" --file /dev/null 2>&1 | grep -q 'not available at build time'; then
		out=$(check_says token)
		has "$out" "sasl.oauthbearer.method: " "OAUTHBEARER, $system: ceems check names the property"
		has "$out" "OAuth/OIDC depends on libcurl" "and that the library is built without it"
	else
		can token "$system" stock
	fi
	if [ -z "$new_python" ]; then
		skip "no newer librdkafka (contrib/kafka/python)"
		return
	fi
	newer_is=$("$new_python" -c 'import confluent_kafka; print("librdkafka", confluent_kafka.libversion()[0])')
	for name in plain certificate scram token; do
		can $name "$newer_is" newer
	done
	sed 's/secret-ceems/secret-wrong/' "$dir/token.kafka" >"$dir/wrong.kafka"
	chmod 600 "$dir/wrong.kafka"
	sed 's/token.kafka/wrong.kafka/' "$dir/token.conf" >"$dir/wrong.conf"
	newer write wrong "$work/one" --timeout 5s
	ok $((! $?)) "a client that the token endpoint does not know: $(tail -n 1 "$work/out")"
	out=$(newer check_says wrong)
	has "$out" "error  kafka" "ceems check has it"
	sed 's/=ceems$/=reader/; s/=secret-ceems$/=secret-reader/' "$dir/scram.kafka" >"$dir/reader"
	is "$(consumed "$new_python" "$dir/reader")" 1 "the consumer reads what came since, by SCRAM, $newer_is"
}

# The broker dies and the topic is deleted under a sink that is connected. By login NAME, WITH says how it runs.
test_faults() {
	local name=$1 half feed n
	shift
	half=$(($(wc -l <"$work/many") / 2))

	delete_topic && wait_for 60 make_topic
	ok $? "$name: a new topic"
	mkfifo "$dir/feed.$name"
	"$@" write "$name" "$dir/feed.$name" --timeout 120s &
	feed=$!
	exec 7>"$dir/feed.$name"
	head -n $half "$work/many" >&7
	wait_for 60 has_offsets 500
	ok $? "$name: records come"
	kill_broker
	start_broker
	ok $? "$name: the broker is killed, and is back"
	tail -n +$((half + 1)) "$work/many" >&7
	exec 7>&-
	wait $feed
	ok $? "$name: all are acknowledged: $(tail -n 1 "$work/out")"
	is "$(count_jobs)" 5000 "$name: none is lost"

	"$@" write "$name" "$dir/feed.$name" --timeout 120s &
	feed=$!
	exec 7>"$dir/feed.$name"
	head -n $half "$work/many" >&7
	n=$(offsets)
	wait_for 60 has_offsets $((n + 1))
	delete_topic
	ok $? "$name: the topic is deleted under the sink"
	wait_for 60 make_topic
	ok $? "$name: and made again"
	tail -n +$((half + 1)) "$work/many" >&7
	exec 7>&-
	wait $feed
	ok $? "$name: the sink goes on: $(tail -n 1 "$work/out")"
	"$@" write "$name" "$work/many" --timeout 120s
	ok $? "$name: what the deleted topic had is sent again"
	is "$(count_jobs)" 5000 "$name: none is lost"
	rm "$dir/feed.$name"
}

# Kafka Connect, with contrib/kafka/connect
test_connect() {
	local connect pid lines

	connect=$("$kafka/get" "$kafka/connect" 2>/dev/null) || {
		skip "Kafka Connect cannot be fetched"
		return
	}
	mkdir "$dir/libs"
	cp "$connect"/connect-file-*.jar "$dir/libs"
	sed "s|127.0.0.1:9092|127.0.0.1:$plain|; s|/var/lib/kafka-connect|$dir|; s|/usr/share/kafka/libs|$dir/libs|; s|:8083|:$rest|" \
		"$kafka/connect/standalone.properties" >"$dir/standalone.properties"
	sed "s|/var/lib/kafka-connect|$dir|" "$kafka/connect/file-sink.properties" >"$dir/file-sink.properties"
	java -XX:-UseContainerSupport -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$connect/*" \
		org.apache.kafka.connect.cli.ConnectStandalone "$dir/standalone.properties" "$dir/file-sink.properties" \
		>"$dir/connect.log" 2>&1 &
	pid=$!
	pids+=("$pid")
	kcat -b "127.0.0.1:$plain" -t ceems.jobs -C -e -q -o beginning 2>/dev/null | sort >"$dir/topic"
	lines=$(wc -l <"$dir/topic")
	is_copied() {
		[ -e "$dir/ceems-jobs.jsonl" ] && [ "$(wc -l <"$dir/ceems-jobs.jsonl")" -ge "$lines" ]
	}
	wait_for 120 is_copied
	ok $? "Kafka Connect writes $lines lines" || sed 's/^/# /' "$dir/connect.log" | tail -n 5
	sort "$dir/ceems-jobs.jsonl" | cmp -s - "$dir/topic"
	ok $? "which are the topic's messages"
	kill "$pid"
	wait "$pid" 2>/dev/null
}

test_version() {
	local user out

	dir=$work/$1
	version=$1
	mkdir "$dir"
	# free ports, because a broker does not accept port 0
	read -r plain tls old controller cert rest < <(/usr/bin/python3 -c '
import socket
s = [socket.socket() for _ in range(6)]
for x in s:
    x.bind(("127.0.0.1", 0))
print(*(x.getsockname()[1] for x in s))')
	command=$(CEEMS_KAFKA=${1%4} "$top/tests/unit/rigs/private_broker" "$dir" "$plain" "$tls" "$old" "$controller" "$cert") || {
		skip "Kafka $1: $command"
		return
	}
	coproc ENDPOINT { exec "$top/tests/unit/rigs/token_endpoint" "$dir/token.key" ceems secret-ceems; }
	endpoint=$ENDPOINT_PID
	read -r token_url <&"${ENDPOINT[0]}"
	start_broker
	ok $? "a broker of Kafka $1"
	: >"$dir/admin.properties" # users of the plaintext port may do everything

	for user in ceems reader; do
		kafka-configs.sh --bootstrap-server "127.0.0.1:$plain" --alter --entity-type users --entity-name $user \
			--add-config "SCRAM-SHA-512=[password=secret-$user]" >"$work/out" 2>&1
		ok $? "user $user"
	done
	make_topic
	ok $? "the command that makes the topic: $(grep -o 'Created topic.*' "$work/out")"
	out=$(kafka-topics.sh --bootstrap-server "127.0.0.1:$plain" --describe --topic ceems.jobs 2>&1)
	has "$out" "PartitionCount: 6" "as many partitions as it says"
	has "$out" "cleanup.policy=compact" "compacted"
	eval "$(block acls)" >"$work/out" 2>&1
	ok $? "the commands that give rights"

	conf plain
	write plain "$work/records"
	ok $? "the recorder's sink writes over TLS: $(tail -n 1 "$work/out")"
	sed 's/=ceems$/=reader/; s/=secret-ceems$/=secret-reader/' "$dir/plain.kafka" >"$dir/plain-reader"
	is "$(consumed /usr/bin/python3 "$dir/plain-reader")" 200 "the consumer reads each job once, with repeats in the topic"
	test_logins

	install -m 600 "$dir/plain-reader" "$dir/reader.kafka"
	sed 's/plain.kafka/reader.kafka/' "$dir/plain.conf" >"$dir/reader.conf"
	write reader "$work/one" --timeout 1s
	ok $((! $?)) "the reader may not write"
	has "$(cat "$work/out")" "uthorization" "and the reason is said"
	sed 's|secret-reader|wrong|' "$dir/plain-reader" >"$dir/wrong-reader"
	consumed /usr/bin/python3 "$dir/wrong-reader" >/dev/null
	has "$(cat "$work/err")" "uthentication" "a wrong password reads nothing"
	block java >"$dir/java.properties"
	out=$(kafka-topics.sh --bootstrap-server "localhost:$tls" --command-config "$dir/java.properties" --list 2>&1)
	has "$out" "ceems.jobs" "a client of Java with the properties that README has"
	test_connect

	test_faults plain stock
	if [ "$version" = 4 ] && [ -n "$new_python" ]; then
		test_faults certificate stock
		test_faults scram newer
		test_faults token newer
	fi
	kill_broker
	kill "$endpoint"
	pids=()
}

for v in 4 3.9; do
	diag_begin=$SECONDS
	test_version $v
	echo "# Kafka $v: $((SECONDS - diag_begin)) s"
done
done_testing
