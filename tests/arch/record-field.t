#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A field of the record must need its member in record.h and its row in record_field.c only. With a field "colour" added in
# copies of the two, a record is completed from slurmdbd's row, written, read, put into SQL and freed.
. "$top_srcdir/tests/tap/tap.sh"
grep -q fsanitize "$top_builddir/config.log" && skip_all "the build without sanitizers has shown this"
grep -q '^S\["HAVE_JANSSON_TRUE"\]=""' "$top_builddir/config.status" || skip_all "built without jansson"
work=$(mktemp -d "$PWD/field-XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/src/librecord"
sed 's/^	char \*script;/	char *colour;\n&/' "$top_srcdir/src/librecord/record.h" >"$work/src/librecord/record.h"
sed 's/^	JOB("script", /	JOB("colour", TEXT, colour, BY_DBD, SQL("colour")),\n&/' \
	"$top_srcdir/src/librecord/record_field.c" >"$work/src/librecord/record_field.c"
is "$(diff "$top_srcdir/src/librecord" "$work/src/librecord" | grep -c '^> ')" 2 "one line in each of two files"
sources=$(find "$top_srcdir/src/librecord" -name '*.c' ! -name record_field.c)
# shellcheck disable=SC2086 # several files and flags
${CC:-cc} -std=gnu11 -O0 -I"$work" -I"$top_srcdir" -I"$top_builddir" -I"$top_srcdir/tests/tap" -o "$work/program" \
	"$top_srcdir/tests/arch/record_field.c" "$work/src/librecord/record_field.c" $sources \
	"$top_srcdir"/recorder/job_record.c "$top_srcdir"/src/libstore/job_facts.c \
	"$top_srcdir"/src/libsink/sqlrow.c "$top_srcdir"/src/libsink/sqlrow_table.c \
	"$top_builddir"/src/libledger/.libs/libledger.a "$top_builddir"/src/libemission/.libs/libemission.a \
	"$top_builddir"/src/libcore/.libs/libcore.a "$top_builddir"/src/libutil/.libs/libutil.a \
	-ljansson -lm -lpthread >"$work/log" 2>&1
built=$?
ok $built "they build"
[ $built -eq 0 ] || sed 's/^/# /' "$work/log" | head -n 20
is "$("$work/program" 2>&1)" "slurmdbd: blue
the hook knows better: red
json: \"colour\":\"blue\"
read: blue
column: colour
null: \"colour\":null" "a record is merged, written, read and put into SQL with the field"
done_testing
