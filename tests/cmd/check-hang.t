#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems check where paths of ceems.conf are on a file system whose server does not answer: it must name each, and wait once.
# tests/e2e/t0611-hang.t has the daemons there.
. "$top_srcdir/tests/tap/tap.sh"
ceems=$(cd "$top_builddir/src/cmd" && pwd)/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"
[ "$(id -u)" = 0 ] || skip_all "needs root, to mount FUSE"
[ -x /usr/bin/python3 ] || skip_all "python3 is not installed"
# the mount is in a namespace of its own, and goes with the last process there
if [ "$1" != inside ]; then
	exec unshare -m --propagation private sh "$0" inside
fi
dir=$(mktemp -d) || exit 1
mkdir "$dir/hang"
ln -s hang "$dir/link"
/usr/bin/python3 "$top_srcdir/tests/e2e/hang_mount.py" "$dir/hang" >"$dir/mount.out" 2>&1 &
server=$!
trap 'kill $server; wait $server; umount -l "$dir/hang" 2>/dev/null; rm -rf "$dir"' EXIT
n=0
until grep -q mounted "$dir/mount.out" || ! kill -0 $server 2>/dev/null || [ $((n += 1)) -gt 100 ]; do
	sleep 0.1
done
grep -q mounted "$dir/mount.out" || skip_all "FUSE cannot be mounted here: $(tail -n 1 "$dir/mount.out")"
SLURM_CONF=$dir/none
export SLURM_CONF

# check KEY=VALUE...: the output is in $out, and what it took in $ms
check() {
	printf '%s\n' "$@" >"$dir/ceems.conf"
	begin=$(date +%s%N)
	out=$(timeout -s KILL 60 "$ceems" check --verbose --node n1 --conf "$dir/ceems.conf" 2>&1)
	rc=$?
	ms=$((($(date +%s%N) - begin) / 1000000))
}
# every KEY AT: all paths of ceems.conf are in the folder AT, and each must be found to hang
keys="LedgerDir TextfileDir ExternalSource RedfishConf EmissionFactorFile EmissionSeriesFile TraceDir ProfileDir
	ProfilePushHeaders ProfilePushCaFile ProfilePushDir BpfDir InboxDir StoreDir RecordFile KafkaConf MariadbDefaultsFile
	SqliteFile OtlpHeaders OtlpCaFile MailProg"
every() {
	set -- "$1" Sinks=file,kafka,mariadb,otlp,sqlite OtlpUrl=http://127.0.0.1:1 ProfilePushUrl=http://127.0.0.1:1 EmissionRegion=FR
	at=$1
	shift
	for key in $keys; do
		set -- "$@" "$key=$at/$key"
	done
	check "$@"
	is $rc 1 "all paths are in $at: an error"
	[ $ms -le 30000 ] # 5 s and its work; one path after another would take more than 100 s
	ok $? "  waiting once for all: $ms ms"
	is "$(echo "$out" | sed -n "s|^error  *\([A-Za-z]*\) *$at/[A-Za-z]* does not answer: .*|\1|p" | sort | tr '\n' ' ')" \
		"$(printf '%s\n' $keys | sort | tr '\n' ' ')" "  and each is named"
}
every "$dir/hang"
has "$out" "-> see why the file server of $dir/hang (FUSE, hang) does not answer, or use a path on another file system" \
	"  with its file server"
has "$out" "error  StoreDir       $dir/hang/StoreDir is on FUSE, not a disk of this host" "  that StoreDir must be local is told, too"
has "$out" "ok     EnergySources  " "  the rest is checked"
every "$dir/link"
has "$out" "-> see why $dir/link/StoreDir does not answer, or use a path on another file system" "  behind a link no file system is named"
check "HelperDir=$dir/hang"
has "$out" "error  HelperDir      $dir/hang does not answer: nothing else can be checked" "a HelperDir that hangs ends the check"
is "$(echo "$out" | grep -c EnergySources)" 0 "  before anything is asked"
# Slurm's own files
printf 'ClusterName=c\nPluginDir=/nowhere/a:%s/plugins\n' "$dir/hang" >"$dir/slurm.conf"
SLURM_CONF=$dir/slurm.conf
check "LedgerDir=$dir"
has "$out" "error  PluginDir      $dir/hang/plugins does not answer: Slurm's daemons and commands would hang" "so is a folder of PluginDir"
[ $ms -le 20000 ] # 5 s and its work
ok $? "  after waiting once: $ms ms"
has "$out" "not asked, and slurmdbd neither: correct PluginDir first" "  and no command of Slurm is run"
SLURM_CONF=$dir/hang/slurm.conf
check "LedgerDir=$dir"
has "$out" "error  slurm.conf     $dir/hang/slurm.conf does not answer: Slurm's daemons and commands would hang" "a slurm.conf that hangs is named"
has "$out" "ok     EnergySources  " "  and the rest is checked"
SLURM_CONF=$dir/none
out=$(timeout -s KILL 60 "$ceems" check --conf "$dir/hang/ceems.conf" 2>&1)
is $? 1 "a ceems.conf that hangs is an error"
has "$out" "error  ceems.conf     $dir/hang/ceems.conf does not answer: nothing can be checked" "  that says so"
check "LedgerDir=$dir"
is "$(echo "$out" | grep -c 'does not answer')" 0 "paths that answer are no error"
done_testing
