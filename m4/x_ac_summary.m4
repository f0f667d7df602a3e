# SPDX-License-Identifier: GPL-2.0-or-later
# X_AC_SUMMARY: what is in, and why something is out.
AC_DEFUN([X_AC_SUMMARY_LINE], [
	AS_IF([test "x$part_$1" = xyes], [printf '  %-22s yes  %s\n' "$2" "$3"],
		[printf '  %-22s no   %s\n' "$2" "$part_$1_why"])
])
AC_DEFUN([X_AC_SUMMARY], [
	AS_ECHO([""])
	AS_ECHO(["$PACKAGE_NAME $PACKAGE_VERSION for Slurm $SLURM_VERSION"])
	X_AC_SUMMARY_LINE([acct_gather], [acct_gather_energy], [energy and emissions of jobs and steps])
	X_AC_SUMMARY_LINE([spank], [spank], [--ceems-perf, --ceems-report])
	X_AC_SUMMARY_LINE([jobcomp], [jobcomp], [job ends, for ceems-recorder])
	X_AC_SUMMARY_LINE([recorder], [ceems-recorder], [job records])
	X_AC_SUMMARY_LINE([kafka], [sink kafka], [])
	X_AC_SUMMARY_LINE([mariadb], [sink mariadb], [])
	X_AC_SUMMARY_LINE([otlp], [sink otlp], [traces])
	X_AC_SUMMARY_LINE([bpf], [bpf], [I/O per step, stacks of profiles])
	X_AC_SUMMARY_LINE([libpfm], [libpfm4], [hardware counters])
	X_AC_SUMMARY_LINE([source_hwmon], [source hwmon], [libsensors])
	X_AC_SUMMARY_LINE([source_ipmi], [source ipmi], [libfreeipmi])
	X_AC_SUMMARY_LINE([source_redfish], [source redfish], [libcurl])
	X_AC_SUMMARY_LINE([cli], [ceems command], [])
	X_AC_SUMMARY_LINE([factors], [ceems factors], [libcurl])
	X_AC_SUMMARY_LINE([profiles], [ceems flame], [$profiles_libs])
	X_AC_SUMMARY_LINE([top_screen], [ceems top], [ncurses])
	dnl Expanded for the eye only: ${libdir} holds ${exec_prefix}, which holds ${prefix}.
	eval "ceems_dir=$slurm_plugindir"; eval "ceems_dir=$ceems_dir"; eval "ceems_dir=$ceems_dir"
	AS_ECHO(["  plugins go to          $ceems_dir"])
	AS_ECHO(["  sanitizers             $enable_sanitizers"])
	AS_ECHO([""])
])
