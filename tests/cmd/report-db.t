#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Reports and mails from the database of the sink sqlite, filled by that sink: sums, ranks, that each mail has only its
# user's data, and databases that cannot be read.
. "$top_srcdir/tests/tap/tap.sh"
ceems=$top_builddir/src/cmd/ceems
[ -x "$ceems" ] || skip_all "the ceems command is not built"
"$ceems" --help | grep -q '^  report ' || skip_all "built without libslurm"
command -v python3 >/dev/null || skip_all "python3 is not installed"
ceems=$(readlink -f "$ceems")
helper=$top_srcdir/tests/cmd/report_db.py
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export SLURM_CONF="$dir/slurm.conf" TZ=UTC
cat >"$dir/ceems.conf" <<EOF
SqliteFile=$dir/jobs.db
StoreDir=$dir
MailProg=$dir/sendmail
EOF
report() {
	out=$("$ceems" report "$@" 2>&1)
	rc=$?
}
# the same in one line
flat() {
	printf '%s' "$out" | tr '\n' ' '
}

report --week --from sqlite
case $out in
*"this build has no sink sqlite"*)
	is "$rc" 1 "a build without the sink sqlite says so"
	done_testing
	exit 0
	;;
esac
is "$rc/$out" "1/ceems: sqlite: $dir/jobs.db: No such file or directory" "there is no database yet"

# --- jobs -------------------------------------------------------------------------------------------

python3 "$helper" jobs >"$dir/jobs.jsonl"
out=$("$ceems" store replay sqlite --file "$dir/jobs.jsonl" 2>&1)
is "$?" 0 "the sink takes the records: $out"
# told QUERY: prints a jq query of the JSON report
told() {
	printf '%s' "$out" | python3 "$helper" "$@"
}
for args in "--month 2025-11" "--month 2025-10" "--week 2025-W45" "--month 2025-11 -A acct-ann" "--month 2025-11 -u 1002" \
	"--month 2025-11 -r gpu" "--month 2025-11 -M alps" "--month 2025-11 -M other" "--month 2025-11 --by user" \
	"--month 2025-11 --by partition" "--month 2025-12"; do
	# shellcheck disable=SC2086 # words on purpose
	report --from "sqlite:$dir/jobs.db" $args --json
	# shellcheck disable=SC2086
	is "$rc/$(told sums $args)" "0/same" "sums are the records': $args"
done
report --from sqlite --month 2025-11
has "$out" "all users" "all users are the default"
has "$(flat)" "less than in October 2025" "  compared with the month before"
report --from sqlite --month 2025-11 --html
has "$out" "from the database of the sink sqlite." "a page says where the jobs are from"
report --from sqlite --month 2025-11 --csv --by user
cpu=$(printf '%s\n' "$out" | grep '^user,eve,' | cut -d, -f6)
is "$cpu" 0.5 "CPU time of the steps, where the job has none"

# --- rank -------------------------------------------------------------------------------------------

report --from sqlite --month 2025-11 --rank -u 1002
is "$rc/$(flat | grep -o 'Place.*largest')" \
	"0/Place 2 of 3 users by energy, and place 1 of 1 by the part of it that was wasted. Place 1 is the largest" \
	"where a user stands"
is "$(printf '%s' "$out" | grep -cE 'acct-ann|acct-eve')" 0 "  without the others' data"
report --from sqlite --month 2025-11 --rank -u 1002 --json
is "$(told place)" "2 of 3, 1 of 1" "  for programs"
report --from sqlite --month 2025-11 --rank -u 4242
has "$out" "Place among all users: n/a (the energy is not known)" "a user without jobs has no place"
for args in "--rank -a" "--rank -u 1001,1002" "--rank -A acct-ann" "--rank --mail-to x@example.org"; do
	# shellcheck disable=SC2086 # words on purpose
	report --from sqlite --month 2025-11 $args
	is "$rc" 2 "'$args' is refused"
done

# --- mails ------------------------------------------------------------------------------------------

cat >"$dir/sendmail" <<EOF
#!/bin/sh
n=\$(find "$dir/mails" -type f | wc -l)
cat >"$dir/mails/\$n"
[ "\$*" = "-i -t" ] || exit 9
grep -q '^To: bob@' "$dir/mails/\$n" && exit \$(cat "$dir/rc" 2>/dev/null || echo 0)
exit 0
EOF
chmod 755 "$dir/sendmail"
mkdir "$dir/mails"
mails() {
	python3 "$helper" mails "$dir/mails"
}
forget() {
	rm -rf "$dir/mails"
	mkdir "$dir/mails"
}
report --from sqlite --month 2025-11 --mail-to 'board@example.org,it@example.org'
is "$rc/$out" "0/" "a report is mailed"
is "$(mails)" "board@example.org, it@example.org|Energy and emissions: November 2025, all users|ceems-2025-11.html|ann bob eve" \
	"  to the board, about all, with the page"
forget
report --from sqlite --month 2025-11 --by user --mail-to '%u@example.org'
is "$rc/$out" "0/" "to each user"
is "$(mails)" "ann@example.org|Energy and emissions: November 2025, user ann|ceems-2025-11.html|ann
bob@example.org|Energy and emissions: November 2025, user bob|ceems-2025-11.html|bob
eve@example.org|Energy and emissions: November 2025, user eve|ceems-2025-11.html|eve" \
	"  text and page have the user's own data, and nobody else's"
is "$(python3 "$helper" places "$dir/mails")" "ann 1 of 3, bob 2 of 3, eve 3 of 3" "  and the place"
forget
report --from sqlite --month 2025-11 -u 1001 --mail-to '%u@example.org'
is "$rc/$(mails)" "0/ann@example.org|Energy and emissions: November 2025, user ann|ceems-2025-11.html|ann" "to one of them"
is "$(python3 "$helper" places "$dir/mails")" "" "  without a place: the others were not read"
forget
echo 1 >"$dir/rc"
report --from sqlite --month 2025-11 --mail-to '%u@example.org'
is "$rc/$out" "1/ceems: no mail to bob@example.org: $dir/sendmail ended with exit code 1" "a mail that fails is said"
is "$(find "$dir/mails" -type f | wc -l)" 3 "  and the others go out"
rm "$dir/rc"
forget
# a user's name must not add a second address or a header
report --from sqlite --month 2025-09 --mail-to '%u@example.org'
is "$rc/$(mails)" "1/" "users whose names make no address get none"
is "$(printf '%s\n' "$out" | grep -c "the name does not make an address")" 4 "  which is said of each"
for to in "" "|id" "a b|c" "x;y@example.org" "-a" "%u|id" "a@b,/etc/passwd"; do
	report --from sqlite --month 2025-11 --mail-to "$to"
	is "$rc" 2 "no address: '$to'"
done
for args in "--csv" "--html" "-o x" "--site x"; do
	# shellcheck disable=SC2086 # words on purpose
	report --from sqlite --month 2025-11 --mail-to a@example.org $args
	is "$rc" 2 "a mail and $args exclude each other"
done
sed -i "s|^MailProg=.*|MailProg=$dir/mail|" "$dir/ceems.conf"
cat >"$dir/mail" <<EOF
#!/bin/sh
{ printf '%s\n' "\$@"; cat; } >"$dir/mails/0"
EOF
chmod 755 "$dir/mail"
report --from sqlite --month 2025-11 --mail-to a@example.org
is "$rc/$(head -n 4 "$dir/mails/0")" "0/-s
Energy and emissions: November 2025, all users
a@example.org
Energy and emissions: November 2025, all users" "another mail program has the text"

# --- a site -----------------------------------------------------------------------------------------

report --from sqlite --site "$dir/site"
is "$rc/$out" "0/" "pages for a web server"
is "$(stat -c %a "$dir/site") $(find "$dir/site" -type f -printf '%m\n' | sort -u)" "750 640" "a site is for its group only"
[ -s "$dir/site/index.html" ]
ok $? "  with an index"

# --- jobs that were deleted -------------------------------------------------------------------------

sql() {
	python3 -c 'import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); d.execute(sys.argv[2]); d.commit()' "$dir/jobs.db" "$1"
}
sql "INSERT INTO usage_day (archived_id, submit_day, day, cluster, jobs, jobs_measured, cpu_used_jobs)
	VALUES (1, '2025-10-05', '2025-10-05', 'alps', 7, 7, 0)"
report --from sqlite --month 2025-11
has "$(flat)" "Nothing is compared with October 2025, because some of its jobs are no longer in the database." \
	"jobs of the month before were deleted"
is "$(flat | grep -c 'than in October')" 0 "  nothing is compared"
report --from sqlite --month 2025-10
is "$rc/$out" "1/ceems: sqlite: 7 jobs of that time are no longer in the database (MariadbRetention): make the report from slurmdbd" \
	"jobs of the month were"

# --- what cannot be read ----------------------------------------------------------------------------

: >"$dir/empty.db"
report --from "sqlite:$dir/empty.db" --week
is "$rc/$out" "1/ceems: sqlite: $dir/empty.db: is empty; the sink sqlite fills it" "an empty file"
head -c 8192 /dev/zero | tr '\0' x >"$dir/text.db"
report --from "sqlite:$dir/text.db" --week
is "$rc/$out" "1/ceems: sqlite: $dir/text.db: file is not a database" "a file that is no database"
python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute("CREATE TABLE job (x)")' "$dir/other.db"
report --from "sqlite:$dir/other.db" --week
is "$rc/$out" "1/ceems: sqlite: $dir/other.db: is another program's database" "another program's"
sql "UPDATE job SET record = '{\"schema\":' WHERE jobid = 900"
report --from sqlite --month 2025-11
is "$rc" 1 "a row that is damaged"
has "$out" "ceems: sqlite: " "  which is said: $out"
for args in "--from kafka --week" "--from sqlite: --week" "--from sql --week" "--from sqlite job 1" "--from" "--from sqlite" \
	"--from sqlite --site x -A a"; do
	# shellcheck disable=SC2086 # words on purpose
	report $args
	is "$rc" 2 "'$args' is refused"
done
report --from mariadb --week
case $out in
*"this build has no sink mariadb"*)
	is "$rc" 1 "a build without MariaDB says so"
	;;
*)
	is "$rc/$out" "1/ceems: mariadb: MariadbDefaultsFile is not set" "MariaDB needs its option file"
	report --from mysql --week
	is "$rc/$out" "1/ceems: mariadb: MariadbDefaultsFile is not set" "mysql is another name for it"
	report --from mariadb:/nonexistent/file --week
	is "$rc/$out" "1/ceems: mariadb: /nonexistent/file: cannot open: No such file or directory" "  which must be there"
	printf '[client]\npassword=x\n' >"$dir/options"
	chmod 644 "$dir/options"
	report --from "mariadb:$dir/options" --week
	is "$rc" 1 "  and not be everybody's: $out"
	;;
esac
done_testing
