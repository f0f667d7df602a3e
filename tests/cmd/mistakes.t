#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Common mistakes of an installation by README: `ceems check` must name file, line and key of each, and what to type.
# tests/e2e/t0301-ceems.t has mistakes with databases and brokers.
. "$top_srcdir/tests/tap/tap.sh"
. "$top_srcdir/tests/tap/plugin_version.sh"
ceems=$top_builddir/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"
dir=$(mktemp -d -t ceems.XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
unset SLURM_CONF

# good: makes a correct configuration, with empty files as plugins
good() {
	rm -rf "${dir:?}"/* && mkdir "$dir/plugins" "$dir/inbox" "$dir/store" && chmod 711 "$dir" && chmod 700 "$dir/inbox" "$dir/store"
	: >"$dir/plugins/auth_munge.so" # Slurm's own
	for so in acct_gather/.libs/acct_gather_energy_ceems.so spank/.libs/spank_ceems.so \
		jobcomp/.libs/jobcomp_ceems.so; do
		[ ! -e "$top_builddir/$so" ] || cp "$top_builddir/$so" "$dir/plugins/"
	done
	cat >"$dir/slurm.conf" <<-END
		ClusterName=test
		SlurmUser=root
		PluginDir=$dir/plugins
		AcctGatherEnergyType=acct_gather_energy/ceems
		PrologFlags=Contain
		JobAcctGatherType=jobacct_gather/cgroup
		AccountingStorageType=accounting_storage/slurmdbd
		$("$ceems" tres)
		JobCompType=jobcomp/ceems
	END
	echo "optional spank_ceems.so" >"$dir/plugstack.conf"
	cat >"$dir/ceems.conf" <<-END
		Country=FR
		LedgerDir=$dir
		InboxDir=$dir/inbox
		StoreDir=$dir/store
		RecordFile=$dir/jobs.jsonl
	END
	chmod 644 "$dir"/*.conf
}

# finds MISTAKE WHAT TYPE: ceems check must print a line with WHAT, and one with the command TYPE
finds() {
	out=$("$ceems" check --verbose --node n1 --conf "$dir/ceems.conf" 2>&1)
	has "$out" "$2" "$1"
	has "$out" "-> $3" "  what to type"
}

# slurm_conf KEY LINE: replaces KEY's line by LINE
slurm_conf() {
	sed -i "s|^$1=.*|$2|" "$dir/slurm.conf"
}

good
out=$("$ceems" check --verbose --node n1 --conf "$dir/ceems.conf" 2>&1)
is "$(echo "$out" | grep -E '^[a-z]+ +(slurm.conf|plugstack.conf|ceems.conf|InboxDir|StoreDir) ' | grep -cvE '^ok|has room')" 0 \
	"nothing is found where nothing is wrong"

mkdir "$dir/other"
slurm_conf PluginDir "PluginDir=$dir/other"
finds "1. PluginDir without ours" "$dir/slurm.conf:3: acct_gather_energy_ceems.so is not in PluginDir ($dir/other)" \
	"PluginDir="
has "$(echo "$out" | grep -e '-> PluginDir=')" "$dir/other" "  what is there stays"
good
slurm_conf PluginDir "PluginDir=$dir/plugins:/nowhere"
finds "    with a folder that is not there" "$dir/slurm.conf:3: PluginDir has /nowhere, which does not exist" "PluginDir="
is "$(echo "$out" | grep -c -e "-> PluginDir=.*/nowhere")" 0 "  which the advice leaves out"
is "$(echo "$out" | grep -cE '^error +(slurmdbd|slurmctld) +does not answer')" 0 "  and no daemon is blamed"
has "$out" "note   slurmctld      not asked, and slurmdbd neither: correct PluginDir first" "  since none is asked"
good
if command -v slurmctld >/dev/null && [ -e "$dir/plugins/acct_gather_energy_ceems.so" ]; then
	plugin_version_spoil "$dir/plugins/acct_gather_energy_ceems.so"
	finds "2. a plugin of another Slurm" "acct_gather_energy_ceems.so is for Slurm" "contrib/slurm-source"
else
	skip "2. a plugin of another Slurm: no Slurm, or no plugin, is here"
fi
good
slurm_conf AcctGatherEnergyType "AcctGatherEnergyType=acct_gather_energy/rapl,acct_gather_energy/ceems"
finds "3. a list of energy plugins" "$dir/slurm.conf:4: AcctGatherEnergyType is a list" \
	"AcctGatherEnergyType=acct_gather_energy/ceems"
good
slurm_conf PrologFlags PrologFlags=Alloc
finds "4. PrologFlags without Contain" "$dir/slurm.conf:5: PrologFlags is Alloc" "PrologFlags=Alloc,Contain"
good
basic=$("$ceems" tres --set basic | sed -n 's/^AccountingStorageTRES=energy,//p')
slurm_conf AccountingStorageTRES AccountingStorageTRES=gres/gpu
finds "5. TRES that are not listed" "$dir/slurm.conf:9: " "AccountingStorageTRES=gres/gpu,$basic"
good
slurm_conf AccountingStorageTRES "AccountingStorageTRES=energy,ic/ceems_co2e,..."
finds "    and the dots of an example among them" "$dir/slurm.conf:9: AccountingStorageTRES has '...', which Slurm does not know" \
	"AccountingStorageTRES=energy,$basic"
good
slurm_conf JobAcctGatherType JobAcctGatherType=jobacct_gather/none
finds "6. JobAcctGatherType none" "$dir/slurm.conf:6: JobAcctGatherType is jobacct_gather/none" \
	"JobAcctGatherType=jobacct_gather/cgroup"
good
: >"$dir/plugstack.conf"
finds "7. plugstack.conf without us" "$dir/plugstack.conf does not name spank_ceems.so" "optional spank_ceems.so"
good
slurm_conf SlurmUser SlurmUser=nobody
if [ "$(id -u)" = 0 ] && getent passwd nobody >/dev/null; then
	finds "8. StoreDir is not SlurmUser's" "$dir/store does not belong to SlurmUser (nobody)" \
		"chown nobody $dir/store"
	chown nobody "$dir/store"
	: >"$dir/store/lock"
	finds "    nor is a file in it" "$dir/store/lock does not belong to SlurmUser (nobody)" "chown -R nobody $dir/store"
	rm "$dir/store/lock"
	chown root "$dir/store"
	echo "bootstrap.servers=127.0.0.1:1" >"$dir/kafka.conf"
	printf 'Sinks=kafka\nKafkaConf=%s\n' "$dir/kafka.conf" >>"$dir/ceems.conf"
	chmod 600 "$dir/kafka.conf"
	finds "9. a secret that slurmctld cannot read" "cannot read $dir/kafka.conf" "chown nobody $dir/kafka.conf"
	chmod 600 "$dir/ceems.conf"
	finds "10. ceems.conf that slurmctld cannot read" \
		"$dir/ceems.conf: SlurmUser (nobody), as whom slurmctld runs, cannot read" "chmod a+r $dir/ceems.conf"
	is "$(echo "$out" | grep -c "chown.*ceems.conf")" 0 "  not its owner, since slurmd would refuse it"
	chmod 640 "$dir/ceems.conf"
	finds "    nor in a group that it is not in" "cannot read $dir/ceems.conf" "chmod a+r $dir/ceems.conf"
	chmod 644 "$dir/ceems.conf"
	chmod 700 "$dir"
	finds "    nor in a folder that is closed to it" "cannot enter $dir" "chmod a+x $dir"
	chmod 711 "$dir"
	chown nobody "$dir/ceems.conf"
	finds "    nor does slurmd take one of SlurmUser in a folder of root" "error  ceems.conf     $dir/ceems.conf: belongs to user $(id -u nobody), not to root" \
		"chown root $dir/ceems.conf"
	has "$out" "; it is refused here, and by slurmd" "  and what becomes of it"
	as_nobody() {
		out=$(setpriv --reuid nobody --regid "$(id -g nobody)" --clear-groups "$ceems" check --node n1 --conf "$dir/ceems.conf" 2>&1)
	}
	as_nobody
	has "$out" "error  ceems.conf     $dir/ceems.conf: belongs to user $(id -u nobody), not to root; chown root; slurmd, which runs as root, refuses it" \
		"  SlurmUser, who may read it, is told, too"
	has "$out" "-> chown root $dir/ceems.conf" "  what to type"
	chown nobody "$dir"
	as_nobody
	is "$(echo "$out" | grep -c 'slurmd, which runs as root')" 0 "  and nothing where the folder is SlurmUser's, too"
	chown root "$dir"
	chmod 666 "$dir/ceems.conf"
	chown root "$dir/ceems.conf"
	finds "    one that all can write" "$dir/ceems.conf: others than its owner may write it" "chmod go-w $dir/ceems.conf"
else
	skip "8. to 10. SlurmUser is somebody else: needs root"
fi
good
echo "bootstrap.servers=127.0.0.1:1" >"$dir/kafka.conf"
printf 'Sinks=kafka\nKafkaConf=%s\n' "$dir/kafka.conf" >>"$dir/ceems.conf"
chmod 644 "$dir/kafka.conf"
finds "11. a secret that all can read" "$dir/kafka.conf may hold secrets and others can open it" \
	"chmod 0600 $dir/kafka.conf"
printf 'bootstrap.servers=127.0.0.1:1\nsasl.password=x\n' >"$dir/kafka.conf"
finds "    which the sink refuses" "error  kafka          $dir/kafka.conf: others may use it" "chmod 0600 $dir/kafka.conf"
is "$(echo "$out" | grep -c -e '-> correct')" 0 "  and the mode is all there is to correct"
good
echo StorDir=/var/spool/ceems >>"$dir/ceems.conf"
finds "12. a key that is mistyped" "$dir/ceems.conf:6: StorDir: unknown key; did you mean StoreDir?" \
	"correct line 6: see ceems.conf(5)"
good
case $(stat -f -c %T "$dir") in
tmpfs | ramfs) skip "13. LedgerDir on a disk: $dir is in memory" ;;
*) finds "13. LedgerDir on a disk" "LedgerDir      $dir is not in memory" "LedgerDir=/run/ceems" ;;
esac
good
printf 'SysRoot=%s\nBpfDir=%s/bpf\n' "$dir" "$dir" >>"$dir/ceems.conf"
finds "14. a kernel without BPF's types" "this kernel has no BTF ($dir/sys/kernel/btf/vmlinux)" \
	"boot a kernel with CONFIG_DEBUG_INFO_BTF"
good
# the kernel's state of its clock, read by another program than ceems
synced=$(python3 -c '
import ctypes
tx = (ctypes.c_char * 208)()
state = ctypes.CDLL(None).adjtimex(tx)
print(0 if state == 5 or int.from_bytes(tx[40:44], "little") & 0x40 else 1)' 2>/dev/null)
case $synced in
0) finds "15. a clock that nobody keeps right" "warn   clock" "timedatectl set-ntp true" ;;
1)
	out=$("$ceems" check --verbose --node n1 --conf "$dir/ceems.conf" 2>&1)
	has "$out" "ok     clock" "15. the clock is kept right here"
	;;
*) skip "15. the clock: no python3" ;;
esac
good
sed -i '/^PluginDir/d' "$dir/slurm.conf"
own=''
for folder in /usr/lib/*/slurm-wlm /usr/lib64/slurm; do
	[ ! -e "$folder/auth_munge.so" ] || own=$folder
done
if [ -n "$own" ] && [ ! -e "$own/acct_gather_energy_ceems.so" ]; then
	# the command to type has our plugin folder if that exists
	finds "16. PluginDir that is not set" "acct_gather_energy_ceems.so is not in PluginDir ($own)" "in"
	good
	rm "$dir/plugins/auth_munge.so"
	finds "17. PluginDir with ours alone" "$dir/slurm.conf:3: PluginDir ($dir/plugins) is without Slurm's own plugins" \
		"PluginDir=$own:$dir/plugins"
else
	skip "16. and 17. PluginDir: no Slurm is installed here, or ours is in its folder"
fi
good
sed -i '/^AcctGatherEnergyType/d; /^JobCompType/d; /^AccountingStorageType/d' "$dir/slurm.conf"
finds "18. AcctGatherEnergyType that is not set" "AcctGatherEnergyType is not set: jobs get no energy" \
	"AcctGatherEnergyType=acct_gather_energy/ceems"
finds "19. JobCompType that is not set" "JobCompType is not set: no job records" "JobCompType=jobcomp/ceems"
finds "20. no slurmdbd" "AccountingStorageType is not set: energy only" \
	"AccountingStorageType=accounting_storage/slurmdbd"
good
printf '%s\n' 'EnergyIPMIFrequency=10' 'ProfileHDF5Default=None' >"$dir/acct_gather.conf"
finds "21. what another energy plugin left" "$dir/acct_gather.conf:1: EnergyIPMIFrequency is another energy plugin's" \
	"take EnergyIPMIFrequency and its like out of $dir/acct_gather.conf"
good
echo AcctGatherProfileType=acct_gather_profile/hdf5 >>"$dir/slurm.conf"
finds "    a profile plugin that is not installed" "acct_gather_profile_hdf5.so is not in PluginDir" \
	"apt install slurm-wlm-hdf5-plugin"
: >"$dir/plugins/acct_gather_profile_hdf5.so"
finds "    which has no folder" "$dir/acct_gather.conf has no ProfileHDF5Dir: Slurm's daemons do not start" \
	"ProfileHDF5Dir=... in $dir/acct_gather.conf"
echo "ProfileHDF5Dir=$dir/none/h5/" >"$dir/acct_gather.conf"
finds "    or one that it cannot make" "ProfileHDF5Dir ($dir/none/h5/) cannot be made" "mkdir -p $dir/none"
echo "ProfileHDF5Dir=$dir/h5" >"$dir/acct_gather.conf"
out=$("$ceems" check --verbose --node n1 --conf "$dir/ceems.conf" 2>&1)
has "$out" "ok     profile        srun --profile=energy --acctg-freq=energy=1 writes to $dir/h5" "    a good one"
echo JobAcctGatherFrequency=task=30,energy=10 >>"$dir/slurm.conf"
out=$("$ceems" check --verbose --node n1 --conf "$dir/ceems.conf" 2>&1)
has "$out" "ok     profile        srun --profile=energy writes to" "    a frequency that is the site's"
slurm_conf AcctGatherProfileType AcctGatherProfileType=acct_gather_profile/influxdb
: >"$dir/plugins/acct_gather_profile_influxdb.so"
printf '%s\n' ProfileInfluxDBHost=http://db:8086 ProfileInfluxDBDatabase=slurm >"$dir/acct_gather.conf"
finds "    influxdb without a retention policy" "has no ProfileInfluxDBRTPolicy" "ProfileInfluxDBRTPolicy=... in"
good
out=$("$ceems" check --verbose --node n1 --conf "$dir/ceems.conf" 2>&1)
has "$out" "note   profile        no AcctGatherProfileType" "    none is no mistake"
rm "$dir/ceems.conf"
out=$(SLURM_CONF=$dir/slurm.conf "$ceems" check --node n1 2>&1)
has "$out" "warn   ceems.conf     $dir/ceems.conf does not exist" "22. ceems.conf that was not brought to this machine"
has "$out" "copy it there: all machines use the same file" "  what to type"
good
if [ "$(id -u)" = 0 ] && getent passwd nobody >/dev/null; then
	slurm_conf SlurmUser SlurmUser=nobody
	mkdir "$dir/log"
	printf '%s\n' "StoreDir=$dir/none/store" "RecordFile=$dir/log/jobs.jsonl" >"$dir/ceems.conf"
	finds "23. a store that nobody can make" "$dir/none/store does not exist, and SlurmUser" \
		"install -d -o nobody -m 700 $dir/none/store"
	finds "24. RecordFile in a folder that is not SlurmUser's" "SlurmUser (nobody), as whom slurmctld runs, cannot write in $dir/log" \
		"chown nobody $dir/log"
	mkdir "$dir/ledger" && chown nobody "$dir/ledger"
	echo "LedgerDir=$dir/ledger" >"$dir/ceems.conf"
	finds "    LedgerDir that is another's" "others than slurmd's user can write to $dir/ledger" "chown root: $dir/ledger"
	echo "RecordFile=$dir/none/jobs.jsonl" >"$dir/ceems.conf"
	finds "25. RecordFile in no folder" "$dir/none does not exist" "install -d -o nobody -m 700 $dir/none"
	echo "RecordFile=" >"$dir/ceems.conf"
	finds "    no RecordFile at all" "Sinks has file, RecordFile is empty" "RecordFile=<file>"
else
	skip "23. to 25. what SlurmUser cannot write: needs root"
fi
good
sed -i "1i SlurmctldHost=elsewhere(127.0.0.1)" "$dir/slurm.conf"
printf 'Sinks=kafka\nKafkaConf=/nowhere\n' >"$dir/ceems.conf"
out=$("$ceems" check --verbose --node n1 --conf "$dir/ceems.conf" 2>&1)
has "$out" "note   Sinks          store and sinks are on the controller" \
	"26. a node needs none of the controller's secrets"
good
printf 'EnergySources=rapl\nSysRoot=%s\n' "$dir" >"$dir/ceems.conf"
finds "27. a sensor that is asked for and not there" "error  rapl           no intel-rapl zone" ""
finds "    so that there is none" "none of the sources can be read" "EnergySources=auto"
done_testing
