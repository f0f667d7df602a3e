#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems-mail without slurmdbd: a mail must be sent whatever fails, and no text of a user may become a command.
. "$top_srcdir/tests/tap/tap.sh"
mail=$top_builddir/src/cmd/ceems-mail
[ -x "$mail" ] || skip_all "ceems-mail is not built"
mail=$(readlink -f "$mail")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# A fake mail program, which keeps its arguments and its input.
cat >"$dir/prog" <<EOF
#!/bin/sh
printf '%s\n' "\$#" "\$@" >"$dir/args"
cat >"$dir/text"
exit \$(cat "$dir/rc" 2>/dev/null || echo 0)
EOF
chmod 755 "$dir/prog"
echo "MailProg=$dir/prog" >"$dir/ceems.conf"
export SLURM_CONF="$dir/slurm.conf"

# send SUBJECT ADDRESS [NAME=VALUE]...
send() {
	subject=$1 address=$2
	shift 2
	rm -f "$dir/args" "$dir/text"
	out=$(env "$@" "$mail" -s "$subject" "$address" 2>&1)
	rc=$?
}

send "Slurm Job_id=7 Name=x Ended, Run time 00:00:01, COMPLETED, ExitCode 0" user1@example.org SLURM_JOB_ID=7
is "$rc/$out" "0/" "a mail without slurm.conf"
is "$(cat "$dir/args")" "3
-s
Slurm Job_id=7 Name=x Ended, Run time 00:00:01, COMPLETED, ExitCode 0
user1@example.org" "has Slurm's subject and address"
has "$(cat "$dir/text")" "What job 7 used is not known: " "and one line why it has no screen"
is "$(wc -l <"$dir/text")" 1 "  one"
send "hello" user1 SLURM_JOB_ID=
is "$rc/$(cat "$dir/text")" "0/The subject names no job." "without a job"
for id in "7;id" "-1" "99999999999" "7 8" "0x7"; do
	send hello user1 "SLURM_JOB_ID=$id"
	is "$rc/$(cat "$dir/text")" "0/The subject names no job." "'$id' is no job"
done
send "Slurm Array Summary Job_id=7_* (9) Name=x" user1 SLURM_JOB_ID=9 SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=2
has "$(cat "$dir/text")" "What job 7 used" "the summary of an array is about all of it"
send "Slurm Array Task Job_id=7_2 (9) Name=x" user1 SLURM_JOB_ID=9 SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=2
has "$(cat "$dir/text")" "What job 7_2 used" "a task's is about the task"
# nothing is known yet
send "Slurm Job_id=7 Name=x Began, Queued time 00:00:01" user1 SLURM_JOB_ID=7 SLURM_JOB_MAIL_TYPE=Began
is "$rc/$(cat "$dir/text")" "0/Job 7 has begun. See what it uses: ceems job 7" "a job that begins has used nothing"
send "Slurm Array Summary Job_id=7_* (9) Name=x Began" user1 SLURM_JOB_ID=9 SLURM_ARRAY_JOB_ID=7 SLURM_JOB_MAIL_TYPE=Began
is "$(cat "$dir/text")" "Job 7 has begun. See what it uses: ceems job 7" "  nor has an array"
send "Slurm Job_id=7 Name=x Invalid dependency" user1 SLURM_JOB_ID=7 "SLURM_JOB_MAIL_TYPE=Invalid dependency"
is "$(cat "$dir/text")" "Job 7 has not run." "  nor a job that cannot begin"

send "$(printf 'Name=x\nBcc: all@example.org\r\033[2J')" user1
is "$(sed -n 3p "$dir/args")" "Name=x?Bcc: all@example.org??[2J" "a job's name makes no header"
is "$(head -n 1 "$dir/args")" 3 "  nor an argument"
# shellcheck disable=SC2016 # as they are
for address in "" "-A/etc/passwd" "|id" "/tmp/x" "+x" "a@b,|id" "a -v" "a," "$(printf 'a\tb')" '`id`' '$(id)' "~x"; do
	send hello "$address"
	is "$rc/$(cat "$dir/args" 2>/dev/null)" "1/" "no address: '$address'"
done
has "$out" "ceems-mail: the mail was not sent: '~x' is not an address" "which is said"
send hello "first.last@example.org,user2"
is "$rc/$(sed -n 4p "$dir/args")" "0/first.last@example.org,user2" "two addresses"

for address in 'a<|id>' 'a:|id;' 'a"b"' 'a(b)' 'a\b' 'a>b'; do
	send hello "$address"
	is "$rc/$(cat "$dir/args" 2>/dev/null)" "1/" "no address: '$address'"
done

# sendmail has the whole mail on its standard input
cp "$dir/prog" "$dir/sendmail"
echo "MailProg=$dir/sendmail" >"$dir/ceems.conf"
header() {
	python3 -c 'import email, email.policy, sys
m = email.message_from_file(open(sys.argv[1]), policy=email.policy.default)
print(m[sys.argv[2]] if sys.argv[2] != "text" else m.get_body().get_content(), end="")' "$dir/text" "$1"
}
send "$(printf 'Name=\303\251x\nBcc: all@example.org\r\nend of a name that is longer than one line of a header may be, as such names go')" \
	"user1@example.org,user2" SLURM_JOB_ID=
is "$rc/$(paste -sd/ "$dir/args")" "0/2/-i/-t" "sendmail is called with -i -t"
if command -v python3 >/dev/null; then
	is "$(header To)" "user1@example.org, user2" "  its mail has the addresses"
	is "$(header Bcc)" "None" "  no header of a job's name"
	is "$(header Subject)" "$(printf 'Name=\303\251x?Bcc: all@example.org??end of a name that is longer than one line of a header may be, as such names go')" \
		"  the subject"
	is "$(header text)" "The subject names no job." "  and the text"
else
	skip "python3 is not installed"
fi
echo "MailProg=/usr/bin/ceems-mail" >"$dir/ceems.conf"
send hello "" # /usr/bin/mail is not started without an address
is "$rc/$out" "1/ceems-mail: the mail was not sent: '' is not an address" "ceems-mail does not start itself"
echo "MailProg=$dir/prog" >"$dir/ceems.conf"

echo 3 >"$dir/rc"
send hello user1
is "$rc/$out" "1/ceems-mail: the mail was not sent: $dir/prog ended with exit code 3" "the mail program fails"
rm "$dir/rc" "$dir/prog"
send hello user1
is "$rc/$out" "1/ceems-mail: the mail was not sent: $dir/prog: No such file or directory" "there is none"
out=$("$mail" hello user1 2>&1)
is "$?" 2 "not as slurmctld calls it"
done_testing
