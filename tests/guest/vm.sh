# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# vm.sh - an emulated x86-64 guest: what it takes to build its initial file system, and to run it.
# No KVM is needed. For tests/guest and tests/bpf/kernels.t. And an emulated arm64 guest, for tests/bpf/arm64*.t.

vm_qemu=${QEMU:-qemu-system-x86_64}
vm_busybox=${BUSYBOX:-busybox}

# vm_missing TOOL...: prints why a guest cannot run here; false if it can.
vm_missing() {
	local tool

	[ "$(uname -m)" = x86_64 ] || { echo "the guest is x86-64"; return 0; }
	for tool in "$vm_qemu" "$vm_busybox" cpio "$@"; do
		command -v "$tool" >/dev/null || { echo "$tool is not installed"; return 0; }
	done
	return 1
}

# vm_add_program ROOT PROGRAM [NAME]: with the libraries it needs.
vm_add_program() {
	local root=$1 program=$2 name=${3:-$2} lib

	mkdir -p "$root$(dirname "$name")"
	cp -L "$program" "$root$name"
	ldd "$program" 2>/dev/null | grep -o '/[^ ]*' | while read -r lib; do
		mkdir -p "$root$(dirname "$lib")"
		cp -L "$lib" "$root$lib"
	done
}

# vm_add_busybox ROOT APPLET...
vm_add_busybox() {
	local root=$1 applet

	shift
	vm_add_program "$root" "$(command -v "$vm_busybox")" /bin/busybox
	for applet in "$@"; do
		ln -s busybox "$root/bin/$applet"
	done
}

vm_pack() {
	(cd "$1" && find . | cpio -o -H newc 2>/dev/null | gzip -1)
}

# Without cmpxchg16b, Linux 6.12 in QEMU 7.2 panics less often. Since 6.18, the kernel cannot allocate memory for marks on
# sockets (BPF_MAP_TYPE_SK_STORAGE) without it, so tests of 7.x set VM_CPU=Nehalem.
# vm_run SECONDS KERNEL INITRD APPEND QEMU_ARG...: runs a guest until it powers off. no_timer_check: on a busy machine the
# kernel's check of timers can fail in the emulator, and the kernel would panic.
vm_run() {
	local limit=$1 kernel=$2 initrd=$3 append=$4

	shift 4
	timeout -k 5 "$limit" "$vm_qemu" -M q35 -accel tcg -cpu "${VM_CPU:-Nehalem,-cx16}" -nodefaults \
		-no-user-config -display none -no-reboot -kernel "$kernel" -initrd "$initrd" \
		-append "console=ttyS0,115200 quiet panic=-1 mitigations=off no_timer_check $append" \
		"$@" </dev/null
}

# vm_cross_arm64: begins a test that builds programs for arm64, or skips it. Sets cc, the cross compiler; work, a scratch
# folder, which is removed at the end; and guest, the guest's root in it. CC_ARM64 names another compiler.
vm_cross_arm64() {
	cc=${CC_ARM64:-aarch64-linux-gnu-gcc}
	command -v "$cc" >/dev/null || skip_all "$cc is not installed"
	work=$(mktemp -d /tmp/ceems-arm64-XXXXXX)
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT TERM HUP
	guest=$work/guest
	mkdir -p "$guest"/{proc,sys,dev,tmp,lib}
}

# vm_arm64: begins a test in an emulated arm64 guest, or skips it. Sets what vm_cross_arm64 sets, and kernel, the folder of
# Debian's kernel. QEMU_ARM64 names another emulator.
vm_arm64() {
	local tool here

	here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
	vm_qemu_arm64=${QEMU_ARM64:-qemu-system-aarch64}
	for tool in "$vm_qemu_arm64" cpio; do
		command -v "$tool" >/dev/null || skip_all "$tool is not installed"
	done
	kernel=$("$here/kernel" arm64 2>&1) || skip_all "$kernel"
	kernel=${kernel##*$'\n'}
	vm_cross_arm64
}

# vm_run_arm64 SECONDS QEMU_ARG...: runs $guest, whose /init speaks on the console, until it powers off. Its output is in
# $work/console.
vm_run_arm64() {
	local limit=$1

	shift
	vm_pack "$guest" >"$work/initrd"
	timeout -k 5 "$limit" "$vm_qemu_arm64" -M virt -nodefaults -no-user-config -display none -no-reboot -serial stdio \
		-kernel "$kernel"/boot/vmlinuz-* -initrd "$work/initrd" \
		-append "console=ttyAMA0 quiet panic=-1" "$@" </dev/null 2>&1 | tr -d '\r' >"$work/console"
}
