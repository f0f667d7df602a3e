#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The unchanged commands and files of contrib/kafka/README.md, with a broker that has TLS, SASL and an authorizer: they must
# create the topic and its ACLs; the recorder's sink can only write, the consumer can only read.
# shellcheck disable=SC2317
top=$(readlink -f "$(dirname "$0")/../..")
. "$top/tests/tap/tap.sh"
build=${E2E_BUILDDIR:-$top/build}
work=$(mktemp -d)
broker=
trap '[ -z "$broker" ] || kill "$broker"; rm -rf "$work"' EXIT
ceems=$build/src/cmd/ceems
for tool in java kcat openssl; do
	command -v $tool >/dev/null || skip_all "$tool is not installed (contrib/deps test)"
done
/usr/bin/python3 -c 'import confluent_kafka' 2>/dev/null || skip_all "python3-confluent-kafka is not installed (contrib/deps test)"
[ -e "$build/src/libsink/libsinkkafka.la" ] || skip_all "no Kafka sink in this build"
make -s -C "$build/tests/unit" make_records >/dev/null || skip_all "make_records is not built"
tools=$("$top/contrib/kafka/get" "$top/contrib/kafka/tools") || skip_all "no jar of Kafka's tools"
jars=$("$top/contrib/kafka/get") || skip_all "no broker"

# free ports, because a broker does not accept port 0
read -r plain tls old controller < <(/usr/bin/python3 -c '
import socket
s = [socket.socket() for _ in range(4)]
for x in s:
    x.bind(("127.0.0.1", 0))
print(*(x.getsockname()[1] for x in s))')
command=$("$top/tests/unit/rigs/private_broker" "$work" "$plain" "$tls" "$old" "$controller") || skip_all "$command"
eval "($command)" >"$work/broker.log" 2>&1 &
broker=$!
is_up() {
	kcat -b "127.0.0.1:$plain" -L -m 2 2>&1 | grep -q '1 brokers'
}
for _ in $(seq 300); do
	is_up && break
	sleep 0.2
done

# block NAME: prints README's lines between the comment NAME and the next <!-- end -->, changed for this broker
block() {
	sed -n "/^<!-- $1 -->\$/,/^<!-- end -->\$/p" "$top/contrib/kafka/README.md" | sed -n 's/^    //p' |
		sed "s|broker:9092|127.0.0.1:$plain|; s|broker:9093|localhost:$tls|; s|/etc/ssl/certs/ca-certificates.crt|$work/ca.pem|
			s|replication-factor 3|replication-factor 1|; s|min.insync.replicas=2|min.insync.replicas=1|
			s|admin.properties|$work/admin.properties|"
}
kafka_java() {
	java -XX:-UseContainerSupport -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=error \
		-cp "$jars/*:$tools/*" "$@"
}
kafka-topics.sh() {
	kafka_java org.apache.kafka.tools.TopicCommand "$@"
}
kafka-acls.sh() {
	kafka_java kafka.admin.AclCommand "$@"
}
kafka-configs.sh() {
	kafka_java kafka.admin.ConfigCommand "$@"
}
: >"$work/admin.properties" # users of the plaintext port may do everything

for user in ceems reader; do
	kafka-configs.sh --bootstrap-server "127.0.0.1:$plain" --alter --entity-type users --entity-name $user \
		--add-config "SCRAM-SHA-512=[password=secret-$user]" >"$work/out" 2>&1
	ok $? "user $user"
done
eval "$(block topic)" >"$work/out" 2>&1
ok $? "the command that makes the topic: $(grep -o 'Created topic.*' "$work/out")"
out=$(kafka-topics.sh --bootstrap-server "127.0.0.1:$plain" --describe --topic ceems.jobs 2>&1)
has "$out" "PartitionCount: 6" "as many partitions as it says"
has "$out" "cleanup.policy=compact" "compacted"
eval "$(block acls)" >"$work/out" 2>&1
ok $? "the commands that give rights"

install -m 600 /dev/null "$work/kafka.conf"
block producer >"$work/kafka.conf"
printf 'Sinks=kafka\nKafkaConf=%s\nStoreDir=%s\n' "$work/kafka.conf" "$work/store" >"$work/ceems.conf"
"$build/tests/unit/make_records" --sums "$work/sums" 200 1 >"$work/records" 2>/dev/null
"$ceems" store replay kafka --conf "$work/ceems.conf" --file "$work/records" >"$work/out" 2>&1
ok $? "the recorder's sink writes over TLS: $(tail -n 1 "$work/out")"

sed 's/=ceems$/=reader/; s/=secret-ceems$/=secret-reader/' "$work/kafka.conf" >"$work/reader.conf"
timeout 120 "$top/contrib/kafka/consumer" --db "$work/db" --config "$work/reader.conf" --until-end 2>"$work/err"
ok $? "the consumer reads over TLS"
is "$("$top/contrib/kafka/consumer" --db "$work/db" --print | wc -l)" 200 "each job once, with repeats and corrections in the topic"

sed 's|^KafkaConf=.*|&.reader|' "$work/ceems.conf" >"$work/reader-ceems.conf"
install -m 600 "$work/reader.conf" "$work/kafka.conf.reader"
head -n 1 "$work/records" >"$work/one"
"$ceems" store replay kafka --conf "$work/reader-ceems.conf" --file "$work/one" --timeout 1s >"$work/out" 2>&1
ok $((! $?)) "the reader may not write"
has "$(cat "$work/out")" "uthorization" "and the reason is said"
sed 's|secret-reader|wrong|' "$work/reader.conf" >"$work/wrong.conf"
out=$(timeout 20 "$top/contrib/kafka/consumer" --db "$work/db" --config "$work/wrong.conf" --until-end 2>&1)
has "$out" "uthentication" "a wrong password reads nothing"

block java >"$work/java.properties"
out=$(kafka-topics.sh --bootstrap-server "localhost:$tls" --command-config "$work/java.properties" --list 2>&1)
has "$out" "ceems.jobs" "a client of Java with the properties that README has"
done_testing
