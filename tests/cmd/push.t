#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems-push over HTTPS: a server whose certificate ProfilePushCaFile has signed gets a profile and the token; a server with
# another certificate gets neither.
. "$top_srcdir/tests/tap/tap.sh"
push=$top_builddir/src/profiler/ceems-push
[ -x "$push" ] || skip_all "ceems-push is not built"
for tool in openssl python3; do
	command -v $tool >/dev/null || skip_all "no $tool"
done
dir=$(mktemp -d) || exit 1
server=
trap '[ -z "$server" ] || { kill "$server"; wait "$server"; } 2>/dev/null; rm -rf "$dir"' EXIT

# certificate NAME: makes $dir/NAME.ca, and NAME.cert and NAME.key signed by it, for 127.0.0.1
certificate() {
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=CA of $1" -keyout "$dir/$1.ca-key" -out "$dir/$1.ca" &&
		openssl req -newkey rsa:2048 -nodes -subj /CN=pyroscope -keyout "$dir/$1.key" -out "$dir/$1.request" &&
		echo subjectAltName=IP:127.0.0.1 >"$dir/$1.names" &&
		openssl x509 -req -days 2 -in "$dir/$1.request" -CA "$dir/$1.ca" -CAkey "$dir/$1.ca-key" -CAcreateserial \
			-extfile "$dir/$1.names" -out "$dir/$1.cert"
}
{ certificate ours && certificate other; } >/dev/null 2>&1 || skip_all "openssl makes no certificate"
mkdir "$dir/server"
echo 200 >"$dir/server/status"
python3 "$top_srcdir/tests/e2e/pyroscope.py" "$dir/server" "$dir/ours.cert" "$dir/ours.key" 2>/dev/null &
server=$!
tries=0
until [ -e "$dir/server/port" ]; do
	tries=$((tries + 1))
	[ $tries -lt 300 ] || { ok 1 "the server starts"; done_testing; }
	sleep 0.1
done
url=https://127.0.0.1:$(cat "$dir/server/port")
printf 'Authorization: Bearer hunter2\n' >"$dir/headers"
chmod 600 "$dir/headers"

# queue: puts one part into the queue
queue() {
	[ -d "$dir/queue" ] || mkdir -m 700 "$dir/queue"
	{
		echo '7{cluster=c,node=n1,step=0,user=u} 1700000000000000000 1700000030000000000'
		printf '\037\213profile'
	} >"$dir/queue/00000000000000000001-1-0.part"
}

# answer CAFILE URL: what ceems-push says of one round
answer() {
	echo 'push 1' | "$push" "$2" "$dir/headers" "$1" "$dir/queue" 1048576
}
queue
out=$(answer "$dir/other.ca" "$url")
has "$out" "error - $url: " "another CA: an error that has the URL"
is "$(printf '%s\n' "$out" | grep -c -v '^done 1$')" 1 "  of one line"
has "$out" certificate "  which says that it is the certificate"
out=$(answer "" "$url")
has "$out" certificate "the system's CAs: the same"
out=$(answer "$dir/ours.ca" "https://localhost:${url##*:}")
has "$out" "error - https://localhost:" "another name than the certificate's: the same"
is "$(ls "$dir/server")" "port
status" "the server has no request, so no token"
is "$(find "$dir/queue" -name '*.part' | wc -l)" 1 "the profile waits"
is "$(answer "$dir/ours.ca" "$url")" "written 1
done 1" "the right CA: the profile is sent"
is "$(cat "$dir/server/tokens")" "Bearer hunter2" "  with the token"
is "$(cat "$dir/server/log")" "7 cluster=c,node=n1,step=0,user=u} 1700000000 1700000030" "  and its labels"
is "$(find "$dir/queue" -name '*.part' | wc -l)" 0 "  and the queue is empty"

mkfifo "$dir/in"
"$push" "$url" "$dir/headers" "$dir/ours.ca" "$dir/queue" 1048576 <"$dir/in" >"$dir/out" &
program=$!
exec 3>"$dir/in"
echo 'push 2' >&3
tries=0
until grep -q '^done 2' "$dir/out" || [ $tries -ge 300 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
is "$(sed -n 's/^Max core file size *//p' "/proc/$program/limits" | tr -s ' ')" "0 0 bytes " "the program leaves no core dump"
exec 3>&-
wait "$program"
ok $? "it ends when its input does"
done_testing
