#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The layers of src/: a file may include headers only of its own or a lower layer. The core may include no Slurm header, so
# that it can be tested without Slurm.
. "$top_srcdir/tests/tap/tap.sh"
cd "$top_srcdir" || exit 1

# The order of the layers, the lowest first. A folder may include itself and folders listed above it.
# libemission is below libledger, because the ledger charges each tick with the factor of its time; librecord
# is below libnode, because the node prints a step's report. slurmdb/ has headers without a Slurm type, so that commands
# see its rows. bpf/probes.h, a layer of one file, is the contract between the BPF programs and their reader.
sinks=$(sed -n 's|^SINK(\([^,]*\),.*|src/libsink/\1|p' src/libcore/sinks.def)
sensors=$(sed -n 's|^SOURCE([^,]*, \([^,]*\),.*|src/libmeter/sensor/\1|p' src/libcore/sources.def)
helpers=$(for file in src/helpers/*/build.am; do echo "${file%/*}"; done)
layers="
src/libutil
src/libcore
src/libtrace
src/libprofile
bpf/probes.h
src/libmeter/sensor
$sensors
src/libmeter/activity
bpf/profile
src/libemission
src/libledger
src/librecord
src/libnode
bpf
src/libstep
src/libstore
src/libhttps
src/libsink
$sinks
$helpers
src/profiler
src/factors
slurmdb
src/cmd
src/cmd/job
src/cmd/jobs
src/cmd/compare
src/cmd/advise
src/cmd/trace
src/cmd/flame
src/cmd/gather
src/cmd/mail
src/cmd/report
src/cmd/store
src/cmd/db
src/cmd/export
src/cmd/top
src/cmd/factors
src/cmd/check
recorder
"

below=
missing=
for layer in $layers; do
	files=$(find "$layer" -maxdepth 1 -name '*.[ch]')
	[ -n "$files" ] || missing="$missing $layer"
	case $layer in
	*.h) what=$layer ;;
	*) what="$layer/[^/\"]*" ;;
	esac
	below="$below${below:+|}$what"
	# shellcheck disable=SC2086 # several files
	is "$(grep -nE '#include "(src|spank|jobcomp|acct_gather|recorder|slurmdb|bpf)/' $files |
		grep -vE "#include \"($below)\"")" "" "$layer includes only itself and lower layers"
done
is "$missing" "" "every layer has files"
is "$(find src bpf slurmdb recorder -name '*.[ch]' ! -name '*.bpf.[ch]' | grep -vxE "$below")" "" "every source file of the core is in a layer"
for folder in $sinks $sensors; do
	is "$(grep -rnE "#include \"${folder%/*}/[^/\"]*/" "$folder" | grep -v "\"$folder/")" "" \
		"$folder includes no other of ${folder%/*}"
done
# A file that two programs need is in a library.
is "$(find . -path ./slurm-src -prune -o \( -name Makefile.am -o -name '*.am' \) -print | grep -v '^\./build' |
	xargs grep -nE '\.\./[^ ]*\.[ch]([[:blank:]]|$)')" "" "no Makefile.am compiles the sources of another folder"

slurm='^[[:blank:]]*#[[:blank:]]*include[[:blank:]]*[<"]'
slurm="$slurm(slurm/|slurm[a-z_]*\.h|src/(api|common|conmgr|curl|database|interfaces|plugins|slurm[a-z]*)/)"
is "$(grep -rnE "$slurm" src)" "" "no Slurm header below src/"
is "$(grep -nE '\b(fork|posix_spawn|helper_spawn|SYS_futex)\b' src/libcore/*.c)" "" \
	"libcore starts no process and waits on no futex"
is "$(grep -rlE '#include .*\.skel\.h' --include='*.c' --include='*.h' . | grep -v '/build' |
	grep -v '^\./bpf/')" "" "only the loader includes the BPF skeleton"
is "$(grep -rlE '#include <(librdkafka/|mysql|mariadb|bpf/)' src spank acct_gather jobcomp |
	grep -v '^src/libsink/')" "" "clients of brokers and databases: libsink only"
is "$(grep -rlE '#include <sqlite3\.h>' src spank acct_gather jobcomp recorder |
	grep -vE '^src/(libstore/|libsink/sqlite/sqlite_file\.h)')" "" "SQLite: the store and its sink only"
calls='(^|[^A-Za-z0-9_.>])(exit|abort|assert|xmalloc|fatal|strtok|atoi|sprintf|strcpy|strcat)\('
is "$(grep -rnE "$calls" src spank jobcomp acct_gather --include='*.c' --include='*.h' |
	grep -vE ':[[:blank:]]*(/?\*|//)|_exit\(')" "" \
	"nothing that ends a process, and no unbounded string functions"
# A public function must have a caller in another file: of the product, a test, a benchmark or a fuzzer. Functions that the
# loader calls by name are not checked.
objects() {
	find "$top_builddir/src" "$top_builddir/bpf" "$top_builddir/recorder" "$top_builddir/slurmdb" "$top_builddir/spank" \
		"$top_builddir/jobcomp" "$top_builddir/acct_gather" -name '*.o' ! -name '*.pb-c.o' ! -path '*/tests/*' 2>/dev/null
}
if command -v nm >/dev/null && ! grep -q fsanitize "$top_builddir/config.log" &&
	[ -e "$top_builddir/acct_gather/.libs/acct_gather_energy_ceems.so" ] &&
	[ -e "$top_builddir/jobcomp/.libs/jobcomp_ceems.so" ] && [ -e "$top_builddir/src/cmd/ceems" ] &&
	[ -e "$top_builddir/recorder/ceems-recorder" ]; then
	called=$(objects | xargs nm -A -u | awk '{ print $NF }' | sort -u)
	public=$(objects | grep "^$top_builddir/src/" | xargs nm --defined-only | awk '$2 == "T" { print $3 }' | sort -u)
	by_tests=$(find tests -name '*.[ch]' -exec cat {} + | grep -oE '[a-z_0-9]+' | sort -u)
	is "$(echo "$public" | grep -vxF "$called" | grep -vxF "$by_tests" | grep -vxE 'main|ceems_node')" \
		"" "no public function that no other file calls"
else
	skip "not all parts are built, or with sanitizers: who calls whom is not known"
fi
done_testing
