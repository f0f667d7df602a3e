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

build=${BUILDDIR:-$PWD}
qemu=${QEMU:-qemu-system-x86_64}
busybox=${BUSYBOX:-busybox}
[ $# -gt 0 ] || set -- /boot/vmlinuz-*
[ -e "$1" ] || skip_all "no kernel given and none in /boot"
[ "$(uname -m)" = x86_64 ] || skip_all "the guest is x86-64"
for tool in "$qemu" "$busybox" cpio; do
	command -v "$tool" >/dev/null || skip_all "$tool is not installed"
done
for file in bpf/ceems-bpf tests/unit/test_harvest tests/unit/test_perf; do
	[ -x "$build/$file" ] || skip_all "$build/$file is not built (make check)"
done
work=$(mktemp -d /tmp/ceems-kernels-XXXXXX)
trap 'rm -rf "$work"' EXIT

guest=$work/guest
mkdir -p "$guest"/{bin,proc,sys,dev,tmp,build/bpf}
cp "$(command -v "$busybox")" "$guest/bin/busybox"
for tool in sh cat mkdir mount umount uname sleep yes head true false poweroff; do
	ln -s busybox "$guest/bin/$tool"
done
cp "$build/bpf/ceems-bpf" "$guest/build/bpf/"
cp "$build/tests/unit/test_harvest" "$build/tests/unit/test_perf" "$guest/build/"
for file in "$guest/build/bpf/ceems-bpf" "$guest/build/test_harvest"; do
	ldd "$file" | grep -o '/[^ ]*'
done | sort -u | while read -r lib; do
	mkdir -p "$guest$(dirname "$lib")"
	cp -L "$lib" "$guest$lib"
done
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
(cd "$guest" && find . | cpio -o -H newc 2>/dev/null | gzip -1) >"$work/initrd"

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
	timeout -k 5 300 "$qemu" -M q35 -accel tcg -cpu Nehalem -smp 2 -m 1024 -nodefaults \
		-no-user-config -display none -no-reboot -serial stdio -kernel "$1" \
		-initrd "$work/initrd" -append "console=ttyS0,115200 quiet panic=-1 mitigations=off" \
		</dev/null 2>&1 | tr -d '\r'
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
