#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `ceems flame`: which profiles it reads, what it prints in each format, and its errors for files that are no profiles.
. "$top_srcdir/tests/tap/tap.sh"
ceems=$(readlink -f "$top_builddir/src/cmd/ceems")
make_profile=$(readlink -f "$top_builddir/tests/cmd/make_profile")
[ -x "$ceems" ] && "$ceems" help flame >/dev/null 2>&1 || skip_all "ceems flame is not built"
[ -x "$make_profile" ] || skip_all "make_profile is not built"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
unset SLURM_CONF
cd "$dir" || exit 1
: >empty.conf

flame() {
	"$ceems" flame --conf empty.conf "$@" 2>&1
}
# profile NAME JOB STEP NODE [START [cycles]]: writes a profile with the stacks on standard input
profile() {
	# shellcheck disable=SC2086 # no argument if there is none
	"$make_profile" "$2" "$3" "$4" "${5:-1000}" ${6:-} >"$1"
}
profile ceems-profile-7.0-n1.pb.gz 7 0 n1 <<'EOF'
60 0 app app whole main;solve;dgemm
20 0 app app whole main;solve;exchange;k:copy_user
10 1 app io whole main;write_all
8 1 app app cut deep;deep;deep
2 1 app app failed ?/lib/libm.so.6
#ceems.lost=n1:17
EOF
profile ceems-profile-7.0-n2.pb.gz 7 0 n2 <<'EOF'
100 2 app app whole main;solve;dgemm
EOF
profile ceems-profile-8.0-n1.pb.gz 8 0 n1 <<'EOF'
50 0 app app whole main;solve;dgemm
50 0 app app whole main;write_all
EOF

# --- the table
is "$(flame 7)" "job 7 on 2 nodes: 2.00 s of CPU time, 200 samples
stacks: 95 % whole, 4 % cut, 1 % failed
n1: 17 samples were lost

    self    total  function
  80.0 %   80.0 %  dgemm
  10.0 %   10.0 %  copy_user (kernel)
   5.0 %    5.0 %  write_all
   4.0 %    4.0 %  deep
   1.0 %    1.0 %  [libm.so.6]" "a table of both nodes; a recursive function counts once"
is "$(flame 7 --top 1 | tail -n 1)" "  80.0 %   80.0 %  dgemm" "so many functions"
has "$(flame 7.0 --node n1)" "job 7.0 on 2 nodes: 1.00 s of CPU time, 100 samples" "a node"
is "$(flame 7 --task 2 | tail -n 1)" " 100.0 %  100.0 %  dgemm" "a task"
is "$(flame 7 --thread io | tail -n 1)" " 100.0 %  100.0 %  write_all" "a thread"
is "$(flame 7 --process other)" "ceems: job 7 on 2 nodes: no samples of these" "a process that is not there"
has "$(flame 7 --kernel hide)" "  10.0 %   10.0 %  exchange" "what the kernel does counts for who asked"
is "$(flame 8 --diff 7 | tail -n +6)" "    self    total    change  function
  50.0 %   50.0 %    +45.0   write_all
  50.0 %   50.0 %    -30.0   dgemm
   0.0 %    0.0 %    -10.0   copy_user (kernel)
   0.0 %    0.0 %     -4.0   deep
   0.0 %    0.0 %     -1.0   [libm.so.6]" "the difference of two jobs"
is "$(flame 7 | awk 'length($0) > 80')" "" "80 columns"

# --- for other programs
is "$(flame 7 --format folded | sort)" "app;[libm.so.6] 20000000
app;deep;deep;deep 80000000
app;main;solve;dgemm 1600000000
app;main;solve;exchange;copy_user_[k] 200000000
app;main;write_all 100000000" "folded"
flame 7 -o job.json
is "$(python3 -c 'import json
d = json.load(open("job.json"))
p = d["profiles"][0]
names = [f["name"] for f in d["shared"]["frames"]]
print(p["unit"], p["endValue"], sum(p["weights"]), len(p["samples"]) == len(p["weights"]),
      sorted(";".join(names[i] for i in s) for s in p["samples"])[2])')" \
	"nanoseconds 2000000000 2000000000 True app;main;solve;dgemm" "speedscope"
is "$(flame 7 -o job.pb.gz)" "" "pprof"
is "$(flame job.pb.gz --format folded | sort)" "$(flame 7 --format folded | sort)" "which is read again"
pprof=${PPROF:-$(command -v pprof)}
if [ -n "$pprof" ]; then
	out=$("$pprof" -top job.pb.gz 2>&1)
	has "$out" "1600ms 80.00% 80.00%     1600ms 80.00%  dgemm" "google/pprof reads it"
	has "$out" "Type: cpu" "  with its type"
	has "$("$pprof" -tags job.pb.gz 2>&1)" "n2" "  and labels"
	has "$("$pprof" -comments job.pb.gz 2>&1)" "ceems.lost=n1:17" "  and comments"
	"$pprof" -proto -output=back.pb.gz job.pb.gz >/dev/null 2>&1
	is "$(flame back.pb.gz --format folded | sort)" "$(flame 7 --format folded | sort)" "  and we read what it writes"
else
	skip "no google/pprof (PPROF names it)"
fi

# --- pictures
is "$(flame 7 -o job.svg)" "" "a picture"
has "$(cat job.svg)" "<title>Flame graph of job 7 on 2 nodes</title>" "  has a title"
has "$(cat job.svg)" "dgemm: 1.60 s, 80.0 %" "  and what a pointer sees"
is "$(python3 -c 'import xml.dom.minidom as m; m.parse("job.svg")' 2>&1)" "" "  and is XML"
is "$(flame 7 -o job.html)" "" "a page"
is "$(grep -cE 'https?://' job.html)" 0 "  loads nothing"
has "$(cat job.html)" '<button type="button" data-name>dgemm</button>' "  has a table of functions"
has "$(cat job.html)" "95 % whole, 4 % cut, 1 % failed" "  says what was unwound"
is "$(sed -n 's/^<script type="application\/json" id="data">//p; /^"names"/p; /^"frames"/s/<.*//p' job.html |
	python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["unit"], d["total"], len(d["frames"]), d["frames"][0][0])')" \
	"nanoseconds 2000000000.0 11 1" "  and data"
is "$(flame 8 --diff 7 -o diff.html)" "" "a page of a difference"
has "$(cat diff.html)" "compared with job 7 on 2 nodes" "  says of what"

# --- inlined functions
cat >app.c <<'EOF'
static inline __attribute__((always_inline)) int inner(volatile int *p)
{
	int i, sum = 0;
	for (i = 0; i < 100; i++)
		sum += p[0] * p[1];
	return sum;
}
__attribute__((noinline)) int outer(volatile int *p)
{
	return inner(p) + 1;
}
int main(int argc, char **argv)
{
	volatile int two[2] = { argc, 0 };
	(void)argv;
	return outer(two);
}
EOF
gcc -O2 -g -o app app.c && cp app bare && strip --strip-debug bare || bail "gcc"
# stacks FILE: samples in the first 32 bytes of outer(), which are where the linker put them in the file
stacks() {
	begin=$(nm "$1" | sed -n 's/^0*\([0-9a-f]*\) T outer$/\1/p')
	i=0
	while [ $i -lt 32 ]; do
		printf '1 0 app app whole +%x:%s\n' $((0x$begin + i)) "$dir/$1"
		i=$((i + 1))
	done
}
stacks app | profile app.pb.gz 5 0 n1
stacks bare | profile bare.pb.gz 5 0 n1
is "$(flame app.pb.gz --format folded)" "app;[app] 320000000" "functions are unknown"
out=$(flame app.pb.gz --inlines --format folded)
has "$out" "app;outer;inner " "with --inlines, the inlined one is below the one that has it"
is "$(printf '%s\n' "$out" | grep -cvE '^app;outer(;inner)? [0-9]+$')" 0 "  and no other is there"
is "$(flame app.pb.gz --inlines -o inlines.pb.gz; flame inlines.pb.gz --format folded)" "$out" "  also in a file for pprof"
is "$(flame bare.pb.gz --inlines --format folded)" "ceems: profile on n1: no inlined functions: no program of it is here with debug information (gcc -g)
app;[bare] 320000000" "a program without debug information: a line that says so"

# --- cycles
profile ceems-profile-10.0-n1.pb.gz 10 0 n1 1000 cycles <<'EOF'
75 0 app app whole main;heavy
25 0 app app whole main;light
EOF
profile ceems-profile-10.0-n2.pb.gz 10 0 n2 <<'EOF'
100 1 app app whole main;other
#ceems.limit=n2:cycles cannot be sampled: no PMU (No such file or directory); the CPU's clock was sampled
EOF
is "$(flame ceems-profile-10.0-n1.pb.gz)" "profile on n1: 3.00 G of CPU cycles, 100 samples
stacks: 100 % whole, 0 % cut, 0 % failed

    self    total  function
  75.0 %   75.0 %  heavy
  25.0 %   25.0 %  light" "a table of cycles"
mixed="n1 has cycles/count and n2 has cpu/nanoseconds, which cannot be added; --node shows one node"
is "$(flame 10)" "ceems: $mixed" "cycles and time are not added"
is "$(flame 10 -o mixed.pb.gz)" "ceems: $mixed" "  nor in a file for pprof"
has "$(flame 10 --node n1)" "3.00 G of CPU cycles, 100 samples" "  one node has cycles"
has "$(flame 10 --node n2)" "1.00 s of CPU time, 100 samples" "  another one time"
has "$(flame 10 --node n2)" "n2: cycles cannot be sampled: no PMU" "  and why"
flame 10 --node n1 -o one.pb.gz
is "$(flame one.pb.gz --format folded | sort)" "app;main;heavy 2250000000
app;main;light 750000000" "  also in a file for pprof"
is "$(flame ceems-profile-10.0-n1.pb.gz --diff 7)" \
	"ceems: profile on n1 has cycles/count and job 7 on 2 nodes has cpu/nanoseconds, which cannot be compared" \
	"nor are they compared"
flame 10 --node n1 -o cycles.svg
has "$(cat cycles.svg)" "heavy: 2.25 G, 75.0 %" "a picture of cycles"
flame 10 --node n1 -o cycles.html
has "$(cat cycles.html)" '"unit":"cycles"' "  and a page"
if [ -n "$pprof" ]; then
	has "$("$pprof" -top ceems-profile-10.0-n1.pb.gz 2>&1)" "Type: cycles" "google/pprof reads it"
fi

# --- names that a user wrote
profile evil.pb.gz 9 0 n1 <<'EOF'
1 0 </script><b> app whole ma"in;</script><script>alert(1)</script>;a&b'c;	x
EOF
printf '1 0 a\033[2J app whole f\033[31mg;\342\200\256h\n' | profile evil2.pb.gz 9 0 n1
flame evil.pb.gz -o evil.html
is "$(grep -c '<script>alert' evil.html)" 0 "a function's name is no script"
flame evil.pb.gz -o evil.svg
is "$(python3 -c 'import xml.dom.minidom as m; m.parse("evil.svg")' 2>&1)" "" "nor an element"
is "$(flame evil2.pb.gz --format folded)" "a?[2J;f?[31mg;?h 10000000" "nor something that a terminal obeys"

# --- energy
printf '%s\r\n' "node,time_utc,monotonic_s,event,dropped_samples,missed_samples,energy_j,cpu_energy_j" \
	"n1,2026-11-25T10:00:00.000000Z,5,start,0,0,0,0" "n1,2026-11-25T10:00:10.000000Z,15,end,0,0,100,30" >ceems-trace-7.0-n1.csv
sed 's/^n1/n2/; s/100,30/100,10/' ceems-trace-7.0-n1.csv >ceems-trace-7.0-n2.csv
is "$(flame 7 --per-joule | head -n 3)" "job 7 on 2 nodes: 40 J of energy, 200 samples
stacks: 92 % whole, 6 % cut, 2 % failed
estimate: the CPU energy of each step and node, by its trace, shared by samples" "by energy"
has "$(flame 7 --per-joule)" "  70.0 %   70.0 %  dgemm" "  each node has its own weight"
is "$(flame 7 --per-joule --node n2 --format folded)" "app;main;solve;dgemm 10000000" "  of one node"
cp ceems-trace-7.0-n1.csv ceems-trace-10.0-n1.csv
cp ceems-trace-7.0-n2.csv ceems-trace-10.0-n2.csv
is "$(flame 10 --per-joule | tail -n 3)" "  56.2 %   56.2 %  heavy
  25.0 %   25.0 %  other
  18.8 %   18.8 %  light" "  of a node with cycles and one with time: each has its own energy"
rm ceems-trace-10.0-n2.csv
has "$(SLURM_CONF=$dir/none flame 10 --per-joule)" "step 10.0 has samples of time and of cycles, so each node needs a trace" \
	"  but not the energy of both nodes together"
rm ceems-trace-7.0-n2.csv
has "$(SLURM_CONF=$dir/none flame 7 --per-joule)" "the energy of step 7.0 is not known" "  without a trace"
has "$(SLURM_CONF=$dir/none flame job.pb.gz --per-joule)" "is not known" "  of a file with samples of both nodes"
has "$(flame job.pb.gz)" "profile: 2.00 s of CPU time, 200 samples" "  which is not one node's"
has "$(SLURM_CONF=$dir/none flame one.pb.gz --per-joule)" "profile on n1: 30 J of energy, 100 samples" \
	"  but of a file with samples of one node"

# --- which files
mkdir site
printf 'ProfileDir=%s\n' "$dir/site" >site/ceems.conf
chmod 0 site/ceems.conf
is "$(SLURM_CONF=$dir/site/slurm.conf without_rights "$ceems" flame 8 2>"$dir/err" | sed q)" "$(flame 8 | sed q)" \
	"a ceems.conf that this user may not read: profiles here are found"
is "$(cat "$dir/err")" "ceems: $dir/site/ceems.conf: cannot open: Permission denied; only the current folder is searched" \
	"  and ProfileDir is not known"
is "$(flame 77)" "ceems: you own no profile of job 77 in .; use --dir to look in another folder" "no file"
mkdir elsewhere && mv ceems-profile-8.0-n1.pb.gz elsewhere/
has "$(flame 8 --dir elsewhere)" "job 8 on n1" "another folder"
echo "ProfileDir=$dir/elsewhere" >profile.conf
has "$("$ceems" flame --conf profile.conf 8)" "job 8 on n1" "ProfileDir"
cp ceems-profile-7.0-n2.pb.gz ceems-profile-7.0-n2-2.pb.gz
has "$(flame 7 | head -n 2)" "step 7.0 on n2 ran twice: its earlier run is left out
job 7 on 2 nodes: 2.00 s" "a step that ran twice"
echo hello >bad.pb.gz
is "$(flame bad.pb.gz)" "ceems: bad.pb.gz: not a profile in pprof's format, or damaged" "no profile"
is "$(flame nofile)" "ceems: nofile: cannot open: No such file or directory" "no such file"
is "$(flame 7 bad.pb.gz)" "ceems: jobs, or names of files" "not both"

# --- arguments
for args in "7 -o job.xyz" "7 --format pdf" "7 --kernel some" "7 --task x" "7 --top x" "7 --diff 8 --format folded" \
	"7 --per-joule -o x.pb.gz" ""; do
	# shellcheck disable=SC2086 # words on purpose
	flame $args >/dev/null
	is $? 2 "refused: flame $args"
done
is "$(flame job.pb.gz -o /nonexistent/x.svg)" "ceems: /nonexistent/x.svg: No such file or directory" "a folder that is not there"
"$ceems" flame job.pb.gz --format html >/dev/full 2>&1
is $? 1 "a full disk"
done_testing
