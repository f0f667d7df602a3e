# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_METERS: libraries behind the meters.
AC_DEFUN([X_AC_METERS], [
	pfm_missing=
	# The header alone: libpfm.so.4 is dlopen'ed by a step that asks for counters.
	AC_CHECK_HEADER([perfmon/pfmlib_perf_event.h], [], [pfm_missing="perfmon/pfmlib_perf_event.h is missing (Debian: libpfm4-dev)"])
	X_AC_PART([libpfm], [hardware counters by libpfm4 names], [pfm_missing])
	AS_IF([test "x$part_libpfm" = xyes], [AC_DEFINE([HAVE_LIBPFM], [1], [libpfm4's header is there.])])
])
