#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# init.sh DIR BUILDDIR CGROUP_KIND CGROUP_NAME SPOOL_DISK: process 1 of the cluster's namespaces. Makes the
# private mounts, creates DIR/run/ready and then only reaps orphans. With an empty CGROUP_NAME the cluster
# uses the machine's own cgroups.
set -euo pipefail
DIR=$1 BUILDDIR=$2 CGROUP_KIND=$3 CGROUP_NAME=$4 SPOOL_DISK=$5

# First pass, still with the machine's /proc and cgroups in view: write our pid of the machine to DIR/run/init,
# enter our sub-cgroups, and make them the root cgroups inside (unshare --cgroup).
if [ -z "${6:-}" ]; then
	read -r stat </proc/self/stat
	pid=${stat%% *}
	stat=${stat##*) }
	# shellcheck disable=SC2086
	set -- $stat
	echo "$pid ${20}" >"$DIR/run/init"
	[ -n "$CGROUP_NAME" ] || exec bash "$0" "$DIR" "$BUILDDIR" "$CGROUP_KIND" '' "$SPOOL_DISK" second
	for top in /sys/fs/cgroup/*/"$CGROUP_NAME" "/sys/fs/cgroup/$CGROUP_NAME"; do
		[ ! -d "$top" ] || echo 0 >"$top/cgroup.procs"
	done
	exec unshare --cgroup bash "$0" "$DIR" "$BUILDDIR" "$CGROUP_KIND" "$CGROUP_NAME" \
		"$SPOOL_DISK" second
fi

# --- /proc, /sys, /run -----------------------------------------------------------------------

INIT_IS_SYSTEMD=${INIT_IS_SYSTEMD:-no}
read -r pid _ </proc/self/stat
[ "$pid" = $$ ] || mount -t proc proc /proc

# Slurm's job_container/tmpfs bind-mounts each job's mount namespace on a file. The kernel allows this only if that
# namespace has a higher id than the one in which it is mounted. Linux 6.18 gives ids to CPUs in batches, so a
# later namespace may have a lower id. If that can happen on a CPU, make our own namespace again on that CPU.
if [ "$INIT_IS_SYSTEMD" = no ]; then
	: >"$DIR/run/ns"
	cpus=$(taskset -cp $$)
	cpus=${cpus##*: }
	for cpu in /sys/devices/system/cpu/cpu[0-9]*; do
		cpu=${cpu##*/cpu}
		taskset -c "$cpu" true 2>/dev/null || continue
		if taskset -c "$cpu" unshare --mount="$DIR/run/ns" true 2>"$DIR/run/ns.err"; then
			umount "$DIR/run/ns"
		elif [ "$6" != "$cpu" ]; then
			exec taskset -c "$cpu" unshare --mount taskset -c "$cpus" \
				bash "$0" "$DIR" "$BUILDDIR" "$CGROUP_KIND" "$CGROUP_NAME" "$SPOOL_DISK" "$cpu"
		else
			# fails also in a namespace that this CPU made: report the error
			cat "$DIR/run/ns.err"
		fi
	done
	rm "$DIR"/run/ns{,.err}
fi

if [ -n "$CGROUP_NAME" ]; then
	stage=$DIR/run/cgroup
	mkdir "$stage"
	if [ "$CGROUP_KIND" = v2 ]; then
		mount --bind "/sys/fs/cgroup/$CGROUP_NAME" "$stage"
	else
		mount -t tmpfs -o mode=755 tmpfs "$stage"
		for h in /sys/fs/cgroup/*; do
			if [ -L "$h" ]; then
				cp -P "$h" "$stage/"
			elif [ -d "$h/$CGROUP_NAME" ]; then
				mkdir "$stage/${h##*/}"
				mount --bind "$h/$CGROUP_NAME" "$stage/${h##*/}"
			fi
		done
	fi
	mount --move "$stage" /sys/fs/cgroup
	rmdir "$stage"
fi
if [ "$CGROUP_KIND$INIT_IS_SYSTEMD" = v2no ]; then
	mkdir -p /sys/fs/cgroup/daemons /sys/fs/cgroup/system.slice
	echo 0 >/sys/fs/cgroup/daemons/cgroup.procs
fi
# as systemd does for a slurmd with Delegate=yes. All controllers, because Slurm 22.05 ignores the last one of
# the list, which must not be memory
if [ -z "$CGROUP_NAME" ] && [ "$INIT_IS_SYSTEMD" = no ]; then
	for cg in /sys/fs/cgroup /sys/fs/cgroup/system.slice; do
		sed 's/[a-z]\+/+&/g' "$cg/cgroup.controllers" >"$cg/cgroup.subtree_control"
	done
fi

# a bpffs of our own: other clusters and the machine do not see our pins
mount -t bpf bpf /sys/fs/bpf || echo "no bpffs here"
mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing || :

[ "$INIT_IS_SYSTEMD" = yes ] || mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/munge /run/mysqld /run/lock /run/slurm /run/ceems-build
chown munge: /run/munge
chown mysql: /run/mysqld
# the build tree may be in root's home, from which the cluster's users cannot load a plugin
mount --bind "$BUILDDIR" /run/ceems-build
for d in mariadb sinkdb; do
	# --db-on-disk: a folder of the server's own
	[ "$(stat -c %U "$DIR/$d")" = root ] || continue
	mount -t tmpfs -o mode=755 tmpfs "$DIR/$d"
	chown mysql: "$DIR/$d"
done
if [ -n "$SPOOL_DISK" ]; then
	mount -t tmpfs -o "mode=700,size=$SPOOL_DISK" tmpfs "$DIR/spool"
	chown slurm: "$DIR/spool"
fi

# --- /etc ------------------------------------------------------------------------------------

# A copy of the folder: a mount over one file ends when the machine replaces that file, as apt does with
# passwd when it adds a user, and the cluster's users would be gone.
mkdir -p /run/ceems-etc
cp -a /etc/. /run/ceems-etc
cp "$DIR"/etc/sys/* /run/ceems-etc
mount --bind /run/ceems-etc /etc
[ ! -d /etc/slurm ] || mount --bind "$DIR/etc" /etc/slurm

# --- network ---------------------------------------------------------------------------------

echo ceems >/proc/sys/kernel/hostname
ip link set lo up
# Slurm calls getaddrinfo() with AI_ADDRCONFIG, which finds no IPv4 address if 127.0.0.1 is the only one
ip address add 10.99.0.1/32 dev lo
# where a backup slurmctld listens
ip address add 10.99.0.2/32 dev lo
# by default IPsec policies do not apply to loopback; trouble.sh drops packets with one
echo 0 >/proc/sys/net/ipv4/conf/lo/disable_policy || :

# --- hold ------------------------------------------------------------------------------------

: >"$DIR/run/ready"
while :; do
	sleep infinity &
	wait $! || :
done
