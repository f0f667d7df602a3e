#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What users get at a job's end: the report of --ceems-report, with the same numbers as `ceems job`, and a mail. And the
# report of a week from slurmdbd and both databases.
# shellcheck disable=SC1091,SC2016,SC2154
. "$(dirname "$0")/lib.sh"
needs_plugins acct_gather spank

mailprog=$e2e_work/mailprog mail=$e2e_work/mail
sinks=file,sqlite
[ ! -e "${E2E_BUILDDIR:-$(e2e_builddir)}/src/libsink/libsinkmariadb.la" ] || sinks=$sinks,mariadb
cluster_up --nodes 2 --cpus 4 --fake-rapl --slurm-conf <(echo "MailProg=$mailprog") \
	--ceems-conf <(printf '%s\n' Sinks=$sinks Country=DE EnergySources=rapl IdleWatts=0 "MailProg=$mail")
ceems=$BUILD_DIR/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"
mkdir -m 1777 "$DIR/home/go"
shown='CPU|memory|energy|CO2e|I/O' # a step that begins before slurmd has loaded its BPF programs has no I/O
bpf_is_loaded || { diag "no BPF here: no I/O" && shown='CPU|memory|energy|CO2e'; }
nshown=$(tr '|' '\n' <<<"$shown" | wc -l)

# --- all jobs, at once, each until a file of its name is in $DIR/home/go --------------------------

cat >"$mailprog" <<EOF
#!/bin/sh
SLURM_CONF=$SLURM_CONF exec $BUILD_DIR/src/cmd/ceems-mail "\$@"
EOF
cat >"$mail" <<EOF
#!/bin/sh
{ printf '%s\n' "\$2" "\$3"; cat; } >"$DIR/home/go/mail.\$SLURM_JOB_ID.new"
mv "$DIR/home/go/mail.\$SLURM_JOB_ID.new" "$DIR/home/go/mail.\$SLURM_JOB_ID"
EOF
chmod 755 "$mailprog" "$mail"

# run_step FILE ARG...: runs a busy step; its report goes to $DIR/FILE
run_step() {
	local file=$1
	shift
	as user1 env PATH="$BUILD_DIR/src/cmd:$PATH" srun --ceems-report "$@" sh -c \
		"until [ -e $DIR/home/go/$file ]; do :; done; head -c 5000000 /dev/zero >/dev/null" >"$DIR/$file" 2>&1 &
}
# submit_mail TYPE ARG...: submits a job with --mail-type=TYPE that waits for the file `mailed`
submit_mail() {
	local type=$1
	shift
	submit user1 "--mail-type=$type" --mail-user=me@example.org -o /dev/null \
		--wrap "until [ -e $DIR/home/go/mailed ]; do sleep 0.1; done" "$@"
}
run_step one -N1 -n2
one=$!
wait_for 60 job_is 1 RUNNING
run_step all -N2 -n2
all=$!
wait_for 60 job_is 2 RUNNING
job=$(submit_mail END -J $'a\nBcc: all@example.org')
array=$(submit_mail END --array=1-2)

# Waits until slurmdbd has the jobs' starts, which slurmctld sends up to 5 s late, and ends only after them.
# --ceems-report and ceems-mail do not wait that long.
is_told() {
	[ "$(inside sacct -n -X -P -s R -j "$1" -o JobID | wc -l)" = "$2" ]
}

# --- the report of one node, and of all -----------------------------------------------------------

# facts: prints the values that do not depend on elapsed time, which are the texts behind the bars
facts() {
	sed -nE 's/^ +(CPU|memory) +\[.*\] +[<>0-9]+ % +/\1 /p; s/^ +(energy) +(.*\)), mean .*/\1 \2/p; s/^ +(CO2e|I\/O) +/\1 /p' |
		sed -E 's/^CPU (.*) of .* \((.*)\)/CPU \1 \2/' | grep -E "^($shown) "
}
# The report at a step's end has only values that the step already had while it ran. So this waits until it has all: a
# step that took 0 s by slurmdbd's clock has no shares, one that no tick has seen has no memory, and one below a joule
# has no energy.
is_measured() {
	"$cluster" rapl "$DIR" n1 0 +30000001
	"$cluster" rapl "$DIR" n2 0 +30000001
	inside "$ceems" job "$1" >"$DIR/live"
	[ "$(facts <"$DIR/live" | wc -l)" = "$nshown" ] && grep -q '^  energy .*([1-9][0-9].* J)' "$DIR/live"
}
wait_for 60 is_measured 1.0
touch "$DIR/home/go/one"
wait $one
report=$(cat "$DIR/one")
has "$report" "ceems: step 1.0 on n1, " "a step's report"
inside "$ceems" job --wait 60s 1.0 >"$DIR/screen"
is "$(facts <<<"$report" | wc -l)" "$nshown" "  with ${shown//|/, }"
is "$(facts <<<"$report")" "$(facts <"$DIR/screen")" "  to the last digit what ceems job says"
has "$(cat "$DIR/screen")" "Step 1.0  sh  user1/" "  on the same screen"
grep -qE '^  CO2e .* = .*Wh x [0-9.]+ g/kWh x PUE' "$DIR/one"
ok $? "  with the factor"
joules=$(job_acct 1 ConsumedEnergyRaw 0)
[ "${joules:-0}" -gt 0 ] && grep -qE "\($joules(\.0+)? J\)" "$DIR/one"
ok $? "  and sacct: $joules J"

# slurmctld may send a job's end before those of its steps. For 3 s the step's row is what it was then.
row="job_db_inx = (SELECT MAX(job_db_inx) FROM ceems_job_table WHERE id_job = 1) AND id_step = 0"
dbd_sql "CREATE TABLE kept AS SELECT * FROM ceems_step_table WHERE $row; UPDATE ceems_step_table SET time_end = 0, state = 1,
	user_sec = 0, user_usec = 0, sys_sec = 0, sys_usec = 0, tres_usage_in_ave = '', tres_usage_in_max = '',
	tres_usage_in_tot = '', tres_usage_out_max = '', tres_usage_out_tot = '' WHERE $row"
(sleep 3 && dbd_sql "REPLACE INTO ceems_step_table SELECT * FROM kept") &
inside "$ceems" job --wait 60s 1.0 >"$DIR/late"
wait $!
is "$(cat "$DIR/late")" "$(cat "$DIR/screen")" "and --wait waits for a step that ends later than its job"

wait_for 60 is_measured 2.0
touch "$DIR/home/go/all"
wait $all
has "$(cat "$DIR/all")" "ceems: step 2.0 on n1 (node 1 of 2)" "of a step on two nodes the first one's"
sed -n '/^Step 2.0 /,$p' "$DIR/all" >"$DIR/both"
inside "$ceems" job 2.0 >"$DIR/screen"
is "$(cat "$DIR/both")" "$(cat "$DIR/screen")" "and both together, from srun, as ceems job has it"
is "$(facts <"$DIR/both" | wc -l)" "$nshown" "  which knows what they used"

# --- mail -----------------------------------------------------------------------------------------

mailed() {
	cat "$DIR/home/go/mail.$1"
}
wait_for 60 is_told "$job" 1
wait_for 60 is_told "$array" 2
touch "$DIR/home/go/mailed"
wait_for 60 mailed "$job"
ok $? "a mail at a job's end"
inside "$ceems" job "$job" >"$DIR/screen"
is "$(sed 1,2d <<<"$out")" "$(cat "$DIR/screen")" "  with the screen of ceems job"
has "$(head -n 1 <<<"$out")" "Slurm Job_id=$job Name=a?Bcc: all@example.org Ended, Run time " "  and Slurm's subject, which is one line"
is "$(sed -n 2p <<<"$out")" me@example.org "  to its address"
summary() {
	grep -l "^Array $array " "$DIR"/home/go/mail.*
}
wait_for 60 summary
ok $? "an array has one mail, with all of it"

# --- a week, from slurmdbd and both databases -----------------------------------------------------

report() {
	inside "$ceems" report --week=this -a --by user --csv "$@"
}
is_same() {
	report >"$DIR/week"
	report --from "$1" >"$DIR/week.$1"
	cmp "$DIR/week" "$DIR/week.$1" >&2
}
if [ -e "$BUILD_DIR/src/libsink/libsinksqlite.la" ]; then
	wait_for 60 is_same sqlite
	ok $? "a week from SQLite has the sums of slurmdbd's"
else
	skip "no SQLite in this build"
fi
if [[ $sinks = *mariadb* ]]; then
	wait_for 60 is_same mariadb
	ok $? "from MariaDB, too"
else
	skip "no MariaDB sink in this build"
fi
sums=$(inside sacct -a -X -n -P -S now-1day -o ConsumedEnergyRaw | awk '{ s += $1 } END { print NR "," s }')
is "$(awk -F, '$1 == "total" { print $3 "," $7 }' "$DIR/week")" "$sums" "jobs and joules are sacct's"
[ "${sums#*,}" -gt 0 ]
ok $? "  which are some: $sums"
cat >"$DIR/sendmail" <<EOF
#!/bin/sh
cat >"$DIR/home/go/report"
EOF
chmod 755 "$DIR/sendmail"
sed -i "s|^MailProg=.*|MailProg=$DIR/sendmail|" "$CEEMS_CONF"
passes "a report by mail" inside "$ceems" report --week=this -a --mail-to '%u@example.org'
is "$(grep -E '^(To|Content-Disposition):' "$DIR/home/go/report")" "To: user1@example.org
Content-Disposition: attachment; filename=\"ceems-$(date +%G-W%V).html\"" "  to its user, with a page"
has "$(awk '/^$/ { n++ } n == 2' "$DIR/home/go/report" | base64 -d | tr '\n' ' ')" "Place 1 of 1 user by energy" "  and the place"
sed -i "s|^MailProg=.*|MailProg=$mail|" "$CEEMS_CONF"

job=$(submit_mail BEGIN)
wait_for 60 mailed "$job"
is "$(sed -n '3,$p' <<<"$out")" "Job $job has begun. See what it uses: ceems job $job" "a mail at a job's begin"

"$cluster" kill "$DIR" slurmdbd -STOP
job=$(submit_mail END)
wait_for 60 mailed "$job"
is "$(sed -n '3,$p' <<<"$out")" "What job $job used is not known: slurmdbd did not answer within 10 s" "without slurmdbd a mail has one line"
"$cluster" kill "$DIR" slurmdbd -CONT
done_testing
