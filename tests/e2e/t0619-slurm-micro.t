#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurmd of a node is restarted with the next micro version of Slurm while a step runs. A distribution has one micro version of
# each release, so the next one is a copy of the installed files with the next number, to which Slurm's check of plugins
# applies. With plugins for it, steps keep their energy. Without, slurmd refuses them and ends; running steps go on.
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank jobcomp
. "$e2e_top/tests/e2e/energy.sh"
build=${E2E_BUILDDIR:-$(e2e_builddir)}
nodes='n1 n2'
version=$(slurmctld -V)
version=${version##* }
next=${version%.*}.$((${version##*.} + 1))
[ ${#next} = ${#version} ] || skip_all "Slurm $version: the next number is longer, and cannot replace it in a file"
for libdir in /usr/lib/*/slurm-wlm /usr/lib*/slurm; do
	[ ! -e "$libdir/auth_munge.so" ] || break
done
[ -e "$libdir/libslurmfull.so" ] || skip_all "libslurmfull.so is not where Slurm's plugins are"

# raise FILE...: gives the files the next number, as a number and as a text
raise() {
	/usr/bin/python3 - "$version" "$next" "$@" <<-'EOT'
		import struct, sys
		def number(text):
		    major, minor, micro = map(int, text.split("."))
		    return struct.pack("<I", major << 16 | minor << 8 | micro)
		version, after = sys.argv[1:3]
		for path in sys.argv[3:]:
		    with open(path, "r+b") as f:
		        data = f.read()
		        f.seek(0)
		        f.write(data.replace(number(version), number(after)).replace(version.encode(), after.encode()))
	EOT
}

# files_of_next: Slurm, and our plugins for it
files_of_next() {
	local program

	mkdir -p "$e2e_work/sbin" "$e2e_work/fits" "$e2e_work/stale" && cp -a "$libdir" "$e2e_work/lib" || return
	for program in slurmd slurmstepd slurmctld; do
		cp -L "$(command -v $program)" "$e2e_work/sbin/$program" || return
	done
	for so in acct_gather/.libs/acct_gather_energy_ceems src/libnode/.libs/ceems_node spank/.libs/spank_ceems; do
		cp -L "$build/$so.so" "$e2e_work/stale/" && cp -L "$build/$so.so" "$e2e_work/fits/" || return
	done
	chmod go-w "$e2e_work"/{fits,stale}/*
	find "$e2e_work/lib" "$e2e_work/sbin" "$e2e_work/fits" -type f -exec readelf -h {} ';' -print 2>/dev/null |
		grep "^$e2e_work" >"$e2e_work/list"
	mapfile -t files <"$e2e_work/list"
	raise "${files[@]}"
}

# n1_has PLUGINS: from its next start on, slurmd of n1 is of the next version, with our PLUGINS
n1_has() {
	local program

	{
		echo "$e2e_work/lib $libdir"
		echo "$e2e_work/$1 $DIR/plugins"
		for program in slurmd slurmstepd slurmctld; do
			echo "$e2e_work/sbin/$program $(readlink -f "$(command -v $program)")"
		done
	} >"$DIR/etc/mounts.n1"
}
# on_n1 CMD...: with n1's files
on_n1() {
	inside unshare --mount sh -c 'while read -r from to; do mount --bind "$from" "$to" || exit; done <"$1"
		shift; exec "$@"' sh "$DIR/etc/mounts.n1" "$@"
}

passes "a copy of Slurm $version as $next" files_of_next
cluster_up --nodes 2 --cpus 4 --fake-rapl --still-cpus \
	--ceems-conf <(printf '%s\n' Sinks=file IdleWatts=0.001 FinalEnergyWait=60s)
home=$DIR/home/user1
work_write
both() {
	on n1 has_step "$job" 0 && on n2 has_step "$job" 0
}
begin() {
	job=$(submit user1 -N2 -n2 -o /dev/null --wrap "srun --ceems-perf $e2e_work/work $home/go.$1")
	wait_for 120 both
	ok $? "$1: a job over both nodes begins"
	feed_all 6000001 1000003
}
ends() {
	: >"$home/go.$2"
	wait_for 120 job_is "$1" COMPLETED
	agrees "$1" "$1" 2 "$2"
}

begin before
long=$job
n1_has fits
has "$(on_n1 slurmd -V)" "$next" "n1 gets Slurm $next, with plugins for it"
on n1 restart_slurmd
feed_all 4000001 700001
wait_for 60 grep -q "slurmd version $next started" "$LOG_DIR/slurmd.n1.log"
ok $? "its slurmd runs"
begin next
ends "$job" next

n1_has stale
"$cluster" kill "$DIR" slurmd n1
"$cluster" start-daemon "$DIR" slurmd n1 >/dev/null 2>&1
refuses() {
	cat "$LOG_DIR/slurmd.n1.log" "$LOG_DIR/slurmd.n1.out" | grep -F 'Incompatible Slurm plugin'
}
wait_for 30 refuses
ok $? "with plugins for $version, slurmd $next refuses them"
slurmd_is_gone() {
	! inside kill -0 "$(cat "$DIR/run/pid/slurmd.n1")" 2>/dev/null
}
wait_for 30 slurmd_is_gone
ok $? "  and ends"
out=$(on_n1 "$build/src/cmd/ceems" check --node n1 --conf "$CEEMS_CONF" 2>&1)
has "$out" "acct_gather_energy_ceems.so is for Slurm $version, installed is $next" "  ceems check says so"
is "$(job_state "$long")" RUNNING "  the job that ran goes on"
feed_all 5000003 900001
n1_has fits
"$cluster" start-daemon "$DIR" slurmd n1
ok $? "with plugins for $next, slurmd starts"
ends "$long" before
for n in $nodes; do
	on "$n" conserved "$n"
done
is "$(complaints)" "" "no node had anything to complain of"
done_testing
