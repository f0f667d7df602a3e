#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Plugins that were not built for this Slurm: with another version number, which Slurm refuses; and with the right number
# but headers with other structs, which only the plugin can detect. With the latter no daemon may die, no job may fail,
# nothing may be written, and one line must say what to do.
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/lib.sh"
. "$e2e_top/tests/tap/plugin_version.sh"
needs_plugins acct_gather jobcomp
for tool in gcc make readelf; do
	command -v $tool >/dev/null || skip_all "$tool is not installed (contrib/deps build)"
done
build=${E2E_BUILDDIR:-$(e2e_builddir)}
slurm_src=$(sed -n 's/^slurm_src = //p' "$build/Makefile")
[ -e "$slurm_src/META" ] || skip_all "the source of Slurm that this was built with is gone"

# --- plugins of other headers ----------------------------------------------------------------------

# alter EXPRESSION FILE...: changes the FILEs that exist with sed; at least one line must change.
alter() {
	local expression=$1 file changed=1

	shift
	for file; do
		[ -e "$headers/$file" ] || continue
		cp "$headers/$file" "$headers/was.h"
		sed -i -E "$expression" "$headers/$file"
		cmp -s "$headers/$file" "$headers/was.h" || changed=0
	done
	return $changed
}

# plugin NAME PART SO ALTER-ARGUMENTS...: builds PART with altered headers, as $e2e_work/NAME.so
plugin() {
	local name=$1 part=$2 so=$3 tree=$e2e_work/build-$1 file object

	shift 3
	headers=$tree/headers
	mkdir -p "$headers" || return
	(cd "$slurm_src" && find slurm src -name '*.h' -print0 | tar -cf - --null -T -) | tar -C "$headers" -xf - || return
	alter "$@" || { echo "nothing to alter: $*"; return 1; }
	for file in "$build"/*; do
		[ "${file##*/}" = "$part" ] || ln -s "$file" "$tree/"
	done
	cp -rp "$build/$part" "$tree/" || return
	# rebuild only objects that include Slurm's headers; dependency files must not name headers of the real source
	for file in "$tree/$part"/.deps/*.Plo; do
		object=${file##*/}
		! grep -q slurm_compat.h "$file" || rm -f "$tree/$part/${object%.Plo}".lo
		: >"$file"
	done
	rm -f "$tree/$part/${so%.so}.la"
	make -s -C "$tree/$part" -j2 srcdir="$e2e_top/$part" VPATH="$e2e_top/$part" top_srcdir="$e2e_top" \
		CFLAGS=-O0 SLURM_SRC_CPPFLAGS="-I../config/slurm -I$headers" "${so%.so}.la" &&
		cp "$tree/$part/.libs/$so" "$e2e_work/$name.so"
}
jobcomp=jobcomp_ceems.so
energy=acct_gather_energy_ceems.so
job_headers=(src/common/job_record.h src/slurmctld/slurmctld.h)
passes "jobcomp, with a job of one more field" plugin grown jobcomp $jobcomp \
	's/^\tchar +\*nodes;.*nodes allocated to job/\tuint64_t more;\n&/' "${job_headers[@]}"
passes "jobcomp, with a job of as many in another order" plugin swapped jobcomp $jobcomp \
	'/^struct job_record \{/,/^\}/{s/ job_id;/ X;/; s/ user_id;/ job_id;/; s/ X;/ user_id;/}' "${job_headers[@]}"
passes "jobcomp, with details of one more field" plugin details jobcomp $jobcomp \
	's/^\tchar +\*work_dir;/\tuint64_t more;\n&/' "${job_headers[@]}"
passes "energy, with another configuration of slurmd" plugin conf acct_gather $energy \
	's/^\tchar +\*node_name;/\tuint64_t more;\n&/' src/slurmd/slurmd/slurmd.h
passes "energy, with another step" plugin step acct_gather $energy \
	's/^\tjobacctinfo_t +\*jobacct;/\tuint64_t more;\n&/' src/slurmd/slurmstepd/slurmstepd_job.h
passes "energy, with another record of a GPU's file" plugin device acct_gather $energy \
	's/^\tint dev_num;/\tuint64_t more;\n&/' src/common/gres.h src/interfaces/gres.h
passes "energy, with another record of a job's GRES" plugin gres acct_gather $energy \
	'/^typedef struct gres_job_state/,/^\}/s/^\tchar \*type_name;/\tuint64_t more;\n&/' src/common/gres.h src/interfaces/gres.h
for so in $jobcomp $energy; do
	cp "$build/${so%%_[ec]*}/.libs/$so" "$e2e_work/micro-$so" && plugin_version_spoil "$e2e_work/micro-$so"
	ok $? "$so, of another micro version"
done

# --- with the right number ---------------------------------------------------------------------------

cluster_up --no-dbd --fake-gpus 1 --ceems-conf <(printf '%s\n' Sinks=file EnergySources=model FinalEnergyWait=1s)
cp -d "$DIR/plugins"/*.so "$e2e_work/"

# put FILE SO: installs SO as the plugin FILE
put() {
	ln -sfn "$1" "$DIR/plugins/$2"
}
put_back() {
	cp -d --remove-destination "$e2e_work/$1" "$DIR/plugins/"
}

# begin DAEMON...: restarts the daemons with empty logs
begin() {
	log=$LOG_DIR/$1${2:+.$2}.log
	"$cluster" kill "$DIR" "$@"
	: >"$log"
	"$cluster" start-daemon "$DIR" "$@"
}
says() {
	grep -cF -- "$*" "$log"
}

for what in grown swapped details; do
	put "$e2e_work/$what.so" $jobcomp
	begin slurmctld
	ok $? "slurmctld starts ($what)"
	passes "  a job runs" as user1 srun true
	passes "  another one" as user1 srun true
	is "$(says 'jobcomp: slurmctld differs from the Slurm headers')" 1 "  one line says that the headers are others"
	is "$(says 'contrib/slurm-source')" 1 "  and what to do"
	passes "  slurmctld goes on" inside scontrol ping
done
fails "no record was written" grep . "$RECORD_FILE"
put_back $jobcomp
begin slurmctld
ok $? "slurmctld starts with what was built for it"
passes "a job runs" as user1 srun true
wait_for 60 grep -q '"jobid":7' "$RECORD_FILE"
is "$(jq -s -c 'map(.jobid)' "$RECORD_FILE")" '[7]' "it has a record, and the others none"
is "$(says 'slurmctld differs from the Slurm headers')" 0 "and no line"

put "$e2e_work/conf.so" $energy
begin slurmd n1
ok $? "slurmd starts"
is_said() { [ "$(says 'slurmd differs from the Slurm headers')" -ge 1 ]; }
wait_for 30 is_said # by the thread that samples
is "$(says 'slurmd differs from the Slurm headers')" 1 "one line says that the headers are others"
is "$(says 'contrib/slurm-source')" 1 "  and what to do"
passes "  a job runs" as user1 srun true
passes "  another one" as user1 srun true
is "$(says 'from the Slurm headers')" 1 "  and no other line"
put "$e2e_work/step.so" $energy
begin slurmd n1
ok $? "slurmd starts"
is "$(says 'from the Slurm headers')" 0 "what it uses itself is right"
is "$(as user1 srun hostname 2>&1)" ceems "  a job runs, and its user is told nothing"
is "$(says 'ceems: slurmstepd differs from the Slurm headers')" 2 "  slurmd's log is, of extern and step 0"
for what in device gres; do
	put "$e2e_work/$what.so" $energy
	begin slurmd n1
	is "$(as user1 srun --gres=gpu:1 hostname 2>&1)" ceems "a job with a GPU runs ($what)"
	is "$(says 'GRES data differ from the Slurm headers')" 1 "  one line says that the headers are others"
done
put_back $energy
begin slurmd n1
ok $? "slurmd starts with what was built for it"
is "$(as user1 srun --gres=gpu:1 hostname 2>&1)" ceems "a job with a GPU runs"
is "$(says 'from the Slurm headers')" 0 "  without such a line"

# --- with a wrong one: Slurm refuses it ----------------------------------------------------------------

check() {
	inside "$build/src/cmd/ceems" check --node n1 --conf "$CEEMS_CONF"
}
version=$(sed -n 's/^SLURM_VERSION = //p' "$build/Makefile")
other=${version%.*}.99

# says_incompatible DAEMON [NODE]: in its log, or on stderr if it ended before it had a log. slurmctld still shows the
# earlier slurmd's node as idle, so a slurmd that "is up" may still be loading its plugins.
says_incompatible() {
	cat "$log" "$LOG_DIR/$1${2:+.$2}.out" 2>/dev/null | grep -F "Incompatible Slurm plugin"
}

# is_refused SO WHAT DAEMON...: each daemon must say that SO is incompatible, whether or not it ends; so must `ceems check`
is_refused() {
	local so=$1 what=$2

	shift 2
	put "$e2e_work/micro-$so" "$so"
	begin "$@" >/dev/null 2>&1 || diag "$* does not start"
	wait_for 30 says_incompatible "$@"
	ok $? "$1 refuses $so of another micro version"
	out=$(check)
	has "$out" "error  $what" "  ceems check says so"
	has "$out" "$so is for Slurm $other, installed is $version" "  with both versions"
	has "$out" "-> contrib/slurm-source, then ./configure --with-slurm-src=" "  and what to type"
	put_back "$so"
}
is_refused $jobcomp jobcomp slurmctld
is_refused $energy acct_gather slurmd n1
done_testing
