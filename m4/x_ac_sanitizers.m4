# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_SANITIZERS: --enable-sanitizers builds with ASan and UBSan, --enable-sanitizers=thread with TSan, for `make check`.
# gcc defines __SANITIZE_ADDRESS__, clang 14 does not.
# -Wno-tsan: gcc warns of each atomic_thread_fence(), which TSan does not model. Ours order what processes share.
AC_DEFUN([X_AC_SANITIZERS], [
	AC_ARG_ENABLE([sanitizers],
		[AS_HELP_STRING([--enable-sanitizers@<:@=thread@:>@],
			[build with AddressSanitizer and UndefinedBehaviorSanitizer, or with ThreadSanitizer])],
		[], [enable_sanitizers=no])
	AS_CASE([$enable_sanitizers],
		[yes], [SANITIZER_FLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -D__SANITIZE_ADDRESS__=1"],
		[thread], [SANITIZER_FLAGS="-fsanitize=thread -Wno-tsan -fno-omit-frame-pointer"],
		[no], [SANITIZER_FLAGS=],
		[AC_MSG_ERROR([--enable-sanitizers=$enable_sanitizers: must be yes, thread or no])])
	CEEMS_CFLAGS="$CEEMS_CFLAGS${SANITIZER_FLAGS:+ }$SANITIZER_FLAGS"
	CEEMS_LDFLAGS="$CEEMS_LDFLAGS${SANITIZER_FLAGS:+ }$SANITIZER_FLAGS"
	AC_SUBST([CEEMS_LDFLAGS])
	AM_CONDITIONAL([SANITIZERS], [test "x$enable_sanitizers" != xno])
])
