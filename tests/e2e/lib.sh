# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC1091,SC2154
# lib.sh - for tests against a private cluster: source it, start a cluster with cluster_up, end with
# done_testing. Clusters are stopped also after failures, and after a failure the log lines that explain it are
# shown. E2E_KEEP=1 keeps the scratch folder; E2E_BUILDDIR names the build; E2E_IN is the folder in which the
# scratch folder is made [/tmp], which must be another if jobs have their own /tmp.
e2e_top=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../..")
. "$e2e_top/tests/tap/tap.sh"

cluster=$e2e_top/contrib/cluster/cluster
e2e_clusters=()

PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" = 0 ] || skip_all "needs root"
for e2e_tool in slurmctld slurmd slurmdbd munged mariadbd nsenter ip jq; do
	command -v $e2e_tool >/dev/null || skip_all "$e2e_tool is not installed (contrib/deps test)"
done
e2e_work=$(mktemp -d "${E2E_IN:-/tmp}/ceems-e2e-XXXXXX")
chmod 755 "$e2e_work"
trap e2e_cleanup EXIT
trap 'exit 130' INT TERM HUP

e2e_cleanup() {
	local status=$? dir

	trap - EXIT
	[ "$status" -eq 0 ] || [ "$tap_count" -eq 0 ] || [ -z "${DIR:-}" ] ||
		"$cluster" logs "$DIR" 2>&1 | diag
	for dir in "${e2e_clusters[@]+"${e2e_clusters[@]}"}"; do
		[ ! -e "$dir/run/state" ] || "$cluster" stop "$dir"
	done
	if [ -n "${E2E_KEEP:-}" ]; then
		echo "kept: $e2e_work" | diag
	else
		rm -rf --one-file-system "$e2e_work"
	fi
	exit "$status"
}

diag() {
	if [ $# -gt 0 ]; then
		printf '%s\n' "$*"
	else
		cat
	fi | sed 's/^/# /'
}

# --- beside tap.sh -----------------------------------------------------------------------------

# passes WHAT CMD...: CMD must exit with status 0. If it does not, its output is shown.
passes() {
	local what=$1 out rc
	shift
	out=$("$@" 2>&1)
	rc=$?
	ok $rc "$what"
	[ $rc -eq 0 ] || printf 'rc %d: %s\n%s\n' "$rc" "$*" "$out" | diag
	return $rc
}

# is_joules JOULES UJ WHAT [NODES]: sacct's JOULES are the ledgers' UJ. A node carries what rounding leaves from job to job, so
# that its sum is right to a joule; each job is less than a joule per node off.
is_joules() {
	local off=$((${1:-0} * 1000000 - ${2:--1000000000}))

	[ "${off#-}" -lt $((1000000 * ${4:-1})) ]
	ok $? "$3" || diag "sacct: ${1:-nothing} J, the ledger: ${2:-nothing} uJ"
}

# took SECONDS WHAT COMMAND...: COMMAND must succeed within SECONDS.
took() {
	local limit=$1 what=$2 began=$EPOCHREALTIME ms

	shift 2
	"$@" >"$e2e_work/took.out" 2>&1
	ok $? "$what"
	ms=$(((${EPOCHREALTIME/./} - ${began/./}) / 1000))
	[ $ms -le $((limit * 1000)) ]
	ok $? "  within $limit s: $ms ms" || diag "$(cat "$e2e_work/took.out")"
}

# fails WHAT CMD...: CMD must exit with a status other than 0. Its output is in $out.
fails() {
	local what=$1
	shift
	if out=$("$@" 2>&1); then
		ok 1 "$what"
		printf 'must fail, but exited with status 0: %s\n%s\n' "$*" "$out" | diag
		return 1
	fi
	ok 0 "$what"
}

# wait_for SECONDS CMD...: repeats CMD until it succeeds. CMD's last output is in $out, and is shown if CMD does not
# succeed within SECONDS times E2E_PATIENCE [5]. The limit only ends a test that would hang: SECONDS is many times
# what an idle machine needs, and E2E_PATIENCE is for a busy one. The wait ends within half a minute if CMD cannot
# succeed any more: the cluster has died, or the job that job_is waits for has ended in another state.
wait_for() {
	local seconds=$(($1 * ${E2E_PATIENCE:-5})) end look lost=0 was_up=no
	end=$((SECONDS + seconds))
	look=$((SECONDS + 10))
	shift
	until out=$("$@" 2>&1); do
		if [ $SECONDS -ge $end ]; then
			printf 'did not succeed within %d s: %s\n%s\n' "$seconds" "$*" "$out" | diag
			return 1
		fi
		if [ $SECONDS -ge $look ]; then
			look=$((SECONDS + 10))
			if wait_is_hopeless "$@"; then
				lost=$((lost + 1))
			else
				lost=0 was_up=yes
			fi
			if [ $lost -ge 3 ] && { [ $was_up = yes ] || [ "$1" = job_is ]; }; then
				printf 'cannot succeed any more, as the cluster or the job has ended: %s\n%s\n' "$*" "$out" | diag
				return 1
			fi
		fi
		sleep 0.1
	done
}

wait_is_hopeless() {
	[ -n "${DIR:-}" ] || return 1
	inside true >/dev/null 2>&1 || return 0
	[ "$1" = job_is ] && [ $# -eq 3 ] || return 1
	case $(job_state "$2" 2>/dev/null) in
	"$3") return 1 ;;
	COMPLETED | CANCELLED | TIMEOUT | DEADLINE | OUT_OF_MEMORY | FAILED) return 0 ;;
	*) return 1 ;;
	esac
}

# bail WHAT: WHAT must be true, but is not. Reports that and ends the test, since the rest depends on it.
bail() {
	ok 1 "$1"
	done_testing
}

# --- cluster -----------------------------------------------------------------------------------

# needs_plugins PART...: skip the file when acct_gather, spank or jobcomp is not built.
needs_plugins() {
	local part build=${E2E_BUILDDIR:-} so

	[ -n "$build" ] || build=$(e2e_builddir)
	for part in "$@"; do
		case $part in
		acct_gather) so=acct_gather/.libs/acct_gather_energy_ceems.so ;;
		spank) so=spank/.libs/spank_ceems.so ;;
		jobcomp) so=jobcomp/.libs/jobcomp_ceems.so ;;
		esac
		[ -e "$build/$so" ] || skip_all "$part is not built in $build"
	done
}

# needs_profiles: skip the file if ceems-profile is not built, or nothing can read its files (pprof.py).
needs_profiles() {
	[ -x /usr/bin/python3 ] || skip_all "python3 is not installed"
	[ -x "${E2E_BUILDDIR:-$(e2e_builddir)}/src/profiler/ceems-profile" ] || skip_all "built without profiles"
}

# slurm_is_from VERSION: Slurm is of VERSION, such as 24.05, or later.
slurm_is_from() {
	[ "$(printf '%s\n' "$1" "$(slurm_version)" | sort -V | head -n 1)" = "$1" ]
}

slurm_version() {
	slurmctld -V | sed 's/.* //'
}

# needs_slurm VERSION WHY: skip the file if Slurm is older than VERSION.
needs_slurm() {
	slurm_is_from "$1" || skip_all "Slurm is $(slurm_version): $2"
}

e2e_builddir() {
	local tree build=$e2e_top

	for tree in "$e2e_top"/build*; do
		[ ! -e "$tree/ceems_config.h" ] || build=$tree
	done
	echo "$build"
}

# cluster_up [OPTION...]: starts a cluster in a new folder, $DIR, and sets the variables of `cluster env`. Ends the
# test if it does not start.
cluster_up() {
	DIR=$e2e_work/c$((${#e2e_clusters[@]} + 1))
	e2e_clusters+=("$DIR")
	out=$("$cluster" start ${E2E_BUILDDIR:+--builddir "$E2E_BUILDDIR"} "$@" "$DIR" 2>&1) || {
		diag "$out"
		DIR=
		bail "the cluster starts: $*"
	}
	eval "$("$cluster" env "$DIR")"
}

# start_dbd_proxy: for a cluster with --recorder-dbd-port $dbd_proxy_port. The first line of $DIR/proxy.mode sets
# how the recorder's requests to slurmdbd are answered (dbd_proxy.py).
dbd_proxy_port=6820
start_dbd_proxy() {
	inside /usr/bin/python3 "$e2e_top/tests/e2e/dbd_proxy.py" $dbd_proxy_port 6819 "$DIR/proxy.mode" \
		>"$LOG_DIR/proxy.out" 2>&1 &
}

# rapl_moves NODE...: from now on the package and memory of --fake-rapl use 2 W, as those of an idle machine do. Counters
# that stand still are taken for broken after 10 s. It ends with the cluster.
rapl_moves() {
	# shellcheck disable=SC2016 # expanded inside
	inside sh -c 'cluster=$0 dir=$1; shift
		while sleep 1; do
			for node; do
				"$cluster" rapl "$dir" "$node" 0 +1000000
				"$cluster" rapl "$dir" "$node" 0:0 +1000000
			done
		done' "$cluster" "$DIR" "$@" >/dev/null 2>&1 &
}

# inside CMD..., as USER CMD...: runs CMD in the cluster in $DIR, as root or as USER.
inside() {
	"$cluster" exec "$DIR" "$@"
}

as() {
	"$cluster" exec "$DIR" -u "$@"
}

# faketime_begin: mounts a /dev/shm in the cluster. A killed process with libfaketime leaves files there, named by its pid in the
# cluster. faketime_end tests that none is in the /dev/shm of the machine.
faketime_begin() {
	: >"$e2e_work/faketime"
	inside mount -t tmpfs -o mode=1777 shm /dev/shm || bail "a /dev/shm for libfaketime"
}

faketime_end() {
	is "$(find /dev/shm -name '*faketime*' -newer "$e2e_work/faketime")" "" "libfaketime has left no file in /dev/shm"
}

# bpf_is_loaded: waits until ceems-bpf has loaded the programs; false if it cannot load them on this machine.
bpf_is_loaded() {
	wait_for 120 bpf_is_decided && inside "$DIR/helpers/ceems-bpf" status >/dev/null 2>&1
}

# bpf_counts WHAT: the loaded programs count WHAT, as `ceems-bpf status` lists it
bpf_counts() {
	inside "$DIR/helpers/ceems-bpf" status 2>/dev/null | grep '^counts' | grep -q "$1"
}

# Prints how many open files of this cluster's processes are our BPF programs at clock events. bpftool shows those of the
# whole machine, and another cluster may sample, too.
profile_filters() {
	# shellcheck disable=SC2016
	inside sh -c '
		for id in $(bpftool prog show | sed -n "s/^\([0-9]*\): .* name ceems_profile .*/\1/p"); do
			grep -lE "^prog_id:[[:space:]]*$id\$" /proc/[0-9]*/fdinfo/*
		done' 2>/dev/null | wc -l
}

bpf_is_decided() {
	[ ! -e "$DIR/helpers/ceems-bpf" ] || inside "$DIR/helpers/ceems-bpf" status ||
		grep -q 'I/O and network are not counted on this node' "$LOG_DIR"/slurmd.*.log
}

# submit USER ARG...: sbatch; prints the job's id.
submit() {
	local user=$1
	shift
	as "$user" sbatch --parsable "$@"
}

# job_state ID: prints the state in slurmctld.
job_state() {
	inside squeue -h -t all -j "$1" -o %T
}

# node_is STATE: state of the cluster's only node. After a job it is completing for a while.
node_is() {
	inside sinfo -h -o %T | grep -x "$1"
}

job_is() {
	[ "$(job_state "$1")" = "$2" ]
}

# is_requeued ID: the requeue is complete, the job is pending or runs again. While the job is COMPLETING, scancel
# cancels the requeue, and there is no second run. The record of the first run may come before that.
is_requeued() {
	case $(job_state "$1") in
	PENDING | RUNNING) ;;
	*) return 1 ;;
	esac
}

# job_is_booked ID: slurmdbd has the end of the job and of all its steps. slurmctld sends a job's start up to 5 s late
# (its db_inx thread), and all later events of the job only after that.
job_is_booked() {
	local rows
	rows=$(inside sacct -n -P -j "${1%+*}" -o State,End)
	[ -n "$rows" ] || return 1
	! grep -qE '^(PENDING|RUNNING|REQUEUED)|Unknown$|^\|' <<<"$rows" || { echo "$rows"; return 1; }
}

wait_booked() {
	wait_for 300 job_is_booked "$1"
}

# job_acct ID FIELD [STEP]: prints one value from sacct, of the job's own row or of STEP (batch, extern, 0 ...). ID may
# be a component of a het job, such as 7+0, which sacct -j does not accept.
job_acct() {
	inside sacct -n -P --noconvert -j "${1%+*}" -o "JobID,$2" |
		awk -F '|' -v id="$1${3:+.$3}" '$1 "" == id "" { print $2; exit }'
}

# usage JOB STEP SIDE TRES: prints a number of sacct's TRESUsageInTot or OutTot (SIDE is In or Out); nothing if it has
# none.
usage() {
	job_acct "$1" "TRESUsage$3Tot" "$2" | tr , '\n' | sed -n "s|^$4=||p"
}

# is_used JOB STEP SIDE TRES: sacct has the step's usage. For a step that ends with its job, slurmctld books the end
# first and the usage later.
is_used() {
	[ -n "$(usage "$@")" ]
}

# difference A B STEP SIDE TRES: prints usage of job B less usage of job A.
difference() {
	local a b
	a=$(usage "$1" "$3" "$4" "$5")
	b=$(usage "$2" "$3" "$4" "$5")
	[ -n "$a" ] && [ -n "$b" ] && echo $((b - a))
}

# record_file ID, record_kafka ID: print the job's last record in RecordFile or Kafka.
record_file() {
	[ -e "$RECORD_FILE" ] && jq -c "select(.jobid == $1)" "$RECORD_FILE" | tail -n 1 | grep .
}

record_kafka() {
	inside timeout 60 kcat -b "$KAFKA_BOOTSTRAP" -t "$KAFKA_TOPIC" -C -e -q -o beginning |
		jq -c "select(.jobid == $1)" | tail -n 1 | grep .
}

# sql QUERY: prints tab-separated rows of the database ceems, read as database user ceems.
sql() {
	inside mariadb --defaults-file="$MARIADB_DEFAULTS_FILE" --batch --skip-column-names ceems \
		-e "$1"
}

# dbd_sql [QUERY]: prints tab-separated rows of slurmdbd's database, as root; without QUERY, runs what stdin has.
dbd_sql() {
	inside mariadb --no-defaults --socket=/run/mysqld/mysqld.sock --quick --batch --skip-column-names slurm_acct_db ${1:+-e "$1"}
}
