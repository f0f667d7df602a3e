# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2016,SC2154
# Faults other than a process that ends: a network that drops packets, a disk that is full or read-only.

# net_set hang|flow SINK: hang drops all packets to SINK's port, on existing and new connections; flow ends that.
# It uses an IPsec policy, which needs no packet filter in the kernel and only iproute2.
net_set() {
	local verb=${1:-} port dropped=(dst 127.0.0.1/32 proto tcp dport)

	case ${2:-} in
	kafka) port=${kafka_bootstrap#*:} ;;
	sinkdb) port=$sinkdb_port ;;
	*) die "net: SINK must be kafka or sinkdb, not '${2:-}'" ;;
	esac
	case $verb in
	hang) space_enter ip xfrm policy add "${dropped[@]}" "$port" dir in action block ;;
	flow) space_enter ip xfrm policy delete "${dropped[@]}" "$port" dir in ;;
	*) die "net: must be hang or flow, not '$verb'" ;;
	esac
}

# disk_set fill|free|ro|rw
disk_set() {
	[ -n "$SPOOL_DISK" ] || die "this cluster was started without --spool-disk"
	case ${1:-} in
	fill) space_enter sh -c 'dd if=/dev/zero of="$1" bs=64k 2>/dev/null; :' sh "$DIR/spool/filler" ;;
	free) space_enter rm -f "$DIR/spool/filler" ;;
	ro | rw) space_enter mount -o "remount,$1" "$DIR/spool" ;;
	*) die "disk: must be fill, free, ro or rw, not '${1:-}'" ;;
	esac
}
