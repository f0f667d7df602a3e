#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --ceems-profile=maps sets variables of the tasks' environment. By them, Python, Java and Node.js write the names of the functions
# that they compile at run time, and the profile has these names. Without maps the environment is the user's own.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank
needs_profiles
cluster_up --plugins acct_gather,spank --fake-rapl --nodes 1 --cpus 4
here=$e2e_top/tests/e2e
home=$DIR/home/user1

# --- the environment -----------------------------------------------------------------------------------

# variables ARG...: prints what the task of a step has of the variables
variables() {
	as user1 env NODE_OPTIONS=--no-warnings srun "$@" env 2>/dev/null | grep -E '^(PYTHONPERFSUPPORT|NODE_OPTIONS|JAVA_TOOL_OPTIONS)=' | sort
}
fails "srun refuses maps twice" as user1 srun --ceems-profile=maps,maps true
is "$(variables --ceems-profile=99)" "NODE_OPTIONS=--no-warnings" "without maps, the user's variables are as they were"
out=$(variables --ceems-profile=99,maps)
has "$out" PYTHONPERFSUPPORT=1 "with maps, Python writes its names"
has "$out" "NODE_OPTIONS=--no-warnings --perf-basic-prof" "so does Node.js, and what the user has set stays"
has "$out" -XX:+DumpPerfMapAtExit "and Java"
out=$(as user1 env PYTHONPERFSUPPORT=0 srun --ceems-profile=maps env 2>/dev/null)
has "$out" PYTHONPERFSUPPORT=0 "what the user has switched off stays off"

# --- names ---------------------------------------------------------------------------------------------

# named FUNCTION COMMAND...: runs a step that profiles COMMAND; FUNCTION must be in some of its stacks
named() {
	local function=$1 out job file
	shift
	# shellcheck disable=SC2016
	out=$(as user1 srun --ceems-profile=199,maps sh -c 'echo "job $SLURM_JOB_ID"; exec "$@"' sh "$@" 2>&1)
	job=$(sed -n 's/^job //p' <<<"$out")
	file=$home/ceems-profile-$job.0-n1.pb.gz
	if [ ! -s "$file" ]; then
		ok 1 "a profile of $1"
		diag <<<"$out"
		return
	fi
	is "$(/usr/bin/python3 "$here/pprof.py" "$file" "sum(s.count for s in samples if any('$function' in f for f in s.frames)) >= 0.2 * total")" \
		True "${1##*/}: $function is in the stacks"
	diag <<<"$(/usr/bin/python3 "$here/pprof.py" "$file" comments)"
	/usr/bin/python3 "$here/pprof.py" "$file" "sorted({f for s in samples for f in s.frames if '$function' in f})" | diag
}

python=
for name in /usr/bin/python3 /usr/bin/python3.12 /usr/bin/python3.13 ${CEEMS_PERF_PYTHON:+"$CEEMS_PERF_PYTHON"}; do
	"$name" -c 'import sys; sys.exit(not sys.is_stack_trampoline_active)' 2>/dev/null && python=$name
done
if [ -n "$python" ]; then
	cat >"$e2e_work/spin.py" <<-EOT
		import time
		def turn(n):
		    s = 0
		    for i in range(n):
		        s += i * i
		    return s
		while time.process_time() < 3:
		    turn(10000)
	EOT
	named py::turn "$python" "$e2e_work/spin.py"
	named "py::<module>" "$python" "$e2e_work/spin.py"
else
	skip "no Python 3.12 or later (CEEMS_PERF_PYTHON)"
fi
if [ -x /usr/bin/node ]; then
	cat >"$e2e_work/spin.js" <<-EOT
		function turn(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sin(s + i); return s }
		while (process.cpuUsage().user < 3000000) turn(100000)
	EOT
	named turn /usr/bin/node "$e2e_work/spin.js"
else
	skip "Node.js is not installed"
fi
if [ -x /usr/bin/java ] && [ -x /usr/bin/javac ]; then
	mkdir "$e2e_work/java"
	cat >"$e2e_work/java/Spin.java" <<-EOT
		public class Spin {
			static double turn(int n) { double s = 0; for (int i = 0; i < n; i++) s += Math.sqrt(s + i); return s; }
			public static void main(String[] args) {
				java.lang.management.ThreadMXBean cpu = java.lang.management.ManagementFactory.getThreadMXBean();
				double s = 0;
				while (cpu.getCurrentThreadCpuTime() < 3000000000L) s += turn(100000);
				if (s == 0) System.out.println(s);
			}
		}
	EOT
	passes "javac" /usr/bin/javac -d "$e2e_work/java" "$e2e_work/java/Spin.java"
	named Spin.turn /usr/bin/java -cp "$e2e_work/java" Spin
else
	skip "Java is not installed"
fi
as user1 bash -c 'rm -f /tmp/perf-*.map' 2>/dev/null # in a sticky folder: its own
done_testing
