#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems gather, and tests/fixtures/import, which makes a fixture of its archive.
. "$top_srcdir/tests/tap/tap.sh"
ceems=$top_builddir/src/cmd/ceems
[ -x "$top_builddir/src/cmd/ceems-gather" ] || skip_all "ceems gather is not built (Debian: zlib1g-dev)"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
import=$top_srcdir/tests/fixtures/import

# a node: two sockets with RAPL, and what must not get into an archive
root=$dir/root
cp -R "$top_srcdir/tests/fixtures/xeon-2s" "$root"
chmod -R u+w "$root"
host=$(uname -n | cut -d. -f1)
nv=$root/proc/driver/nvidia/gpus/0000:3b:00.0
mkdir -p "$nv" "$root/sys/class/hwmon/hwmon0" "$root/proc/1" "$root/sys/class/dmi/id"
printf 'Model: \t NVIDIA H100\nGPU UUID: \t GPU-5c5b3a4e-01f2-8a9b-77cc-0123456789ab\nBus Location: \t 0000:3b:00.0\nDevice Minor: \t 0\n' \
	>"$nv/information"
echo power_meter >"$root/sys/class/hwmon/hwmon0/name"
echo "Module Power of $host.cluster.example at 10.17.3.254" >"$root/sys/class/hwmon/hwmon0/power1_oem_info"
echo SN12345678 >"$root/sys/class/hwmon/hwmon0/power1_serial_number"
echo SN12345678 >"$root/sys/class/dmi/id/product_serial"
echo 'PowerEdge R760' >"$root/sys/class/dmi/id/product_name"
printf '30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n31 23 0:27 / /home rw - nfs4 filer.secret.example:/home rw\n' \
	>"$root/proc/1/mountinfo"
ln -s /etc "$root/sys/class/hwmon/hwmon1"
printf 'SysRoot=%s\nHelperDir=%s\n' "$root" "$top_builddir/src/helpers" >"$dir/ceems.conf"
gather() { (cd "$dir" && "$ceems" gather --config "$dir/ceems.conf" "$@" 2>&1); }

# bad input first
for args in --foo more "--output"; do
	out=$("$ceems" gather $args 2>/dev/null)
	is "$?/$out" "2/" "'ceems gather $args' is refused with exit 2 and prints nothing"
done
echo old >"$dir/old"
has "$(gather -f -o "$dir/old")" "old: File exists" "a file that exists is not replaced"
is "$(cat "$dir/old")" old "  and stays"
has "$(gather -f -o "$dir/none/x.tar.gz")" "No such file" "a missing folder is named"
if [ -w /dev/full ]; then
	ln -s /dev/full "$dir/full"
	gather -f -o "$dir/full" >/dev/null
	is $? 1 "a link is not followed"
fi
has "$(gather --config "$dir/none")" "none" "a missing ceems.conf is named"

# one file hangs, as a sensor behind a BMC may
mkfifo "$root/sys/class/hwmon/hwmon0/power1_input"
out=$(gather -f -o node.tar.gz)
is $? 0 "a node with a file that hangs gives an archive"
has "$out" "hwmon0/power1_input does not answer and is left out" "  and the file is named"
is "$(stat -c %a "$dir/node.tar.gz")" 600 "only its owner can read it"
names=$(tar tzf "$dir/node.tar.gz")
is "$(echo "$names" | sort | uniq -d)" "" "  and has no file twice"
has "$names" ceems-gather/first/sys/class/hwmon/hwmon0/power1_oem_info "  and has the files after the one that hung"
mkdir "$dir/all"
tar xzf "$dir/node.tar.gz" -C "$dir/all"
text=$(find "$dir/all" -type f -exec cat {} +)
for secret in "$host.cluster" "$host.cl" cluster.example 10.17.3.254 5c5b3a4e 0123456789ab SN12345678 secret.example; do
	is "$(echo "$text" | grep -cF "$secret")" 0 "'$secret' is not in it"
done
has "$text" "0000:3b:00.0" "the address of a PCI device stays"
has "$text" "cgroup2" "and so does how cgroups are mounted"
has "$text" "PowerEdge R760" "and the model of the machine"
is "$(find "$dir/all" -name power1_serial_number -o -name product_serial | wc -l)" 0 "serial numbers are not read"
is "$(find "$dir/all" -path '*hwmon1*' -type f | wc -l)" 0 "a link that leads out of /sys is not followed"

# a fixture of it is as good as the machine
out=$("$import" "$dir/node.tar.gz" two-sockets "$dir")
is $? 0 "import makes a fixture of it"
powercap=sys/devices/virtual/powercap
is "$(diff -r "$root/$powercap" "$dir/two-sockets/$powercap")" "" "which has the same zones of RAPL"
is "$(cd "$dir/two-sockets/sys/class/powercap" && ls)" "$(cd "$root/sys/class/powercap" && ls)" "  and the links to them"
[ -e "$dir/two-sockets/second/$powercap/intel-rapl/intel-rapl:0/energy_uj" ]
ok $? "and the counters of some seconds later"
"$import" "$dir/node.tar.gz" two-sockets "$dir" >/dev/null 2>&1
is $? 1 "a fixture is not replaced"
"$import" "$dir/node.tar.gz" ../two "$dir" >/dev/null 2>&1
is $? 2 "a name with a slash is refused"
mkdir -p "$dir/bad/ceems-gather/first/sys" && ln -s "$dir" "$dir/bad/ceems-gather/first/sys/out"
tar czf "$dir/bad.tar.gz" -C "$dir/bad" ceems-gather/first/sys/out
has "$("$import" "$dir/bad.tar.gz" links "$dir" 2>&1)" "leads out of the archive" "import follows no link out of an archive"
echo evil >"$dir/bad/evil"
tar czf "$dir/evil.tar.gz" -C "$dir/bad" evil
"$import" "$dir/evil.tar.gz" evil "$dir" >/dev/null 2>&1
is $? 1 "and takes no other file of an archive"

# what the sources say
rm "$root/sys/class/hwmon/hwmon0/power1_input"
gather -o said.tar.gz >/dev/null
has "$(tar xzOf "$dir/said.tar.gz" ceems-gather/said/rapl)" "2 packages" "the archive has what a source says of itself"
has "$(tar xzOf "$dir/said.tar.gz" ceems-gather/said/redfish)" "RedfishConf is not set" "  and why it is not used"


# the answers of a BMC: of what a program like ceems-redfish writes
mkdir "$dir/helpers"
cat >"$dir/helpers/ceems-redfish" <<'END'
#!/bin/sh
[ "$1" = --answers ] || { echo "refused not asked now"; exit 1; }
printf 'answer 200 53 /redfish/v1/\n{"Id":"Root","UUID":"none","SerialNumber": "SN1234"}\n\n'
printf 'answer 403 2 /redfish/v1/Chassis/1\n{}\nerror - login of user x is refused\n'
printf 'answer 200 99 /redfish/v1/torn\n{'
END
chmod 755 "$dir/helpers" "$dir/helpers/ceems-redfish"
chmod 755 "$dir"
printf 'SysRoot=%s\nHelperDir=%s\nRedfishConf=%s\n' "$root" "$dir/helpers" "$dir/redfish.conf" >"$dir/ceems.conf"
out=$(gather -o bmc.tar.gz)
has "$out" "RedfishConf: login of user x is refused" "what ceems-redfish says is printed"
is "$(tar xzOf "$dir/bmc.tar.gz" ceems-gather/bmc/redfish/v1/index.json)" '{"Id":"Root","UUID":"0000","SerialNumber": "000000"}' \
	"a resource of the BMC is there, without serial numbers"
has "$(tar tzf "$dir/bmc.tar.gz")" "bmc/redfish/v1/Chassis/1/status-403" "and one that it refused"
is "$(tar tzf "$dir/bmc.tar.gz" | grep -c torn)" 0 "and no torn one"

done_testing
