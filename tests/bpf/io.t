#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# io.t [VERSION...]: I/O by file system on Debian's stock kernels [5.10, 6.1 and 6.12], each booted in an emulated guest
# (no KVM needed). Every operation must be counted to the byte (test_fsio_ops). test_fsio_cost measures the cost of an
# event in instructions, which the emulator counts as time, so that a slow machine gives the same result. Not part of
# `make check`. BUILDDIR names the build.
top=$(readlink -f "$(dirname "$0")/../..")
# shellcheck disable=SC1091
. "$top/tests/tap/tap.sh"
# shellcheck disable=SC1091
. "$top/tests/guest/vm.sh"

build=${BUILDDIR:-$PWD}
[ $# -gt 0 ] || set -- 5.10 6.1 6.12
! why=$(vm_missing mkfs.ext4 xz) || skip_all "$why"
for file in bpf/ceems-bpf tests/unit/test_fsio_ops tests/unit/test_fsio_cost; do
	[ -x "$build/$file" ] || skip_all "$build/$file is not built (make check)"
done
work=$(mktemp -d /tmp/ceems-io-XXXXXX)
trap 'rm -rf "$work"' EXIT

# make_guest KERNEL_DIR: one per kernel, because the modules differ
make_guest() {
	local guest=$work/guest overlay

	rm -rf "$guest"
	mkdir -p "$guest"/{bin,proc,sys,dev,tmp,disk}
	vm_add_busybox "$guest" sh mkdir mount insmod poweroff
	vm_add_program "$guest" "$build/bpf/ceems-bpf" /build/bpf/ceems-bpf
	vm_add_program "$guest" "$build/tests/unit/test_fsio_ops" /build/test_fsio_ops
	vm_add_program "$guest" "$build/tests/unit/test_fsio_cost" /build/test_fsio_cost
	overlay=$(find "$1/lib/" -name 'overlay.ko*' | head -n 1)
	case $overlay in
	*.xz) xz -dc "$overlay" >"$guest/overlay.ko" ;;
	?*) cp "$overlay" "$guest/overlay.ko" ;;
	esac
	cat >"$guest/init" <<'EOT'
#!/bin/sh
mount -t proc p /proc; mount -t sysfs s /sys; mount -t devtmpfs d /dev; mount -t tmpfs t /tmp
mount -t cgroup2 c /sys/fs/cgroup
export top_builddir=/build CEEMS_TEST_ICOUNT=1
# TEST is from the kernel's command line
if [ "$TEST" = ops ]; then
	insmod /overlay.ko
	mount -t ext4 /dev/nvme0n1 /disk
	export CEEMS_TEST_DISK=/disk
fi
/build/test_fsio_"$TEST"; echo "GUEST $TEST $?"
poweroff -f
EOT
	chmod +x "$guest/init"
	vm_pack "$guest" >"$work/initrd"
}

# boot KERNEL_DIR TEST QEMU_ARG...
boot() {
	local kernel
	kernel=$(echo "$1"/boot/vmlinuz-*)

	vm_run 1200 "$kernel" "$work/initrd" "TEST=$2" -m 1024 -serial stdio "${@:3}" 2>&1 |
		tr -d '\r' >"$work/console"
}

# report NAME: prints the results of the guest's test
report() {
	grep -aq "^GUEST ${1##* } 0" "$work/console"
	ok $? "$1"
	grep -a '^not ok' -A 3 "$work/console" | sed 's/^/# /'
	grep -aq '^GUEST' "$work/console" || tail -n 5 "$work/console" | sed 's/^/# /'
	grep -a '# SKIP\|^# COST' "$work/console" | sed "s/^[# ]*/# $1: /"
}

for version in "$@"; do
	if ! dir=$("$top/tests/guest/kernel" cloud "$version" 2>"$work/why"); then
		skip "$version: $(tail -n 1 "$work/why")"
		continue
	fi
	make_guest "$dir"
	truncate -s 64M "$work/disk"
	mkfs.ext4 -q -F "$work/disk"
	boot "$dir" ops -smp 2 -drive "file=$work/disk,if=none,id=disk,format=raw" \
		-device nvme,serial=disk,drive=disk
	report "$version: ops"
	boot "$dir" cost -smp 1 -icount shift=0,sleep=off
	report "$version: cost"
done
done_testing
