# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2016,SC2154,SC2317
# The daemons by name (slurmd.n1, slurmd.n2, ... for slurmd): how each is started and ended, when it is up, and
# which of its log lines explain a failure.

# daemon_name DAEMON NODE: the name used for pid and log files.
daemon_name() {
	case $1 in
	slurmd)
		if ! [[ ${2:-} =~ ^n[1-9][0-9]{0,2}$ ]] || [ "${2#n}" -gt "$NODES" ]; then
			die "slurmd: the node must be n1 to n$NODES"
		fi
		echo "slurmd.$2"
		;;
	munged | mariadb | slurmdbd | slurmctld | kafka) echo "$1" ;;
	recorder)
		[ "$WITH_RECORDER" = yes ] || die "this cluster was started without jobcomp/ceems"
		echo "$1"
		;;
	sinkdb)
		[ "$WITH_SINKDB" = yes ] || die "this cluster was started without --sink-db"
		echo "$1"
		;;
	slurmctld2 | recorder2)
		[ "$WITH_BACKUP" = yes ] || die "this cluster was started without --backup"
		echo "$1"
		;;
	*) die "no daemon '$1': munged mariadb sinkdb slurmdbd slurmctld slurmctld2 recorder recorder2 slurmd kafka" ;;
	esac
}

daemon_argv() {
	local slurm_env=("SLURM_CONF=$DIR/etc/slurm.conf")
	# not slurmdbd: nothing of ours runs in it, and it does not start with ThreadSanitizer
	[ "$1" = slurmdbd ] || slurm_env+=(${DAEMON_ENV[@]+"${DAEMON_ENV[@]}"})

	# slurmctld first saves assoc_usage after 5 minutes; without that file 26.05 does not start from its other state
	# files unless -i is given
	local ctld=(slurmctld -D) options
	[ -e "$DIR/slurmctld/assoc_usage" ] || ctld+=(-i)

	argv=(env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/)
	case $1 in
	munged)
		argv+=(setpriv --reuid=munge --regid=munge --init-groups munged --foreground
			--key-file="$DIR/munge/key" --seed-file="$DIR/munge/seed"
			--pid-file=/run/munge/munged.pid)
		;;
	mariadb) argv+=(mariadbd --defaults-file="$DIR/etc/my.cnf") ;;
	slurmdbd) argv+=("${slurm_env[@]}" slurmdbd -D) ;;
	sinkdb)
		if [ -z "$SINK_MYSQL" ]; then
			argv+=(mariadbd --defaults-file="$DIR/etc/sinkdb.cnf")
		else # the tree's program reads no option file
			readarray -t options < <(sed -nE 's/^[[:space:]]*//; s/[[:space:]]*=[[:space:]]*/=/; s/^[a-z]/--&/p' "$DIR/etc/sinkdb.cnf")
			argv+=("$SINK_MYSQL/mysqld" "${options[@]}")
		fi
		;;
	slurmctld) argv+=("${slurm_env[@]}" "${ctld[@]}") ;;
	slurmctld2)
		# the other host: its name, its own pid and log files under the same names
		argv+=("${slurm_env[@]}" unshare --uts --mount sh -c '
			echo ceems2 >/proc/sys/kernel/hostname &&
			mount -t tmpfs tmpfs /run/slurm && chown slurm: /run/slurm &&
			: >>"$1/slurmctld2.log" && chown slurm: "$1/slurmctld2.log" &&
			: >>"$1/slurmctld.log" && chown slurm: "$1/slurmctld.log" &&
			mount --bind "$1/slurmctld2.log" "$1/slurmctld.log" &&
			mount --bind "$2/spool2" "$2/spool" && shift 2 && exec "$@"' sh
			"$DIR/log" "$DIR" "${ctld[@]}")
		;;
	recorder)
		[ ! -e "$DIR/etc/recorder" ] || slurm_env[0]=SLURM_CONF=$DIR/etc/recorder/slurm.conf
		argv+=("${slurm_env[@]}" "$DIR/sbin/ceems-recorder" -D -u slurm -f "$DIR/etc/ceems.conf")
		;;
	recorder2)
		argv+=("${slurm_env[@]}" unshare --uts --mount sh -c '
			echo ceems2 >/proc/sys/kernel/hostname &&
			mount --bind "$1/spool2" "$1/spool" && shift && exec "$@"' sh
			"$DIR" "$DIR/sbin/ceems-recorder" -D -u slurm -f "$DIR/etc/ceems.conf")
		;;
	slurmd.*)
		[ "$FAKE_GPUS" = 0 ] || slurm_env+=("CEEMS_FAKE_GPUS=$DIR/gpus/${1#slurmd.}/state" \
			"CEEMS_NVML_LIBRARY=$DIR/modules/fake_nvml.so")
		[ "$GPU_MAKER" != amd ] || slurm_env+=("LD_LIBRARY_PATH=$DIR/modules")
		if [ "$CONFIGLESS" = yes ]; then
			# its /etc/slurm has only the files that slurmctld does not send
			argv+=("${slurm_env[@]:1}" unshare --mount sh -c '
				mount --bind "$1" /etc/slurm && exec slurmd -D -N "$2" --conf-server 127.0.0.1:6817' sh
				"$DIR/etc/node" "${1#slurmd.}")
		elif [ -e "$DIR/etc/mounts.${1#slurmd.}" ]; then
			argv+=("${slurm_env[@]}" unshare --mount sh -c '
				while read -r from to; do
					mount --bind "$from" "$to" || exit
				done <"$1" && exec slurmd -D -N "$2"' sh "$DIR/etc/mounts.${1#slurmd.}" "${1#slurmd.}")
		else
			argv+=("${slurm_env[@]}" slurmd -D -N "${1#slurmd.}")
		fi
		;;
	kafka) kafka_argv ;;
	esac
}

# The pid, inside the namespace, of a daemon that runs. A zombie does not count as running.
daemon_pid() {
	space_enter bash -c '
		read -r pid <"$1" && read -r stat <"/proc/$pid/stat" || exit 1
		case ${stat##*) } in [ZX]*) exit 1 ;; esac
		echo "$pid"' cluster "$DIR/run/pid/$1" 2>/dev/null
}

daemon_launch() {
	local argv

	if daemon_pid "$1" >/dev/null; then
		die "$1 runs already"
	fi
	rm -f "$DIR/run/pid/$1"
	daemon_argv "$1"
	if [ "$WHOLE_MACHINE" = systemd ]; then
		# on cgroup v1, running steps keep the unit of a slurmd that ended. ceems-recorder would be the installed unit
		! systemctl --quiet restart "cluster-$1" 2>/dev/null || return 0
		systemd-run --quiet --collect --unit="cluster-$1" --property=DefaultDependencies=no \
			--property=Delegate=yes --property=KillMode=process \
			--property=LimitNOFILE=65536 --property=LimitMEMLOCK=infinity \
			bash "$here/lib/launch.sh" "$DIR" "$1" "${argv[@]}"
		return
	fi
	# the shell inside ends at once, so that init inherits the daemon
	(
		cgroups_enter "$1"
		exec_inside bash -c 'setsid bash "$@" &' cluster "$here/lib/launch.sh" "$DIR" "$1" \
			"${argv[@]}"
	)
}

daemon_is_up() {
	case $1 in
	munged) space_enter sh -c 'munge -n | unmunge' ;;
	mariadb) space_enter mariadb-admin --no-defaults --socket=/run/mysqld/mysqld.sock ping ;;
	slurmdbd) slurm_inside sacctmgr -n show cluster ;;
	sinkdb)
		space_enter mariadb-admin --no-defaults --socket=/run/mysqld/sinkdb.sock ping
		;;
	slurmctld) slurm_inside scontrol ping | grep '(primary) .* UP' >/dev/null ;;
	slurmctld2) slurm_inside scontrol ping | grep '(backup[0-9]*) .* UP' >/dev/null ;;
	slurmd.*) slurm_inside sinfo -h -N -n "${1#slurmd.}" -o %t | grep -E '^(idle|mix|alloc|comp|drain|drng)$' >/dev/null ;;
	kafka) kafka_is_up ;;
	recorder) recorder_has "$DIR/spool/store/lock" ;;
	recorder2) recorder_has "$DIR/spool2/store/lock" ;;
	esac >/dev/null 2>&1
}

# The recorder holds the lock of its store.
recorder_has() {
	space_enter sh -c '[ -e "$1" ] && ! flock -n "$1" true' sh "$1"
}

slurm_inside() {
	SLURM_CONF=$DIR/etc/slurm.conf space_enter timeout 60 "$@"
}

# 0: up; 1: it ended instead, or was not up in time (said on stderr).
daemon_wait() {
	local name=$1 end=$((SECONDS + 300))

	until daemon_is_up "$name"; do
		if ! daemon_pid "$name" >/dev/null; then
			failed_daemon=$name
			echo "cluster: $name ended while starting" >&2
			return 1
		fi
		if [ $SECONDS -ge $end ]; then
			failed_daemon=$name
			echo "cluster: $name is not up after 300 s" >&2
			return 1
		fi
		sleep 0.05
	done
}

daemon_start() {
	case $1 in
	kafka) kafka_prepare ;;
	esac
	daemon_launch "$1"
	# wait for the pid file: without one the daemon would count as ended
	pid_is_noted() { [ -s "$DIR/run/pid/$1" ]; }
	wait_until 120 pid_is_noted "$1" || die "$1 wrote no pid file within 120 s ($DIR/log/$1.out)"
}

daemon_kill() {
	local name=$1 signal=$2 pid

	pid=$(daemon_pid "$name") || die "$name does not run"
	space_enter bash -c 'kill -s "$1" "$2"' cluster "$signal" "$pid" || exit 1
	case $signal in
	TERM | KILL | 9 | 15 | INT | QUIT)
		daemon_is_gone() { ! daemon_pid "$name" >/dev/null; }
		wait_until 300 daemon_is_gone || die "$name still runs 300 s after signal $signal"
		;;
	esac
}

# --- all of them, in the order of their dependencies --------------------------------------------

daemons_start_all() {
	local n

	dd if=/dev/urandom of="$DIR/munge/key" bs=128 count=1 status=none
	chown munge: "$DIR/munge/key"
	chmod 400 "$DIR/munge/key"
	[ "$WITH_KAFKA" = no ] || daemon_start kafka
	daemon_start munged
	# --force: do not check that the host name resolves
	space_enter mariadb-install-db --defaults-file="$DIR/etc/my.cnf" --force --skip-test-db \
		--skip-log-bin >"$DIR/log/mariadb-install.out" 2>&1 || {
		failed_daemon=mariadb-install
		die "MariaDB's system tables cannot be made"
	}
	daemon_start mariadb
	if [ "$WITH_SINKDB" = yes ]; then
		local install=(mariadb-install-db --defaults-file="$DIR/etc/sinkdb.cnf" --force --skip-test-db --skip-log-bin)
		[ -z "$SINK_MYSQL" ] || install=("$SINK_MYSQL/install-db" --datadir="$DIR/sinkdb" --user=mysql)
		space_enter "${install[@]}" >>"$DIR/log/mariadb-install.out" 2>&1 || {
			failed_daemon=mariadb-install
			die "the sink's system tables cannot be made"
		}
		daemon_start sinkdb
		daemon_wait sinkdb
	fi
	daemon_wait munged
	daemon_wait mariadb
	if [ "$WITH_DBD" = yes ]; then
		daemon_start slurmdbd
		daemon_wait slurmdbd
		daemons_fill_slurmdbd
	fi
	daemons_migrate
	if [ "$WITH_RECORDER" = yes ]; then
		daemon_start recorder
		[ "$WITH_BACKUP" = no ] || daemon_start recorder2
	fi
	daemon_start slurmctld
	daemon_wait slurmctld
	if [ "$WITH_BACKUP" = yes ]; then
		daemon_start slurmctld2
		daemon_wait slurmctld2
	fi
	if [ "$WITH_RECORDER" = yes ]; then
		daemon_wait recorder
		[ "$WITH_BACKUP" = no ] || daemon_wait recorder2
	fi
	for ((n = 1; n <= NODES; n++)); do
		daemon_start "slurmd.n$n"
	done
	for ((n = 1; n <= NODES; n++)); do
		daemon_wait "slurmd.n$n"
	done
	[ "$WITH_KAFKA" = no ] || daemon_wait kafka
}

daemons_fill_slurmdbd() {
	{
		slurm_inside sacctmgr -i add cluster ceems
		slurm_inside sacctmgr -i add account project
		slurm_inside sacctmgr -i add user root,user1,user2,user3 account=project
	} >"$DIR/log/sacctmgr.out" 2>&1 || {
		failed_daemon=sacctmgr
		die "sacctmgr cannot add the cluster, account and users ($DIR/log/sacctmgr.out)"
	}
}

# Makes the sink's tables, if the ceems command is built.
daemons_migrate() {
	[ -x "$BUILDDIR/src/cmd/ceems" ] || return 0
	CEEMS_CONF=$DIR/etc/ceems.conf SLURM_CONF=$DIR/etc/slurm.conf space_enter \
		/run/ceems-build/src/cmd/ceems db migrate --sql-dir /run/ceems-build/sql \
		>"$DIR/log/migrate.out" 2>&1 || {
		say "notice: ceems db migrate failed: $(head -n 1 "$DIR/log/migrate.out")"
	}
}

# logs_explain [NAME]: prints the error lines and the last 8 lines of one daemon's log (NAME, or the daemon that
# failed); if there is none, the error lines of all logs.
logs_explain() {
	local name=${1:-${failed_daemon:-}} f

	if [ -n "$name" ]; then
		# with -D a Slurm daemon writes the same lines to both
		f=$DIR/log/$name.out
		[ -s "$f" ] || f=$DIR/log/$name.log
		[ -s "$f" ] || { echo "no log of $name in $DIR/log"; return 0; }
		echo "--- $f"
		{
			logs_errors "$f"
			grep -n '' "$f" | tail -n 8
		} | sort -t: -k1,1n -u
		return 0
	fi
	for f in "$DIR"/log/*; do
		case $f in
		*/slurmd.*.out) [ ! -s "${f%.out}.log" ] || continue ;; # the .log has slurmstepd too
		*.log) [[ $f == */slurmd.* ]] || [ ! -s "${f%.log}.out" ] || continue ;;
		esac
		logs_errors "$f" | sed "1i --- $f"
	done
}

# Leaves out what every new cluster logs: no saved state yet, MariaDB's warnings.
logs_errors() {
	{
		grep -nEi 'fatal|error|panic|denied|exception|segmentation|ceems.*(fail|cannot)' "$1" |
			grep -vE 'debug|state file|Trying backup state|recommended values|[Pp][Mm][Ii]x|\[Warning\]' |
			tail -n 12
	} || :
}
