#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Jobs over eight nodes, with steps started in all the ways of Slurm, and messages that slurmd forward in a tree.
# sacct must show the sum of the nodes' ledgers, to the joule, and each job must have one record with the same value.
# CEEMS_ARRAY_TASKS is the number of tasks of the array [1000].
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank jobcomp
. "$e2e_top/tests/e2e/energy.sh"

nodes='n1 n2 n3 n4 n5 n6 n7 n8'
tasks=${CEEMS_ARRAY_TASKS:-1000}
x11=,X11
for tool in xauth Xvfb xprop; do
	command -v $tool >/dev/null || x11=
done
cluster_up --nodes 8 --cpus 8 --fake-rapl --still-cpus --slurm-conf <(printf '%s\n' \
	TreeWidth=2 LaunchParameters=use_interactive_step "PrologFlags=Contain$x11" MaxArraySize=10001) \
	--ceems-conf <(printf '%s\n' Sinks=file IdleWatts=0.001 FinalEnergyWait=10m)
home=$DIR/home/user1

over() {
	[ -z "$(inside squeue -h)" ]
}

# --- steps of every kind ---------------------------------------------------------------------------

work_write
run="timeout 600 $e2e_work/work"
# slurmctld may refuse a step that is requested while another begins ("no usable CPUs"), and srun does not try again.
job=$(submit user1 -N8 --ntasks-per-node=4 -o "$home/wide.out" --wrap "
	again() {
		until srun \"\$@\"; do
			sleep 1
		done
	}
	srun $run $home/go1 $home/all
	again -N8 -n8 --exact $run $home/go2 $home/exact &
	again -N3 -n3 -c2 --exact $run $home/go2 $home/some &
	again -N8 -n16 --overlap $run $home/go2 $home/over &
	wait
	srun -N1 -n1 true")
are_there() {
	[ "$(find "$home" -name "$1.*" | wc -l)" -ge "$2" ]
}
wait_for 120 are_there all 32
ok $? "a step of 32 tasks runs on 8 nodes"
feed_all 40000009 10000019
# steps in the same job, started from outside of it, on all nodes
as user1 srun --jobid="$job" --overlap -N8 -n8 sh -c ": >$home/go1" >/dev/null 2>&1
is $? 0 "and a step from outside beside it"
both() {
	are_there exact 8 && are_there some 3 && are_there over 16
}
feed_until both
ok $? "steps with --exact and --overlap side by side"
feed_all 20000003 1000000
: >"$home/go2"
wait_for 120 job_ran "$job"
agrees "$job" "$job" 8 "one over all nodes"
for n in $nodes; do
	on "$n" conserved "$n"
done
is "$(for s in $(steps_of "$job" | sed 's/|.*//; /extern/d'); do usage "$job" "$s" In ic/ceems_nodes; done |
	sort | tr '\n' ' ')" \
	"1 1 3 8 8 8 8 " "ceems_nodes of each step: all its nodes reported"

# --- a het job -------------------------------------------------------------------------------------

rm "$home"/go?
job=$(submit user1 -o "$home/het.out" -n2 -N1 : -N2 -n4 : -n1 -N1 --wrap "
	srun --het-group=0,1,2 $run $home/go1 $home/het
	srun --het-group=1 $run $home/go1 $home/one")
wait_for 120 are_there het 7
ok $? "a het job's step runs on its three components"
feed_all 10000003 1000000
: >"$home/go1"
wait_for 120 over
for n in 0 1 2; do
	agrees $((job + n)) "$job+$n" $((n == 1 ? 2 : 1)) "component $n"
done
is "$(jq -r "select(.het_job_id == $job) | \"\(.key | split(\"/\")[2]) \(.het_job_offset)\"" "$RECORD_FILE" | sort)" \
	"$(printf '%s\n' '0 0' '1 1' '2 2')" "three records, with keys of their own"

# --- salloc's interactive step, X11 ----------------------------------------------------------------

# waiting HERE WHAT CMD...: CMD starts a step on two nodes that waits; feeds the nodes, then lets the step end
waiting() {
	local here=$1 what=$2 pid there

	shift 2
	rm "$home"/go?
	"$@" <&0 >"$e2e_work/$here.out" 2>&1 &
	pid=$!
	wait_for 120 are_there "$here" 2
	there=$?
	ok $there "$what"
	[ $there -eq 0 ] || diag <"$e2e_work/$here.out"
	feed_all 10000003 1000000
	: >"$home/go1"
	wait "$pid"
}

if as user1 script -qc true /dev/null </dev/null >/dev/null 2>&1; then
	cat >"$home/session" <<-EOT
		: >$home/job.\$SLURM_JOB_ID
		srun -N2 -n2 $run $home/go1 $home/inner </dev/null
		exit
	EOT
	waiting inner "salloc's shell is a step, and starts one" \
		as user1 env SHELL=/bin/bash script -qc "salloc -N2" /dev/null <"$home/session"
	job=$(find "$home" -name 'job.*')
	job=${job##*.}
	agrees "$job" "$job" 2 "salloc with use_interactive_step"
	isnt "$(job_acct "$job" ConsumedEnergyRaw interactive)" "" "the interactive step has energy"
else
	skip "no terminal for salloc: script(1) does not work here"
fi

# An X server that demands a cookie; X11 traffic of tasks is forwarded through srun.
x_server() {
	local cookie=0123456789abcdef0123456789abcdef

	as user1 xauth -q -f "$home/cookies" add :0 . $cookie 2>/dev/null
	as user1 Xvfb -displayfd 1 -auth "$home/cookies" -listen tcp -nolisten unix -nolisten local -noreset \
		>"$e2e_work/display" 2>"$e2e_work/xvfb.out" &
	xvfb=$!
	wait_for 60 grep . "$e2e_work/display" || return
	x11=localhost:$out
	as user1 xauth -q add "$x11" . $cookie 2>/dev/null
	wait_for 60 at_x xprop -root
}
at_x() {
	as user1 env DISPLAY="$x11" "$@"
}
if [ -n "$x11" ]; then
	rm "$home"/go?
	x_server
	ok $? "an X server"
	at_x srun --x11 -N2 -n2 sh -c "
		xprop -root -f CEEMS_\$SLURM_PROCID 8s -set CEEMS_\$SLURM_PROCID \"\$SLURM_JOB_ID \$DISPLAY\"
		exec $run $home/go1 $home/x11" >"$e2e_work/x11.out" 2>&1 &
	srun=$!
	wait_for 120 are_there x11 2
	there=$?
	ok $there "a step with --x11"
	[ $there -eq 0 ] || diag <"$e2e_work/x11.out"
	feed_all 10000003 1000000
	: >"$home/go1"
	wait "$srun"
	for n in 0 1; do
		read -r _ _ job display < <(at_x xprop -root CEEMS_$n | tr -d '"')
		has "$display" "localhost:" "task $n reached the X server, by a display of the extern step"
	done
	kill "$xvfb"
	agrees "$job" "$job" 2 "and X11"
else
	skip "xauth, Xvfb or xprop is not installed (contrib/deps test)"
fi

# --- an array --------------------------------------------------------------------------------------

job=$(submit user1 -n1 --array="1-$tasks" -o /dev/null --wrap true)
feed_until over
ok $? "an array of $tasks tasks"
told() {
	[ "$(jq -c "select(.array_job_id == $job and .energy.final)" "$RECORD_FILE" | wc -l)" -ge "$tasks" ]
}
wait_for $((180 + tasks / 4)) told
array_is_booked() {
	[ "$(inside sacct -n -P -X -j "$job" -s CD -o ConsumedEnergyRaw | grep -c .)" = "$tasks" ]
}
wait_for $((120 + tasks / 4)) array_is_booked
is "$(jq -r "select(.array_job_id == $job) | \"${job}_\(.array_task_id)|\(.energy.total_j)\"" "$RECORD_FILE" | sort)" \
	"$(inside sacct -n -P -X -j "$job" -o JobID,ConsumedEnergyRaw | sort)" \
	"one record for each task, with what sacct has"

# --- all of it -------------------------------------------------------------------------------------

for n in $nodes; do
	on "$n" conserved "$n, at the end"
done
# Every node rounds once for each job on it.
fed=0 nobodys=0
for n in $nodes; do
	fed=$((fed + $(on "$n" fed_uj)))
	nobodys=$((nobodys + $(on "$n" ledger '.unallocated.total_uj + .system.total_uj')))
done
sum=$(inside sacct -n -P -X -a -o ConsumedEnergyRaw | awk '{ sum += $1 } END { print sum + 0 }')
pairs=$(inside sacct -n -P -X -a -o NNodes | awk '{ sum += $1 } END { print sum + 0 }')
off=$(((fed - nobodys) / 1000000 - sum))
[ $off -ge -$((pairs / 2)) ] && [ $off -le $((pairs / 2 + 1)) ]
ok $? "all jobs have $sum J in sacct; fed, less unallocated and system: $(((fed - nobodys) / 1000000)) J"
is "$(complaints)" "" "no node had anything to complain of"
done_testing
