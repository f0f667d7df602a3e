# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2034,SC2154
# A single Apache Kafka broker, which is its own controller (KRaft), with one replica of everything.

kafka_bootstrap=127.0.0.1:9092

kafka_java() {
	# -UseContainerSupport: the JVM fails to read cgroup v1 in a cgroup namespace
	java=(java -XX:-UseContainerSupport -Xms64m -Xmx384m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData
		"-Djava.io.tmpdir=$DIR/kafka/tmp" -Dorg.slf4j.simpleLogger.showDateTime=true
		"-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS"
		-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaConfig=warn
		-cp "$(cat "$DIR/kafka/jars")/*")
}

# Before the first start: fetch the jars if need be (the machine has a network, inside has none).
kafka_fetch() {
	local jars

	command -v java >/dev/null || die "--kafka: java is missing (contrib/deps test)"
	command -v kcat >/dev/null || die "--kafka: kcat is missing (contrib/deps test)"
	jars=$("$here/../kafka/get") || die "--kafka: contrib/kafka/get failed"
	mkdir "$DIR/kafka" "$DIR/kafka/tmp"
	echo "$jars" >"$DIR/kafka/jars"
	cat >"$DIR/etc/kafka-broker.conf" <<-EOT
		process.roles=broker,controller
		node.id=1
		controller.quorum.voters=1@127.0.0.1:9093
		listeners=PLAINTEXT://$kafka_bootstrap,CONTROLLER://127.0.0.1:9093
		advertised.listeners=PLAINTEXT://$kafka_bootstrap
		controller.listener.names=CONTROLLER
		log.dirs=$DIR/kafka/data
		num.partitions=1
		num.network.threads=1
		num.io.threads=2
		log.cleaner.dedupe.buffer.size=16777216
		offsets.topic.num.partitions=1
		offsets.topic.replication.factor=1
		transaction.state.log.num.partitions=1
		transaction.state.log.replication.factor=1
		transaction.state.log.min.isr=1
		group.initial.rebalance.delay.ms=0
		# a broker that was killed can register again only when its session has timed out; the default is 9 s
		broker.session.timeout.ms=2000
		broker.heartbeat.interval.ms=400
	EOT
}

kafka_prepare() {
	local java

	[ "$WITH_KAFKA" = yes ] || die "this cluster was started without --kafka"
	[ ! -e "$DIR/kafka/data/meta.properties" ] || return 0
	kafka_java
	"${java[@]}" kafka.tools.StorageTool format --cluster-id ceemsClusterAAAAAAAAAA \
		--config "$DIR/etc/kafka-broker.conf" >"$DIR/log/kafka-format.out" 2>&1 || {
		failed_daemon=kafka-format
		die "Kafka's storage cannot be formatted"
	}
}

kafka_argv() {
	local java

	kafka_java
	argv+=("${java[@]}" kafka.Kafka "$DIR/etc/kafka-broker.conf")
}

kafka_is_up() {
	space_enter timeout 20 kcat -b "$kafka_bootstrap" -L -m 2 2>&1 | grep '1 brokers' >/dev/null
}
