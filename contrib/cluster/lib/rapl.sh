# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A simulated /sys/class/powercap per node, with the zones of one package and its DRAM. The counters move only
# by rapl_advance.

rapl_range_uj=262143328850

rapl_create() {
	local n

	for ((n = 1; n <= NODES; n++)); do
		rapl_create_zone "n$n" 0 package-0
		rapl_create_zone "n$n" 0:0 dram
		[ "$STILL_CPUS" = no ] || rapl_stop_cpus "n$n"
	done
}

# A /proc/stat in which CPUs are always idle, so that what else runs on this machine is not the node's CPU time.
rapl_stop_cpus() {
	local cpu stat=$DIR/sysroot/$1/proc/stat

	mkdir "${stat%/*}"
	for cpu in '' $(seq 0 $((CPUS - 1))); do
		echo "cpu$cpu 0 0 0 1000 0 0 0 0 0 0"
	done >"$stat"
}

rapl_create_zone() {
	local zone=$DIR/sysroot/$1/sys/class/powercap/intel-rapl:$2

	mkdir -p "$zone"
	echo "$3" >"$zone/name"
	echo "$rapl_range_uj" >"$zone/max_energy_range_uj"
	echo 0 >"$zone/energy_uj"
}

# rapl_advance NODE ZONE +UJ: readers keep the file open and pread it, so the new value is written over the old
# one in one write. Leading zeros keep the length after a wrap.
rapl_advance() {
	local node=${1:-} zone=${2:-} step=${3:-} file old new

	[[ $step =~ ^\+[0-9]{1,17}$ ]] || die "rapl: DIR NODE ZONE +MICROJOULES, not '$*'"
	file=$DIR/sysroot/$node/sys/class/powercap/intel-rapl:$zone/energy_uj
	[ -e "$file" ] || die "rapl: no $file (start --fake-rapl makes zones 0 and 0:0 per node)"
	exec 9<"$file"
	flock 9
	read -r old <"$file"
	# 0 follows the last value of the range; 10# because of zeros in front
	new=$(((10#$old + 10#${step#+}) % (rapl_range_uj + 1)))
	printf '%0*d\n' ${#old} "$new" | dd of="$file" conv=notrunc bs=64 iflag=fullblock status=none
}
