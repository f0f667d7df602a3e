#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel's OOM killer ends each of our own processes while jobs run: it must start again or its end be said in one line,
# jobs and their records must not miss it. Every program that we install is ended; one that would end by itself too soon
# waits for something that does not answer. Our code in slurmd, slurmstepd and slurmctld has no process of its own; t0102
# and t0402 end these daemons with SIGKILL, which is what the OOM killer sends.
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank jobcomp
. "$(dirname "$0")/energy.sh"
[ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ] || skip_all "no memory controller of cgroup v1 here"
umask 022
printf 'node energy_joules 1000 %s\n' "$(date +%s.%N)" >"$e2e_work/meter"
echo 'from,until,gco2e_per_kwh,kind,scope,region,fetched,source' >"$e2e_work/series.csv"
printf '%s\n' URL=https://127.0.0.1:9 User=u Password=p >"$e2e_work/bmc.conf"
chmod 600 "$e2e_work/bmc.conf"
push=()
[ ! -x "${E2E_BUILDDIR:-$(e2e_builddir)}/src/profiler/ceems-push" ] ||
	push=(ProfilePushUrl=http://127.0.0.1:9 "ProfilePushDir=$e2e_work/push")
cluster_up --plugins acct_gather,spank,jobcomp --nodes 2 --fake-rapl --fake-gpus 1 --cpus 4 \
	--recorder-dbd-port "$dbd_proxy_port" --slurm-conf <(echo "MailProg=$e2e_work/mailprog") \
	--ceems-conf <(printf '%s\n' SampleInterval=200ms "ExternalSource=$e2e_work/meter" FinalEnergyWait=20s Sinks=file \
		"EmissionSeriesFile=$e2e_work/series.csv" EmissionRegion=FR EnergySources=external,redfish,ipmi,rapl,nvml \
		"RedfishConf=$e2e_work/bmc.conf" "MailProg=$e2e_work/mail" "${push[@]+"${push[@]}"}")
mode() {
	echo "$*" >"$DIR/proxy.new" && mv "$DIR/proxy.new" "$DIR/proxy.mode"
}
mode pass
start_dbd_proxy
work_write
go=$e2e_work/go
group=/sys/fs/cgroup/memory/oom
ended=() # names of the processes that were ended

names() {
	inside ps -e -o comm= | grep '^ceems-' | sort -u
}

pids() {
	inside pgrep -x "${1:0:15}" "${@:2}"
}

# has_pids NUMBER NAME
has_pids() {
	[ "$(pids "$2" | wc -l)" = "$1" ]
}

# A parent may be late to wait for its child.
is_gone() {
	! inside ps -o stat= -p "$1" | grep -q '^[^Z]'
}

# press PID: moves it into a cgroup with little room, where four others ask for more. The kernel kills who has most pages, and
# adds a thousandth of the cgroup's pages, rounded down, for each oom_score_adj: here 1,000 for PID. An idle ceems-series has
# 350 pages. Each of the others has 400 from before, and gets a quarter of the cgroup's.
press() {
	inside sh -c 'echo 1000 >"/proc/$2/oom_score_adj" && echo "$2" >"$1/cgroup.procs"' sh $group "$1" 2>/dev/null
	inside sh -c 'echo $$ >"$1/cgroup.procs"
		for i in 1 2 3 4; do x=$(head -c 20000000 /dev/zero | tr "\0" x) & done; wait' sh $group >/dev/null 2>&1
	is_gone "$1"
}

# oom_kills WHAT PID...
oom_kills() {
	local what=$1 pid failed=0

	shift
	[ $# -gt 0 ] || failed=1
	for pid; do
		ended+=("$(inside ps -o comm= -p "$pid")")
		wait_for 30 press "$pid" && continue
		failed=1
		diag <<<"$(inside ps -o pid,stat,wchan:32,etimes,args -p "$pid"; inside cat $group/cgroup.procs $group/memory.oom_control
			inside cat "/proc/$pid/oom_score_adj" "/proc/$pid/cgroup"; dmesg | grep -i oom | tail -n 5)"
	done
	ok $failed "$what is killed for want of memory"
}

# A job with a step runs on n1 and ends, the node answers, and the job gets its record.
work_is_done() {
	local id

	id=$(submit user1 -w n1 -o /dev/null --wrap 'srun --ceems-report sleep 1') && wait_for 60 job_is "$id" COMPLETED &&
		wait_for 60 node_is idle && wait_for 120 has_record "$id"
}

# Our lines in the log of n1.
said() {
	grep -hE '(\]|error:) ceems: ' "$LOG_DIR/slurmd.n1.log" | grep -v ' debug'
}

# hangs FILE: from now on, whoever opens FILE waits. Sets $hang to the pid of the process that ends that.
hangs() {
	inside /usr/bin/python3 "$e2e_top/tests/e2e/hang_file.py" "$1" >"$e2e_work/hang.out" 2>&1 &
	wait_for 30 grep -q . "$e2e_work/hang.out"
	hang=$(grep -x '[0-9]*' "$e2e_work/hang.out")
}

inside mkdir $group && inside sh -c 'echo 4096000 >"$1/memory.limit_in_bytes"' sh $group || bail "a cgroup with little room"
if [ -x "$DIR/helpers/ceems-ipmi" ]; then
	mkdir -p "$DIR/sysroot/n1/dev" && : >"$DIR/sysroot/n1/dev/ipmi0"
	hangs "$DIR/sysroot/n1/dev/ipmi0" || bail "a BMC that does not answer: $(cat "$e2e_work/hang.out")"
	restart_slurmd
fi
passes "a job runs" work_is_done
mapfile -t all < <(names | grep -v ceems-recorder)
diag "processes of the nodes: ${all[*]}"

# --- slurmd's helpers ----------------------------------------------------------------------------------

for name in "${all[@]}"; do
	mapfile -t pid < <(pids "$name")
	oom_kills "$name" "${pid[@]}"
	passes "  a job runs and has its record" work_is_done
	wait_for 60 has_pids ${#pid[@]} "$name"
	ok $? "  it runs again"
done
on n1 conserved "n1"
on n2 conserved "n2"

if [ -x "$DIR/helpers/ceems-bpf" ]; then
	bpf_is_loaded
	loaded=$?
	"$cluster" kill "$DIR" slurmd n1
	inside sh -c 'mkdir -p -m 700 $1 && exec 9<$1 && flock 9 && echo $$ && exec sleep 1000' sh /sys/fs/bpf/ceems \
		>"$e2e_work/lock.out" 2>"$e2e_work/lock.err" &
	wait_for 30 grep -q . "$e2e_work/lock.out" || bail "a lock for which ceems-bpf waits"
	: >"$LOG_DIR/slurmd.n1.log"
	"$cluster" start-daemon "$DIR" slurmd n1
	wait_for 30 pids ceems-bpf
	oom_kills ceems-bpf "$(pids ceems-bpf)"
	passes "  a job runs and has its record" work_is_done
	is "$(said | grep -c 'ceems: bpf: .*ceems-bpf was killed by signal 9; I/O and network are not counted on this node')" 1 \
		"  one line says what is missing"
	inside kill "$(cat "$e2e_work/lock.out")"
	wait $! 2>/dev/null
	restart_slurmd
	if [ $loaded = 0 ]; then
		two_daemons() {
			inside "$DIR/helpers/ceems-bpf" status | grep -qx 'daemons  *2'
		}
		wait_for 60 two_daemons
		ok $? "  and the next slurmd counts them"
	else
		skip "  no BPF here"
	fi
fi

if [ -x "$DIR/helpers/ceems-hwmon" ]; then
	power_meter 120
	cp "$CEEMS_CONF" "$e2e_work/ceems.conf"
	printf '%s\n' "$(grep -vE '^(SysRoot|EnergySources)=' "$CEEMS_CONF")" SysRoot=/ EnergySources=hwmon >"$CEEMS_CONF"
	restart_slurmd
	measures_beyond() {
		[ "$(ledger .measured.other)" -gt "$1" ]
	}
	wait_for 60 measures_beyond 0
	wait_for 60 has_pids 1 ceems-hwmon
	oom_kills ceems-hwmon "$(pids ceems-hwmon)"
	passes "  a job runs and has its record" work_is_done
	wait_for 60 has_pids 1 ceems-hwmon
	ok $? "  it runs again"
	wait_for 60 measures_beyond "$(ledger .measured.other)"
	ok $? "  and measures"
	cat "$e2e_work/ceems.conf" >"$CEEMS_CONF"
	inside umount -l /sys/class
	restart_slurmd
fi

# --- of a step -----------------------------------------------------------------------------------------

# program NAME: prints the pid. ceems-profile has three: the sampler, which leads their group, the keeper, which is root
# as well, and the user's writer.
program() {
	inside ps -e -o pid=,pgid=,user=,comm= | awk -v name="$1" '
		$4 == "ceems-trace" { is = "trace" }
		$4 == "ceems-profile" { is = $1 == $2 ? "sampler" : $3 == "root" ? "keeper" : "writer" }
		is == name { print $1; found = 1 }
		{ is = "" }
		END { exit !found }'
}
no_program() {
	! pids "ceems-$1"
}
ends_there='of this step ends there'
for row in "trace trace $ends_there" "profile writer $ends_there" "profile sampler $ends_there" \
	"profile keeper it is pushed only in part"; do
	read -r kind name words <<<"$row"
	[ -x "$DIR/helpers/ceems-$kind" ] || { skip "ceems-$kind is not built"; continue; }
	[ "$name" != keeper ] || [ ${#push[@]} -gt 0 ] || { skip "ceems-push is not built"; continue; }
	rm -f "$go"
	before=$(said | grep -c "ceems: $kind: ")
	id=$(submit user1 -w n1 -n1 -D "$DIR/home/user1" -o /dev/null --wrap "srun --ceems-$kind $e2e_work/work $go")
	wait_for 60 program "$name" || bail "the $name of a step runs"
	[ "$kind" = trace ] || wait_for 60 test -s "$DIR/home/user1/ceems-profile-$id.0-n1.pb.gz" || bail "the file of a profile"
	oom_kills "the $name of a step" "$(program "$name")"
	: >"$go"
	wait_for 60 job_is "$id" COMPLETED
	ok $? "  the step ends well"
	wait_for 30 no_program "$kind"
	ok $? "  no program is left"
	wait_for 120 has_record "$id"
	ok $? "  the record comes"
	is "$(said | grep "ceems: $kind: " | tail -n +$((before + 1)) | grep -c "$words")" 1 "  one line says what is missing"
	[ "$kind" = profile ] || continue
	gzip -t "$DIR/home/user1/ceems-profile-$id.0-n1.pb.gz"
	ok $? "  the profile is whole"
done
is "$(find "$DIR/home/user1" -name '*.tmp')" "" "no temporary file is left"

# --- the recorder and its worker -----------------------------------------------------------------------

worker() {
	inside pgrep -P "$recorder" -f ' --ask-'
}
is_final() {
	[ "$(record_file "$1" | jq .energy.final)" = true ]
}
recorder=$(pids ceems-recorder | head -n 1)
mode stall
id=$(submit user1 -o /dev/null --wrap 'srun true')
wait_for 60 worker || bail "a process asks slurmdbd for the recorder"
oom_kills "the process that asks slurmdbd" "$(worker | head -n 1)"
fails "  the recorder goes on" is_gone "$recorder"
mode cut 200
sleep 1
mode pass
wait_for 120 is_final "$id"
ok $? "  the record comes and is final"

"$cluster" kill "$DIR" slurmdbd -STOP
id=$(submit user1 -o /dev/null --wrap 'srun true')
wait_for 60 job_is "$id" COMPLETED
oom_kills "ceems-recorder" "$recorder"
"$cluster" kill "$DIR" slurmdbd -CONT
more=$(submit user1 -o /dev/null --wrap 'srun true')
wait_for 60 job_is "$more" COMPLETED
ok $? "  jobs end without it"
"$cluster" start-daemon "$DIR" recorder
ok $? "  it is started again, as its unit does"
for job in "$id" "$more"; do
	wait_for 120 is_final "$job"
	ok $? "  job $job has its record"
done

# --- the commands that others start --------------------------------------------------------------------

if [ -x "$ceems" ]; then
	mkdir -m 1777 "$e2e_work/mails"
	cat >"$e2e_work/mailprog" <<-EOT
		#!/bin/sh
		SLURM_CONF=$SLURM_CONF exec $BUILD_DIR/src/cmd/ceems-mail "\$@"
	EOT
	cat >"$e2e_work/mail" <<-EOT
		#!/bin/sh
		cat >$e2e_work/mails/new.\$SLURM_JOB_ID && mv $e2e_work/mails/new.\$SLURM_JOB_ID $e2e_work/mails/\$SLURM_JOB_ID
	EOT
	chmod 755 "$e2e_work/mailprog" "$e2e_work/mail"
	submit_mail() {
		submit user1 --mail-type=END --mail-user=me@example.org -o /dev/null --wrap true
	}
	passes "a report for a web server" inside "$ceems" report --site "$e2e_work/site"
	before=$(cd "$e2e_work/site" && sha256sum -- *)
	"$cluster" kill "$DIR" slurmdbd -STOP

	id=$(submit_mail)
	wait_for 60 has_pids 1 ceems
	oom_kills "ceems job of ceems-mail" "$(pids ceems)"
	wait_for 60 test -s "$e2e_work/mails/$id"
	has "$(cat "$e2e_work/mails/$id")" "What job $id used is not known: " "  the mail comes with a line about it"
	wait_for 60 has_pids 0 ceems-mail

	id=$(submit_mail)
	wait_for 60 has_pids 1 ceems-mail
	oom_kills "ceems-mail" "$(pids ceems-mail)"
	wait_for 60 has_pids 0 ceems
	ok $? "  no program is left"
	inside scontrol ping | grep -q 'is UP'
	ok $? "  slurmctld goes on"

	as user1 env PATH="$BUILD_DIR/src/cmd:$PATH" srun -N2 --ceems-report true >"$e2e_work/srun.out" 2>&1 &
	srun=$!
	wait_for 60 has_pids 1 ceems
	oom_kills "ceems job of srun" "$(pids ceems)"
	wait $srun
	is $? 0 "  srun ends well"
	has "$(cat "$e2e_work/srun.out")" "(node 1 of 2)" "  with the report of the first node"

	inside "$ceems" report --site "$e2e_work/site" >"$e2e_work/report.out" 2>&1 &
	wait_for 60 has_pids 1 ceems
	oom_kills "ceems report" "$(pids ceems)"
	wait $!
	is "$(cd "$e2e_work/site" && sha256sum -- *)" "$before" "  the pages are as before"
	"$cluster" kill "$DIR" slurmdbd -CONT
	passes "  and are written by the next one" inside "$ceems" report --site "$e2e_work/site"

	own=$e2e_work/own.csv
	printf '%s\n' "$(cat "$e2e_work/series.csv")" "$(date -u -d -2hours +%FT%TZ),$(date -u +%FT%TZ),50,average,direct,FR,$(date -u +%FT%TZ),meter" >"$own"
	printf '%s\n' Providers=file "SeriesFile=$e2e_work/fetched.csv" "File=$own" >"$e2e_work/factors.conf"
	update=("$ceems" factors update --conf "$CEEMS_CONF" --factors-conf "$e2e_work/factors.conf")
	passes "emission factors are fetched" inside "${update[@]}"
	before=$(cat "$e2e_work/fetched.csv")
	hangs "$own"
	inside "${update[@]}" >"$e2e_work/update.out" 2>&1 &
	update_pid=$!
	wait_for 60 has_pids 1 ceems
	oom_kills "ceems factors update" "$(pids ceems)"
	wait $update_pid
	is "$(cat "$e2e_work/fetched.csv")" "$before" "  the factors are as before"
	inside kill "$hang"
	passes "  and are fetched by the next one" inside "${update[@]}"

	mv "$DIR/helpers/ceems-textfile" "$DIR/helpers/real"
	# root's works: if it had no answer, ceems check would not try as user slurm
	printf '#!/bin/sh\n[ "$(id -u)" != 0 ] || exec %s "$@"\nexec sleep 1000\n' "$DIR/helpers/real" >"$DIR/helpers/ceems-textfile"
	chmod 755 "$DIR/helpers/ceems-textfile"
	inside "$ceems" check >"$e2e_work/check.out" 2>&1 &
	check=$!
	wait_for 60 pids ceems -u slurm
	oom_kills "the process of ceems check that tries to write as user slurm" "$(pids ceems -u slurm)"
	wait $check
	has "$(cat "$e2e_work/check.out")" "the process that tried it was killed by signal 9" "  ceems check says so"
	mv "$DIR/helpers/real" "$DIR/helpers/ceems-textfile"
else
	skip "the command ceems is not built"
fi

is "$(jq -r .key "$RECORD_FILE" | sort -u | wc -l)" "$(inside sacct -n -X -a -P -o JobID | wc -l)" "every job has a record"
is "$(cat "$LOG_DIR"/slurmd.n1.log "$LOG_DIR"/slurmctld*.log | grep -c 'fatal:')" 0 "no daemon gave up"
for name in ceems-recorder "$DIR"/helpers/ceems-*; do
	has " ${ended[*]} " " ${name##*/} " "${name##*/} was ended"
done
inside rmdir $group
done_testing
