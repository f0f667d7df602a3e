#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each command that README, doc/ and the man pages show with its output is run here, on jobs of the same kinds, and must
# succeed.
# shellcheck disable=SC1091,SC2016,SC2046,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank jobcomp

cluster_up --nodes 2 --cpus 4 --fake-rapl --fake-gpus 1 --kafka --ceems-conf <(printf '%s\n' Country=FR \
	EnergySources=rapl)
ceems=$BUILD_DIR/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"

# --- the commands --------------------------------------------------------------------------------

# examples FILE...: prints "FILE USER COMMAND" for each line with a prompt; continued lines are joined.
examples() {
	local file

	for file in "$@"; do
		sed -e ':a; /\\e\?$/ { N; s/\\e\?\n *//; ba }' "$file" |
			sed -e 's/\\-/-/g; s/\\(aq/'\''/g; s/\\(dq/"/g; s/\\(ha/^/g; s/\\f.//g; s/  *#.*$//' |
			sed -nE "s,^( {4})?[$] ,$file user1 ,p; s,^# (ceems|@ceemslibexecdir_path@|cat|sqlite3|systemctl|SLURM_),$file root \1,p"
	done
}

# What cannot be run here, and why.
excluded() {
	case $1 in
	*systemctl* | *DELETE* | *'unload --force'*) echo "it is for the machine's own service" ;;
	*dashboards\ --check*) echo "t0115 has a Prometheus" ;;
	*h5dump* | *sh5util* | *--profile=*) echo "t0114 has the HDF5 plugin" ;;
	*MAILPROG* | *ceems-mail*) echo "t0304 has a MailProg" ;;
	*'ceems top' | *'ceems top --node') echo "top.t has a terminal" ;;
	*'ceems dashboards' | *'db migrate'*) echo "the dashboards and the schema are not installed" ;;
	*'ceems factors'* | *ceems-factors.conf*) echo "providers.t has a provider" ;;
	*flame* | *pprof*) echo "t0117 has a profile" ;;
	*reader.cnf*) echo "the database has no second user" ;;
	*--mail-to*) echo "report-mail.t has a mail program" ;;
	*) return 1 ;;
	esac
}

# --- the jobs ------------------------------------------------------------------------------------

cd "$DIR/home/user1" || bail "user1 has no folder"
busy='i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; sleep 2'
for program in app solver; do
	printf '#!/bin/sh\n%s\n' "$busy" >$program
done
printf '#!/bin/sh\n#SBATCH -J train\nsrun sh -c "%s"\n' "sleep 1" >train.sh
printf '#!/bin/sh\nsrun ./app\n' >job.sh
chmod 755 app solver train.sh job.sh
# Feeds both nodes until the cluster ends.
draw_power() {
	while "$cluster" rapl "$DIR" n1 0 +20000000 && "$cluster" rapl "$DIR" n2 0 +20000000; do
		sleep 0.5
	done >"$e2e_work/rapl" 2>&1
}
# batch NAME ARG... COMMAND: submits a job of user1 in this folder; its id is $id
batch() {
	local name=$1 command=${*: -1}
	set -- "${@:2:$#-2}"
	id=$(as user1 env -C "$PWD" sbatch --parsable -J "$name" -t 10 "$@" --wrap "$command")
}
report="env PATH=$BUILD_DIR/src/cmd:\$PATH srun --ceems-report --ceems-perf=io --ceems-trace=100ms"
declare -A id_of
draw_power &
batch solve --gres=gpu:1 -c2 "srun --ceems-trace ./solver"
id_of[1]=$id id_of[1234]=$id
batch sweep --array=1-4 "srun --ceems-trace sleep 1"
id_of[2]=$id id_of[5]=$id id_of[8]=$id
batch io -o "$PWD/slurm-3.out" "$report dd if=/dev/zero of=data bs=1M count=8 conv=fsync"
id_of[3]=$id
batch wide -N2 "srun -N2 -n2 ./app"
id_of[7]=$id
batch before "srun ./app; srun ./app"
id_of[12]=$id
batch after -c2 "srun ./app; srun ./solver"
id_of[13]=$id
for _ in 1 2 3; do
	as user1 env -C "$PWD" sbatch -o /dev/null train.sh >/dev/null
	batch fails "exit 1"
done
all_are_booked() {
	local rows
	rows=$(inside sacct -a -n -P -X -o State,End)
	[ "$(wc -l <<<"$rows")" -ge 15 ] || { echo "$rows"; return 1; }
	! grep -E '^(PENDING|RUNNING)|Unknown$' <<<"$rows"
}
wait_for 300 all_are_booked
ok $? "the jobs of the examples have run"
for id in "${id_of[@]}"; do
	wait_booked "$id"
done
batch render -c2 "srun sleep 600"
id_of[9]=$id
wait_for 60 job_is "$id" RUNNING

# --- each of them ---------------------------------------------------------------------------------

# translate COMMAND: with this cluster's job ids, files and folders
translate() {
	local word out='' before='' number

	while IFS= read -r -d ' ' word; do
		number=${word#\'}
		number=${number%%[._+\']*}
		if [[ $before != -n && $before != -A && $before != --top && -n ${id_of[${number:-x}]:-} && $word =~ ^\'?[0-9]+([._+].*)?\'?$ ]]; then
			word=${word/"$number"/"${id_of[$number]}"}
		fi
		out+="$word "
		before=$word
	done <<<"$1 "
	sed -e "s,/root/admin.cnf,$MARIADB_DEFAULTS_FILE,; s,/etc/slurm/slurm.conf,$DIR/home/slurm.conf.new," \
		-e "s,/var/spool/ceems/store,$STORE_DIR,; s,/var/log/slurm/ceems-jobs.jsonl,$RECORD_FILE," \
		-e "s,ceems ledger,& -n n1," -e "s,@ceemslibexecdir_path@,$DIR/helpers," <<<"$out"
}
mkdir "$DIR/bin"
printf '#!/bin/sh\nexit 0\n' >"$DIR/bin/logger"
chmod 755 "$DIR/bin/logger"
STORE_DIR=$(sed -n 's/^StoreDir=//p' "$CEEMS_CONF")
cd "$e2e_top" || bail "no source"
mapfile -t list < <(examples README.md doc/*.md $(find src bpf spank jobcomp recorder acct_gather -name '*.[1-8].in' | sort))
cd "$DIR/home/user1" || bail "user1 has no folder"
[ "${#list[@]}" -gt 60 ]
ok $? "the texts have ${#list[@]} examples"
declare -A has_run
for line in "${list[@]}"; do
	read -r file user command <<<"$line"
	! why=$(excluded "$command") || { diag "$file: $command: not here, $why"; continue; }
	[ -z "${has_run[$user $command]:-}" ] || continue
	has_run[$user $command]=yes
	typed=$(translate "$command")
	out=$("$cluster" exec "$DIR" $([ "$user" = root ] || echo -u "$user") env -C "$PWD" \
		PATH="$DIR/bin:$BUILD_DIR/src/cmd:$PATH" bash -c "set -o pipefail; $typed" 2>"$e2e_work/err" </dev/null)
	rc=$?
	# `ceems check` finds what a private cluster lacks
	[[ $command != *'ceems check'* || $rc -ne 1 ]] || rc=0
	case $command in
	# these may print nothing
	*' -o '* | *'>'* | srun* | *unload* | 'ceems store ls' | 'ceems store cat'*) out+=. ;;
	esac
	if [ $rc -eq 0 ] && [ -n "$out" ]; then
		ok 0 "$file: $command"
	else
		ok 1 "$file: $command"
		diag "ran $typed: status $rc; $(cat "$e2e_work/err")"
	fi
done
inside scancel "${id_of[9]}"
kill %draw_power
done_testing
