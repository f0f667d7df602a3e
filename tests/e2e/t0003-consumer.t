#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# contrib/kafka's consumer and jobs.jq handle all that a topic may have: repeats, corrections, parts in any order,
# and messages of other programs.
# shellcheck disable=SC2317
. "$(dirname "$0")/lib.sh"

for tool in java kcat; do
	command -v $tool >/dev/null || skip_all "$tool is not installed (contrib/deps test)"
done
"$e2e_top/contrib/kafka/get" >/dev/null || bail "the broker's jars are there"
kafka=$e2e_top/contrib/kafka
cluster_up --plugins none --no-dbd --kafka

# record JOB PARTS TOTAL STEPS JOULES FINAL, part JOB PART PARTS STEPS: print a message's key and value
record() {
	printf 'c/%d,7,0/0|{"schema":"ceems.job.v1","key":"c/%d,7,0/0","jobid":%d,"parts":%s,"steps_total":%s,' \
		"$1" "$1" "$1" "$2" "$3"
	printf '"steps":%s,"energy":{"total_j":%s,"final":%s}}\n' "$4" "$5" "$6"
}
part() {
	printf 'c/%d,7,0/0#%d|{"schema":"ceems.steps.v1","job_key":"c/%d,7,0/0","part":%d,"parts":%d,"steps":%s}\n' \
		"$1" "$2" "$1" "$2" "$3" "$4"
}
S0='{"stepid":0}' S1='{"stepid":1}' S2='{"stepid":2,"name":"a|b \"c\" \\xff","escaped":["name"]}'
{
	record 1 1 1 "[$S0]" 5 true
	record 2 1 null null null false
	part 3 2 3 "[$S2]" # before its record
	record 3 3 3 "[$S0]" 7 true
	part 3 1 3 "[$S1]"
	record 4 2 2 "[$S0]" 9 true # its part 1 never comes
	record 1 1 1 "[$S0]" 5 true
	record 2 1 1 "[$S0]" 6 true # corrects
	part 3 1 3 "[$S1]"
	echo 'x|no record'
	echo 'y|{"schema":"ceems.job_start.v1","key":"c/9,7,0/0","jobid":9}'
	echo 'z|["a list"]'
	echo 'z|{"schema":"ceems.job.v1","key":{},"parts":1}'
	echo 'z|{"schema":"ceems.job.v1","key":"k","parts":99999999999999999999}'
	echo 'z|{"schema":"ceems.steps.v1","job_key":"k","part":null,"steps":[]}'
} >"$DIR/messages"
want='[1,5,true,[0]]
[2,6,true,[0]]
[3,7,true,[0,1,2]]'
short='[.jobid, .energy.total_j, .energy.final, [.steps[].stepid]]'

passes "messages go in" inside timeout 60 kcat -b "$KAFKA_BOOTSTRAP" -t ceems.jobs -P -K '|' -l "$DIR/messages"
values() {
	inside timeout 60 kcat -b "$KAFKA_BOOTSTRAP" -t ceems.jobs -C -e -q -o beginning -u
}

is "$(values | jq -cRn -f "$kafka/jobs.jq" | jq -c "$short" | sort)" "$want" \
	"jobs.jq: one line per job, the last of a key, with the steps of all parts"
# not for jq: it accepts half a surrogate pair, and does not survive JSON that is nested too deeply
deep=$(head -c 100000 /dev/zero | tr '\0' '[')
{
	values
	echo "$deep"
	echo '{"schema":"ceems.job.v1","key":"\ud800","parts":1}'
} | "$kafka/consumer" --db "$DIR/stdin.db" --stdin 2>"$DIR/log/consumer"
is "$("$kafka/consumer" --db "$DIR/stdin.db" --print | jq -c "$short")" "$want" "consumer --stdin: the same"
is "$(grep -c 'not a record' "$DIR/log/consumer")" 7 "each message that is not a record is reported"
is "$("$kafka/consumer" --db "$DIR/stdin.db" --print | jq -r 'select(.jobid == 3).steps[2].name')" \
	'a|b "c" \xff' "texts are as they were"

if ! /usr/bin/python3 -c 'import confluent_kafka' 2>/dev/null; then
	skip "python3-confluent-kafka is not installed (contrib/deps test)"
	done_testing
	exit
fi
printf 'bootstrap.servers=%s\n# small batches\nfetch.message.max.bytes=200\n' \
	"$KAFKA_BOOTSTRAP" >"$DIR/consumer.conf"
consume() {
	inside timeout 120 "$kafka/consumer" --db "$DIR/kafka.db" --config "$DIR/consumer.conf" --until-end
}
jobs_now() {
	"$kafka/consumer" --db "$DIR/kafka.db" --print | jq -c "$short"
}
passes "consumer: reads the topic" consume
is "$(jobs_now)" "$want" "and has the same"
{
	part 4 1 2 "[$S1]"
	record 1 1 2 "[$S0,$S1]" 8 true
} >"$DIR/messages"
passes "more go in" inside timeout 60 kcat -b "$KAFKA_BOOTSTRAP" -t ceems.jobs -P -K '|' -l "$DIR/messages"
passes "it goes on where it was" consume
is "$(jobs_now)" '[1,8,true,[0,1]]
[2,6,true,[0]]
[3,7,true,[0,1,2]]
[4,9,true,[0,1]]' "a later correction, a late part"
done_testing
