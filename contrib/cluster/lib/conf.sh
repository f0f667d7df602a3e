# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154
# Writes every configuration file of the cluster into DIR/etc.

for distro_plugindir in /usr/lib/*/slurm-wlm /usr/lib*/slurm; do
	[ ! -e "$distro_plugindir/auth_munge.so" ] || break
done

conf_secret() {
	od -An -N16 -tx1 /dev/urandom | tr -d ' \n'
}

# conf_private OWNER FILE: stdin becomes FILE, for OWNER's eyes only.
conf_private() {
	(umask 077 && cat >"$2") && chown "$1": "$2"
}

# conf_merge FILE LINES: adds LINES and removes FILE's lines with the same keys. Slurm takes the last of
# several lines too, but complains. Keys that may be repeated (NodeName, ...) are only added.
conf_merge() {
	local file=$1 lines=$2

	[ -n "$lines" ] || return 0
	awk -v lines="$lines" '
		BEGIN {
			n = split(lines, line, "\n")
			for (i = 1; i <= n; i++)
				if (match(line[i], /^[ \t]*[A-Za-z]+[ \t]*=/)) {
					key = tolower(line[i])
					sub(/[ \t]*=.*/, "", key)
					sub(/^[ \t]*/, "", key)
					if (key !~ /^(nodename|partitionname|include)$/)
						drop[key] = 1
				}
		}
		{
			key = tolower($0)
			sub(/[ \t]*=.*/, "", key)
			if (!(key in drop))
				print
		}
	' "$file" >"$file.new"
	printf '%s\n' "$lines" >>"$file.new"
	cat "$file.new" >"$file"
	rm "$file.new"
}

conf_write_all() {
	local n

	mkdir "$DIR/etc" "$DIR/etc/sys" "$DIR/run" "$DIR/run/pid" "$DIR/run/ceems" "$DIR/log" \
		"$DIR/plugins" "$DIR/spool" "$DIR/spool2" "$DIR/records" "$DIR/textfile" "$DIR/slurmctld" \
		"$DIR/slurmd" "$DIR/munge" "$DIR/mariadb" "$DIR/sinkdb" "$DIR/home"
	[ -z "$DB_ON_DISK" ] || chown mysql: "$DIR/mariadb" "$DIR/sinkdb"
	chown slurm: "$DIR/spool" "$DIR/spool2" "$DIR/records" "$DIR/slurmctld"
	chmod 700 "$DIR/spool" "$DIR/spool2" "$DIR/run/ceems"
	chown munge: "$DIR/munge"
	chmod 700 "$DIR/munge"
	# slurmctld and slurmdbd open their logs as slurm
	chown slurm: "$DIR/log"
	for ((n = 1; n <= NODES; n++)); do
		mkdir "$DIR/slurmd/n$n" "$DIR/textfile/n$n"
	done
	# TextfileDir of ceems-recorder, which runs as slurm and replaces %n by the host's name
	install -d -o slurm "$DIR/textfile/ceems" "$DIR/textfile/ceems2"
	conf_write_sys
	conf_link_plugins
	conf_write_database
	conf_write_slurm
	conf_write_ceems
}

# --- what the machine's /etc looks like inside -------------------------------------------------

conf_write_sys() {
	local sys=$DIR/etc/sys n

	grep -v '^user[1-3]:' /etc/passwd >"$sys/passwd"
	grep -v '^user[1-3]:' /etc/group >"$sys/group"
	for n in 1 2 3; do
		echo "user$n:x:$((7100 + n)):$((7100 + n))::$DIR/home/user$n:/bin/bash" >>"$sys/passwd"
		echo "user$n:x:$((7100 + n)):" >>"$sys/group"
		mkdir "$DIR/home/user$n"
		chown "$((7100 + n)):$((7100 + n))" "$DIR/home/user$n"
	done
	if [ "$WITH_BACKUP" = no ]; then
		echo '127.0.0.1 localhost ceems' >"$sys/hosts"
	else
		printf '%s\n' '127.0.0.1 localhost' "10.99.0.1 ceems" '10.99.0.2 ceems2' >"$sys/hosts"
	fi
	# no name server answers inside; asking one would wait for its time limit
	printf '%s: files\n' passwd group shadow hosts services protocols >"$sys/nsswitch.conf"
}

# --- plugins -----------------------------------------------------------------------------------

# conf_link_plugin PART FILE: links build/PART/.libs/FILE, sets have_PART.
conf_link_plugin() {
	local part=$1 file=$2 have=no

	case ,$PLUGINS, in
	*,"$part",* | *,built,*)
		if [ -e "$BUILDDIR/$part/.libs/$file" ]; then
			ln -s "/run/ceems-build/$part/.libs/$file" "$DIR/plugins/$file"
			have=yes
		elif [ "$PLUGINS" = built ]; then
			say "notice: $file is not built in $BUILDDIR; Slurm runs without it"
		else
			die "--plugins $part: $BUILDDIR/$part/.libs/$file is not built; run make there"
		fi
		;;
	esac
	printf -v "have_$part" %s $have
}

conf_link_plugins() {
	case ,$PLUGINS, in
	,built, | ,none,) ;;
	*)
		local part
		for part in ${PLUGINS//,/ }; do
			case $part in
			acct_gather | spank | jobcomp) ;;
			*) die "--plugins $part: must be acct_gather, spank, jobcomp or none" ;;
			esac
		done
		;;
	esac
	conf_link_plugin acct_gather acct_gather_energy_ceems.so
	# the plugin loads ceems_node.so from its own folder; an installed one is linked, since an upgrade replaces it
	local node=$BUILDDIR/src/libnode/.libs/ceems_node.so
	if [ "$have_acct_gather" = yes ] && [ -L "$node" ]; then
		ln -s "$(readlink "$node")" "$DIR/plugins/"
	elif [ "$have_acct_gather" = yes ]; then
		conf_install plugins "$node"
	fi
	conf_link_plugin spank spank_ceems.so
	conf_link_plugin jobcomp jobcomp_ceems.so
	if [ "$have_jobcomp" = yes ]; then
		[ -x "$BUILDDIR/recorder/ceems-recorder" ] ||
			die "$BUILDDIR/recorder/ceems-recorder is not built, which jobcomp needs; run make there"
		WITH_RECORDER=yes
	fi
}

# --- MariaDB -----------------------------------------------------------------------------------

sinkdb_port=3307

# conf_mariadbd FOLDER NAME NETWORKING: prints my.cnf. Committed data survives kill -9, but not the cluster's stop:
# FOLDER is a tmpfs.
conf_mariadbd() {
	local init=init.sql

	[ "$2" = mysqld ] || init=$2.sql
	cat <<-EOT
		[mariadbd]
		user = mysql
		datadir = $DIR/$1
		# not /tmp: at its start a server deletes all temporary tables there, also another server's
		tmpdir = $DIR/$1
		socket = /run/mysqld/$2.sock
		pid-file = /run/mysqld/$2.pid
		init-file = $DIR/etc/$init
		$3
		skip-name-resolve
		performance-schema = OFF
		innodb-buffer-pool-size = ${DB_ON_DISK:-64M}
		loose-innodb-log-file-size = $([ -n "$DB_ON_DISK" ] && echo 256M || echo 16M)
		innodb-lock-wait-timeout = 900
		# default is ON since MariaDB 11.6, which slurmdbd refuses; the sink works with either
		$([ "$1" = sinkdb ] || echo loose-innodb-snapshot-isolation = OFF)
		innodb-flush-log-at-trx-commit = 1
	EOT
}

conf_write_database() {
	local ceems_password slurm_password socket=/run/mysqld/mysqld.sock

	ceems_password=$(conf_secret)
	slurm_password=$(conf_secret)
	conf_mariadbd mariadb mysqld skip-networking >"$DIR/etc/my.cnf"
	conf_private mysql "$DIR/etc/init.sql" <<-EOT
		create database if not exists slurm_acct_db;
		create database if not exists ceems;
		create user if not exists slurm@localhost identified by '$slurm_password';
		create user if not exists ceems@localhost identified by '$ceems_password';
		grant all on slurm_acct_db.* to slurm@localhost;
		grant all on ceems.* to ceems@localhost;
	EOT
	if [ "$WITH_SINKDB" = yes ]; then
		conf_mariadbd sinkdb sinkdb "bind-address = 127.0.0.1
			port = $sinkdb_port" >"$DIR/etc/sinkdb.cnf"
		conf_private mysql "$DIR/etc/sinkdb.sql" <<-EOT
			create database if not exists ceems;
			create user if not exists ceems@127.0.0.1 identified by '$ceems_password';
			grant all on ceems.* to ceems@127.0.0.1;
		EOT
	fi
	conf_private slurm "$DIR/etc/mariadb.cnf" <<-EOT
		[client]
		user = ceems
		password = $ceems_password
		$(if [ "$WITH_SINKDB" = yes ]; then
			echo "host = 127.0.0.1"
			echo "port = $sinkdb_port"
			echo "protocol = tcp"
		else
			echo "socket = $socket"
		fi)
	EOT
	conf_private slurm "$DIR/etc/slurmdbd.conf" <<-EOT
		DbdHost=localhost
		DbdAddr=127.0.0.1
		DbdPort=6819
		SlurmUser=slurm
		AuthType=auth/munge
		LogFile=$DIR/log/slurmdbd.log
		PidFile=/run/slurm/slurmdbd.pid
		DebugLevel=verbose
		PluginDir=$distro_plugindir
		StorageType=accounting_storage/mysql
		StorageHost=localhost
		StorageUser=slurm
		StoragePass=$slurm_password
		StorageLoc=slurm_acct_db
	EOT
	(umask 077 && conf_merge "$DIR/etc/slurmdbd.conf" "$SLURMDBD_CONF_EXTRA")
}

# --- Slurm -------------------------------------------------------------------------------------

conf_ceems_cli() {
	local cli=$BUILDDIR/src/cmd/ceems

	[ -x "$cli" ] && "$cli" "$@"
}

# The TRES of the metric table, from `ceems tres`, whether or not its line has the key AccountingStorageTRES=.
conf_tres_line() {
	local line

	if line=$(conf_ceems_cli tres 2>/dev/null); then
		line=$(sed -n 's/^\(AccountingStorageTRES=\)\{0,1\}\(energy,.*\)/\2/p' <<<"$line" | sed -n 1p)
	fi
	if [ -z "$line" ]; then
		line=energy,ic/ceems_co2e,ic/ceems_cpu_energy,ic/ceems_dram_energy
		line+=,ic/ceems_gpu_energy,ic/ceems_other_energy,ic/ceems_source_rapl
		line+=,ic/ceems_source_model,fs/ceems,ic/ceems_io_calls,fs/ceems_storage
		line+=,ic/ceems_sched,ic/ceems_cpu,ic/ceems_cache,ic/ceems_branch
	fi
	echo "$line"
}

conf_write_slurm() {
	local energy=none jobcomp=none jobacct=linux gpus gres='' hosts='SlurmctldHost=ceems(127.0.0.1)'

	gpus=$(gpu_files n1 | wc -l)
	[ "$WITH_GPUS$gpus" != yes0 ] || die "--gpus: there is no /dev/nvidia0 or the like"
	[ "$have_acct_gather" = no ] || energy=ceems
	[ "$have_jobcomp" = no ] || jobcomp=ceems
	# both slurmctld have the same port in one network namespace, so each binds to its own address only
	[ "$WITH_BACKUP" = no ] || hosts='SlurmctldHost=ceems(10.99.0.1)
			SlurmctldHost=ceems2(10.99.0.2)
			CommunicationParameters=NoCtldInAddrAny'
	# on v2 jobacct_gather/cgroup needs controllers; below a cgroup with controllers only the machine's real root
	# may hold processes
	[ "$CGROUP_KIND" = v2 ] && [ "$WHOLE_MACHINE" = no ] || jobacct=cgroup
	{
		cat <<-EOT
			ClusterName=ceems
			$hosts
			SlurmctldPort=6817
			SlurmUser=slurm
			MailProg=/bin/true
			SlurmdUser=root
			AuthType=auth/munge
			CredType=cred/munge
			PluginDir=$DIR/plugins:$distro_plugindir
			StateSaveLocation=$DIR/slurmctld
			SlurmdSpoolDir=$DIR/slurmd/%n
			SlurmctldPidFile=/run/slurm/slurmctld.pid
			SlurmdPidFile=/run/slurm/slurmd.%n.pid
			SlurmctldLogFile=$DIR/log/slurmctld.log
			SlurmdLogFile=$DIR/log/slurmd.%n.log
			SlurmctldDebug=debug
			SlurmdDebug=debug
			SlurmctldSyslogDebug=quiet
			SlurmdSyslogDebug=quiet
			ProctrackType=proctrack/cgroup
			TaskPlugin=task/cgroup
			PrologFlags=Contain
			JobAcctGatherType=jobacct_gather/$jobacct
			JobAcctGatherFrequency=task=1,energy=1
			AcctGatherEnergyType=acct_gather_energy/$energy
			JobCompType=jobcomp/$jobcomp
			SelectType=select/cons_tres
			SelectTypeParameters=CR_Core_Memory
			MpiDefault=none
			PropagateResourceLimits=NONE
			ReturnToService=2
			SlurmdTimeout=300
			MessageTimeout=60
			KillWait=5
			InactiveLimit=0
			TreeWidth=64
			SchedulerParameters=batch_sched_delay=0,sched_min_interval=1000,sched_interval=1
			SlurmdParameters=config_overrides
		EOT
		if [ "$CONFIGLESS" = yes ]; then
			echo SlurmctldParameters=enable_configless
		else
			echo "PlugStackConfig=$DIR/etc/plugstack.conf"
		fi
		if [ "$WITH_DBD" = yes ]; then
			cat <<-EOT
				AccountingStorageType=accounting_storage/slurmdbd
				AccountingStorageHost=127.0.0.1
				AccountingStoragePort=6819
				AccountingStorageTRES=$(conf_tres_line)$([ "$gpus" = 0 ] || echo ,gres/gpu)
			EOT
		fi
		if [ "$gpus" != 0 ]; then
			gpu_gres >"$DIR/etc/gres.conf"
			if [ -n "$FAKE_MIG" ]; then
				echo GresTypes=gpu
				gres=Gres=$(gpu_types)
			else
				echo GresTypes=gpu,shard
				gres=Gres=gpu:$gpus,shard:$((4 * gpus))
			fi
		fi
		local n
		for ((n = 1; n <= NODES; n++)); do
			echo "NodeName=n$n NodeHostname=ceems NodeAddr=127.0.0.1 Port=$((17000 + n))" \
				"CPUs=$CPUS Boards=1 SocketsPerBoard=1 CoresPerSocket=$CPUS" \
				"ThreadsPerCore=1 RealMemory=16000 $gres State=UNKNOWN"
		done
		echo "PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP DefMemPerCPU=100"
	} >"$DIR/etc/slurm.conf"
	conf_merge "$DIR/etc/slurm.conf" "$SLURM_CONF_EXTRA"

	cat >"$DIR/etc/cgroup.conf" <<-EOT
		CgroupPlugin=cgroup/$CGROUP_KIND
		CgroupMountpoint=/sys/fs/cgroup
	EOT
	if [ "$WHOLE_MACHINE" = systemd ]; then
		printf 'Constrain%s=yes\n' Cores RAMSpace Devices >>"$DIR/etc/cgroup.conf"
	elif [ "$CGROUP_KIND" = v2 ]; then
		# no systemd inside to ask for a scope; system.slice is only a folder
		echo IgnoreSystemd=yes >>"$DIR/etc/cgroup.conf"
	fi
	[ ${#ETC[@]} -eq 0 ] || cp "${ETC[@]}" "$DIR/etc/"
	if [ "$have_spank" = yes ]; then
		echo "optional spank_ceems.so" >"$DIR/etc/plugstack.conf"
	else
		: >"$DIR/etc/plugstack.conf"
	fi
	if [ -n "$RECORDER_DBD_PORT" ]; then
		mkdir "$DIR/etc/recorder"
		sed "s/^AccountingStoragePort=.*/AccountingStoragePort=$RECORDER_DBD_PORT/" \
			"$DIR/etc/slurm.conf" >"$DIR/etc/recorder/slurm.conf"
	fi
}

# --- ours --------------------------------------------------------------------------------------

# conf_install FOLDER FILE...: copies the FILEs that are built, mode 755, as an installation has them: our daemons
# refuse files that group or others may write, as in a build tree made with umask 002.
conf_install() {
	local file

	mkdir -p "$DIR/$1"
	for file in "${@:2}"; do
		[ ! -x "$file" ] || install -m 755 "$file" "$DIR/$1/"
	done
}

conf_write_ceems() {
	local sinks=file,mariadb factors=$SRCDIR/src/libemission/data/emission-factors.csv

	conf_install sbin "$BUILDDIR/recorder/ceems-recorder"
	conf_install helpers "$BUILDDIR"/{bpf/ceems-bpf,src/{helpers,profiler}/ceems-*}
	# a copy, because a test may edit it
	cp "$factors" "$DIR/etc/emission-factors.csv"
	if [ "$WITH_KAFKA" = yes ]; then
		sinks+=,kafka
		conf_private slurm "$DIR/etc/kafka.conf" <<<"bootstrap.servers=$kafka_bootstrap"
	fi
	{
		cat <<-EOT
			LedgerDir=$DIR/run/ceems
			TextfileDir=$DIR/textfile/%n
			Sinks=$sinks
			InboxDir=$DIR/spool/inbox
			StoreDir=$DIR/spool/store
			RecordFile=$DIR/records/jobs.jsonl
			SqliteFile=$DIR/records/jobs.db
			MariadbDefaultsFile=$DIR/etc/mariadb.cnf
			MariadbDatabase=ceems
			EmissionFactorFile=$DIR/etc/emission-factors.csv
		EOT
		echo "HelperDir=$DIR/helpers"
		[ "$WITH_KAFKA" = no ] || echo "KafkaConf=$DIR/etc/kafka.conf"
		if [ "$FAKE_RAPL" = yes ]; then
			rapl_create
			echo "SysRoot=$DIR/sysroot/%n"
		fi
		if [ "$FAKE_GPUS" != 0 ]; then
			gpu_create
		fi
	} >"$DIR/etc/ceems.conf"
	conf_merge "$DIR/etc/ceems.conf" "$CEEMS_CONF_EXTRA"
	if [ "$CONFIGLESS" = yes ]; then
		mkdir "$DIR/etc/node"
		cp "$DIR/etc/ceems.conf" "$DIR/etc/node/"
	fi
}
