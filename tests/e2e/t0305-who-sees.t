#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems job, jobs and trace must show a user what sacct and sstat show to the same user, and no more.
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank

cluster_up --nodes 1 --cpus 8 --fake-rapl --plugins acct_gather,spank \
	--ceems-conf <(printf '%s\n' Country=DE EnergySources=rapl IdleWatts=0)
ceems=$BUILD_DIR/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"

# user1 owns the jobs, user2 has no relation to them, user3 coordinates their account
inside sacctmgr -i add coordinator account=project names=user3 >/dev/null
ok $? "user3 coordinates the account"
ended=$(submit user1 -J ended --ceems-trace -o /dev/null --wrap 'srun sleep 0.2')
live=$(submit user1 -J live -o /dev/null --wrap 'srun sh -c "while :; do :; done"')
wait_for 120 job_is "$live" RUNNING
wait_booked "$ended"
ok $? "a job has ended, one runs"
is_told() {
	inside "$ceems" job "$live" | grep -q '^  CPU  *\['
}
wait_for 120 is_told

# sees USER: prints what each command shows to USER: job, jobs, the running job in the list, its values, trace
sees() {
	local user=$1 as=as text="" tool
	[ "$user" != root ] || as=inside user=
	$as $user "$ceems" job "$ended" >/dev/null 2>&1 && text+=" job"
	$as $user "$ceems" jobs -a -S now-1day -P -n --format jobid | grep -qx "$ended" && text+=" jobs"
	$as $user "$ceems" jobs -a -S now-1day -P -n --format jobid | grep -qx "$live" && text+=" live"
	$as $user "$ceems" job "$live" 2>/dev/null | grep -q '^  CPU  *\[' && text+=" figures"
	$as $user "$ceems" trace "$ended" >/dev/null 2>&1 && text+=" trace"
	for tool in sacct sstat; do
		$as $user env PATH="$PATH" $tool -n -P -a -o JobID -j "$ended,$live" 2>/dev/null | grep -q . && text+=" $tool"
	done
	echo "${text# }"
}

# PrivateData of slurmdbd and slurmctld, user, what is seen; the last two are Slurm's own answer
while IFS='|' read -r private user want what; do
	if [ "$private" != "${was-}" ]; then
		was=$private
		sed -i '/^PrivateData=/d' "$DIR/etc/slurmdbd.conf"
		[ "$private" = none ] || echo "PrivateData=$private" >>"$DIR/etc/slurmdbd.conf"
		"$cluster" kill "$DIR" slurmdbd
		passes "PrivateData=$private" "$cluster" start-daemon "$DIR" slurmdbd
	fi
	is "$(sees "$user" </dev/null)" "$want" "$private: $what"
done <<'EOF'
none|user1|job jobs live figures trace sacct sstat|the owner sees all
none|user2|job jobs live sacct|another user all but what runs, as sstat tells the owner only
none|user3|job jobs live sacct|so does a coordinator
none|root|job jobs live figures sacct sstat|root sees all
jobs|user1|job jobs live figures trace sacct sstat|the owner sees all
jobs|user2||another user nothing
jobs|user3|job jobs live sacct|a coordinator the jobs of the account
jobs|root|job jobs live figures sacct sstat|root sees all
usage|user2|job jobs live sacct|usage is of sreport: jobs are seen
EOF
# rank USER ARG...: prints the user's rank in the report
rank() {
	local user=$1
	shift
	as "$user" "$ceems" report --week=this --rank "$@" | tr '\n' ' ' | grep -oE 'Place (among all|[0-9]+ of [0-9]+)[^.,]*'
}
is "$(rank user1)" "Place 1 of 1 user by energy" "a user has a place where all jobs are seen"
inside sacctmgr -i modify user user2 set adminlevel=operator >/dev/null
ok $? "user2 becomes operator"
sed -i 's/^PrivateData=.*/PrivateData=jobs/' "$DIR/etc/slurmdbd.conf"
"$cluster" kill "$DIR" slurmdbd
passes "PrivateData=jobs" "$cluster" start-daemon "$DIR" slurmdbd
is "$(sees user2)" "job jobs live sacct" "an operator sees the jobs"
is "$(rank user2 -u user1)" "Place 1 of 1 user by energy" "  and the place of a user"
hidden="Place among all users: n/a (PrivateData in slurmdbd"
is "$(rank user1)" "$hidden" "a user has no place where others are hidden"
is "$(rank user3 -u user1)" "$hidden" "nor has a coordinator one for a user"

# --- slurmdbd that is slow or down -----------------------------------------------------------------

told() {
	out=$(timeout 60 "$cluster" exec "$DIR" "$ceems" "$@" 2>&1)
	echo "$?"
}
"$cluster" kill "$DIR" slurmdbd
is "$(told job "$ended")" 1 "job without slurmdbd"
is "$(told jobs)" 1 "jobs without slurmdbd"
is "$(told job)" 2 "which is not the error of a wrong command line"
"$cluster" start-daemon "$DIR" slurmdbd # slurmctld would wait for it at its end
inside scancel "$live"
done_testing
