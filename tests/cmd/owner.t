#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What root does with files of others: ceems check, ceems db and ceems report --from use an option file of SlurmUser as
# SlurmUser, ceems trace and ceems flame read a user's file as the user, and no data file names code to load or to run.
. "$top_srcdir/tests/tap/tap.sh"
ceems=$top_builddir/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the command ceems is not built"
[ "$(id -u)" = 0 ] || skip_all "needs root"
command -v python3 >/dev/null || skip_all "python3 is not installed"
ceems=$(readlink -f "$ceems")
sql=$(readlink -f "$top_builddir/sql")
dir=$(mktemp -d)
server=
trap 'kill $server 2>/dev/null; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
chmod 755 "$dir"
owner=64999

# --- a trace, a profile -------------------------------------------------------------------------------------

: >empty.conf
mkdir home
printf '%s\r\n' "node,time_utc,monotonic_s,event,dropped_samples,missed_samples,energy_j,power_w" \
	"n1,2026-11-25T10:00:00.000000Z,5,start,0,0,0," \
	"n1,2026-11-25T10:00:10.000000Z,15,end,0,0,100,12" >home/ceems-trace-7.0-n1.csv
chmod 600 home/ceems-trace-7.0-n1.csv
chown -R $owner home
chmod 700 home
trace() {
	"$ceems" trace --conf empty.conf "$@" 2>&1
}
is "$(trace 7 --dir home --csv | grep -c '^7,0,n1')" 2 "root sees the trace of a user"
is "$(trace home/ceems-trace-7.0-n1.csv --csv | grep -c '^7,0,n1')" 2 "  by its name, too"
mkdir -m 700 roots
has "$(trace 7 --dir home --plot -o roots/x.svg)" "roots/x.svg" "but reads it as the user, who cannot write where root can"
is "$(ls roots)" "" "  so there is no picture"
cp home/ceems-trace-7.0-n1.csv ceems-trace-8.0-n1.csv
trace 8 --plot -o roots/x.svg >/dev/null
is "$(ls roots)" x.svg "root's own trace is read as root"
ln -s "$dir/ceems-trace-8.0-n1.csv" home/link.csv
chown -h $owner home/link.csv
has "$(trace home/link.csv --csv)" "Permission denied" "a user's link to it is followed as the user"

# --- emission factors ---------------------------------------------------------------------------------------

if "$ceems" --help | grep -q '^  factors '; then
	mkdir series
	chown $owner series
	printf 'Country=FR\nEmissionSeriesFile=%s/series/factors.csv\n' "$dir" >factors-ceems.conf
	echo Providers=static >factors.conf
	"$ceems" factors update --conf factors-ceems.conf --factors-conf factors.conf >/dev/null 2>&1
	is "$(stat -c %u series/factors.csv.lock)" $owner "ceems factors update writes as the owner of the folder"
else
	skip "ceems factors: not built"
fi

# --- a database ---------------------------------------------------------------------------------------------

if "$ceems" db --help >/dev/null 2>&1; then
	# a socket that tells who connects to it
	python3 - "$dir" <<-'EOF' &
		import os, socket, struct, sys
		s = socket.socket(socket.AF_UNIX)
		s.bind(sys.argv[1] + "/socket")
		os.chmod(sys.argv[1] + "/socket", 0o777)
		s.listen()
		with open(sys.argv[1] + "/peers", "a", buffering=1) as f:
		    while True:
		        c, _ = s.accept()
		        f.write("%d\n" % struct.unpack("3i", c.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1])
		        c.close()
	EOF
	server=$!
	tries=0
	while [ ! -S socket ] && [ $tries -lt 300 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	printf '[client]\nuser=ceems\npassword=secret\nsocket=%s/socket\n' "$dir" >my.cnf
	chmod 600 my.cnf
	chown $owner my.cnf
	printf 'MariadbDefaultsFile=%s/my.cnf\nSinks=mariadb\nStoreDir=%s\n' "$dir" "$dir" >ceems.conf
	# peers COMMAND...: as whom it has connected
	peers() {
		: >peers
		"$ceems" "$@" >/dev/null 2>&1
		sort -u peers | tr '\n' ' '
	}
	case $("$ceems" db status --conf ceems.conf 2>&1) in
	*"no sink mariadb"*) skip "this build has no sink mariadb" ;;
	*)
		mkdir sql
		cp "$sql"/*.sql sql/
		for action in status maintain "migrate --sql-dir sql"; do
			# shellcheck disable=SC2086 # options
			is "$(peers db $action --conf ceems.conf)" "$owner " "ceems db $action as root connects as the owner of the option file"
		done
		printf 'ClusterName=c\nSlurmctldHost=%s\nSlurmUser=nobody\n' "$(hostname -s)" >slurm.conf
		is "$(SLURM_CONF=$dir/slurm.conf peers check --conf ceems.conf)" "$owner " "ceems check does"
		has "$(SLURM_CONF=$dir/slurm.conf "$ceems" check --conf ceems.conf 2>&1)" "mariadb " "  and shows what it found"
		is "$(peers db status --conf empty.conf --defaults-file my.cnf)" "$owner " "  of --defaults-file, too"
		chown 0 my.cnf
		is "$(peers db status --conf ceems.conf)" "0 " "with its own option file, root connects as root"
		chown $owner my.cnf
		if "$ceems" --help | grep -q '^  report '; then
			is "$(SLURM_CONF=$dir/slurm.conf peers report --month --from "mariadb:$dir/my.cnf")" "$owner " \
				"ceems report --from does the same"
		fi
		for line in plugin-dir=/tmp plugin_dir=/tmp default-auth=x connection=x 'debug=d:t:O,/tmp/x' "!include $dir/other.cnf"; do
			echo "$line" >>my.cnf
			is "$(peers db status --conf ceems.conf)" "" "$line: nobody connects"
			has "$("$ceems" db status --conf ceems.conf 2>&1)" "my.cnf:5: " "  and its line is named"
			sed -i '$d' my.cnf
		done
		;;
	esac
else
	skip "ceems db: not built"
fi
done_testing
