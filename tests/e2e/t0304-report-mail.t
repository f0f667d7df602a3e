#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a user is told at the end: by --ceems-report, with the numbers of `ceems job`.
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank

cluster_up --nodes 2 --cpus 4 --fake-rapl --ceems-conf <(printf '%s\n' Sinks=file Country=DE EnergySources=rapl IdleWatts=0)
ceems=$BUILD_DIR/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"

# --- the report of one node, and of all -----------------------------------------------------------

mkdir -m 1777 "$DIR/home/go"
# run_step FILE ARG...: a step that works until $DIR/home/go/FILE is there; the report goes to $DIR/FILE
run_step() {
	local file=$1
	shift
	as user1 env PATH="$BUILD_DIR/src/cmd:$PATH" srun --ceems-report "$@" sh -c \
		'until [ -e '"$DIR/home/go/$file"' ]; do :; done; head -c 5000000 /dev/zero >/dev/null' >"$DIR/$file" 2>&1 &
}
# what is not divided by time: the texts behind the bars
facts() {
	sed -nE 's/^ +(CPU|memory) +\[.*\] +[<>0-9]+ % +/\1 /p; s/^ +(energy) +(.*\)), mean .*/\1 \2/p; s/^ +(CO2e|I\/O) +/\1 /p' |
		sed -E 's/^CPU (.*) of .* \((.*)\)/CPU \1 \2/'
}
run_step one -N1 -n2
one=$!
wait_for 60 job_is 1 RUNNING
for _ in 1 2 3; do
	"$cluster" rapl "$DIR" n1 0 +30000001
	sleep 0.5
done
touch "$DIR/home/go/one"
wait $one
report=$(cat "$DIR/one")
has "$report" "ceems: step 1.0 on n1, " "a step's report"
inside "$ceems" job --wait 60s 1.0 >"$DIR/screen"
is "$(grep -c . <<<"$(facts <<<"$report")")" 5 "  with CPU, memory, energy, CO2e and I/O"
is "$(facts <<<"$report")" "$(facts <"$DIR/screen")" "  to the last digit what ceems job says"
has "$(cat "$DIR/screen")" "Step 1.0  sh  user1/" "  on the same screen"
joules=$(job_acct 1 ConsumedEnergyRaw 0)
[ "${joules:-0}" -gt 0 ] && grep -qE "\($joules.0 J\)" "$DIR/one"
ok $? "  and sacct: $joules J"

run_step all -N2 -n2
all=$!
wait_for 60 job_is 2 RUNNING
for n in n1 n2 n1; do
	"$cluster" rapl "$DIR" $n 0 +30000001
	sleep 0.5
done
touch "$DIR/home/go/all"
wait $all
has "$(cat "$DIR/all")" "ceems: step 2.0 on n1 (node 1 of 2)" "of a step on two nodes the first one's"
sed -n '/^Step 2.0 /,$p' "$DIR/all" >"$DIR/both"
inside "$ceems" job 2.0 >"$DIR/screen"
is "$(cat "$DIR/both")" "$(cat "$DIR/screen")" "and both together, from srun, as ceems job has it"
is "$(facts <"$DIR/both" | wc -l)" 5 "  which knows what they used"
done_testing
