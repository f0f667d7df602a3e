# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_METERS: libraries behind the meters.
AC_DEFUN([X_AC_METERS], [
	pfm_missing=
	# The header alone: libpfm.so.4 is dlopen'ed by a step that asks for counters.
	AC_CHECK_HEADER([perfmon/pfmlib_perf_event.h], [], [pfm_missing="perfmon/pfmlib_perf_event.h is missing (Debian: libpfm4-dev)"])
	X_AC_PART([libpfm], [hardware counters by libpfm4 names], [pfm_missing])
	AS_IF([test "x$part_libpfm" = xyes], [AC_DEFINE([HAVE_LIBPFM], [1], [libpfm4's header is there.])])

	# For hwmon's power and energy sensors. The source itself is not written yet, and the table
	# says so: a library that is merely there measures nothing.
	AC_CHECK_HEADER([sensors/sensors.h],
		[AC_CHECK_LIB([sensors], [sensors_init], [have_sensors=yes], [have_sensors=no])],
		[have_sensors=no])
	part_hwmon=no
	AS_IF([test "x$have_sensors" = xyes],
		[part_hwmon_why="not in this release (libsensors is there)"],
		[part_hwmon_why="not in this release; needs libsensors (Debian: libsensors-dev)"])
])
