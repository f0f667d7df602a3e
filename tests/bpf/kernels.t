#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# kernels.t ["VMLINUZ [OPTION]"...]: BPF programs, counters and profiles on other kernels than this machine's [Debian's 5.10,
# 6.1, 6.12, 6.12 with preempt=full, and that of unstable, 7.x, which preempts]. Each is booted with OPTION in an emulated
# guest (no KVM needed, a minute or two), in which the unit tests below run on cgroup v2, those of BARE also without
# tracefs, and those of V1 also on the v1 freezer. Not part of `make check`. BUILDDIR names the build, QEMU the emulator,
# TESTS the tests if not all.
top=$(readlink -f "$(dirname "$0")/../..")
# shellcheck disable=SC1091
. "$top/tests/tap/tap.sh"
# shellcheck disable=SC1091
. "$top/tests/guest/vm.sh"

V2=${TESTS:-"probes slots skips taskcount nodeprobes stepgroup tcpcount netcount perf stacks offcpu"}
BARE="skips"
V1="taskcount"
[ -z "${TESTS:-}" ] || { [[ " $TESTS " == *" $BARE "* ]] || BARE=; [[ " $TESTS " == *" $V1 "* ]] || V1=; }

build=${BUILDDIR:-$PWD}
! why=$(vm_missing) || skip_all "$why"
if [ $# -eq 0 ]; then
	for version in 5.10 6.1 6.12 "6.12 preempt=full" sid; do
		read -r release option <<<"$version"
		dir=$("$top/tests/guest/kernel" cloud "$release") && set -- "$@" "$(echo "$dir"/boot/vmlinuz-*) $option"
	done
	[ $# -gt 0 ] || skip_all "no kernel of Debian can be had"
fi
for test in $V2 $V1; do
	[ -x "$build/tests/unit/test_$test" ] ||
		skip_all "$build/tests/unit/test_$test is not built (make check)"
done
[ -x "$build/bpf/ceems-bpf" ] || skip_all "$build/bpf/ceems-bpf is not built"
work=$(mktemp -d /tmp/ceems-kernels-XXXXXX)
trap 'rm -rf "$work"' EXIT

guest=$work/guest
mkdir -p "$guest"/{bin,proc,sys,dev,tmp}
vm_add_busybox "$guest" sh cat mkdir mount umount uname sleep grep yes head true false poweroff insmod
vm_add_program "$guest" "$build/bpf/ceems-bpf" /build/bpf/ceems-bpf
# busybox's makes no veth
! path=$(PATH=$PATH:/usr/sbin:/sbin command -v ip) || vm_add_program "$guest" "$path" /bin/ip
for test in $V2 $V1; do
	vm_add_program "$guest" "$build/tests/unit/test_$test" "/build/test_$test"
done
cat >"$guest/init" <<EOT
#!/bin/sh
mount -t proc p /proc; mount -t sysfs s /sys; mount -t devtmpfs d /dev; mount -t tmpfs t /tmp
mount -t tracefs t /sys/kernel/tracing
for module in /modules/*.ko; do insmod "\$module"; done
export top_builddir=/build
mount -t cgroup2 c /sys/fs/cgroup; echo +pids >/sys/fs/cgroup/cgroup.subtree_control
for test in $V2; do /build/test_\$test; echo "GUEST v2 \$test \$?"; done
umount /sys/kernel/tracing
for test in $BARE; do /build/test_\$test; echo "GUEST bare \$test \$?"; done
mount -t tracefs t /sys/kernel/tracing
umount /sys/fs/cgroup
mount -t tmpfs c /sys/fs/cgroup; mkdir /sys/fs/cgroup/freezer
if mount -t cgroup -o freezer f /sys/fs/cgroup/freezer; then
	for test in $V1; do /build/test_\$test; echo "GUEST v1 \$test \$?"; done
fi
poweroff -f
EOT
chmod +x "$guest/init"
vm_pack "$guest" >"$work/initrd"

# With Linux 6.12, QEMU 7.2 has an emulation error: most boots panic, often in ACPI or slab code before init runs. So a
# panic is shown and the boot repeated. If no boot succeeds, the kernel is skipped.
boot_until_up() {
	local kernel=$1 option=$2 attempt
	for attempt in 1 2 3 4 5 6; do
		boot "$kernel" "$option" >"$work/console"
		grep -aq 'Kernel panic' "$work/console" || return 0
		echo "# panic $attempt: $(grep -am 1 'RIP: 0010' "$work/console")"
	done
	return 1
}

# The emulated CPU: see vm.sh.
cpu_for() {
	case ${1##*/vmlinuz-} in
	[7-9].*) echo Nehalem ;;
	esac
}

# Makes a second initrd with KERNEL's modules that the tests need.
pack_modules() {
	local root=$work/modules found

	rm -rf "$root"
	mkdir -p "$root/modules"
	found=$(find "${1%/boot/*}" -path "*/${1##*/vmlinuz-}/*" -name 'veth.ko*' -print -quit)
	case $found in
	*.ko) cp "$found" "$root/modules/" ;;
	*.ko.xz) xz -dc "$found" >"$root/modules/veth.ko" ;;
	esac
	vm_pack "$root"
}

boot() {
	{
		cat "$work/initrd"
		pack_modules "$1"
	} >"$work/initrd.all"
	VM_CPU=$(cpu_for "$1") vm_run 900 "$1" "$work/initrd.all" "$2" -smp 2 -m 1024 -serial stdio 2>&1 | tr -d '\r'
}

for row in "$@"; do
	read -r kernel option <<<"$row"
	name=${kernel##*/vmlinuz-}${option:+ $option}
	if ! boot_until_up "$kernel" "$option"; then
		skip "$name: the emulated kernel panics"
		continue
	fi
	for test in $V2; do
		grep -aq "^GUEST v2 $test 0" "$work/console"
		ok $? "$name: $test"
	done
	for test in $BARE; do
		grep -aq "^GUEST bare $test 0" "$work/console"
		ok $? "$name: $test without tracefs"
	done
	for test in $V1; do
		grep -aq "^GUEST v1 $test 0" "$work/console"
		ok $? "$name: $test on cgroup v1"
	done
	if grep -aq '# SKIP' "$work/console"; then
		grep -a '# SKIP' "$work/console" | sort | uniq -c | sed 's/^/# skipped in the guest: /'
	fi
	grep -a 'ended threads were counted' "$work/console"
	# the kernel may write into a line
	grep -aE 'not ok|^# one ended with' -A 2 "$work/console" | sed 's/^/# /'
	grep -a '^GUEST .* [1-9][0-9]*$' "$work/console" | sed 's/^/# ended with: /'
done
done_testing
