# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_SINKS: client libraries of the sinks; each in a library of its own.
AC_DEFUN([X_AC_SINKS], [
	PKG_CHECK_MODULES([RDKAFKA], [rdkafka >= 1.6], [rdkafka_missing=], [rdkafka_missing="librdkafka is missing (Debian: librdkafka-dev)"])
	X_AC_PART([kafka], [the Kafka sink], [rdkafka_missing])
	AM_CONDITIONAL([BUILD_KAFKA], [test "x$part_kafka" = xyes])
	AS_IF([test "x$part_kafka" = xyes], [AC_DEFINE([HAVE_KAFKA], [1], [The Kafka sink is built.])])

	PKG_CHECK_MODULES([MARIADB], [libmariadb], [mariadb_missing=], [mariadb_missing="libmariadb is missing (Debian: libmariadb-dev)"])
	AS_IF([test -z "$mariadb_missing"], [mariadb_missing=$jansson_missing])
	X_AC_PART([mariadb], [the MariaDB sink], [mariadb_missing])
	AM_CONDITIONAL([BUILD_MARIADB], [test "x$part_mariadb" = xyes])
	AS_IF([test "x$part_mariadb" = xyes], [AC_DEFINE([HAVE_MARIADB], [1], [The MariaDB sink is built.])])
])
