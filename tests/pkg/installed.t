#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs inside the file system that tests/pkg/run made, with packages of this version in /srv/ceems/now and of a later
# version in /srv/ceems/later: install, upgrade, downgrade, remove and purge.
# shellcheck disable=SC1091,SC2154,SC2034
. "$(dirname "$0")/../e2e/lib.sh"

packages=/srv/ceems
later=$(($(sed -n 's/^#define MARIADB_SCHEMA //p' "$packages/tree/src/libsink/mariadb/mariadb_client.h") + 1)) # its schema
multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
plugins=/usr/lib/$multiarch/slurm-wlm
export DEBIAN_FRONTEND=noninteractive

# install_debs VERSION
install_debs() {
	dpkg -i "$packages/$1"/*.deb
}

# contrib/cluster takes plugins from a build folder: makes one with links to the installed files.
as_built() {
	local dir=$e2e_work/installed

	mkdir -p "$dir"/{acct_gather,spank,jobcomp,src/libnode}/.libs "$dir"/{bpf,recorder,src/{cmd,helpers,profiler}}
	ln -s "$plugins/acct_gather_energy_ceems.so" "$dir/acct_gather/.libs/"
	ln -s /usr/share/ceems/sql "$dir/sql"
	ln -s "$plugins/ceems_node.so" "$dir/src/libnode/.libs/"
	ln -s "$plugins/spank_ceems.so" "$dir/spank/.libs/"
	ln -s "$plugins/jobcomp_ceems.so" "$dir/jobcomp/.libs/"
	ln -s /usr/sbin/ceems-recorder "$dir/recorder/ceems-recorder"
	ln -s /usr/bin/ceems "$dir/src/cmd/ceems"
	ln -s /usr/libexec/ceems/ceems-bpf "$dir/bpf/"
	ln -s /usr/libexec/ceems/ceems-* "$dir/src/helpers/"
	mv "$dir"/src/helpers/ceems-{profile,push} "$dir/src/profiler/"
	E2E_BUILDDIR=$dir
}

# restart [DAEMON...]
restart() {
	local daemon

	[ $# -gt 0 ] || set -- recorder slurmctld "slurmd n1"
	for daemon in "$@"; do
		# shellcheck disable=SC2086
		"$cluster" kill "$DIR" $daemon && "$cluster" start-daemon "$DIR" $daemon || return
	done
}

# times WORD...: prints how many lines of slurmd's log have WORDs
times() {
	grep -c "$*" "$LOG_DIR/slurmd.n1.log"
}

waits_for_mariadb() {
	[ "$(inside ceems store status --json --conf "$CEEMS_CONF" |
		jq '.sinks[] | select(.name == "mariadb") | .waiting')" -ge "$1" ]
}

in_database() {
	[ "$(inside mariadb --defaults-file="$MARIADB_DEFAULTS_FILE" --batch --skip-column-names ceems \
		-e "SELECT GROUP_CONCAT(jobid ORDER BY jobid) FROM job")" = "$1" ]
}

# findings: prints the output of ceems check
findings() {
	inside ceems check "${conf[@]}" 2>&1
}
# finds TEXT: TEXT is in the output of ceems check
finds() {
	local said

	said=$(findings)
	echo "$said"
	[[ $said == *"$1"* ]]
}
# tells_to_restart: ceems check must name each daemon that was not restarted after the packages were changed
tells_to_restart() {
	local daemon

	out=$(findings)
	for daemon in "slurmctld jobcomp_ceems.so" "slurmd acct_gather_energy_ceems.so" \
		"ceems-recorder ceems-recorder"; do
		has "$out" "runs an older file of ${daemon#* } than is installed" "  ceems check: ${daemon% *} runs the old one"
		has "$out" "-> systemctl restart ${daemon% *}" "  and what to type"
	done
}

# run_job: runs a job until slurmdbd has its end; its id is in $job
run_job() {
	job=$(submit user1 --wrap 'srun sleep 1')
	wait_booked "$job"
	ok $? "job $job ran"
}

# --- install -------------------------------------------------------------------------------------

passes "the packages install" install_debs now
mapfile -t names < <(for deb in "$packages"/now/*.deb; do dpkg-deb -f "$deb" Package; done)
is "$(dpkg-query -W -f '${db:Status-Status}\n' "${names[@]}" | sort -u)" installed "with all they depend on"
has "$(dpkg-query -W -f '${Depends}' slurm-ceems-jobcomp-*)" "slurmctld (<< " "jobcomp is for one version of Slurm"
client='freeipmi|rdkafka|mariadb|sqlite'
is "$(readelf -d "$plugins/spank_ceems.so" | grep -cE "$client")" 0 "srun maps no client library"
is "$(readelf -d "$plugins/jobcomp_ceems.so" | grep -E "$client|jansson")" "" "nor does slurmctld"
is "$(dpkg-query -W -f '${Depends}\n' slurm-ceems-{node,spank} slurm-ceems-energy-* | grep -E "$client")" "" \
	"a node needs none"
out=$(dpkg-query -W -f '${Depends}' slurm-ceems-jobcomp-*)
for package in libjansson4 libmariadb3 librdkafka1 libslurm libsqlite3-0; do
	has "$out" "$package" "the recorder brings $package"
done
units=/usr/lib/systemd/system
passes "systemd takes the drop-in" test -e $units/slurmd.service.d/ceems.conf
out=$(systemd-analyze verify $units/slurmd.service $units/ceems-*.service $units/ceems-*.timer 2>&1)
is "$(grep -i ceems <<<"$out")" "" "nothing is wrong with the units"
passes "the user of ceems-factors.service is there" getent passwd ceems-factors
mkdir "$e2e_work/control"
for deb in "$packages"/now/*.deb; do
	dpkg-deb --control "$deb" "$e2e_work/control/$(basename "$deb")"
done
is "$(grep -rlE 'deb-systemd-|systemctl.* (enable|start|restart) ' "$e2e_work/control")" "" \
	"no package enables or starts anything"
has "$(cat $units/ceems-recorder.service)" "
ExecStart=/usr/sbin/ceems-recorder -D
" "the recorder's unit starts what is installed"
is "$(stat -c '%U %a' /var/spool/ceems)" "slurm 700" "the folder of inbox and store is SlurmUser's"

as_built
# Model*Watts of a large node: on a small one, one second of sleep is less than a joule.
# HelperDir as installed: the cluster's own helpers are copies, which an upgrade does not change.
cluster_up --sink-db --ceems-conf <(printf '%s\n' EnergySources=model ModelIdleWatts=200 ModelMaxWatts=400 \
	HelperDir=/usr/libexec/ceems)
ln -sf /usr/sbin/ceems-recorder "$DIR/sbin/ceems-recorder"
passes "the installed recorder starts" restart recorder
conf=(--conf "$CEEMS_CONF" --node n1)
wait_for 60 inside ceems check "${conf[@]}"
ok $? "ceems check finds nothing wrong"
passes "slurmctld runs the package's plugin" inside grep -q "$plugins/jobcomp_ceems.so" \
	/proc/"$(inside pgrep -o slurmctld)"/maps
is "$(inside readlink /proc/"$(inside pgrep -o ceems-recorder)"/exe)" /usr/sbin/ceems-recorder \
	"and the recorder is the package's"
run_job
first=$job
wait_for 120 in_database "$first"
ok $? "its record is in the database"
has_energy() {
	[ "$(job_acct "$first" ConsumedEnergyRaw)" -gt 0 ]
}
wait_for 60 has_energy
ok $? "sacct has its energy"

# --- upgrade: a record waits, the ledger's layout and the schema change -----------------------------

"$cluster" kill "$DIR" sinkdb
run_job
second=$job
wait_for 120 waits_for_mariadb 1
ok $? "with the database down its record waits"
: >"$LOG_DIR/slurmd.n1.log"
going=$(submit user1 --wrap "until [ -e $e2e_work/go ]; do sleep 0.2; done")
wait_for 60 job_is "$going" RUNNING
ok $? "a job runs meanwhile"
passes "a later version installs over it" install_debs later
tells_to_restart
restart
ok $? "the daemons restart with it"
is "$(findings | grep -c 'older file')" 0 "and ceems check no longer says so"
wait_for 60 inside ceems ledger "${conf[@]}"
ok $? "it has a ledger of its own layout"
is "$(times 'is of another version of the plugin')" 1 "slurmd says so, once"
wait_for 60 waits_for_mariadb 1
ok $? "the record still waits"
"$cluster" start-daemon "$DIR" sinkdb
wait_for 60 finds "is needed" # repeated, since ceems check waits only three seconds for the database
ok $? "ceems check: the schema is an older one"
has "$out" "-> ceems db migrate" "  and what to type"
passes "the schema is brought up to date" inside ceems db migrate --conf "$CEEMS_CONF" --sql-dir /usr/share/ceems/sql
wait_for 120 in_database "$first,$second"
ok $? "and the record is delivered"
wait_for 60 findings
ok $? "ceems check finds nothing wrong any more"
touch "$e2e_work/go"
wait_booked "$going"
wait_for 120 in_database "$first,$second,$going"
ok $? "the job that ran through it ends, and has a record"
is "$(job_acct "$going" State)" COMPLETED "as if nothing had been"

# --- downgrade: a record of the later version waits ------------------------------------------------

"$cluster" kill "$DIR" sinkdb
run_job
third=$job
wait_for 120 waits_for_mariadb 1
ok $? "a record of the later version waits"
: >"$LOG_DIR/slurmd.n1.log"
passes "this version installs over the later one" install_debs now
tells_to_restart
restart
ok $? "the daemons restart with it"
wait_for 60 inside ceems ledger "${conf[@]}"
ok $? "it has a ledger"
is "$(times 'is of another version of the plugin')" 1 "new, and slurmd says why, once"
"$cluster" start-daemon "$DIR" sinkdb
wait_for 120 in_database "$first,$second,$going,$third"
ok $? "the record is delivered, into a schema of a later version"
out=$(inside ceems db maintain --conf "$CEEMS_CONF" 2>&1)
has "$out" "has schema $later of a later version" "which nothing is archived from"
out=$(inside ceems check "${conf[@]}")
has "$out" "has schema $later, this version fills" "and ceems check warns of it"

# --- remove and purge ------------------------------------------------------------------------------

mkdir /var/spool/ceems/store
touch /var/spool/ceems/store/store.db
passes "the packages can be removed" dpkg -r "${names[@]}"
fails "nothing of them is left" test -e "$plugins/jobcomp_ceems.so"
has "$(dpkg --purge "${names[@]}" 2>&1)" "/var/spool/ceems is kept" "purge leaves what was not delivered, and says so"
passes "it is there" test -e /var/spool/ceems/store/store.db
done_testing
