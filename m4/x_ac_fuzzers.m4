# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_FUZZERS: --enable-fuzzers builds tests/fuzz and what it tests with libFuzzer, ASan and UBSan. With
# --enable-sanitizers as well, one build has the fuzzers and the tests.
AC_DEFUN([X_AC_FUZZERS], [
	AC_ARG_ENABLE([fuzzers],
		[AS_HELP_STRING([--enable-fuzzers], [build tests/fuzz; needs CC=clang])],
		[], [enable_fuzzers=no])
	AS_IF([test "x$enable_fuzzers" = xyes], [
		FUZZER_FLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
		save_CFLAGS=$CFLAGS
		CFLAGS="$CFLAGS $FUZZER_FLAGS -fsanitize=fuzzer"
		AC_MSG_CHECKING([for libFuzzer])
		AC_LINK_IFELSE([AC_LANG_SOURCE([[
int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size);
int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size) { return !data && size; }
		]])], [AC_MSG_RESULT([yes])], [
			AC_MSG_RESULT([no])
			AC_MSG_ERROR([--enable-fuzzers needs CC=clang and its run time (Debian: clang, libclang-rt-14-dev)])
		])
		CFLAGS=$save_CFLAGS
		AS_CASE([$enable_sanitizers], [yes], [FUZZER_FLAGS=],
			[no], [FUZZER_FLAGS=" $FUZZER_FLAGS"],
			[AC_MSG_ERROR([--enable-fuzzers does not go with --enable-sanitizers=$enable_sanitizers])])
		CEEMS_CFLAGS="$CEEMS_CFLAGS$FUZZER_FLAGS -fsanitize=fuzzer-no-link"
		CEEMS_LDFLAGS="$CEEMS_LDFLAGS$FUZZER_FLAGS"
	])
	AM_CONDITIONAL([FUZZERS], [test "x$enable_fuzzers" = xyes])
])
