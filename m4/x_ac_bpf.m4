# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_BPF: libbpf and libelf for the loader, clang and bpftool for the programs.
AC_DEFUN([X_AC_BPF], [
	bpf_missing=
	PKG_CHECK_MODULES([LIBBPF], [libbpf >= 1.0], [], [bpf_missing="libbpf is missing (Debian: libbpf-dev)"])
	PKG_CHECK_MODULES([LIBELF], [libelf], [],
		[AS_IF([test -z "$bpf_missing"], [bpf_missing="libelf is missing (Debian: libelf-dev)"])])
	AC_PATH_PROGS([BPF_CLANG], [clang])
	AC_PATH_PROGS([BPFTOOL], [bpftool], [], [$PATH:/usr/sbin:/sbin])
	AC_PATH_PROGS([LLVM_STRIP], [llvm-strip llvm-strip-14])
	AS_IF([test -z "$bpf_missing" -a -z "$BPF_CLANG"], [bpf_missing="clang is missing"])
	AS_IF([test -z "$bpf_missing" -a -z "$BPFTOOL"], [bpf_missing="bpftool is missing"])
	AS_CASE([$host_cpu],
		[x86_64], [BPF_TARGET_ARCH=x86],
		[aarch64], [BPF_TARGET_ARCH=arm64],
		[BPF_TARGET_ARCH=$host_cpu])
	AC_SUBST([BPF_TARGET_ARCH])
	X_AC_PART([bpf], [the BPF programs and their loader], [bpf_missing])
	AS_IF([test "x$part_bpf" = xyes], [AC_DEFINE([HAVE_BPF], [1], [BPF programs are built.])])
	AM_CONDITIONAL([BUILD_BPF], [test "x$part_bpf" = xyes])
])
