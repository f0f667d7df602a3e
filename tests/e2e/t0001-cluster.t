#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# contrib/cluster: runs jobs as several users, says why it cannot start, and leaves no process, mount or cgroup on
# the machine.
# shellcheck disable=SC2016
. "$(dirname "$0")/lib.sh"

passwd_before=$(md5sum /etc/passwd /etc/group /etc/nsswitch.conf)

# left_behind DIR CGROUP: prints what is left of a stopped cluster on the machine.
left_behind() {
	grep -F "$1" /proc/self/mountinfo
	grep -lsaF -f <(echo "$1") /proc/[0-9]*/cmdline
	find /sys/fs/cgroup -maxdepth 2 -name "$2"
}

# --- bad input, and starts that fail -----------------------------------------------------------

fails "a 257th node is refused" "$cluster" start --nodes 257 "$e2e_work/x"
has "$out" "--nodes 257" "naming it"
fails "so is an unknown option" "$cluster" start --foo "$e2e_work/x"
fails "an unknown part" "$cluster" start --plugins spank,foo "$e2e_work/x"
fails "a folder that holds something else" "$cluster" start "$e2e_top"
has "$out" "not empty" "which is left alone"
mkdir -p "$e2e_work/stranger/run"
echo "touch $e2e_work/stranger/done" >"$e2e_work/stranger/run/state"
chown -R 64999 "$e2e_work/stranger"
for verb in start stop env; do
	fails "cluster $verb in a folder of somebody else" "$cluster" $verb "$e2e_work/stranger"
	has "$out" "not to root" "  whose it is"
done
chown 0 "$e2e_work/stranger" "$e2e_work/stranger/run"
fails "one whose run/state is somebody else's" "$cluster" stop "$e2e_work/stranger"
chown 0 "$e2e_work/stranger/run/state"
chmod 777 "$e2e_work/stranger/run"
fails "one in which others may write" "$cluster" stop "$e2e_work/stranger"
has "$out" "chmod go-w" "  what to type"
mv "$e2e_work/stranger/run" "$e2e_work/stranger/elsewhere"
chmod 755 "$e2e_work/stranger/elsewhere"
ln -s elsewhere "$e2e_work/stranger/run"
fails "a link in place of the folder" "$cluster" stop "$e2e_work/stranger"
fails "  nothing that is there is run" test -e "$e2e_work/stranger/done"
mkdir -m 700 "$e2e_work/closed"
fails "a folder that users cannot reach" "$cluster" start "$e2e_work/closed/x"
has "$out" "cannot reach" "saying so"

DIR=$e2e_work/broken
out=$("$cluster" start --plugins none --slurm-conf <(echo ProctrackType=proctrack/nosuch) \
	"$DIR" 2>&1)
is $? 1 "a slurm.conf that Slurm refuses fails the start"
has "$out" "proctrack/nosuch" "and Slurm's own words say why"
has "$out" "slurmd.n1" "with the daemon's name"
eval "$("$cluster" env "$DIR")"
is "$(left_behind "$DIR" "$CGROUP_NAME")" "" "nothing is left of it"
passes "but the logs, until rm" test -s "$LOG_DIR/slurmd.n1.out"
"$cluster" rm "$DIR"
fails "and then nothing" test -e "$DIR"

# --- one node ----------------------------------------------------------------------------------

cluster_up --plugins none --fake-rapl
is "$(inside sinfo -h -o '%D %T')" "1 idle" "one node is idle"
passes "root runs a job" inside srun true
is "$(as user1 srun id -un)" user1 "so does user1"
is "$(as user2 srun id -un)" user2 "and user2"
is "$(inside env sh -c 'ls -a /run/user 2>/dev/null')" "" "/run is its own"
fails "the machine does not know user1" id user1
# as apt does when it adds a user
cp -a /etc/passwd /etc/passwd.ceems-test && mv /etc/passwd.ceems-test /etc/passwd
ok $? "the machine's passwd is replaced"
is "$(as user1 srun id -un)" user1 "and the cluster still knows its users"
is "$(md5sum /etc/passwd /etc/group /etc/nsswitch.conf)" "$passwd_before" "/etc is not touched"
fails "a second start in the same folder is refused" "$cluster" start "$DIR"
wait_for 60 node_is idle
ok $? "and harms nothing"

job=$(submit user1 --wrap 'srun true; echo from $SLURM_JOB_ID; exit 3')
wait_for 60 job_is "$job" FAILED
ok $? "a batch job ends"
is "$(cat "$DIR/home/user1/slurm-$job.out")" "from $job" "its output is in the user's home"
wait_booked "$job"
ok $? "slurmdbd has it"
is "$(job_acct "$job" State,ExitCode,User)" "FAILED" "with its state"
is "$(job_acct "$job" ExitCode)" "3:0" "its exit code"
is "$(job_acct "$job" User)" "user1" "its user"
is "$(job_acct "$job" State 0)" "COMPLETED" "and its step"
is "$(inside sacct -n -P -j "$job" -o JobID | tr '\n' ' ')" "$job $job.batch $job.extern $job.0 " \
	"batch, extern and srun's step are there"
has "$(inside sacctmgr -n -P show tres format=type,name)" "ic|ceems_co2e" "the TRES of ours exist"

# --- daemons that die --------------------------------------------------------------------------

for daemon in munged mariadb slurmdbd slurmctld "slurmd n1"; do
	# shellcheck disable=SC2086 # "slurmd n1" is two words
	passes "$daemon is killed" "$cluster" kill "$DIR" $daemon -KILL
	# shellcheck disable=SC2086
	passes "$daemon comes back" "$cluster" start-daemon "$DIR" $daemon
done
fails "a daemon of no name" "$cluster" kill "$DIR" nosuch
fails "a node of no name" "$cluster" kill "$DIR" slurmd n2
wait_for 120 inside srun true
ok $? "jobs run after all of that"

"$cluster" exec "$DIR" -u user1 srun nosuch >/dev/null 2>&1
out=$("$cluster" logs "$DIR" slurmctld)
has "$out" "log/slurmctld.out" "logs names a daemon's log"
# from Slurm 26.05 on, the line begins with the time
grep -qE '^[0-9]+:(slurmctld: |\[[0-9-]+T)' <<<"$out"
ok $? "and shows its end"
has "$("$cluster" logs "$DIR" kafka)" "no log of kafka" "or that there is none"
out=$("$cluster" logs "$DIR")
is $? 0 "logs works without errors in them, too"
has "$out" "execve(): nosuch" "and shows the errors of all"

# --- counters ----------------------------------------------------------------------------------

zone=$SYSROOT_DIR/n1/sys/class/powercap/intel-rapl:0
passes "a counter advances" "$cluster" rapl "$DIR" n1 0 +1234567
is "$(cat "$zone/energy_uj")" 1234567 "by as much"
"$cluster" rapl "$DIR" n1 0 +262142094283
is "$(cat "$zone/energy_uj")" 262143328850 "up to the end of its range"
"$cluster" rapl "$DIR" n1 0 +6
is "$((10#$(cat "$zone/energy_uj")))" 5 "then from 0 on"
"$cluster" rapl "$DIR" n1 0 +10
is "$((10#$(cat "$zone/energy_uj")))" 15 "and further"
fails "never back" "$cluster" rapl "$DIR" n1 0 -5
fails "a zone of no name" "$cluster" rapl "$DIR" n1 7 +1

# --- beside another one, which loses its init --------------------------------------------------

first=$DIR
first_cgroup=$CGROUP_NAME
cluster_up --plugins none --no-dbd --nodes 8 --cpus 2
is "$(inside srun -N8 sh -c 'echo $SLURMD_NODENAME' | sort | tr '\n' ' ')" \
	"n1 n2 n3 n4 n5 n6 n7 n8 " "eight nodes, beside the first cluster, without slurmdbd"
is "$(DIR=$first inside sinfo -h -o %D)" 1 "which still has its one"
read -r init _ <"$DIR/run/init"
kill -KILL "$init"
wait_for 60 sh -c "! kill -0 $init"
fails "a cluster whose init was killed cannot be entered" inside true
passes "but stopped" "$cluster" stop "$DIR"
is "$(left_behind "$DIR" "$CGROUP_NAME")" "" "nothing is left of it"

# --- the end -----------------------------------------------------------------------------------

DIR=$first
submit user1 --wrap 'sleep 1000' >/dev/null
wait_for 60 sh -c "find /sys/fs/cgroup/*/$first_cgroup /sys/fs/cgroup/$first_cgroup \
	-name job_* 2>/dev/null | grep -q ."
ok $? "a job has cgroups"
passes "stop with that job running" "$cluster" stop "$DIR"
is "$(left_behind "$DIR" "$first_cgroup")" "" "nothing is left of it"
passes "stop again" "$cluster" stop "$DIR"
done_testing
