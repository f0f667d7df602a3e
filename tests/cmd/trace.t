#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `ceems trace`: which files it reads, what it prints, and its errors for files that are no traces.
. "$top_srcdir/tests/tap/tap.sh"
ceems=$top_builddir/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the command ceems is not built"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
unset LC_ALL LC_CTYPE LANG
cd "$dir" || exit 1
: >empty.conf

# trace_file NAME NODE SECOND: writes a trace of a step that uses 100 J in 10 s and begins at SECOND.
trace_file() {
	printf '%s\r\n' "node,time_utc,monotonic_s,event,dropped_samples,missed_samples,energy_j,power_w,instructions" \
		"$2,2026-11-25T10:00:0$3.000000Z,5,start,0,0,0,," \
		"$2,2026-11-25T10:00:0$3.000000Z,10,,0,0,40,8,5000000000000001" \
		"$2,2026-11-25T10:00:0$3.000000Z,15,end,0,0,100,12," >"$1"
}
trace() {
	"$ceems" trace --conf empty.conf "$@" 2>&1 | tr -d '\r'
}
trace_file ceems-trace-7.0-n1.csv n1 0
trace_file ceems-trace-7.0-n2.csv n2 0
trace_file ceems-trace-7.batch-n1.csv n1 0
trace_file ceems-trace-77.0-n1.csv n1 0

# --- rows as they are
is "$(trace 7.0 --csv --metrics energy_j)" "job,step,node,time_utc,elapsed_s,energy_j
7,0,n1,2026-11-25T10:00:00.000000Z,0.000000,0
7,0,n2,2026-11-25T10:00:00.000000Z,0.000000,0
7,0,n1,2026-11-25T10:00:05.000000Z,5.000000,40
7,0,n2,2026-11-25T10:00:05.000000Z,5.000000,40
7,0,n1,2026-11-25T10:00:10.000000Z,10.000000,100
7,0,n2,2026-11-25T10:00:10.000000Z,10.000000,100" "the rows of both nodes, by time"
has "$(trace 7.batch --csv)" "batch,n1,2026-11-25T10:00:05.000000Z,5.000000,40,8,5000000000000001" \
	"of the batch step; a counter is exact"
is "$(trace 7 --csv | grep -c .)" 10 "a job's are those of all its steps, and of no job that begins alike"
is "$(trace 7.0 --json --metrics energy | python3 -c 'import json,sys
d = json.load(sys.stdin)
print(d["columns"], len(d["rows"]), d["rows"][0], d["rows"][-1][-2:])')" \
	"['job', 'step', 'node', 'time_utc', 'elapsed_s', 'energy_j', 'power_w'] 6 ['7', '0', 'n1', '2026-11-25T10:00:00.000000Z', 0.0, 0, None] [100, 12]" \
	"as JSON"
nodes="n1 n2 n3 n4 n5 n6 n7 n8 n9 n10 n11 n12 "
for node in n12 n3 n7 n10 n1 n5 n9 n2 n11 n4 n8 n6; do
	trace_file "ceems-trace-6.0-$node.csv" "$node" 0
done
is "$(trace 6.0 --csv --metrics energy_j | sed 1d | head -n 12 | cut -d, -f3 | tr '\n' ' ')" "$nodes" \
	"rows of one time are by node, in whatever order the file system lists the files"
rm ceems-trace-6.0-*

# --- ids as sacct writes them: tasks of array 5, whose own ids are 80 and 5, components of het job 21
for name in 5_3-80.0 5_4-5.0 5_4-5.batch 21+0-21.0 21+1-22.0; do
	trace_file "ceems-trace-$name-n1.csv" n1 0
done
for row in "5_3:5_3.0" "5_4:5_4.0 5_4.batch" "5_4.batch:5_4.batch" "5_[3-4].0:5_3.0 5_4.0" "5:5_3.0 5_4.0 5_4.batch" \
	"80:5_3.0" "21+1:21+1.0" "21:21+0.0 21+1.0" "22.0:21+1.0" "5_3,21+0:21+0.0 5_3.0"; do
	is "$(trace --csv --metrics energy_j "${row%%:*}" | sed 1d | cut -d, -f1,2 | tr , . | sort -u | tr '\n' ' ')" \
		"${row#*:} " "${row%%:*}"
done
has "$(trace 5_3 7.0)" "job 5_3,7.0 on 2 nodes" "several jobs are drawn as one"
is "$(trace 5_9)" "ceems: you own no trace of job 5_9 in .; use --dir to look in another folder" "a task that is not there"
has "$(trace '5_[0-99999]')" "more than 10000 jobs at once" "a list without end"
trace_file "ceems-trace-5_3-x.0-n1.csv" n1 0
trace_file "ceems-trace-99999999999999999999999_3-8.0-n1.csv" n1 0
is "$(trace --csv --metrics energy_j 5_3 | grep -c .)" 4 "names that are not a trace's"

# --- equal intervals
is "$(trace 7.0 --csv --resample 10s --metrics energy)" "time_utc,elapsed_s,energy_j,power_w
2026-11-25T10:00:10.000000Z,10.000000,200,20" "nodes and intervals add up"
is "$(trace 7.0 --csv --resample 4s --metrics energy | cut -d, -f2-)" "elapsed_s,energy_j,power_w
4.000000,64,16
8.000000,152,22
10.000000,200,24" "an interval in which there is no row"
is "$(trace 7.0 --json --resample 10s --metrics energy | tail -n 2)" \
	'["2026-11-25T10:00:10.000000Z",10.000000,200,20]
]}' "as JSON"

# --- drawings
out=$(trace 7)
has "$out" "job 7 on 2 nodes, from 2026-11-25T10:00:00Z" "a plot says whose it is"
has "$out" "power: max 36 W, mean 30 W" "and what it shows"
is "$(printf '%s\n' "$out" | awk 'length($0) > 79')" "" "within 80 columns"
is "$(trace 7 -o x.svg)" "" "a picture is written in silence"
has "$(cat x.svg)" "<title>job 7 on 2 nodes" "to its file"
[ -z "$(command -v xmllint)" ] || is "$(xmllint --noout x.svg 2>&1)" "" "which is XML"
is "$(trace 7 --csv -o x.csv)" "ceems trace: -o FILE.svg is for --plot, and FILE must end with .svg" "another file is what > is for"
is "$(trace 7 -o /nonexistent/x.svg)" "ceems: /nonexistent/x.svg: No such file or directory" "a folder that is not there"

# --- files
trace_file other.csv n9 0
is "$(trace other.csv --csv --metrics energy_j | tail -n 1)" ",,n9,2026-11-25T10:00:10.000000Z,10.000000,100" "a file by its name"
has "$(trace other.csv)" "trace on n9, from" "and drawn"
mkdir elsewhere && mv ceems-trace-77.0-n1.csv elsewhere/
is "$(trace 77)" "ceems: you own no trace of job 77 in .; use --dir to look in another folder" "no file"
is "$(trace 77 --dir elsewhere --csv | grep -c .)" 4 "another folder"
echo "TraceDir=$dir/elsewhere" >trace.conf
is "$("$ceems" trace --conf trace.conf 77 --csv | grep -c .)" 4 "TraceDir"
trace_file elsewhere/ceems-trace-77.0-n1-2.csv n1 5
out=$(trace 77 --dir elsewhere --csv)
has "$out" "step 77.0 on n1 ran twice: its earlier run is left out" "a job that ran twice"
has "$out" "77,0,n1,2026-11-25T10:00:05.000000Z,0.000000" "has its later run"
ln -s /etc/passwd ceems-trace-8.0-n1.csv
has "$(trace 8)" "you own no trace of job 8" "a link is no trace of a job"

# the default ceems.conf names TraceDir, but is closed to users
mkdir site
printf 'TraceDir=%s\n' "$dir/site" >site/ceems.conf
trace_file site/ceems-trace-9.0-n1.csv n1 0
by_user() { # COMMAND...
	SLURM_CONF=$dir/site/slurm.conf without_rights "$ceems" "$@" 2>&1 | tr -d '\r'
}
is "$(by_user trace 9 --csv | grep -c '^9,0,n1')" 3 "a trace in TraceDir"
chmod 0 site/ceems.conf
closed="$dir/site/ceems.conf: cannot open: Permission denied"
is "$(by_user trace 7.batch --csv | grep -c '^7,batch,n1')" 3 "a ceems.conf that this user may not read: traces here are found"
is "$(by_user trace 9)" "ceems: $closed; only the current folder is searched
ceems: you own no trace of job 9 in .; use --dir to look in another folder" "  and TraceDir is not known"
is "$(by_user trace 7.batch --conf site/ceems.conf)" "ceems: site/ceems.conf: cannot open: Permission denied" "  named, it is an error"
is "$(by_user store status)" "ceems: $closed" "  for a command of operators, too"
chmod 644 site/ceems.conf
if [ "$(id -u)" = 0 ]; then
	cp other.csv ceems-trace-9.0-n1.csv
	cp other.csv ceems-trace-9.0-n2.csv
	chown 65534 ceems-trace-9.0-n2.csv
	is "$(trace 9)" "ceems: traces of job 9 are of several users: name the files" "root is not shown what somebody else left"
fi

# --- what is wrong
sed -i 's/,end,/,,/; s/,0,0,100/,3,20,100/' other.csv
out=$(trace other.csv)
has "$out" "ceems: other.csv: not complete: the step still runs, or slurmd's log says why" "a trace without its end"
has "$out" "ceems: other.csv: 3 samples were dropped" "one that lost samples"
has "$out" "ceems: other.csv: 20 samples are missing: the node was too busy" "or took none"
sed -i 's/,40,/,4O,/' other.csv
is "$(trace other.csv)" "ceems: other.csv:3:40: not a number" "bad CSV has its file, line and column"
is "$(trace 7 --metrics flops)" "ceems: 'flops' is not in the trace; there are energy_j, power_w, instructions" "a metric that is not there"
is "$(trace 7 --resample often)" "ceems trace: --resample: 'often' is not a time such as 10s" "no interval"
has "$(trace 7 --csv --resample 1ns)" "--resample: " "one that is too short"
is "$(trace 7 other.csv)" "ceems: jobs, or names of files" "not both"
printf 'node,time_utc,monotonic_s,event,dropped_samples,missed_samples,energy_j\n"a\033[2Jb,""c""",2026-11-25T10:00:00.000000Z,5,end,0,0,1\n' >other.csv
is "$(trace other.csv --csv | tail -n 1)" ',,"a?[2Jb,""c""",2026-11-25T10:00:00.000000Z,0.000000,1' "what a terminal should not get"
done_testing
