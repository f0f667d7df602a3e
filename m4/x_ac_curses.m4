# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_CURSES: the full screen of ceems top. Without it --once is left.
AC_DEFUN([X_AC_CURSES], [
	PKG_CHECK_MODULES([NCURSES], [ncursesw], [curses_missing=],
		[curses_missing="ncursesw is missing (Debian: libncurses-dev)"])
	AS_IF([test "x$part_cli" != xyes], [curses_missing="the ceems command is not built"])
	X_AC_PART([top-screen], [the full screen of ceems top], [curses_missing])
	AS_IF([test "x$part_top_screen" = xyes],
		[AC_DEFINE([HAVE_NCURSES], [1], [ceems top has a full screen.])],
		[NCURSES_CFLAGS=; NCURSES_LIBS=])
])
