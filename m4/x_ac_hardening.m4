# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_HARDENING_FLAG(CFLAG, LDFLAG, [SOURCE]): takes both if SOURCE builds with them. The order is the build's:
# CFLAGS and LDFLAGS of the user come last and win.
AC_DEFUN([X_AC_HARDENING_FLAG], [
	AC_MSG_CHECKING([for m4_normalize([$1 $2])])
	save_CFLAGS=$CFLAGS save_LDFLAGS=$LDFLAGS
	CFLAGS="-Werror $1 $CFLAGS" LDFLAGS="$2 $LDFLAGS"
	AC_LINK_IFELSE([AC_LANG_SOURCE([m4_default([$3], [[int main(void) { return 0; }]])])],
		[AC_MSG_RESULT([yes])
		 CEEMS_CFLAGS="$CEEMS_CFLAGS $1" CEEMS_LDFLAGS="$CEEMS_LDFLAGS $2"],
		[AC_MSG_RESULT([no])])
	CFLAGS=$save_CFLAGS LDFLAGS=$save_LDFLAGS
])

# X_AC_HARDENING: what makes a defect in our code harder to use. Not with sanitizers, which do not work with all of it.
# tests/arch/hardening.t looks at the result.
AC_DEFUN([X_AC_HARDENING], [
	AS_IF([test "x$enable_sanitizers" = xno && test "x$enable_fuzzers" != xyes], [
		# A level that the user or the compiler chose stays. Without -O, glibc only warns.
		AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#if defined _FORTIFY_SOURCE || !defined __OPTIMIZE__
#error "leave it"
#endif
		]])], [X_AC_HARDENING_FLAG([-D_FORTIFY_SOURCE=2], [])])
		X_AC_HARDENING_FLAG([-fstack-protector-strong], [])
		X_AC_HARDENING_FLAG([-fstack-clash-protection], [])
		X_AC_HARDENING_FLAG([-fcf-protection], [])
		X_AC_HARDENING_FLAG([], [-Wl,-z,relro -Wl,-z,now])
		# libtool gives this to programs only; what a plugin is made of is -fPIC.
		X_AC_HARDENING_FLAG([-fPIE], [-pie], [[
#ifndef __PIE__
#error "not position independent"
#endif
int main(void) { return 0; }
		]])
	])
])
