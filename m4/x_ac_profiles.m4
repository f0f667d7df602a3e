# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_PROFILES: profiles of jobs in pprof's format, and names for what is in them.
AC_DEFUN([X_AC_PROFILES], [
	profiles_missing=
	AC_ARG_VAR([PROTOC_C], [compiler of protobuf messages to C])
	AC_CHECK_PROGS([PROTOC_C], [protoc-c])
	AS_IF([test -z "$PROTOC_C"], [profiles_missing="protoc-c is missing (Debian: protobuf-c-compiler)"])
	PKG_CHECK_MODULES([PROTOBUF_C], [libprotobuf-c >= 1.3], [],
		[profiles_missing="libprotobuf-c is missing (Debian: libprotobuf-c-dev)"])
	PKG_CHECK_MODULES([ZLIB], [zlib], [], [profiles_missing="zlib is missing (Debian: zlib1g-dev)"])
	AM_CONDITIONAL([HAVE_ZLIB], [test -n "$ZLIB_LIBS"])
	AS_IF([test -n "$ZLIB_LIBS"], [AC_DEFINE([HAVE_ZLIB], [1], [ceems gather is built.])],
		[AC_MSG_NOTICE([no zlib: ceems gather is not built (Debian: zlib1g-dev)])])
	PKG_CHECK_MODULES([LIBDW], [libdw >= 0.170], [], [profiles_missing="libdw is missing (Debian: libdw-dev)"])
	PKG_CHECK_MODULES([LIBELF], [libelf], [], [profiles_missing="libelf is missing (Debian: libelf-dev)"])
	profiles_libs="libprotobuf-c, zlib, libdw"
	PKG_CHECK_MODULES([LIBLZMA], [liblzma],
		[profiles_libs="$profiles_libs, liblzma"
		 AC_DEFINE([HAVE_LZMA], [1], [.gnu_debugdata of stripped files is read.])],
		[AC_MSG_NOTICE([no liblzma: stripped programs of RHEL have few names in profiles (Debian: liblzma-dev)])])
	AC_CHECK_HEADER([libiberty/demangle.h],
		[AC_CHECK_LIB([iberty], [cplus_demangle], [IBERTY_LIBS=-liberty], [IBERTY_LIBS=])], [IBERTY_LIBS=])
	AC_SUBST([IBERTY_LIBS])
	AS_IF([test -z "$IBERTY_LIBS"], [profiles_missing="libiberty is missing (Debian: libiberty-dev)"])
	X_AC_PART([profiles], [profiles of jobs and ceems flame], [profiles_missing])
	AM_CONDITIONAL([BUILD_PROFILES], [test "x$part_profiles" = xyes])
	AS_IF([test "x$part_profiles" = xyes], [AC_DEFINE([HAVE_PROFILES], [1], [Profiles are written and read.])])
])
