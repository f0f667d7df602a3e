#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Records sent to a collector over HTTPS: certificates, headers, and the content in JSON and in protobuf.
. "$top_srcdir/tests/tap/tap.sh"
ceems=$top_builddir/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"
for tool in openssl python3 jq; do
	command -v $tool >/dev/null || skip_all "no $tool"
done
python=${CEEMS_OTLP_PYTHON:-python3}
program=$top_srcdir/tests/e2e/otlp_collector.py
dir=$(mktemp -d) || exit 1
collector=
trap '[ -z "$collector" ] || { kill "$collector"; wait "$collector"; } 2>/dev/null; rm -rf "$dir"' EXIT
SLURM_CONF=$dir/slurm.conf
export SLURM_CONF

conf() {
	printf '%s\n' Sinks=otlp "StoreDir=$dir/store" "$@" >"$dir/ceems.conf"
}
deliver() {
	out=$("$ceems" store replay otlp --file "$dir/records" --timeout 3s 2>&1)
}
conf OtlpUrl=http://127.0.0.1:1
: >"$dir/records"
deliver
case $out in
*'no sink'*) skip_all "the sink otlp is not built" ;;
esac

openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=collector -addext subjectAltName=IP:127.0.0.1 \
	-keyout "$dir/key" -out "$dir/cert" 2>/dev/null || skip_all "openssl makes no certificate"
"$python" "$program" serve 127.0.0.1 "$dir/spans" "$dir/cert" "$dir/key" &
collector=$!
tries=0
until [ -e "$dir/spans.port" ]; do
	tries=$((tries + 1))
	[ $tries -lt 300 ] || skip_all "no collector"
	sleep 0.1
done
url=https://127.0.0.1:$(cat "$dir/spans.port")
cat >"$dir/records" <<'END'
{"schema":"ceems.job.v1","key":"c1/7,1700000000,0/0","cluster":"c1","jobid":7,"restart_count":0,"state":"COMPLETED","username":"alice","partition":"p","@submit":"2023-11-14T22:13:20Z","@start":"2023-11-14T22:13:30Z","@end":"2023-11-14T22:14:30Z","energy":{"total_j":120,"final":true,"method":"cpu-time","source":"rapl"},"steps":[{"stepid":0,"state":"COMPLETED","@start":"2023-11-14T22:13:31Z","@end":"2023-11-14T22:14:00Z","energy":{"total_j":60.5}}]}
END
printf '7|1700000000|1700000010|1700000070|120\n7.0|1700000000|1700000011|1700000040|60\n' >"$dir/sacct"

conf "OtlpUrl=$url" OtlpEncoding=json
deliver
has "$out" "1 left" "a certificate of an unknown CA: nothing is sent"
is "$(cat "$dir/spans" 2>/dev/null)" "" "  the collector has nothing"
printf 'Authorization: Bearer hunter2\n' >"$dir/headers"
chmod 600 "$dir/headers"
conf "OtlpUrl=$url" OtlpEncoding=json "OtlpCaFile=$dir/cert" "OtlpHeaders=$dir/headers"
deliver
has "$out" "1 acked, 0 refused, 0 left" "with OtlpCaFile it is"
is "$("$python" "$program" check "$dir/spans" "$dir/records" "$dir/sacct")" "1 traces, 3 spans, 0 with a name, 0 wrong" \
	"ids, parents, times and energies"
is "$(jq -r .token "$dir/spans" | sort -u)" "Bearer hunter2" "with the header"
has "$("$ceems" check 2>&1)" "$url/v1/traces takes traces" "ceems check asks the same way"
conf "OtlpUrl=$url" OtlpEncoding=json "OtlpCaFile=$dir/cert" OtlpUsers=yes
echo "429 Retry-After: 1" >"$dir/spans.status"
deliver
has "$out" "1 acked, 0 refused, 0 left" "a collector that is busy gets it after its time"
is "$(jq -r '.attributes["user.name"] // empty' "$dir/spans" | sort -u)" alice "OtlpUsers: whose it is"
echo 'partial {"partialSuccess":{"rejectedSpans":"2"}}' >"$dir/spans.status"
deliver
has "$out" "otlp takes records only in part: 2 spans of a request of 1 records were rejected" "spans that are rejected are named"
has "$out" "1 acked, 0 refused, 0 left" "  and the record counts as taken"
if [ "$("$python" "$program" decoder)" = none ]; then
	skip "no opentelemetry-proto for $python (CEEMS_OTLP_PYTHON): protobuf is not decoded"
else
	rm "$dir/spans"
	conf "OtlpUrl=$url" "OtlpCaFile=$dir/cert"
	deliver
	is "$("$python" "$program" check "$dir/spans" "$dir/records" "$dir/sacct")" "1 traces, 3 spans, 0 with a name, 0 wrong" \
		"the same in protobuf"
fi
is "$(cat "$dir/spans.bad" 2>/dev/null)" "" "no request that is not OTLP's"
done_testing
