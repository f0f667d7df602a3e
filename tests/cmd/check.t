#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
. "$top_srcdir/tests/tap/tap.sh"
ceems=$top_builddir/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

check() {
	out=$("$ceems" check --verbose --node n1 --conf "$dir/ceems.conf" 2>&1)
	rc=$?
}

# ceems.conf
check
is $rc 1 "a ceems.conf that was named and is not there is an error"
while IFS='|' read -r text want; do
	printf '# first\n%b\n' "$text" >"$dir/ceems.conf"
	check
	is $rc 1 "'$text' fails"
	has "$out" "$dir/ceems.conf:$want" "with file, line, key and reason"
done <<'END'
PUE=0.5|2: PUE: '0.5' is not between 1 and 5
Nonsense=1|2: Nonsense: unknown key
ForbidOptions=account:guests:bpf|2: ForbidOptions: 'bpf' is not hw, sw, io, net, sched, events, perf, profile, trace or all
SampleIntervall=1s|2: SampleIntervall: unknown key; did you mean SampleInterval?
Country=FR\nCountry=DE|3: Country: already set in line 2
SampleInterval=soon|2: SampleInterval: 'soon' is not a duration
PUE|2: no '='
END

# several errors at once: each must be named, and the other settings used
printf 'PUE=0.5\nNonsense=1\nEnergySources=cray\nMarketFactor=20\n' >"$dir/ceems.conf"
check
has "$out" "$dir/ceems.conf:1: PUE: '0.5' is not between 1 and 5" "the first wrong line"
has "$out" "-> correct line 1: see ceems.conf(5)" "  and what to do"
has "$out" "$dir/ceems.conf:2: Nonsense: unknown key" "the next one"
has "$out" "$dir/ceems.conf: MarketFactor needs MarketSource" "what does not go together"
has "$out" "error  cray           no /" "and the rest is checked with the lines that are right"

# a country's name is no code, but says which
factors=$(cd "$top_srcdir/src/libemission/data" && pwd)/emission-factors.csv
while IFS='|' read -r country code text; do
	printf 'Country=%s\nEmissionFactorFile=%s\n' "$country" "$factors" >"$dir/ceems.conf"
	check
	has "$out" "error  emissions      $factors: no country '$country'$text" "Country=$country is an error"
	has "$out" "-> Country=$code" "  and what to write"
done <<'END'
United Kingdom|GB|; did you mean GB?
UK|GB|; did you mean GB?
Ger|DE|; did you mean DE?
Atlantis|<ISO 3166 code>|; a country is an ISO 3166 code of two or three letters, such as GB
END

# slurm.conf
cat >"$dir/ceems.conf" <<END
LedgerDir=$dir
InboxDir=$dir
StoreDir=$dir
RecordFile=$dir/jobs.jsonl
Country=FR
END
check
has "$out" "warn   slurm.conf" "a slurm.conf that is not there is a warning"
has "$out" "-> ./configure --with-slurm-sysconfdir=<its folder>, or for once: SLURM_CONF=<path of slurm.conf> ceems check" "  and what to type"
mkdir -m 0730 "$dir/ceems"
sed -i "s|^StoreDir=.*|StoreDir=$dir/ceems|" "$dir/ceems.conf"
check
has "$out" "other users can write to $dir/ceems" "a store that others can write to"
has "$out" "-> chmod 0700 $dir/ceems" "and what to type"
chmod 0777 "$dir"
sed -i "s|^StoreDir=.*|StoreDir=$dir|" "$dir/ceems.conf"
check
is "$(echo "$out" | grep -c "chmod 0700 $dir\$")" 0 "  but not for a folder that is not ours alone"
chmod 0700 "$dir"
cat >"$dir/slurm.conf" <<END
ClusterName=test
PluginDir=$dir
NodeName=n1 PrologFlags=Contain
END
is "$(echo "$out" | grep -c MailProg)" 0 "MailProg is not looked at where nobody has chosen one"
echo "MailProg=$dir/sendmail" >>"$dir/ceems.conf"
check
has "$out" "error  MailProg       $dir/sendmail is not an executable program: no mail is sent" "a mail program that is not there"
has "$out" "-> MailProg=/usr/sbin/sendmail in ceems.conf, or the site's own program" "  and what to write"
printf '#!/bin/sh\n' >"$dir/sendmail"
chmod 755 "$dir/sendmail"
check
has "$out" "ok     MailProg       $dir/sendmail; mailed reports have the HTML page attached" "one that is"
chmod 757 "$dir/sendmail"
check
has "$out" "error  MailProg       $dir/sendmail" "one that others can write"
mv "$dir/sendmail" "$dir/ceems-mail"
sed -i "s|^MailProg=.*|MailProg=$dir/ceems-mail|" "$dir/ceems.conf"
check
has "$out" "warn   MailProg       ceems-mail would start itself: mails go through /usr/bin/mail" "ceems-mail itself"
sed -i '/^MailProg=/d' "$dir/ceems.conf"
rm "$dir/ceems-mail"
echo PrologFlags=Alloc,Serial >>"$dir/slurm.conf"
check
has "$out" "-> PrologFlags=Alloc,Serial,Contain" "a line to type keeps what the list has"
sed -i '$d' "$dir/slurm.conf"
check
is $rc 1 "a bare slurm.conf fails"
has "$out" "-> AcctGatherEnergyType=acct_gather_energy/ceems" "and says what to type for energy"
has "$out" "PrologFlags is not set" "PrologFlags in a NodeName line is not slurm.conf's"
printf 'PartitionName=gpu,long Nodes=ALL\nPartitionName=debug Nodes=ALL\n' >>"$dir/slurm.conf"
echo 'ForbidOptions=partition:gpu:io,account:guests:all,partition:debug:all,partition:longer:trace' >>"$dir/ceems.conf"
check
is "$(echo "$out" | grep -o 'the partition .*')" "the partition longer, which slurm.conf does not have" \
	"a misspelt partition in ForbidOptions is found, and no other"
sed -i '/^ForbidOptions=/d' "$dir/ceems.conf"
has "$out" "JobAcctGatherType is not set" "JobAcctGatherType none"
has "$out" "acct_gather_energy_ceems.so is not in PluginDir ($dir)" "the missing plugin"

cat >"$dir/slurm.conf" <<END
PluginDir=$dir
include more.conf
PrologFlags=Alloc,contain
jobacctgathertype = "jobacct_gather/linux" # comment
AcctGatherEnergyType=acct_gather_energy/rapl,\\
acct_gather_energy/ceems
END
cat >"$dir/more.conf" <<END
AccountingStorageType=accounting_storage/slurmdbd JobCompType=jobcomp/ceems
$("$ceems" tres)
END
echo "not a plugin" >"$dir/spank_ceems.so"
check
has "$out" "AcctGatherEnergyType is a list" "a list of energy plugins is an error"
has "$out" "ok     slurm.conf     PrologFlags has Contain" "PrologFlags=Contain in any case"
for flag in X11 RunInJob; do
	sed -i "s/^PrologFlags=.*/PrologFlags=$flag/" "$dir/slurm.conf"
	check
	has "$out" "ok     slurm.conf     PrologFlags has Contain" "  by $flag"
done
has "$out" "ok     slurm.conf     JobAcctGatherType=jobacct_gather/linux" "blanks and quotes"
has "$out" "ok     slurm.conf     JobCompType=jobcomp/ceems" "two keys in an included line"
has "$out" "spank_ceems.so is not a shared object" "a file that is no plugin"

# the plugins' Slurm version and the installed one, which a fake slurmctld command prints
plugins=$(cd "$top_builddir" && ls acct_gather/.libs/acct_gather_energy_ceems.so spank/.libs/spank_ceems.so 2>/dev/null)
if [ "$(echo "$plugins" | wc -l)" = 2 ]; then
	for so in $plugins; do
		cp "$top_builddir/$so" "$dir/"
	done
	installed() {
		printf '#!/bin/sh\necho slurm-wlm %s\n' "$1" >"$dir/slurmctld"
		chmod 755 "$dir/slurmctld"
		PATH=$dir:$PATH check
	}
	installed 23.11.10
	has "$out" "error  acct_gather    $dir/acct_gather_energy_ceems.so is for Slurm" "an energy plugin of another Slurm"
	has "$out" "installed is 23.11.10: it is refused" "  says what Slurm does with it"
	has "$out" "-> contrib/slurm-source, then ./configure --with-slurm-src=" "  and what to type"
	has "$out" "ok     spank          $dir/spank_ceems.so" "a SPANK plugin is good for all releases"
	installed 19.05.1
	has "$out" "error  spank          $dir/spank_ceems.so is for Slurm" "  from 22.05 on"
	rm "$dir/slurmctld" "$dir"/*.so
else
	skip "the plugins are not built"
fi
has "$out" "AccountingStorageTRES has all TRES of slurm-ceems" "the line of ceems tres satisfies it"
has "$out" "does not name spank_ceems.so" "plugstack.conf without us"
tres() {
	sed -i '/AccountingStorageTRES/d' "$dir/more.conf"
	echo "AccountingStorageTRES=$1" >>"$dir/more.conf"
	check
}
tres "gres/gpu,$("$ceems" tres --set basic | sed -n 's/^AccountingStorageTRES=//p')"
has "$out" "ok     slurm.conf     AccountingStorageTRES has the set basic of slurm-ceems; " "a smaller set is the site's choice"
tres gres/gpu,ic/ceems_co2e
has "$out" "TRES of slurm-ceems are not in AccountingStorageTRES, so slurmdbd does not keep them" "less than the smallest set is not"
has "$out" "-> AccountingStorageTRES=gres/gpu,ic/ceems_co2e,ic/ceems_cpu_energy," "  and the line to type keeps what is there"
tres "$("$ceems" tres | sed -n 's/^AccountingStorageTRES=//p')"
mkdir "$dir/plugstack.conf.d"
echo "include $dir/plugstack.conf.d/*" >"$dir/plugstack.conf"
printf '# optional spank_ceems.so\noptional\tspank_ceems.so\n' >"$dir/plugstack.conf.d/ceems.conf"
echo RecordScript=yes >>"$dir/ceems.conf"
check
has "$out" "$dir/plugstack.conf.d/ceems.conf:2 names spank_ceems.so" "one folder further is found"
has "$out" "slurmdbd has no scripts" "RecordScript without AccountingStoreFlags=job_script"
echo AccountingStoreFlags=job_comment,job_script >>"$dir/more.conf"
check
is "$(echo "$out" | grep -c 'slurmdbd has no scripts')" 0 "and with it"

is "$(echo "$out" | grep -c 'and again by')" 0 "  once"
echo "optional spank_ceems.so" >>"$dir/plugstack.conf"
check
has "$out" "warn   plugstack.conf spank_ceems.so is loaded by $dir/plugstack.conf.d/ceems.conf:2 and again by $dir/plugstack.conf:2" \
	"a plugin that is loaded twice"
has "$out" "-> remove line 2 of $dir/plugstack.conf" "  and what to do"

echo "include plugstack.conf.d/*" >"$dir/plugstack.conf"
mkdir "$dir/elsewhere"
echo "required $dir/elsewhere/spank_ceems.so" >"$dir/plugstack.conf.d/ceems.conf"
check
has "$out" "ceems.conf:1: $dir/elsewhere/spank_ceems.so: No such file" "a plugin outside PluginDir that is not there"
has "$out" "-> optional spank_ceems.so" "  and what to write instead"
echo "not a plugin" >"$dir/elsewhere/spank_ceems.so"
check
has "$out" "$dir/elsewhere/spank_ceems.so is not a shared object" "it is that file that is looked at"
spank=$top_builddir/spank/.libs/spank_ceems.so
if [ -e "$spank" ]; then
	cp "$spank" "$dir/elsewhere/"
	check
	has "$out" "ok     spank          $dir/elsewhere/spank_ceems.so" "and good if it is"
else
	skip "spank_ceems.so is not built"
fi

# daemons, and nodes, on which Slurm allows an older version
fake() {
	printf '#!/bin/sh\n%s\n' "$2" >"$dir/$1"
	chmod 755 "$dir/$1"
}
of_versions() {
	fake sinfo "case \"\$*\" in *%v*) printf '$1' ;; -V) echo slurm-wlm 24.11.5 ;; esac"
	PATH=$dir:$PATH check
}
: >"$dir/auth_munge.so" # else ceems check finds PluginDir wrong and asks no daemon
fake munge "exit 0"
of_versions '24.11.5 n[1-7]\n(null) n8\n'
has "$out" "ok     slurmctld      answers" "slurmctld answers"
is "$(echo "$out" | grep -c 'nodes run Slurm')" 0 "nodes of one version; a node that never came has none"
of_versions '24.11.5 n[1-7]\n22.05.8 n8,m[1-300]\n'
has "$out" "warn   slurmd         nodes run Slurm 24.11.5, and n8,m[1-300] have 22.05.8" "nodes of another version"
has "$out" "-> install slurm-ceems built for Slurm 22.05.8 on them" "  and what to do"
shares() {
	echo "TextfileDir=$1" >>"$dir/ceems.conf"
	PATH=$dir:$PATH check
	sed -i '$d' "$dir/ceems.conf"
}
fake sinfo 'case "$*" in *%n*) printf "n10 hostb\nn2 hosta\nn1 hosta\nn2 hosta\n" ;; esac'
shares "$dir"
has "$out" "warn   TextfileDir    the slurmd of n2 is on this host, too, and overwrites the same ceems.prom" "two slurmd of one host"
has "$out" "-> TextfileDir=$dir/%n" "  and what to do"
shares "$dir/%n"
is "$(echo "$out" | grep -c 'is on this host')" 0 "  each in a folder of its own"
fake sinfo 'case "$*" in *%n*) printf "n10 hostb\nn2 hosta\nn1 hostc\n" ;; esac'
shares "$dir"
is "$(echo "$out" | grep -c 'is on this host')" 0 "  and on hosts of their own"
fake sinfo "echo 'Unable to contact slurm controller' >&2; exit 1"
PATH=$dir:$PATH check
has "$out" "error  slurmctld      does not answer: Unable to contact slurm controller" "a slurmctld that is down"
has "$out" "-> systemctl start slurmctld" "  and what to do"
fake munge "echo 'munge: Error: Failed to access socket' >&2; exit 6"
PATH=$dir:$PATH check
has "$out" "error  munge          does not answer: munge: Error: Failed to access socket" "no munged"
is "$(echo "$out" | grep -c 'slurmctld .* answer')" 0 "  nobody else is asked then"
rm "$dir/sinfo" "$dir/munge"

# sinks
cat >>"$dir/ceems.conf" <<END
Sinks=kafka,mariadb
KafkaConf=$dir/kafka.conf
MariadbDefaultsFile=$dir/none
CorrectionWait=60d
MariadbRetention=31d
END
echo "bootstrap.servers = 127.0.0.1:1, 127.0.0.1:1" >"$dir/kafka.conf"
chmod 644 "$dir/kafka.conf"
check
has "$out" "-> chmod 0600 $dir/kafka.conf" "secrets that others can read"
chmod 600 "$dir/kafka.conf"
check
has "$out" "no bootstrap server answers: " "a broker that is down"
has "$out" "127.0.0.1:1" "by name"
has "$out" "a correction may come after its job was archived" "CorrectionWait over MariadbRetention"
has "$out" "$dir/none: No such file" "credentials that are not there"

if "$ceems" store replay otlp --file /dev/null 2>&1 | grep -q 'no sink'; then
	skip "this build has no sink otlp"
else
	printf 'Sinks=otlp\n' >"$dir/ceems.conf"
	check
	has "$out" "error  otlp           OtlpUrl is not set" "no collector is named"
	echo OtlpUrl=collector:4318 >>"$dir/ceems.conf"
	check
	has "$out" "'collector:4318' begins with neither http:// nor https://" "an address that is none"
	printf 'Sinks=otlp\nOtlpUrl=http://127.0.0.1:1\nOtlpHeaders=%s\n' "$dir/headers" >"$dir/ceems.conf"
	check
	has "$out" "$dir/headers: No such file" "headers that are not there"
	echo "X-Token: hunter2" >"$dir/headers"
	chmod 644 "$dir/headers"
	check
	has "$out" "-> chmod 0600 $dir/headers" "headers that others can read"
	chmod 600 "$dir/headers"
	check
	has "$out" "warn   otlp           http://127.0.0.1:1/v1/traces: " "a collector that is down"
	has "$out" "go over the network in the clear" "and without TLS"
	is "$(echo "$out" | grep -c hunter2)" 0 "no header is printed"
fi

# ceems.prom: its group and mode
printf 'TextfileDir=%s\nTextfileGroup=nosuchgroup\nTextfileMode=0600\n' "$dir" >"$dir/ceems.conf"
check
has "$out" "error  TextfileDir    TextfileGroup: no group 'nosuchgroup' is known" "a group that is not there"
has "$out" "warn   TextfileDir    TextfileMode 0600 does not let TextfileGroup read ceems.prom" "and that may not read"

# traces
mkdir "$dir/traces"
printf 'TraceDir=%s\n' "$dir/traces" >"$dir/ceems.conf"
check
has "$out" "warn   TraceDir       $dir/traces has mode 0755: all users must be able to write there" "a TraceDir that is not like /tmp"
has "$out" "-> chmod 1777 $dir/traces" "and what to type"
chmod 1777 "$dir/traces"
check
has "$out" "ok     TraceDir       $dir/traces" "one that is"
rmdir "$dir/traces"
check
has "$out" "-> mkdir -p $dir/traces && chmod 1777 $dir/traces" "one that is not there"
echo TraceDir=none >"$dir/ceems.conf"
check
has "$out" "ok     TraceDir       --ceems-trace is off" "a site without traces"

# ceems check tries TextfileDir by writing, only as slurmd's user
helpers=$(cd "$top_builddir/src/helpers" && pwd)
rm -f "$dir/slurm.conf.off" && mv "$dir/slurm.conf" "$dir/slurm.conf.off"
textfile() {
	printf 'TextfileDir=%s\nHelperDir=%s\n' "$1" "${2-$helpers}" >"$dir/ceems.conf"
	check
}
if [ "$(id -u)" = 0 ] && [ -x "$helpers/ceems-textfile" ]; then
	mkdir "$dir/prom"
	echo kept >"$dir/prom/ceems.prom"
	textfile "$dir/prom"
	has "$out" "ok     TextfileDir    $dir/prom: a file was made there and removed" "a folder that slurmd can write in"
	is "$(ls -A "$dir/prom") $(cat "$dir/prom/ceems.prom")" "ceems.prom kept" "  nothing is left, and ceems.prom is as it was"
	is "$(echo "$out" | grep -c 'is of the node')" 0 "  which is of no other node"
	echo 'ceems_node_sample_time_seconds{hostname="n1"} 1' >"$dir/prom/ceems.prom"
	textfile "$dir/prom"
	is "$(echo "$out" | grep -c 'is of the node')" 0 "  nor is one of this node"
	echo 'ceems_node_sample_time_seconds{hostname="n10"} 1' >"$dir/prom/ceems.prom"
	textfile "$dir/prom"
	has "$out" "warn   TextfileDir    $dir/prom/ceems.prom is of the node n10, not of n1" "one that another node writes"
	has "$out" "-> TextfileDir=$dir/prom/%n" "  what to do"
	textfile "$dir/nosuch"
	has "$out" "error  TextfileDir    $dir/nosuch/ceems.prom.check.tmp: cannot create: No such file" "one that is not there"
	has "$out" "-> install -d -o root $dir/nosuch" "  what to do"
	textfile /proc
	has "$out" "error  TextfileDir    /proc/ceems.prom.check.tmp: cannot create" "one that not even root can write in"
	textfile "$dir/prom" "$dir/nosuch"
	has "$out" "error  TextfileDir    cannot start $dir/nosuch/ceems-textfile" "no helper: slurmd would have none, too"
	has "$out" "-> HelperDir=" "  what to do"
	mkdir "$dir/hangs" && printf '#!/bin/sh\nexec sleep 60\n' >"$dir/hangs/ceems-textfile" && chmod 755 "$dir/hangs/ceems-textfile"
	textfile "$dir/prom" "$dir/hangs"
	has "$out" "error  TextfileDir    $dir/prom/ceems.prom: does not answer within 10 s" "a file server that does not answer ends in an error"
	has "$out" "-> see why $dir/prom does not answer, or use a path on another file system" "  what to do"
	is "$(echo "$out" | grep -cE 'setfacl|chown|install -d')" 0 "  which is not to change rights"
	echo "SlurmdUser=nobody" >"$dir/slurm.conf"
	textfile "$dir/prom"
	has "$out" "note   TextfileDir    $dir/prom is not tried: run ceems check as nobody" "another user's rights are not slurmd's"
	rm "$dir/slurm.conf"
	rm -rf "$dir/prom" "$dir/hangs"
else
	skip "TextfileDir by writing: needs root and ceems-textfile"
fi
if [ "$(id -u)" = 0 ]; then
	printf 'LedgerDir=/proc\n' >"$dir/ceems.conf"
	check
	has "$out" "error  LedgerDir      /proc/.ceems-check.tmp: cannot create" "LedgerDir is tried by writing, too"
else
	skip "LedgerDir by writing: needs root"
fi
mv "$dir/slurm.conf.off" "$dir/slurm.conf"

# PerfDefault: events that no CPU has
if grep -q '^#define HAVE_LIBPFM 1' "$top_builddir/ceems_config.h" && ldconfig -p | grep -q 'libpfm\.so\.4'; then
	printf 'PerfDefault=hw,events:perf::PERF_COUNT_SW_PAGE_FAULTS,foo,bar\n' >"$dir/ceems.conf"
	check
	has "$out" "error  PerfDefault    libpfm4 knows no event foo, bar" "an event that no CPU has"
	other=skx::INST_RETIRED
	! grep -q GenuineIntel /proc/cpuinfo || other=amd64_fam19h_zen3::RETIRED_INSTRUCTIONS
	[ "$(uname -m)" = x86_64 ] || other=arm_thunderx2::CPU_CYCLES # libpfm4 has the tables of its own architecture
	echo "PerfDefault=events:perf::PERF_COUNT_SW_PAGE_FAULTS,$other" >"$dir/ceems.conf"
	check
	is "$(echo "$out" | grep -c '^error  PerfDefault')" 0 "events of other CPUs are no mistake"
	has "$out" "is an event of other CPUs, not of this one" "  but told"
else
	skip "PerfDefault's events: no libpfm4"
fi

# sources
sources() {
	printf 'LedgerDir=%s\nHelperDir=%s\n%b\n' "$dir" "$dir" "$1" >"$dir/ceems.conf"
	check
	all=$out
	out=$(echo "$out" | grep -E '^[a-z]+ +(external|cray|rapl|hwmon|nvml|rocm|intelgpu|redfish|ipmi|model|EnergySources) ')
}
fixtures=$top_srcdir/tests/fixtures
sources "SysRoot=$fixtures/client-psys"
has "$out" "ok     rapl           1 package, 1 dram, psys" "a sensor"
has "$out" "cpu 0.0 W (counter), dram 0.0 W (counter), node 0.0 W (counter); used for cpu, dram, the node" \
	"with what it shows, how, and what that is used for"
has "$out" "note   model" "an estimate"
has "$out" "; not used; other is taken from rapl" "that has no place beside it"
has "$out" "note   external       ExternalSource is not set" "one that is not configured"
has "$out" "note   cray           no /" "one without hardware"
has "$out" "note   ipmi           no $fixtures/client-psys/dev/ipmi0" "one without its device"
has "$out" "ok     EnergySources  cpu from rapl, dram from rapl, other from rapl" "what is used in all"
sources "SysRoot=$fixtures/intel-max"
has "$out" "ok     intelgpu       3 GPUs, Intel GPU 0x0bd5" "GPUs of Intel"
has "$out" "gpu from intelgpu" "  and what they are used for"
sources "SysRoot=$fixtures/xeon-2s\nEnergySources=rapl,ipmi"
has "$out" "note   model          not in EnergySources" "one that is not asked for"
has "$out" "error  ipmi" "one that is asked for and not there is an error"
sources "SysRoot=$dir\nModelIdleWatts=100\nModelMaxWatts=200"
has "$out" "; used for other" "no sensor: an estimate"
has "$out" "other from model (an estimate, not a measurement)" "that says that it is one"
sources "EnergySources=redfish"
has "$out" "error  redfish        RedfishConf is not set" "one that nobody configured is not even started"
sources "EnergySources=hwmon"
has "$out" "error  hwmon          $dir/ceems-hwmon: is not built or not installed" \
	"one without its helper program"
printf '#!/bin/sh\necho refused no libsensors\n' >"$dir/ceems-hwmon"
chmod 755 "$dir/ceems-hwmon"
sources "EnergySources=hwmon"
has "$out" "error  hwmon          no libsensors" "what a helper says is wrong"
has "$out" "error  EnergySources  none of the sources can be read" "no source at all"

# a configured source that cannot be read is an error, even if another source or the model can replace it
bmc() {
	printf '#!/bin/sh\n%s\n' "$1" >"$dir/ceems-redfish"
	chmod 755 "$dir/ceems-redfish"
	sources "SysRoot=$fixtures/xeon-2s\nRedfishConf=$dir/bmc"
}
rm -f "$dir/ceems-redfish"
sources "SysRoot=$fixtures/xeon-2s\nRedfishConf=$dir/bmc"
has "$out" "error  redfish        $dir/ceems-redfish: is not built" "a configured source without its helper"
sources "SysRoot=$fixtures/xeon-2s\nIpmiSensor=Total_Power"
has "$out" "error  ipmi           no $fixtures/xeon-2s/dev/ipmi0" "a configured sensor without its device"
bmc 'echo refused /etc/bmc:3: Verify: unknown key'
has "$out" "error  redfish        /etc/bmc:3: Verify: unknown key" "a configured source that cannot be used"
bmc 'while echo error - login of user x is refused; do sleep 1; done'
has "$out" "error  redfish        ceems-redfish has not answered yet; cannot be read: login of user x is refused" \
	"one that does not let us in, with the reason"
has "$all" "-> check RedfishConf" "  and where to look"
bmc 'echo about node: nothing; while :; do sleep 1; done'
has "$out" "error  redfish        node: nothing; cannot be read" "one that is silent"
bmc 'echo meter redfish:PowerConsumedWatts other 0 power 25000 node; while echo late redfish:PowerConsumedWatts; do sleep 1; done'
has "$out" "is lost: its readings are too old" "one that shows nothing new any more"
is "$(echo "$out" | grep -cE '^(error|note) +(redfish|model) ')" 2 "  an error, and the model does not take over"
bmc 'echo note chassis Tray: shows no power
echo meter redfish:PowerConsumedWatts other 0 power 25000 node
echo lag 122000
echo about node: PowerConsumedWatts of chassis 1
while awk "{printf \"reading %d redfish:PowerConsumedWatts 400000\n\", \$1 * 1e9}" /proc/uptime; do sleep 1; done'
has "$out" "ok     redfish        node: PowerConsumedWatts of chassis 1; node 400.0 W (integrated, " "one that works"
has "$out" "; up to 122.0 s behind" "  and how far it is behind"
has "$out" "note   redfish        chassis Tray: shows no power" "  with all that it found"

# the levels of output, by option and user
cat >"$dir/ceems.conf" <<END
PUE=0.5
LedgerDir=$dir
HelperDir=$dir
SysRoot=$dir
InboxDir=$dir/inbox
StoreDir=$dir/store
RecordFile=$dir/jobs.jsonl
END
mkdir -p "$dir/plugins" "$dir/elsewhere" && : >"$dir/plugins/auth_munge.so"
cat >"$dir/slurm.conf" <<END
PrologFlags=Alloc,Serial
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageTRES=gres/gpu,billing
JobCompType=jobcomp/elasticsearch
PluginDir=$dir/elsewhere
AcctGatherProfileType=acct_gather_profile/none
END
rm -rf "$dir/plugstack.conf" "$dir/plugstack.conf.d" "$dir/more.conf"
terse() {
	out=$("$ceems" check --node n1 --conf "$dir/ceems.conf" "$@" 2>&1)
	rc=$?
	todo=$(echo "$out" | sed -n '/^to do$/,$p')
}
# section FILE: prints the lines for FILE in the list of changes
section() {
	echo "$todo" | awk -v file="  $1" '/^  [^ ]/ { is = $0 == file } is && /^    / { print substr($0, 5) }'
}
terse
is "$rc $(echo "$out" | grep -c '^note')" "1 0" "notes are for --verbose"
is "$(echo "$out" | grep -c '^ok')" "$("$ceems" check -v --node n1 --conf "$dir/ceems.conf" | grep -c '^ok')" \
	"checks that pass are always listed"
is "$(echo "$out" | tail -n 1 | grep -cE '^[1-9][0-9]* errors?, [0-9]+ warnings?$')" 1 "the last line has the counts"
has "$(section slurm.conf)" "PrologFlags=Alloc,Serial,Contain" "to do in slurm.conf: a line keeps what the list has"
has "$(section slurm.conf)" "AccountingStorageTRES=gres/gpu,billing,ic/ceems_co2e," "  TRES are added, and none is lost"
has "$(section slurm.conf)" "JobCompType=jobcomp/ceems  # if nobody needs jobcomp/elasticsearch" \
	"  nor another plugin unasked"
is "$(section slurm.conf | grep -c '^PluginDir=')" 1 "  one PluginDir, though several plugins are not found"
has "$(section slurm.conf)" "$dir/elsewhere" "  with the folder that is there"
is "$(section ceems.conf | head -n 1)" "correct line 1: see ceems.conf(5); or remove it" "  ceems.conf"
is "$(section plugstack.conf)" "optional spank_ceems.so" "  plugstack.conf"
is "$(echo "$todo" | grep '^    ' | sort | uniq -d)" "" "  nothing twice"
has "$(section "then")" "systemctl restart slurmctld" "  then the restarts"
has "$(section "then")" "systemctl restart slurmd  # on all nodes" "  of all whose settings change"
has "$(section "then")" "systemctl restart ceems-recorder" "  the recorder, too"
is "$(section "then" | grep -c reconfigure)" 0 "  which make scontrol reconfigure needless"

# the daemons to restart are those that read the setting
rm "$dir/slurm.conf"
restarts() { # TEXTFILEDIR HELPERDIR
	printf 'Country=FR\nEmissionFactorFile=%s\nLedgerDir=%s\nTextfileDir=%s\nHelperDir=%s\n' "$factors" "$dir" "$1" "$2" \
		>"$dir/ceems.conf"
	terse
	section "then" | sed 's/ *#.*//'
}
if [ "$(id -u)" = 0 ] && [ -x "$helpers/ceems-textfile" ]; then
	both="systemctl restart slurmd
systemctl restart ceems-recorder"
	is "$(restarts "$dir" "$helpers")" "systemctl restart slurmd" "LedgerDir: slurmd is restarted"
	is "$(restarts "$dir" "$dir/nosuch")" "$both" "HelperDir: ceems-recorder, too, which starts a helper from it"
	is "$(restarts "$dir/ceems.conf" "$helpers")" "$both" "TextfileDir that is a file: ceems-recorder writes there, too"
else
	skip "TextfileDir and HelperDir by starting a helper: needs root"
fi

# keys that are set twice: Slurm takes the last line alone
tres=$("$ceems" tres | grep '^Acc')
cat >"$dir/slurm.conf" <<END
AccountingStorageTRES=gres/gpu,Billing,ic/ceems_co2e
PrologFlags=Serial,x11
JobCompType=jobcomp/kafka
PluginDir=$dir/plugins:$dir/elsewhere:$dir/nosuch
JobAcctGatherFrequency=task=30
NodeName=n1
NodeName=n2
include more.conf
END
cat >"$dir/more.conf" <<END
$tres
PrologFlags=Alloc,Serial
JobCompType=jobcomp/ceems
PluginDir=$dir/elsewhere
JobAcctGatherFrequency=task=30
AccountingStorageType=accounting_storage/slurmdbd
END
terse
lost() { # LINE WHAT LINE_OF_MORE_CONF KEY
	has "$out" "warn   slurm.conf     $dir/slurm.conf:$1: $2 has no effect: $dir/more.conf:$3 sets $4 again, and only the last line counts" \
		"$4 is set twice"
}
lost 1 AccountingStorageTRES=gres/gpu,Billing 1 AccountingStorageTRES
lost 2 PrologFlags=x11 2 PrologFlags
lost 3 JobCompType=jobcomp/kafka 3 JobCompType
lost 4 "PluginDir=$dir/plugins:$dir/nosuch" 4 PluginDir
is "$(echo "$out" | grep -c 'has no effect')" 4 "  the same value twice is no loss, nor are the lines of two nodes"
has "$(section slurm.conf)" "$tres,gres/gpu,Billing" "  to do: one line with the TRES of both"
is "$(section slurm.conf | grep ^PrologFlags)" "PrologFlags=Alloc,Serial,x11" "  one of PrologFlags, also where the last line lacks Contain"
is "$(section slurm.conf | grep ^JobCompType)" "JobCompType: delete line 3 of $dir/slurm.conf, or move it to the end" "  what is no list"
has "$(section slurm.conf | grep ^PluginDir)" "$dir/elsewhere:$dir/plugins:$dir/nosuch" "  one PluginDir"
is "$(section slurm.conf | grep -c ^PluginDir)" 1 "  and no other"
rm "$dir/more.conf"

echo "LedgerDir=$dir" >"$dir/ceems.conf"
fake munge "exit 1"
cat >"$dir/slurm.conf" <<END
PrologFlags=Alloc
AcctGatherEnergyType=acct_gather_energy/ceems
JobAcctGatherType=jobacct_gather/linux
AccountingStorageType=accounting_storage/slurmdbd
$("$ceems" tres)
JobCompType=jobcomp/ceems
PluginDir=$dir/plugins
END
for so in acct_gather_energy_ceems jobcomp_ceems spank_ceems; do
	: >"$dir/plugins/$so.so" # found, but no plugin
done
PATH=$dir:$PATH terse --quiet
is "$(echo "$out" | grep -cE '^(ok|note|to do|[0-9])')" 0 "--quiet: errors and warnings only"
has "$out" "error  slurm.conf     $dir/slurm.conf:1: PrologFlags is Alloc" "  which are there"
PATH=$dir:$PATH terse
is "$(section slurm.conf)" "PrologFlags=Alloc,Contain" "a flag of slurm.conf"
if grep -qxE 'slurmctld|slurmd' /proc/[0-9]*/comm 2>/dev/null; then
	skip "scontrol reconfigure: daemons of another cluster run here, and do not have our plugins"
else
	has "$(section "then")" "scontrol reconfigure" "  is for scontrol reconfigure"
	is "$(section "then" | grep -c slurmctld)" 0 "  and for no restart of slurmctld"
fi
if command -v python3 >/dev/null; then
	json() {
		echo "$out" | python3 -c "import json, sys; j = json.load(sys.stdin); print($1)"
	}
	PATH=$dir:$PATH terse --json
	is "$(json 'sorted(j) == ["errors", "findings", "warnings"]')" True "--json: one object"
	is "$(json 'j["errors"] == sum(f["level"] == "error" for f in j["findings"])')" True "  that counts its errors"
	is "$(json 'j["warnings"] == sum(f["level"] == "warn" for f in j["findings"])')" True "  and warnings"
	is "$(json '{f["level"] for f in j["findings"]} >= {"ok", "note", "error"}')" True "  and has the rest, too"
	is "$(json '[(f["file"], f["hint"]) for f in j["findings"] if "PrologFlags" in f["text"]]')" \
		"[('slurm.conf', 'PrologFlags=Alloc,Contain')]" "  with the file to change"
	is "$(json '{f["file"] for f in j["findings"] if f["hint"] is None}')" "{None}" \
		"  and none where there is nothing to do"
	PATH=$dir:$PATH terse --json --quiet
	is "$(json '{f["level"] for f in j["findings"]} <= {"warn", "error"}')" True "--json --quiet"
	is $rc 1 "  the exit status is the same"
else
	skip "--json: no python3"
fi
rm "$dir/munge"
terse --nonsense
is $rc 2 "an unknown option: exit code 2"

done_testing
