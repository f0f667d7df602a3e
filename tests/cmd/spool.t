#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems spool beside a process that writes the spool.
. "$top_srcdir/tests/tap/tap.sh"
ceems=$top_builddir/src/cmd/ceems
write=$top_builddir/tests/cmd/spoolwrite
[ -x "$ceems" ] || skip_all "the ceems command is not built"
command -v jq >/dev/null || skip_all "no jq"
dir=$(mktemp -d) || exit 1
writer=
trap 'exec 3>&-; [ -z "$writer" ] || wait "$writer"; rm -rf "$dir"' EXIT
spool=$dir/spool
cat >"$dir/ceems.conf" <<END
SpoolDir=$spool
Sinks=file,kafka
SinkDir=$top_builddir/src/libsink/.libs
KafkaConf=$dir/kafka.conf
END
echo "bootstrap.servers=127.0.0.1:1" >"$dir/kafka.conf"
chmod 600 "$dir/kafka.conf"

spool() {
	out=$("$ceems" spool "$@" --conf "$dir/ceems.conf" 2>"$dir/err")
	rc=$?
	err=$(cat "$dir/err")
}

# arguments
while IFS='|' read -r args; do
	# shellcheck disable=SC2086 # words on purpose
	spool $args
	is "$rc/$out" "2/" "'ceems spool $args' is refused"
done <<'END'

drop
ls kafka
ls --kind record
cat kafka
cat --from 12
cat --from 1:x
cat --job none
cat --kind records
cat --from 1:0 --reader kafka
cat --dead file --from 1:0
cat --dead
replay
replay --dead
replay file kafka
replay kafka --since 2026-01-01
replay kafka --file f --since yesterday
replay kafka --dead --key k
replay kafka --file f --from 1:0
replay kafka --timeout soon
END
for action in ls cat "replay kafka" "replay kafka --dead"; do
	# shellcheck disable=SC2086 # words on purpose
	spool $action
	is $rc 1 "$action: no spool"
	has "$err" "$spool: " "  is named"
done

# a spool that is being written
mkfifo "$dir/in"
"$write" "$spool" <"$dir/in" >"$dir/ok" 2>&1 &
writer=$!
exec 3>"$dir/in"
told=0
tell() { # and wait until it is done
	echo "$*" >&3
	told=$((told + 1))
	tries=0
	while [ "$(grep -c '^ok' "$dir/ok")" -lt $told ] && [ $tries -lt 600 ]; do
		grep -q spoolwrite "$dir/ok" && break
		tries=$((tries + 1))
		sleep 0.1
	done
}
record() { # KEY JOBID END
	echo "{\"schema\":\"ceems.job.v1\",\"key\":\"$1\",\"jobid\":$2,\"@end\":\"$3\",\"job_name\":\"x\"}"
}
ended=$(date -u -d '-3 hours' +%Y-%m-%dT%H:%M:%SZ)
tell append pending c/1 "$(record c/1 1 "$ended")"
tell append record c/1 "$(record c/1 1 "$ended")"
tell append steps 'c/1#1' '{"schema":"ceems.steps.v1","key":"c/1#1","job_key":"c/1","jobid":1,"steps":[]}'
tell append pending c/2 "$(record c/2 2 2026-01-02T00:00:00Z)"
tell append record c/2 "$(record c/2 2 2026-01-02T00:00:00Z)"
tell append start c/3 '{"schema":"ceems.job_start.v1","key":"c/3","jobid":3}'
tell append key c/4 binary
tell ack kafka 3
tell ack gone 7
[ "$(grep -c '^ok' "$dir/ok")" = $told ] || sed 's/^/# /' "$dir/ok"

spool ls
is $rc 0 "ls"
has "$out" "$spool: " "names the folder"
has "$out" "in 1 segments" "counts the segments"
echo "$out" | sed 's/^/# /'
is "$(echo "$out" | grep -c 'not in Sinks: holds nothing back')" 1 "says which reader is left over"
has "$(echo "$out" | grep '^file')" "the oldest" "a sink that has acknowledged nothing"
has "$(echo "$out" | grep '^file')" "3 h" "and how old its first record is"
spool ls --json
is "$(echo "$out" | jq -c '[.segments,.max_bytes,.damaged,.torn_files]')" "[1,2147483648,0,0]" "ls --json"
is "$(echo "$out" | jq -c '[.readers[]|[.name,.wanted,.behind]]')" \
	'[["file",true,4],["finaliser",true,3],["gone",false,0],["kafka",true,2]]' "what is behind each reader"
is "$(echo "$out" | jq -r '.readers[]|select(.name=="kafka").oldest_end|todate')" 2026-01-02T00:00:00Z \
	"since when"
is "$(echo "$out" | jq -c '.readers[]|select(.name=="file")|[.position,.oldest_end==null]')" '[null,false]' \
	"no position is null"

keys() { echo "$out" | jq -r .key | tr '\n' ' '; }
spool cat
is "$rc $(keys)" "0 c/1 c/1#1 c/2 c/3 " "cat: what is for sinks"
is "$(echo "$out" | head -n 1)" "$(record c/1 1 "$ended")" "as it was written"
spool cat --kind all
is "$(echo "$out" | wc -l)" 7 "all kinds"
has "$out" '{"kind":"key","key":"c/4"}' "what is no JSON is told by its key"
spool cat --kind pending,start
is "$(keys)" "c/1 c/2 c/3 " "some kinds"
spool cat --key c/1
is "$(keys)" "c/1 c/1#1 " "a key, with the parts of its record"
spool cat --job 2
is "$(keys)" "c/2 " "a job"
spool cat --reader kafka
is "$(keys)" "c/2 c/3 " "what a sink has not acknowledged"
spool cat --reader nobody
is $rc 1 "a reader that is not there"
spool cat --long --job 2
pos=${out%% *}
has "$out" "$pos record c/2 {" "where it is"
spool cat --from "$pos"
is "$(keys)" "c/2 c/3 " "from there"

# ceems check
check() { # LINE-OF-SLURM.CONF ...: what it says about the spool
	printf 'ClusterName=c\nSlurmUser=%s\n' "$(stat -c %U "$spool")" >"$dir/slurm.conf"
	printf '%s\n' "$@" >>"$dir/slurm.conf"
	out=$(SLURM_CONF=$dir/slurm.conf "$ceems" check --conf "$dir/ceems.conf" 2>&1)
}
check
has "$out" "ok     SpoolDir       $spool is writable" "check: the spool"
has "$out" "warn   kafka          2 entries" "a reader that is far behind"
has "$out" "wait in the spool, the oldest job ended" "by how old they are"
case $out in *"warn   file "*) ok 1 "one that is not" ;; *) ok 0 "one that is not" ;; esac
cp "$dir/ceems.conf" "$dir/ceems.conf.good"
echo "SpoolMaxSize=100T" >>"$dir/ceems.conf"
check
has "$out" "SpoolMaxSize is 100" "less room than SpoolMaxSize"
has "$out" "-> free some, or SpoolMaxSize=" "and what to do"
{ cat "$dir/ceems.conf.good" && echo "SpoolMaxSize=1M"; } >"$dir/ceems.conf"
check
has "$out" "has room for SpoolMaxSize (1.00 MiB)" "enough room"
cp "$dir/ceems.conf.good" "$dir/ceems.conf"
check "SlurmctldHost=$(hostname -s)" SlurmctldHost=b StateSaveLocation=/proc
has "$out" "not on the file system of StateSaveLocation (/proc)" "a backup that would not see the spool"
check "SlurmctldHost=$(hostname -s)" SlurmctldHost=b "StateSaveLocation=$dir"
has "$out" "on the file system of StateSaveLocation, for the backup" "one that does"
check "SlurmctldHost=$(hostname -s)" StateSaveLocation=/proc
case $out in *StateSaveLocation*) ok 1 "no backup" ;; *) ok 0 "no backup" ;; esac
check SlurmUser=daemon
has "$out" "-> chown -R daemon $spool" "a spool that is not SlurmUser's"

# replay of segments
spool replay file
is $rc 1 "replay file"
has "$err" "--output" "needs --output"
spool replay nothing
has "$err" "'nothing' is no sink" "a sink that is not there"
spool replay file --output "$dir/out"
is "$rc $out" "0 file: 3 acked, 0 refused, 0 left" "replay from the segments"
is "$(jq -r .key "$dir/out" | tr '\n' ' ')" "c/1 c/1#1 c/2 " "what the sink takes"
spool replay file --output "$dir/out2" --from "$pos"
is "$(jq -r .key "$dir/out2")" "c/2" "from a position"
spool replay file --output "$dir/out3" --job 1
is "$(jq -r .key "$dir/out3" | tr '\n' ' ')" "c/1 c/1#1 " "of a job"
spool replay file --output "$dir/nosuch/out" --timeout 1
is "$rc $out" "1 file: 0 acked, 0 refused, 3 left" "a sink that is down"
has "$err" "$dir/nosuch/out" "why"
if "$ceems" spool replay kafka --key none --conf "$dir/ceems.conf" >/dev/null 2>&1; then
	spool replay kafka --timeout 1
	is "$rc" "1" "a broker that is down"
	has "$out" "kafka: 1 acked, 0 refused, 3 left" "has only the start passed, which has no topic"
else
	skip "built without Kafka"
fi
is "$("$ceems" spool ls --json --conf "$dir/ceems.conf" | jq -c '[.readers[]|.behind]')" "[4,3,0,2]" \
	"no cursor was moved"

# replay of a file
spool replay file --output "$dir/out4" --file "$dir/out"
is "$rc $out" "0 file: 3 acked, 0 refused, 0 left" "replay of a file"
is "$(cat "$dir/out4")" "$(cat "$dir/out")" "gives the same"
spool replay file --output "$dir/out5" --file "$dir/out" --since 2026-01-03
is "$(jq -r .key "$dir/out5" | tr '\n' ' ')" "c/1 c/1#1 " "since"
{ cat "$dir/out"; echo '{"a":1}'; echo 'torn'; } >"$dir/bad"
spool replay file --output "$dir/out6" --file "$dir/bad"
is "$rc $out" "1 file: 3 acked, 0 refused, 0 left" "with lines that are no records"
has "$err" "line 4 is no record" "which are named"
spool replay file --output "$dir/out6" --file "$dir/nosuch"
is $rc 1 "a file that is not there"

# dead letters
spool cat --dead file
is $rc 1 "no dead letters"
tell dead file record d/1 "$(record d/1 11 2026-01-02T00:00:00Z)"
tell dead file start d/2 '{"schema":"ceems.job_start.v1","key":"d/2","jobid":12}'
tell dead file record d/3 "$(record d/3 13 2026-01-02T00:00:00Z)"
is "$(jq -r .kind "$spool/file.dead" | tr '\n' ' ')" "record start record " "dead letters have a kind"
printf '%s\n' '{"time":1,"sink":"file","key":"d/4","reason":"not one line","record":"a\nb"}' >>"$spool/file.dead"
echo 'rubbish' >>"$spool/file.dead"
spool ls
has "$out" "file has refused 5 records" "ls counts them"
has "$out" "ceems spool replay file --dead" "and says what to type"
check
has "$out" "warn   dead letters   file has refused 5 records" "check, too"
has "$out" "-> ceems spool cat --dead file; ceems spool replay file --dead" "and what to type"
spool cat --dead file --kind record
is "$rc $(echo "$out" | head -n 2 | jq -r .key | tr '\n' ' ')" "1 d/1 d/3 " "cat --dead"
spool replay file --dead --output "$dir/nosuch/out" --timeout 1
is "$rc" 1 "the sink is down"
is "$(cat "$spool"/file.dead* | grep -c '"key":"d/[1-4]"')" 5 "all are left; one went back at once"
spool replay file --dead --output "$dir/dead1"
is "$rc $(jq -r .key "$dir/dead1" | tr '\n' ' ')" "1 d/1 d/3 " "what the interrupted one left comes first"
has "$err" "is left for the next replay" "and it says that there is more"
spool replay file --dead --output "$dir/dead1"
is "$(jq -r .key "$spool/file.dead" | sort -u | tr '\n' ' ')" "d/2 d/4 " "what is refused again stays"
is "$(sort -u "$spool/file.bad")" "rubbish" "what is no letter is set aside"
is "$(find "$spool" -name '*taken*')" "" "nothing else is left"

# killed at any time: every letter is delivered or there
rm "$spool"/file.dead* "$dir/dead1"
i=0
while [ $i -lt 1500 ]; do
	i=$((i + 1))
	if [ $((i % 10)) = 0 ]; then
		printf '%s\n' "{\"time\":1,\"sink\":\"file\",\"kind\":\"record\",\"key\":\"k/$i\",\"reason\":\"no\",\"record\":\"a\\nb\"}"
	else
		printf '%s\n' "{\"time\":1,\"sink\":\"file\",\"kind\":\"record\",\"key\":\"k/$i\",\"reason\":\"no\",\"record\":\"{\\\"key\\\":\\\"k/$i\\\"}\"}"
	fi
done >"$dir/letters"
missing=0
for n in 1 2 3 4 5 6 7 8 9 10; do
	cat "$dir/letters" >>"$spool/file.dead"
	timeout -s KILL "0.0$((n * 11 % 40 + 10))" "$ceems" spool replay file --dead --output "$dir/dead2" \
		--conf "$dir/ceems.conf" >/dev/null 2>&1
	got=$(cat "$dir/dead2" "$spool"/file.dead* 2>/dev/null | grep -o 'k/[0-9]*' | sort -u | wc -l)
	[ "$got" = 1500 ] || missing=$((missing + 1))
done
is $missing 0 "replay --dead, killed ten times: no letter is lost"
spool replay file --dead --output "$dir/dead2"
spool replay file --dead --output "$dir/dead2"
is "$(jq -r .key "$dir/dead2" | sort -u | wc -l)" 1350 "in the end all are delivered"
is "$(jq -r .key "$spool"/file.dead* | sort -u | wc -l)" 150 "but those that the sink refuses"

# permissions
if [ "$(id -u)" = 0 ] && id nobody >/dev/null 2>&1; then
	chmod 755 "$dir"
	out=$(setpriv --reuid=nobody --clear-groups "$ceems" spool ls --conf "$dir/ceems.conf" 2>&1)
	case $out in
	*"cannot execute"* | *"No such file"*) skip "nobody cannot run $ceems" ;;
	*)
		has "$out" "Permission denied" "somebody else is told so"
		has "$out" "run this as SlurmUser or root" "and who may"
		;;
	esac
	rm -f "$spool"/*.dead*
	exec 3>&-
	wait "$writer"
	writer=
	chown -R nobody "$spool" "$dir"
	printf '%s\n' '{"time":1,"sink":"file","key":"d/4","reason":"no","record":"a\nb"}' >"$spool/file.dead"
	chown nobody "$spool/file.dead"
	spool replay file --dead --output "$dir/dead3"
	is "$(find "$spool" -user root)" "" "root's replay leaves no file of root's"
	is "$(jq -r .key "$spool/file.dead")" "d/4" "in the spool of SlurmUser"
else
	skip "not root"
fi
done_testing
