# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_WARNINGS: language level and warnings, in CEEMS_CFLAGS so that CFLAGS stays the user's.
AC_DEFUN([X_AC_WARNINGS], [
	CEEMS_CFLAGS="-std=gnu11 -fvisibility=hidden -Wall -Wextra -Wshadow -Wstrict-prototypes \
-Wmissing-prototypes -Wold-style-definition -Wwrite-strings -Wformat=2 -Wundef -Wvla"
	# What gcc takes for a text that may be cut depends on how it optimises; snprintf() is here
	# to cut, and where that matters the result is looked at.
	# clang has no such warning, and warns of the option.
	save_CFLAGS=$CFLAGS
	CFLAGS="$CFLAGS -Werror -Wformat-truncation"
	AC_MSG_CHECKING([for -Wformat-truncation])
	AC_COMPILE_IFELSE([AC_LANG_PROGRAM()],
		[AC_MSG_RESULT([yes])
		 CEEMS_CFLAGS="$CEEMS_CFLAGS -Wno-format-truncation"],
		[AC_MSG_RESULT([no])])
	CFLAGS=$save_CFLAGS
	AC_ARG_ENABLE([werror],
		[AS_HELP_STRING([--enable-werror], [treat warnings as errors])],
		[AS_IF([test "x$enableval" = xyes], [CEEMS_CFLAGS="$CEEMS_CFLAGS -Werror"])])
	# A plugin takes whole libraries; what it does not call is left out of it, section by section.
	CEEMS_CFLAGS="$CEEMS_CFLAGS -ffunction-sections -fdata-sections"
	CEEMS_LDFLAGS="-Wl,--gc-sections"
	AC_SUBST([CEEMS_CFLAGS])
])
