# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_SANITIZERS: --enable-sanitizers builds with ASan and UBSan, for `make check`.
AC_DEFUN([X_AC_SANITIZERS], [
	AC_ARG_ENABLE([sanitizers],
		[AS_HELP_STRING([--enable-sanitizers], [build with AddressSanitizer and UndefinedBehaviorSanitizer])],
		[], [enable_sanitizers=no])
	AS_IF([test "x$enable_sanitizers" = xyes], [
		SANITIZER_FLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
		CEEMS_CFLAGS="$CEEMS_CFLAGS $SANITIZER_FLAGS"
		CEEMS_LDFLAGS="$CEEMS_LDFLAGS $SANITIZER_FLAGS"
	])
	AC_SUBST([CEEMS_LDFLAGS])
	AM_CONDITIONAL([SANITIZERS], [test "x$enable_sanitizers" = xyes])
])
