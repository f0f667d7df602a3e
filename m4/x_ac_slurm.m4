# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_SLURM: the installed Slurm (SPANK needs its public headers only) and the source of exactly
# that version (jobcomp and acct_gather_energy need internal headers; contrib/slurm-source gets
# them from the distribution's source package).
#
# Sets SLURM_CPPFLAGS (public), SLURM_SRC_CPPFLAGS (internal), SLURM_VERSION and slurm_plugindir.
AC_DEFUN([X_AC_SLURM], [
	AC_REQUIRE([AC_PROG_CPP])
	slurm_hex=0
	PKG_CHECK_MODULES([SLURM_PC], [slurm], [have_slurm_pc=yes], [have_slurm_pc=no])
	SLURM_CPPFLAGS=$SLURM_PC_CFLAGS
	slurm_missing=
	save_CPPFLAGS=$CPPFLAGS
	CPPFLAGS="$CPPFLAGS $SLURM_CPPFLAGS"
	AC_CHECK_HEADER([slurm/spank.h], [], [slurm_missing="slurm/spank.h is missing (Debian: libslurm-dev)"])
	AC_MSG_CHECKING([for the installed Slurm's version])
	AC_PREPROC_IFELSE([AC_LANG_SOURCE([[
#include <slurm/slurm_version.h>
ceems_version_is SLURM_VERSION_NUMBER
	]])], [
		slurm_hex=$($CPP -P $CPPFLAGS conftest.c 2>/dev/null | tr -s '\n\t ' '   ' | $SED -n 's/.*ceems_version_is *\(0x@<:@0-9a-f@:>@*\).*/\1/p')
		SLURM_VERSION=$(printf '%d.%02d.%d' @S|@((slurm_hex >> 16)) @S|@(((slurm_hex >> 8) & 255)) @S|@((slurm_hex & 255)))
	], [SLURM_VERSION=unknown])
	AC_MSG_RESULT([$SLURM_VERSION])
	CPPFLAGS=$save_CPPFLAGS

	AC_ARG_WITH([slurm-src],
		[AS_HELP_STRING([--with-slurm-src=DIR], [source tree of exactly the installed Slurm @<:@slurm-src beside configure, if there@:>@])],
		[slurm_src=$withval],
		[AS_IF([test -d "$srcdir/slurm-src/src/common"], [slurm_src=$(cd "$srcdir/slurm-src" && pwd)], [slurm_src=])])
	slurm_src_missing=$slurm_missing
	AS_IF([test -n "$slurm_src_missing"], [],
	[test -z "$slurm_src"], [slurm_src_missing="no Slurm source (contrib/slurm-source, then --with-slurm-src=DIR)"],
	[test ! -e "$slurm_src/META" -o ! -e "$slurm_src/src/common/slurm_xlator.h"],
		[AC_MSG_ERROR([--with-slurm-src=$slurm_src is not a Slurm source tree])],
	[
		AC_MSG_CHECKING([for the version of the Slurm source])
		slurm_src_version=$($AWK '@S|@1 == "Version:" { print @S|@2; exit }' "$slurm_src/META")
		AC_MSG_RESULT([$slurm_src_version])
		AS_IF([test "x$slurm_src_version" != "x$SLURM_VERSION"],
			[AC_MSG_ERROR([$slurm_src is Slurm $slurm_src_version, installed is $SLURM_VERSION: slurmctld and slurmd refuse a plugin of another version])])
	])
	SLURM_SRC_CPPFLAGS="-I\$(top_builddir)/config/slurm -I$slurm_src $SLURM_CPPFLAGS"
	AC_SUBST([SLURM_CPPFLAGS])
	AC_SUBST([SLURM_SRC_CPPFLAGS])
	AC_SUBST([SLURM_VERSION])
	AC_SUBST([slurm_src])
	AC_SUBST([SLURM_VERSION_HEX], [$slurm_hex])
	AC_CONFIG_FILES([config/slurm/config.h:m4/slurm_config.h.in])

	AC_ARG_WITH([slurm-plugindir],
		[AS_HELP_STRING([--with-slurm-plugindir=DIR], [where the plugins are installed @<:@LIBDIR/ceems/slurm, for PluginDir@:>@])],
		[slurm_plugindir=$withval], [slurm_plugindir='${libdir}/ceems/slurm'])
	AC_SUBST([slurm_plugindir])

	PKG_CHECK_MODULES([JANSSON], [jansson >= 2.12], [jansson_missing=], [jansson_missing="jansson is missing (Debian: libjansson-dev)"])
	X_AC_PART([spank], [the SPANK plugin], [slurm_missing])
	X_AC_PART([acct-gather], [the acct_gather_energy plugin], [slurm_src_missing])
	jobcomp_missing=$slurm_src_missing
	X_AC_PART([jobcomp], [the jobcomp plugin], [jobcomp_missing])
	PKG_CHECK_MODULES([SQLITE], [sqlite3 >= 3.26], [sqlite_missing=], [sqlite_missing="SQLite is missing (Debian: libsqlite3-dev)"])
	cli_missing=$jansson_missing
	AS_IF([test -z "$cli_missing"], [cli_missing=$sqlite_missing])
	X_AC_PART([cli], [the ceems command], [cli_missing])
	AC_CHECK_HEADER([slurm/slurmdb.h], [have_slurmdb=yes], [have_slurmdb=no])
	save_CPPFLAGS=$CPPFLAGS
	CPPFLAGS="$CPPFLAGS $SLURM_CPPFLAGS"
	AC_CHECK_MEMBER([slurmdb_job_rec_t.restart_cnt],
		[AC_DEFINE([HAVE_SLURMDB_RESTART_CNT], [1], [slurmdbd has the restart count of a job.])], [],
		[[#include <slurm/slurmdb.h>]])
	CPPFLAGS=$save_CPPFLAGS
	AC_CHECK_LIB([slurm], [slurmdb_jobs_get], [:], [have_slurmdb=no], [$SLURM_PC_LIBS])
	AS_IF([test "x$have_slurmdb" = xyes],
		[AC_DEFINE([HAVE_SLURMDB], [1], [libslurm can ask slurmdbd, for ceems job.])])
	AM_CONDITIONAL([HAVE_SLURMDB], [test "x$have_slurmdb" = xyes])
	recorder_missing=$cli_missing
	AS_IF([test -z "$recorder_missing" -a "x$have_slurmdb" != xyes], [recorder_missing="libslurm with slurmdbd's functions is missing (Debian: libslurm-dev)"])
	X_AC_PART([recorder], [ceems-recorder], [recorder_missing])
	AM_CONDITIONAL([BUILD_RECORDER], [test "x$part_recorder" = xyes])
	AM_CONDITIONAL([HAVE_SQLITE], [test -z "$sqlite_missing"])
	AM_CONDITIONAL([BUILD_SPANK], [test "x$part_spank" = xyes])
	AM_CONDITIONAL([BUILD_ACCT_GATHER], [test "x$part_acct_gather" = xyes])
	AM_CONDITIONAL([BUILD_JOBCOMP], [test "x$part_jobcomp" = xyes])
	AM_CONDITIONAL([BUILD_CLI], [test "x$part_cli" = xyes])
	AM_CONDITIONAL([HAVE_JANSSON], [test -z "$jansson_missing"])
])
