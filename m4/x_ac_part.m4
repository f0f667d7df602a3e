# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_PART(NAME, WHAT, REASON-VARIABLE)
#
# --enable-NAME / --disable-NAME for one part, default auto. The shell variable named by the third
# argument holds why the part cannot be built ("" if it can). Asked for and missing is an error,
# merely missing is a smaller build. Sets part_NAME to yes or no, and part_NAME_why.
AC_DEFUN([X_AC_PART], [
	AC_ARG_ENABLE([$1], [AS_HELP_STRING([--disable-$1], [do not build $2 @<:@auto@:>@])],
		[], [AS_TR_SH([enable_$1])=auto])
	AS_IF([test "x$AS_TR_SH([enable_$1])" = xno],
		[AS_TR_SH([part_$1])=no; AS_TR_SH([part_$1_why])="disabled by --disable-$1"],
	[test -n "$$3"],
		[AS_IF([test "x$AS_TR_SH([enable_$1])" = xyes],
			[AC_MSG_ERROR([--enable-$1 was given, but $$3])])
		 AS_TR_SH([part_$1])=no; AS_TR_SH([part_$1_why])="$$3"],
		[AS_TR_SH([part_$1])=yes; AS_TR_SH([part_$1_why])=""])
])
