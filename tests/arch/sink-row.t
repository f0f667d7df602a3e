#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A sink must need only its folder and its row in sinks.def. With a folder "count" and a row more, Sinks accepts the sink,
# its key is parsed and in ceems.conf(5), make gets its build.am, and records are delivered to it.
. "$top_srcdir/tests/tap/tap.sh"
grep -q fsanitize "$top_builddir/config.log" && skip_all "the build without sanitizers has shown this"
[ -e "$top_builddir/src/libsink/.libs/libsink.a" ] || skip_all "built without sinks"
work=$(mktemp -d "$PWD/sink-XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/src/libcore" "$work/src/libsink/count" "$work/store"
cat >"$work/src/libsink/count/sink_count.c" <<'END'
#include <stdio.h>

#include "src/libsink/sink.h"

static int count_open(const struct settings *s, struct sink **ret, struct errmsg *err)
{
	FILE *f = fopen(s->count_file, "ae");

	if (!f)
		return errmsg_errno(err, -1, "%s", s->count_file);
	*ret = (struct sink *)f;
	return 0;
}

static int count_deliver(struct sink *k, struct sink_item *item, size_t n, enum sink_result *result, uint64_t timeout_ns,
			 struct errmsg *err)
{
	size_t i;

	(void)timeout_ns;
	(void)err;
	for (i = 0; i < n; i++) {
		(void)fprintf((FILE *)k, "%.*s\n", (int)item[i].key_len, item[i].key);
		result[i] = SINK_ACKED;
	}
	return 0;
}

static void count_close(struct sink *k)
{
	(void)fclose((FILE *)k);
}

const struct sink_ops sink_count = {
	.name = "count",
	.kinds = STORE_MASK(STORE_RECORD),
	.max_batch = 8,
	.open = count_open,
	.deliver = count_deliver,
	.close = count_close,
};
END
cat >"$work/src/libsink/count/settings.def" <<'END'
SETTING("CountFile", char[SETTINGS_PATH_MAX], count_file, kvconf_path, "",
	"Count", BY_RECORDER | BY_COMMANDS,
	"File of the sink count.",
	"/srv/count")
END
printf '@KEY Sinks@\nThe sink count counts.\n@KEY CountFile@\nThe detail.\n' >"$work/src/libsink/count/settings.man"
# the clients of the other sinks are not needed here
sed 's/, HAVE_[A-Z_]*)/, 0)/' "$top_srcdir/src/libcore/sinks.def" >"$work/src/libcore/sinks.def"
echo 'SINK(count, 1)' >>"$work/src/libcore/sinks.def"

rows=$work/src/libcore/settings_rows.h
join=$top_srcdir/src/libcore/settings_join.sh
sh "$join" "$top_srcdir" settings.def "$rows" "$work/src/libsink/count" &&
	sh "$join" "$top_srcdir" settings.man "$work/pages" "$work/src/libsink/count"
ok $? "its settings are joined to the others"
# shellcheck disable=SC2086 # several flags
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O0 -I"$work" -I"$top_srcdir" -I"$top_builddir" -DSLURM_SYSCONFDIR='"/etc/slurm"' -o "$work/program" \
	"$top_srcdir/tests/arch/sink_row.c" "$work/src/libsink/count/sink_count.c" \
	"$top_srcdir/src/libsink/sink_table.c" "$top_srcdir/src/libcore/settings.c" \
	"$top_builddir/src/libsink/.libs/libsink.a" "$top_builddir/src/libstore/.libs/libstore.a" \
	"$top_builddir/src/libcore/.libs/libcore.a" "$top_builddir/src/libutil/.libs/libutil.a" -lsqlite3 -lpthread \
	>"$work/log" 2>&1
built=$?
ok $built "it is built"
[ $built -eq 0 ] || sed 's/^/# /' "$work/log" | head -n 20

printf 'Sinks=count\nCountFile=%s\n' "$work/count" >"$work/ceems.conf"
is "$("$work/program" "$work/ceems.conf" "$work/store" 2>&1)" "settled 2" "Sinks accepts it, and it takes records"
is "$(cat "$work/count")" "c/1/0
c/2/0" "they are in the file that its key names"
page=$(awk -f "$top_srcdir/src/cmd/page.awk" -f "$top_srcdir/src/cmd/conf_page.awk" "$rows" \
	"$top_srcdir/src/libcore/sources.def" "$work/pages" \
	"$top_srcdir/src/cmd/ceems.conf.5.in")
has "$page" '
.SS Count
.TP
.B CountFile
' "ceems.conf(5) has its key"
has "$page" '
The sink count counts.
' "and the sink"
has "$(sed -n '/sinks.am$/p' "$top_srcdir/autogen.sh" | (cd "$work" && sh && cat src/libsink/sinks.am))" 'include count/build.am' \
	"make gets its build.am"
done_testing
