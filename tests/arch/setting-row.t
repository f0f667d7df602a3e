#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A setting must need only its row. With the settings.def of one more folder, the key is parsed, in ceems.conf(5), in
# ceems.conf.example, and among the restarts of `ceems check`.
. "$top_srcdir/tests/tap/tap.sh"
grep -q fsanitize "$top_builddir/config.log" && skip_all "the build without sanitizers has shown this"
grep -q '^S\["HAVE_JANSSON_TRUE"\]=""' "$top_builddir/config.status" || skip_all "built without jansson"
work=$(mktemp -d "$PWD/setting-XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/src/libcore" "$work/more"
cat >"$work/more/settings.def" <<'END'
SETTING("TestFolder", char[SETTINGS_PATH_MAX], test_folder, kvconf_path, "/var/test",
	"Tests", BY_STEP | BY_RECORDER,
	"Folder that a test adds; it's empty.",
	"/srv/\"a test\"")
END
printf '@KEY TestFolder@\nThe detail.\n' >"$work/more/settings.man"

rows=$work/src/libcore/settings_rows.h
join=$top_srcdir/src/libcore/settings_join.sh
sh "$join" "$top_srcdir" settings.def "$rows" "$work/more" && sh "$join" "$top_srcdir" settings.man "$work/pages" "$work/more"
ok $? "its row is joined to the others"
# shellcheck disable=SC2086 # several flags
${CC:-cc} -std=gnu11 -O0 -I"$work" -I"$top_srcdir" -I"$top_builddir" -DSLURM_SYSCONFDIR='"/etc/slurm"' -o "$work/program" \
	"$top_srcdir/tests/arch/setting_row.c" "$top_srcdir/src/cmd/check/check_todo.c" "$top_srcdir/src/libcore/settings.c" \
	"$top_builddir/src/libcore/.libs/libcore.a" "$top_builddir/src/libutil/.libs/libutil.a" -lpthread >"$work/log" 2>&1
built=$?
ok $built "it is built"
[ $built -eq 0 ] || sed 's/^/# /' "$work/log" | head -n 20

conf=$work/ceems.conf
echo "PUE=1.2" >"$conf"
is "$("$work/program" "$conf" TestFolder | head -n 1)" "/var/test" "it has its default"
echo "testfolder=/srv/x" >"$conf"
is "$("$work/program" "$conf" TestFolder)" "/srv/x
to do
  ceems.conf
    correct it
  then
    systemctl restart ceems-recorder  # on the controller" "it is parsed, and ceems check restarts the daemons that read it"
echo "TestFolder=x" >"$conf"
is "$("$work/program" "$conf" TestFolder 2>&1)" "$conf:1: TestFolder: 'x' is not an absolute path" "its parser is the row's"
restarts() {
	: >"$conf"
	"$work/program" "$conf" "$1" | sed -n 's/^    systemctl restart \([^ ]*\).*/\1/p' | xargs
}
is "$(restarts TextfileDir)" "slurmd ceems-recorder" "TextfileDir: slurmd and ceems-recorder write there"
is "$(restarts HelperDir)" "slurmd ceems-recorder" "HelperDir: both start helpers"
is "$(restarts KafkaStartTopic)" "slurmctld ceems-recorder" "KafkaStartTopic: slurmctld tells of starts"
is "$(restarts PrometheusUrl)" "" "PrometheusUrl: only commands read it"
is "$(restarts PerfDefault)" "" "PerfDefault: each step reads it"

page() {
	awk "$@" -f "$top_srcdir/src/cmd/page.awk" -f "$top_srcdir/src/cmd/conf_page.awk" "$rows" \
		"$top_srcdir/src/libcore/sources.def" "$work/pages" \
		"$top_srcdir/src/cmd/ceems.conf.5.in"
}
has "$(page)" '
.SS Tests
.TP
.B TestFolder
Folder that a test adds; it\(aqs empty.
Default: \fB/var/test\fP.
Example:
.B TestFolder=/srv/"a test"
.IP
The detail.
.SS ' "ceems.conf(5) has a section with it and its detail"
has "$(page -v example=1)" '
# --- Tests ---
#TestFolder=/var/test
' "ceems.conf.example has it"
done_testing
