#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# kernels.t [VMLINUZ...]: the harvest and the counters on other kernels than this machine's. Each is
# booted in an emulated guest (no KVM needed, about 25 s) in which test_harvest and test_perf run, on
# cgroup v2 and on the v1 freezer. Without arguments: the kernels in /boot. Kernels without
# installing them: apt-get download linux-image-...-cloud-amd64, dpkg -x. Not part of `make check`.
# BUILDDIR names the build, QEMU the emulator.
top=$(readlink -f "$(dirname "$0")/../..")
# shellcheck disable=SC1091
. "$top/tests/tap/tap.sh"
# shellcheck disable=SC1091
. "$top/tests/guest/vm.sh"

build=${BUILDDIR:-$PWD}
[ $# -gt 0 ] || set -- /boot/vmlinuz-*
[ -e "$1" ] || skip_all "no kernel given and none in /boot"
! why=$(vm_missing) || skip_all "$why"
for file in bpf/ceems-bpf tests/unit/test_harvest tests/unit/test_perf; do
	[ -x "$build/$file" ] || skip_all "$build/$file is not built (make check)"
done
work=$(mktemp -d /tmp/ceems-kernels-XXXXXX)
trap 'rm -rf "$work"' EXIT

guest=$work/guest
mkdir -p "$guest"/{bin,proc,sys,dev,tmp}
vm_add_busybox "$guest" sh cat mkdir mount umount uname sleep yes head true false poweroff
vm_add_program "$guest" "$build/bpf/ceems-bpf" /build/bpf/ceems-bpf
vm_add_program "$guest" "$build/tests/unit/test_harvest" /build/test_harvest
vm_add_program "$guest" "$build/tests/unit/test_perf" /build/test_perf
cat >"$guest/init" <<'EOT'
#!/bin/sh
mount -t proc p /proc; mount -t sysfs s /sys; mount -t devtmpfs d /dev; mount -t tmpfs t /tmp
export top_builddir=/build
mount -t cgroup2 c /sys/fs/cgroup
/build/test_harvest; echo "GUEST v2 harvest $?"
/build/test_perf; echo "GUEST any perf $?"
umount /sys/fs/cgroup
mount -t tmpfs c /sys/fs/cgroup; mkdir /sys/fs/cgroup/freezer
if mount -t cgroup -o freezer f /sys/fs/cgroup/freezer; then
	/build/test_harvest; echo "GUEST v1 harvest $?"
fi
poweroff -f
EOT
chmod +x "$guest/init"
vm_pack "$guest" >"$work/initrd"

# QEMU 7.2 emulates something wrongly that 6.12 does: such a guest panics in most of its boots, often in
# ACPI or slab code before init runs. So a panic is shown and tried again, and if no boot gets to the
# end, nothing is known about that kernel.
boot_until_up() {
	local kernel=$1 attempt
	for attempt in 1 2 3 4 5 6; do
		boot "$kernel" >"$work/console"
		grep -aq 'Kernel panic' "$work/console" || return 0
		echo "# panic $attempt: $(grep -am 1 'RIP: 0010' "$work/console")"
	done
	return 1
}

boot() {
	vm_run 300 "$1" "$work/initrd" "" -smp 2 -m 1024 -serial stdio 2>&1 | tr -d '\r'
}

for kernel in "$@"; do
	name=${kernel##*/vmlinuz-}
	if ! boot_until_up "$kernel"; then
		skip "$name: the emulated kernel panics"
		continue
	fi
	for run in "v2 harvest" "any perf" "v1 harvest"; do
		grep -aq "^GUEST $run 0" "$work/console"
		ok $? "$name: ${run/any /}"
	done
	if grep -aq '# SKIP' "$work/console"; then
		grep -a '# SKIP' "$work/console" | sort | uniq -c | sed 's/^/# skipped in the guest: /'
	fi
	grep -a '^not ok' -A 2 "$work/console" | sed 's/^/# /'
done
done_testing
