# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# vm.sh - an emulated x86-64 guest: what it takes to build its initial file system, and to run it.
# No KVM is needed. For tests/guest and tests/bpf/kernels.t.

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

# vm_run SECONDS KERNEL INITRD APPEND QEMU_ARG...: runs a guest until it powers off. no_timer_check: on a busy machine the
# kernel's check of timers can fail in the emulator, and the kernel would panic.
vm_run() {
	local limit=$1 kernel=$2 initrd=$3 append=$4

	shift 4
	timeout -k 5 "$limit" "$vm_qemu" -M q35 -accel tcg -cpu Nehalem,-cx16 -nodefaults \
		-no-user-config -display none -no-reboot -kernel "$kernel" -initrd "$initrd" \
		-append "console=ttyS0,115200 quiet panic=-1 mitigations=off no_timer_check $append" \
		"$@" </dev/null
}
