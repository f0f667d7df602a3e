# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2016,SC2154,SC2317
# The cluster's namespaces, and one sub-cgroup in each of the machine's hierarchies. Killing the init of the
# namespaces ends every process, mount and network device in them.

# Start time of a process. Pids are reused; pid and start time identify one process.
proc_start_time() {
	local stat

	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
	# the command's name, in brackets, may hold blanks
	stat=${stat##*) }
	# shellcheck disable=SC2086
	set -- $stat
	echo "${20}"
}

space_is_up() {
	[ -e "$DIR/run/init" ] || return 1
	local pid start

	read -r pid start <"$DIR/run/init" && [ "$(proc_start_time "$pid")" = "$start" ]
}

# Sets CGROUP_KIND: v2, or v1, with which there may be a v2 hierarchy without controllers.
cgroups_find() {
	CGROUP_KIND=v1
	[ "$(stat -f -c %T /sys/fs/cgroup)" != cgroup2fs ] || CGROUP_KIND=v2
	if [ $CGROUP_KIND = v1 ] && ! mountpoint -q /sys/fs/cgroup/freezer; then
		die "neither cgroup v2 nor the v1 freezer at /sys/fs/cgroup"
	fi
	[ $CGROUP_KIND = v2 ] || [ "$WHOLE_MACHINE" != yes ] ||
		die "--whole-machine: cgroup v1 works only with systemd as process 1"
}

# One sub-cgroup of our own per hierarchy. The cluster does not see or change the machine's other cgroups.
cgroups_create() {
	local h sub

	CGROUP_NAME=''
	[ "$WHOLE_MACHINE" = no ] || return 0
	CGROUP_NAME=ceems-cluster-$$-$RANDOM
	if [ "$CGROUP_KIND" = v2 ]; then
		mkdir "/sys/fs/cgroup/$CGROUP_NAME"
		return
	fi
	for h in /sys/fs/cgroup/*/; do
		mountpoint -q "$h" || continue
		sub=$h$CGROUP_NAME
		mkdir "$sub"
		# an empty cpuset takes no process
		if [ -e "$sub/cpuset.cpus" ]; then
			cat "${h}cpuset.cpus" >"$sub/cpuset.cpus"
			cat "${h}cpuset.mems" >"$sub/cpuset.mems"
			echo 1 >"$sub/cgroup.clone_children"
		fi
	done
}

# cgroups_enter DAEMON: puts this shell, which becomes DAEMON, into the cluster's cgroups. It does so from outside: with
# nsdelegate a process cannot be moved in from within the cgroup namespace. With v1, daemons other than slurmd get a
# cgroup of their own, as each slurmstepd reads the list of tasks of slurmd's cgroup byte by byte.
cgroups_enter() {
	local top procs sub=''

	[ "$WHOLE_MACHINE" != systemd ] || return 0
	if [ "$WHOLE_MACHINE" = yes ]; then
		echo "$BASHPID" >/sys/fs/cgroup/daemons/cgroup.procs
		return
	fi
	[[ $1 = slurmd.* ]] || sub=/controller
	for top in /sys/fs/cgroup/*/"$CGROUP_NAME"; do
		[ ! -d "$top" ] || mkdir -p "$top$sub"
	done
	for procs in /sys/fs/cgroup/*/"$CGROUP_NAME$sub"/cgroup.procs \
		"/sys/fs/cgroup/$CGROUP_NAME/daemons/cgroup.procs"; do
		[ ! -e "$procs" ] || echo "$BASHPID" >"$procs"
	done
}

cgroups_remove() {
	local top left

	for ((left = 40; left > 0; left--)); do
		local some=no
		for top in /sys/fs/cgroup/*/"$CGROUP_NAME" "/sys/fs/cgroup/$CGROUP_NAME"; do
			[ -d "$top" ] || continue
			find "$top" -depth -type d -exec rmdir {} + 2>/dev/null || :
			[ ! -d "$top" ] || some=yes
		done
		[ $some = yes ] || return 0
		sleep 0.05
	done
	echo "cluster: cannot remove the cgroups $CGROUP_NAME" >&2
	return 1
}

space_create() {
	cgroups_create
	state_save
	local apart=(unshare --mount --pid --fork --net --ipc --uts)
	# systemd must see the daemons' pids, and its bus must be reachable
	[ "$WHOLE_MACHINE" != systemd ] || apart=(env INIT_IS_SYSTEMD=yes)
	# unshare --fork waits for init and ends with it
	setsid "${apart[@]}" bash "$here/lib/init.sh" "$DIR" "$BUILDDIR" "$CGROUP_KIND" "$CGROUP_NAME" "$SPOOL_DISK" \
		</dev/null >"$DIR/log/init.out" 2>&1 &
	local parent=$!

	init_decided() {
		[ -e "$DIR/run/ready" ] || ! kill -0 "$parent" 2>/dev/null
	}
	wait_until 120 init_decided || die "the namespaces are not set up after 120 s ($DIR/log/init.out)"
	disown $parent
	[ -e "$DIR/run/ready" ] || die "the namespaces cannot be set up: $(tail -n 3 "$DIR/log/init.out")"
	rm "$DIR/run/ready"
}

state_save() {
	# before anything is started: `cluster stop` needs these variables
	declare -p DIR NODES CPUS WITH_KAFKA WITH_DBD PLUGINS BUILDDIR SRCDIR FAKE_RAPL FAKE_GPUS GPU_MAKER FAKE_MIG \
		DAEMON_ENV WHOLE_MACHINE WITH_SINKDB SINK_MYSQL SPOOL_DISK WITH_BACKUP WITH_RECORDER CONFIGLESS CGROUP_NAME \
		CGROUP_KIND |
		sed 's/^declare -[-a-z]* //' >"$DIR/run/state"
}

space_destroy() {
	local pid start

	if space_is_up; then
		read -r pid start <"$DIR/run/init"
		kill -KILL "$pid"
		space_is_gone() { [ "$(proc_start_time "$pid")" != "$start" ]; }
		wait_until 120 space_is_gone || die "the cluster's init, pid $pid, still runs 120 s after SIGKILL"
	fi
	[ -z "${CGROUP_NAME:-}" ] || cgroups_remove
}

space_enter() {
	(exec_inside "$@")
}

exec_inside() {
	local pid start

	read -r pid start <"$DIR/run/init"
	exec nsenter --target "$pid" --mount --pid --net --ipc --uts --cgroup -- "$@"
}

# root's command runs in the caller's folder, a user's in the user's home.
space_exec_as() {
	local user=$1 home=$DIR/home/$1
	shift
	[ "$user" != root ] || home=$DIR/home

	SLURM_CONF=$DIR/etc/slurm.conf HOME=$home USER=$user LOGNAME=$user \
		PATH=/run/ceems-build/src/cmd:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		exec_inside bash -c '
			user=$1 cwd=$2
			shift 2
			if [ "$user" = root ]; then
				cd "$cwd" 2>/dev/null || cd "$HOME" || exit
				exec env "$@"
			fi
			uid=$(id -u "$user") || exit
			exec setpriv --reuid="$uid" --regid="$(id -g "$user")" --init-groups \
				env --chdir="$HOME" "$@"
		' cluster-exec "$user" "$PWD" "$@"
}
