#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Libraries that a plugin links are mapped into srun, slurmd and every slurmstepd, so only those listed here are allowed.
. "$top_srcdir/tests/tap/tap.sh"
command -v readelf >/dev/null || skip_all "no readelf"

libc='^(libc|libpthread|libdl|libm|ld-linux[^/]*|lib[a-z]*san)\.so'

needed() {
	readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
}

while read -r plugin library; do
	so=$top_builddir/$plugin.so
	if [ ! -e "$so" ]; then
		skip "$plugin is not built"
		continue
	fi
	is "$(needed "$so" | grep -vE "$libc|^($library)\.so")" "" "$plugin needs $library"
done <<'END'
acct_gather/.libs/acct_gather_energy_ceems libc
spank/.libs/spank_ceems libc
jobcomp/.libs/jobcomp_ceems libc
END
# A helper program links the library that slurmd must not map.
while read -r helper library; do
	program=$top_builddir/src/helpers/$helper
	[ -e "$program" ] || program=$top_builddir/src/profiler/$helper
	if [ ! -e "$program" ]; then
		skip "$helper is not built"
		continue
	fi
	is "$(needed "$program" | grep -vE "$libc|^($library)\.so")" "" "$helper needs $library"
done <<'END'
ceems-gpu libc
ceems-external libc
ceems-textfile libc
ceems-profile libbpf|libprotobuf-c|libz|libdw|libelf|liblzma
ceems-trace libc
ceems-hwmon libsensors
ceems-ipmi libfreeipmi
ceems-redfish libcurl|libjansson
END
# A module links its library, so that only processes which load the module map it.
while read -r module library; do
	so=$top_builddir/src/$module.so
	if [ ! -e "$so" ]; then
		skip "${module##*/}.so is not built"
		continue
	fi
	is "$(needed "$so" | grep -vE "$libc|^($library)\.so")" "" "${module##*/} needs $library"
done <<'END'
libnode/.libs/ceems_node libc
END
# ceems links what `ceems job` and `ceems jobs` use; a command with more libraries is a program of its own.
while read -r program library; do
	file=$top_builddir/src/cmd/$program
	if [ ! -e "$file" ]; then
		skip "$program is not built"
		continue
	fi
	is "$(needed "$file" | grep -vE "$libc|^($library)\.so")" "" "$program needs $library"
done <<'END'
ceems libslurm|libjansson
ceems-check librdkafka|libmariadb|libsqlite3|libcurl|libprotobuf-c|libz|libjansson
ceems-dashboards libcurl|libjansson
ceems-db librdkafka|libmariadb|libsqlite3|libcurl|libprotobuf-c|libz|libjansson
ceems-export libslurm|librdkafka|libmariadb|libsqlite3|libcurl|libprotobuf-c|libz|libjansson
ceems-factors libcurl|libjansson
ceems-flame libslurm|libdw|libelf|liblzma|libprotobuf-c|libz|libjansson
ceems-gather libz|libjansson
ceems-mail libc
ceems-report libslurm|librdkafka|libmariadb|libsqlite3|libcurl|libprotobuf-c|libz|libjansson
ceems-store librdkafka|libmariadb|libsqlite3|libcurl|libprotobuf-c|libz|libjansson
ceems-top libslurm|libcurl|libncursesw|libtinfo|libjansson
END
for name in $(sed -n 's/^COMMAND(\([a-z]*\), .*IN_PROGRAM.*/\1/p' "$top_srcdir/src/cmd/commands.def"); do
	grep -q "^ceems-$name " "$0"
	ok $? "the libraries of ceems-$name are in this test"
done
for plugin in acct_gather/.libs/acct_gather_energy_ceems.so spank/.libs/spank_ceems.so \
	jobcomp/.libs/jobcomp_ceems.so; do
	so=$top_builddir/$plugin
	[ -e "$so" ] || continue
	is "$(needed "$so" | grep -E 'libslurm|libbpf')" "" "$plugin takes Slurm's symbols from the daemon"
done
# Every slurmstepd maps both plugins, and srun the second. Code that only slurmd needs is in ceems_node.so.
if ! grep -q fsanitize "$top_builddir/config.log"; then
	for plugin in acct_gather/.libs/acct_gather_energy_ceems.so spank/.libs/spank_ceems.so; do
		so=$top_builddir/$plugin
		[ -e "$so" ] || continue
		mapped=0
		for size in $(readelf -lW "$so" | awk '$1 == "LOAD" { print $6 }'); do
			mapped=$((mapped + size))
		done
		[ "$mapped" -lt 420000 ]
		ok $? "$plugin maps $mapped bytes, less than 420,000"
	done
fi
# Plugins are linked with "-z now": a symbol that a daemon lacks must be weak, else the daemon cannot load the plugin, and
# slurmctld ends.
exported() {
	{
		nm -D --defined-only "$1"
		ldd "$1" | awk '$3 ~ "^/" { print $3 }' | xargs -r -n 1 nm -D --defined-only
	} 2>/dev/null | awk 'NF == 3 { sub(/@.*/, "", $3); print $3 }' | sort -u
}
PATH=$PATH:/usr/sbin
while read -r plugin daemon; do
	so=$top_builddir/$plugin.so
	program=$(command -v "$daemon")
	if [ ! -e "$so" ] || [ -z "$program" ]; then
		skip "$plugin is not built, or $daemon is not installed"
		continue
	fi
	exported "$program" >needed.exported
	is "$(nm -D --undefined-only "$so" | awk '$1 == "U" { sub(/@.*/, "", $2); print $2 }' | sort -u |
		comm -23 - needed.exported | grep -vE '^__(asan|ubsan|tsan|lsan|sanitizer)_')" "" "$plugin finds all its symbols in $daemon"
	rm -f needed.exported
done <<'END'
acct_gather/.libs/acct_gather_energy_ceems slurmctld
acct_gather/.libs/acct_gather_energy_ceems slurmd
acct_gather/.libs/acct_gather_energy_ceems slurmstepd
jobcomp/.libs/jobcomp_ceems slurmctld
jobcomp/.libs/jobcomp_ceems sacct
spank/.libs/spank_ceems srun
spank/.libs/spank_ceems sbatch
spank/.libs/spank_ceems salloc
spank/.libs/spank_ceems slurmd
spank/.libs/spank_ceems slurmstepd
END
done_testing
