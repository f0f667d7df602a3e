#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems store while a recorder runs and holds the store.
. "$top_srcdir/tests/tap/tap.sh"
ceems=$top_builddir/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"
[ -x "$top_builddir/recorder/ceems-recorder" ] || skip_all "ceems-recorder is not built"
for tool in jq sqlite3; do
	command -v $tool >/dev/null || skip_all "no $tool"
done
dir=$(mktemp -d) || exit 1
recorder=
trap '[ -z "$recorder" ] || { kill "$recorder"; wait "$recorder"; }; rm -rf "$dir"' EXIT
# a broker that does not exist, so that its records wait
cat >"$dir/ceems.conf" <<END
InboxDir=$dir/inbox
StoreDir=$dir/store
RecordFile=$dir/jobs.jsonl
Sinks=file,kafka
KafkaConf=$dir/kafka.conf
END
echo "bootstrap.servers=127.0.0.1:1" >"$dir/kafka.conf"
chmod 600 "$dir/kafka.conf"

store() {
	out=$("$ceems" store "$@" --conf "$dir/ceems.conf" 2>"$dir/err")
	rc=$?
	err=$(cat "$dir/err")
}
sql() {
	sqlite3 -cmd '.timeout 5000' "$dir/store/store.db" "$1"
}

# --- arguments ---------------------------------------------------------------------------------

while IFS='|' read -r args; do
	# shellcheck disable=SC2086 # words on purpose
	store $args
	is "$rc/$out" "2/" "'ceems store $args' is refused"
done <<'END'

drop
ls kafka
status --kind record
cat kafka
cat --job none
cat --kind records
cat --refused file --waiting file
ls --refused
replay
replay --refused
replay file kafka
replay kafka --since 2026-01-01
replay kafka --file f --since yesterday
replay kafka --refused --file f
replay kafka --timeout soon
END
for action in status ls cat "replay kafka"; do
	# shellcheck disable=SC2086 # words on purpose
	store $action
	is $rc 1 "$action: no store"
	has "$err" "$dir/store" "  is named"
done

# --- a recorder --------------------------------------------------------------------------------

mkdir -m 700 "$dir/inbox"
"$top_builddir/recorder/ceems-recorder" -D -f "$dir/ceems.conf" >"$dir/log" 2>&1 &
recorder=$!
wait_until() {
	i=0
	until "$@" >/dev/null 2>&1; do
		i=$((i + 1))
		[ $i -lt 300 ] || return 1
		sleep 0.1
	done
}
is_open() {
	[ "$(sql 'SELECT count(*) FROM sink')" = 2 ]
}
wait_until is_open
ok $? "the recorder runs"
"$top_builddir/recorder/ceems-recorder" -D -f "$dir/ceems.conf" >"$dir/second" 2>&1
is $? 1 "a second one refuses to"
has "$(cat "$dir/second")" "belongs to another ceems-recorder" "and says why"

long='{"schema":"ceems.job.v1","key":"c/3,1,0/0","jobid":3,"@end":"2026-03-01T00:00:00Z","job_name":"'$(printf '\302\233')'31m"}'
put() {
	sql "INSERT INTO record (kind, time, ended, key, json) VALUES ($1, 1780000000, 1780000000, '$2', '$3')"
}
for id in 1 2; do
	put 1 "c/$id,1,0/0" "{\"schema\":\"ceems.job.v1\",\"key\":\"c/$id,1,0/0\",\"jobid\":$id,\"@end\":\"2026-0$id-01T00:00:00Z\"}"
done
put 1 "c/3,1,0/0" "$long"
put 2 "c/3,1,0/0#1" '{"schema":"ceems.steps.v1","key":"c/3,1,0/0#1","jobid":3}'
put 3 "c/4,1,0/0" '{"schema":"ceems.job_start.v1","key":"c/4,1,0/0","jobid":4}'

# --- what there is -----------------------------------------------------------------------------

store ls
is "$(echo "$out" | wc -l)" 5 "ls has a line for each record"
has "$out" "record  2026-05-28T20:26:40Z" "with kind and time"
store ls --kind steps,start
is "$(echo "$out" | awk '{ print $2 }' | paste -sd' ')" "steps start" "of some kinds"
store cat --job 2
is "$(echo "$out" | jq -r .key)" "c/2,1,0/0" "cat has a job's record"
store cat --key c/3,1,0/0
is "$(echo "$out" | wc -l)" 2 "and its parts"
is "$(echo "$out" | grep -c "$(printf '\302\233')")" 0 "no byte that a terminal obeys"
is "$(echo "$out" | head -n 1 | jq -r .job_name)" "$(printf '\302\23331m')" "and the same JSON"
store cat --long --job 1
has "$out" " record c/1,1,0/0 {" "--long has number, kind and key"
delivered() {
	[ "$(wc -l <"$dir/jobs.jsonl")" = 4 ]
}
# the recorder does not notice a row that another program inserts
wait_until delivered
ok $? "the file gets them"
store status
is $rc 0 "status"
has "$out" "recorder  runs" "says that the recorder runs"
has "$out" "5 records" "what waits"
is "$(echo "$out" | awk '$1 == "kafka" { print $2, $NF }')" "5 0" "and for whom"
store status --json
is "$(echo "$out" | jq -c '[.recorder_runs, .store.records, (.sinks[] | select(.name == "kafka").waiting)]')" \
	'[true,5,5]' "as JSON"
store ls --waiting kafka
is "$(echo "$out" | wc -l)" 5 "what waits for kafka"
store ls --waiting amqp
is $rc 1 "a sink that is not there"

# --- once more ---------------------------------------------------------------------------------

sql "INSERT INTO refused VALUES (1, 'file', 'too $(printf '\033')long')"
store ls --refused file
has "$out" "too " "what was refused, and why"
is "$(echo "$out" | grep -c "$(printf '\033')")" 0 "masked"
store replay file
is $rc 1 "a replay to the file needs another file"
store replay file --refused --output "$dir/again.jsonl"
is "$rc/$out" "0/file: 1 acked, 0 refused, 0 left" "what was refused is delivered again"
is "$(jq -r .jobid "$dir/again.jsonl")" 1 "that one"
is "$(sql 'SELECT count(*) FROM refused')" 0 "and forgotten"
store replay file --job 3 --output "$dir/more.jsonl"
is "$(wc -l <"$dir/more.jsonl")" 2 "a job with its parts"
store replay file --file "$dir/jobs.jsonl" --since 2026-02-15 --output "$dir/since.jsonl"
is "$(jq -r .key "$dir/since.jsonl" | paste -sd' ')" "c/3,1,0/0 c/3,1,0/0#1" "a file of records, of late jobs"
# a file with a long record of an old job as well
{
	echo '{"schema":"ceems.job.v1","key":"c/7,1,0/0","jobid":7,"@end":"2026-02-01T00:00:00Z"}'
	echo '{"schema":"ceems.steps.v1","key":"c/7,1,0/0#1","jobid":7}'
	cat "$dir/jobs.jsonl"
	echo '{"schema":"ceems.steps.v1","key":"c/3,1,0/01#1","jobid":3}'
} >"$dir/long.jsonl"
replayed() {
	rm -f "$dir/since.jsonl"
	store replay file --file "$dir/long.jsonl" --output "$dir/since.jsonl" "$@"
	is "$rc" 0 "replay $*"
	keys=$(jq -r .key "$dir/since.jsonl" | paste -sd' ')
}
replayed --since 2026-02-15
is "$keys" "c/3,1,0/0 c/3,1,0/0#1" "no part of an old job, nor of one whose record is not there"
replayed --since 2026-02-15 --kind steps
is "$keys" "c/3,1,0/0#1" "the parts alone, of late jobs"
replayed --since 2026-02-15 --key c/7,1,0/0
is "$keys" "" "nothing of an old job, by its key"
replayed --kind steps
is "$keys" "c/7,1,0/0#1 c/3,1,0/0#1 c/3,1,0/01#1" "without --since, all parts"
store replay file --job 1 --output "$dir/no-such-folder/x.jsonl"
is $rc 1 "a file that cannot be written"
has "$err" "$dir/no-such-folder/x.jsonl: cannot open" "is named"
store replay kafka --job 1 --timeout 1s
is $rc 1 "a sink that does not answer"
has "$out" "0 acked, 0 refused, 1 left" "leaves them"
echo "no record" >"$dir/bad"
store replay file --file "$dir/bad" --output "$dir/none"
is $rc 1 "a line that is no record"
has "$err" "line 1 is not a record" "is named"

# --- what a replay must not do ------------------------------------------------------------------

sql "INSERT INTO refused VALUES (2, 'file', 'no')"
store replay file --job 2 --output "$dir/job2.jsonl"
is "$rc/$(sql 'SELECT count(*) FROM refused')" 0/0 "taken without --refused: not refused any more, either"
many() { # KIND TEXT
	sql "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
		INSERT INTO record (kind, time, ended, key, json)
		SELECT $1, 1780000000, 1780000000, 'c/' || (10 + i) || ',1,0/0', $2 FROM n"
}
many 3 "'{}'"
store ls --waiting file --kind start
is "$rc/$out" 0/ "a kind that the sink does not take never waits for it"
put 1 "c/5,1,0/0" '{"schema":"ceems.job.v1","key":"c/5,1,0/0","jobid":5}'
store replay file --output "$dir/all.jsonl"
has "$out" "file: 5 acked" "passes more starts than a batch has, which are not for it"
is "$(tail -n 1 "$dir/all.jsonl" | jq .jobid)" 5 "and delivers what is behind them"
put 1 "$(printf 'c/6,1,0/0\033[31m')" "$(printf 'two\nlines')"
store replay file --kind record --output "$dir/none"
is $rc 1 "a record that is refused"
has "$err" "file refuses c/6,1,0/0" "is named"
is "$(echo "$err" | grep -c "$(printf '\033')")" 0 "masked"
sql "DELETE FROM record WHERE kind = 3 OR key LIKE 'c/6,%'"

# a pager that does not read on
many 1 "'{\"a\":\"' || hex(zeroblob(100)) || '\"}'"
store replay file --output "$dir/nosuch/out" --timeout 1s
has "$out" "0 acked, 0 refused, 3005 left" "a sink that is down: what was not tried is left, too"
mkfifo "$dir/pager"
"$ceems" store cat --conf "$dir/ceems.conf" >"$dir/pager" &
cat_pid=$!
exec 3<"$dir/pager"
read -r line <&3
has "$line" '"jobid":1' "cat writes"
is_idle() {
	[ "$(sql 'UPDATE sink SET seq = seq; PRAGMA wal_checkpoint(TRUNCATE)')" = "0|0|0" ]
}
is_idle
ok $? "and keeps no transaction open while it waits for its reader"
exec 3<&-
wait "$cat_pid"

kill "$recorder"
wait "$recorder"
is $? 0 "the recorder ends"
recorder=
store status
has "$out" "does not run: systemctl start ceems-recorder" "and status says what to type"
done_testing
