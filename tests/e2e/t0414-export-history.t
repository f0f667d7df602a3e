#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems export of a year of CEEMS_EXPORT_JOBS [2000] jobs, killed in the middle and run again: each job must get one record, and
# neither the command nor ceems-recorder may hold the year in memory. Prints jobs a second and both peaks of memory.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins jobcomp
command -v tmux >/dev/null || skip_all "tmux is not installed (contrib/deps test)"

jobs=${CEEMS_EXPORT_JOBS:-2000}
now=$(($(date +%s) - 1)) # the recorder begins later
cluster_up --plugins jobcomp --ceems-conf <(echo Sinks=file)
first=1000000
. "$(dirname "$0")/history.sh"
history=$RECORD_FILE.history
days=$((jobs * 78 / 86400 + 20)) # also a time without jobs

begin=$SECONDS
passes "$jobs jobs in the database" history_insert 1 "$jobs"
diag "made in $((SECONDS - begin)) s"

screen() {
	inside tmux -S "$e2e_work/tmux" "$@"
}
# export_jobs: starts the command on a terminal of 80 columns; sets $pid, as the cluster numbers processes
export_jobs() {
	screen new-session -d -x 80 -y 10 "exec $BUILD_DIR/src/cmd/ceems export --since now-${days}days >$e2e_work/said"\; \
		set-option -g remain-on-exit on
	pid=$(screen display-message -p '#{pane_pid}')
}
# peak PID: prints the largest resident set of the process in kB
peak() {
	inside awk '/^VmHWM/ { print $2 }' "/proc/$1/status" 2>/dev/null
}
records() {
	wc -l <"$history" 2>/dev/null || echo 0
}
has_third() {
	[ "$(records)" -ge $((jobs / 3)) ]
}
is_over() {
	local kb ticks
	kb=$(peak "$pid") && [ -n "$kb" ] && echo "$kb" >"$e2e_work/peak"
	ticks=$(inside awk '{ print $14 + $15 }' "/proc/$pid/stat" 2>/dev/null) && [ -n "$ticks" ] && echo "$ticks" >"$e2e_work/ticks"
	[ "$(screen display-message -p '#{pane_dead}')" = 1 ]
}
# shown: prints what is on the terminal, without empty lines
shown() {
	screen capture-pane -p | grep .
}

begin=$SECONDS
export_jobs
wait_for 1200 has_third
ok $? "a third is exported"
out=$(shown)
is "$(grep -cE '^ *[0-9]+ % \[=*> *\] [0-9]+ jobs of about [0-9]+, [0-9]+/s, [0-9:]+( h)? left' <<<"$out") $(wc -l <<<"$out")" "1 1" "the terminal has one line: $out"
inside kill -KILL "$pid"
wait_for 60 is_over
ok $? "it is killed"
screen kill-server
before=$(records)
took=$((SECONDS - begin))

begin=$SECONDS
export_jobs
wait_for 2400 is_over
ok $? "the same command ends"
took=$((took + SECONDS - begin)) rest=$((SECONDS - begin))
is "$(cat "$e2e_work/said")" "$((jobs - before)) jobs exported to file" "  having exported the rest"
screen kill-server
diag "$jobs jobs in $took s; after the kill $(($(records) - before)) in $rest s: $((($(records) - before) / (rest ? rest : 1))) a second," \
	"$(cat "$e2e_work/ticks") ticks of CPU"
diag "peak of ceems $(cat "$e2e_work/peak") kB, of ceems-recorder $(peak "$(cat "$DIR/run/pid/recorder")") kB"

is "$(records)" "$jobs" "as many records as jobs"
is "$(grep -oE '"jobid":1[0-9]{6},' "$history" | sort -u | wc -l)" "$jobs" "each job has one"
is "$(grep -c '"origin":"history"' "$history")" "$jobs" "  that says what it is"
[ "$(cat "$e2e_work/peak")" -le $((300 * 1024)) ]
ok $? "ceems export needs at most 300 MB"
[ "$(inside stat -c %s "$(sed -n 's/^StoreDir=//p' "$CEEMS_CONF" | tail -n 1)/export/store.db")" -le $((128 << 20)) ]
ok $? "its store is small again"
done_testing
