# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154
# lib.sh - in the guest, after tests/e2e/lib.sh and energy.sh: sets the guest's sensors and restarts slurmd, which reads
# them. All scenarios share one cluster; each begins with sources_are.

# simpler than `inside` and `as` of tests/e2e/lib.sh, which take a second in the guest
guest_enter() {
	guest_conf=$(cat "$CEEMS_CONF")
	read -r guest_init _ <"$DIR/run/init"
}

inside() {
	local enter=(nsenter --target "$guest_init" --mount --pid --net --ipc --uts --cgroup)

	SLURM_CONF=$DIR/etc/slurm.conf "${enter[@]}" -- "$@"
}

as() {
	local user=$1

	shift
	inside setpriv --reuid="$user" --regid="$user" --init-groups env --chdir=/tmp "$@"
}

# --- fakerapl ------------------------------------------------------------------------------------

rapl_range=262143328850
rapl_parameters=/sys/module/fakerapl/parameters

# rapl_load OPTION...: loads fakerapl with these module parameters (fakerapl.c)
rapl_load() {
	insmod /run/guest/fakerapl.ko range_uj=$rapl_range "$@"
}

# rapl_feed ZONE UJ...: advances zones, and fed_uj by the energy of packages and memory. Cores are part of their package;
# scenarios with psys count it themselves.
rapl_feed() {
	local zone uj

	while [ $# -gt 0 ]; do
		zone=$1 uj=$2
		shift 2
		rapl_move "$zone" "$uj" || return
		case $zone in
		*:0) ;;
		*) echo $(($(fed_uj) + uj)) >"$DIR/fed.$node" ;;
		esac
	done
}

rapl_move() {
	echo "$1 $2" >"$rapl_parameters/advance"
}

rapl_fails() {
	echo "$1 $2" >"$rapl_parameters/fail"
}

# --- a BMC and a power meter ---------------------------------------------------------------------

# driver NAME [OPTION...]: loads a module of the guest's kernel
driver() {
	modprobe -d "$GUEST_KERNEL" "$@"
}

# bmc_says WORD...: sets the BMC's answers (fakebmc.py)
bmc_says() {
	echo "$*" >/run/guest/bmc.new && mv /run/guest/bmc.new /run/guest/bmc
}

# bmc_is_asked N: the BMC had N or more requests for power or energy since $bmc_count was read
bmc_is_asked() {
	local n

	n=$(bmc_asked)
	[ "$n" -ge $((bmc_count + $1)) ] || { echo "the BMC had $((n - bmc_count)) requests, want $1"; return 1; }
}

bmc_asked() {
	cat /run/guest/bmc.asked 2>/dev/null || echo 0
}

# meter_shows MILLIWATTS: sets the ACPI meter's value (powermeter.asl)
meter_shows() {
	local hex

	printf -v hex '%08x' "$1"
	printf '%b' "\\x${hex:6:2}\\x${hex:4:2}\\x${hex:2:2}\\x${hex:0:2}" |
		dd of=/sys/bus/pci/devices/0000:00:00.0/config bs=4 seek=$((0xdc / 4)) conv=notrunc \
			status=none
}

# --- slurmd --------------------------------------------------------------------------------------

# sources_are LIST [LINE...]: restarts slurmd with these EnergySources, these lines in ceems.conf, an empty ledger and an
# empty log.
sources_are() {
	local list=$1

	shift
	"$cluster" kill "$DIR" slurmd n1
	rm -f "$LEDGER_DIR"/*.ledger "$TEXTFILE_DIR"/n1/* "$DIR/fed.$node"
	printf '%s\n' "$guest_conf" "EnergySources=$list" "$@" >"$CEEMS_CONF"
	: >"$LOG_DIR/slurmd.n1.log"
	"$cluster" start-daemon "$DIR" slurmd n1
}

# ledger_counts NAME N: `rejected`, `wraps` and the like are N or more.
ledger_counts() {
	local n

	n=$(ledger ".$1")
	[ "${n:-0}" -ge "$2" ] || { echo "$1 is $n"; return 1; }
}

# slurmd_reads SOURCE: slurmd must log once that it reads SOURCE; finding the sensors may take some seconds
slurmd_reads() {
	wait_for 60 says_source "$1"
	ok $? "slurmd reads $1"
}

says_source() {
	[ "$(slurmd_says "ceems: energy from $1")" = 1 ]
}

node_is_idle() {
	wait_for 60 node_is idle
	ok $? "the node is idle, not drained"
}

# job_begins [ARG...]: starts a step of user1 that runs until scancel, and waits until the ledger has it; the job's id is
# in $job.
job_begins() {
	job=$(submit user1 -n1 --mem=100 -o /dev/null "$@" --wrap 'srun sleep infinity')
	wait_for 120 step_is_open
	ok $? "job $job runs"
}

step_is_open() {
	ledger "[.steps[] | select(.job == $job and .step == \"0\")] | length" | grep -qx 1
}

# job_ends: cancels job $job and waits until its energy is in slurmdbd.
job_ends() {
	inside scancel "$job"
	wait_energy "$job"
}

# sacct_agrees: the job's joules in sacct must be the ledger's.
sacct_agrees() {
	local uj

	uj=$(job_energy_uj "$job")
	is "$(job_acct "$job" ConsumedEnergyRaw)" "$(((uj + 500000) / 1000000))" \
		"sacct has the $uj uJ that the ledger has for job $job"
}

# --- what was measured ---------------------------------------------------------------------------

measured_uj() {
	ledger .measured.total_uj
}

# part_uj DOMAIN: prints the domain's energy, the sum over its units
part_uj() {
	ledger "[.parts[] | select(.domain == \"$1\") | .energy_uj] | add // 0"
}

# parts_are DOMAIN UJ...: each domain has this energy. Use with wait_for: between the booking of two units the sum is
# neither the old nor the new one.
parts_are() {
	local uj

	while [ $# -gt 0 ]; do
		uj=$(part_uj "$1")
		[ "$uj" = "$2" ] || { echo "$1 has $uj uJ, not $2"; return 1; }
		shift 2
	done
}

# reads_only DOMAIN SOURCE QUALITY
reads_only() {
	ledger '[.parts[] | "\(.domain) \(.source) \(.quality)"] | join(",")' | grep -x "$*"
}

is_measured() {
	local uj

	uj=$(measured_uj)
	[ "$uj" = "$1" ] || { echo "measured $uj uJ, not $1"; return 1; }
}

measured_beyond() {
	local uj

	uj=$(measured_uj)
	[ "${uj:-0}" -gt "$1" ] || { echo "measured $uj uJ, not more than $1"; return 1; }
}

guest_ms() {
	awk '{ printf "%.0f\n", $1 * 1000 }' /proc/uptime
}

# ticks_pass N: waits for at least N ticks
ticks_pass() {
	wait_for 120 ledger_counts ticks $(($(ledger .ticks) + $1))
}

# at_most WATTS SINCE_MS FROM_UJ WHAT: the energy of power sensors must not exceed WATTS times the time since SINCE_MS. How
# much of that time was measured depends on the emulator's speed.
at_most() {
	local uj limit

	uj=$(($(measured_uj) - $3))
	limit=$(($1 * ($(guest_ms) - $2) * 1000))
	[ "$uj" -le "$limit" ]
	ok $? "$4: $uj of at most $limit uJ"
}

# adds_up WHAT: the ledger's accounts must add up to what was measured
adds_up() {
	is "$(ledger '"\(.difference_uj) \(.conservation_error_uj)"')" "0 0" "$1: accounts add up"
}
