#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The cluster's Kafka broker takes messages, and has them after it was killed and started again.
# shellcheck disable=SC2317
. "$(dirname "$0")/lib.sh"

for tool in java kcat; do
	command -v $tool >/dev/null || skip_all "$tool is not installed (contrib/deps test)"
done
"$e2e_top/contrib/kafka/get" >/dev/null || bail "the broker's jars are there"
cluster_up --plugins none --no-dbd --kafka

produce() {
	inside sh -c "printf '%s\n' '$1' | timeout 60 kcat -b $KAFKA_BOOTSTRAP -t t -P -X enable.idempotence=true"
}
consume() {
	inside timeout 60 kcat -b "$KAFKA_BOOTSTRAP" -t t -C -e -q -o beginning
}
passes "a message goes in" produce one
is "$(consume)" one "and comes out"
passes "the broker is killed" "$cluster" kill "$DIR" kafka -KILL
fails "then nothing is served" "$cluster" exec "$DIR" timeout 5 kcat -b "$KAFKA_BOOTSTRAP" -L -m 2
passes "it comes back" "$cluster" start-daemon "$DIR" kafka
passes "a second message goes in" produce two
is "$(consume | tr '\n' ' ')" "one two " "both come out"
is "$(stat -c '%a %U' "$DIR/etc/kafka.conf")" "600 slurm" "the sink's properties are slurmctld's only"
has "$(cat "$CEEMS_CONF")" "Sinks=file,mariadb,kafka" "ceems.conf has the sink"
done_testing
