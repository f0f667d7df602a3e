# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_SOURCES: energy sources that need a library; each has a helper program (src/helpers), which slurmd
# starts where it is asked for.
AC_DEFUN([X_AC_SOURCES], [
	AC_CHECK_HEADER([sensors/sensors.h],
		[AC_CHECK_LIB([sensors], [sensors_init],
			[sensors_missing=; SENSORS_LIBS=-lsensors],
			[sensors_missing="libsensors is missing (Debian: libsensors-dev)"])],
		[sensors_missing="sensors/sensors.h is missing (Debian: libsensors-dev)"])
	AC_SUBST([SENSORS_LIBS])
	X_AC_PART([source-hwmon], [the hwmon source], [sensors_missing])
	AM_CONDITIONAL([BUILD_SOURCE_HWMON], [test "x$part_source_hwmon" = xyes])

	PKG_CHECK_MODULES([FREEIPMI], [libfreeipmi], [freeipmi_missing=],
		[freeipmi_missing="libfreeipmi is missing (Debian: libfreeipmi-dev)"])
	X_AC_PART([source-ipmi], [the IPMI source], [freeipmi_missing])
	AM_CONDITIONAL([BUILD_SOURCE_IPMI], [test "x$part_source_ipmi" = xyes])

	AC_ARG_WITH([curl], [AS_HELP_STRING([--without-curl], [build no part that needs libcurl])])
	AS_IF([test "x$with_curl" = xno], [curl_missing="disabled by --without-curl"],
		[PKG_CHECK_MODULES([CURL], [libcurl >= 7.61], [curl_missing=],
			[curl_missing="libcurl 7.61 is missing (Debian: libcurl4-openssl-dev)"])])
	AM_CONDITIONAL([HAVE_CURL], [test -z "$curl_missing"])
	redfish_missing=$curl_missing
	AS_IF([test -z "$redfish_missing"], [redfish_missing=$jansson_missing])
	X_AC_PART([source-redfish], [the Redfish source], [redfish_missing])
	AM_CONDITIONAL([BUILD_SOURCE_REDFISH], [test "x$part_source_redfish" = xyes])
	factors_missing=$redfish_missing
	AS_IF([test "x$part_cli" != xyes], [factors_missing="the ceems command is not built"])
	X_AC_PART([factors], [ceems factors], [factors_missing])
	AM_CONDITIONAL([BUILD_FACTORS], [test "x$part_factors" = xyes])
	AS_IF([test "x$part_factors" = xyes],
		[AC_DEFINE([HAVE_FACTORS], [1], [ceems factors is built.])])
])
