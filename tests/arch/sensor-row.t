#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A sensor must need only its folder and its row in sources.def. With a folder "count" and a row more, EnergySources accepts
# the sensor, it is opened and read, it is preferred by its place, `ceems check` says what to do if it fails, ceems.conf(5)
# has the sensor and its key, it has a TRES and a field of the record, and make gets its build.am.
. "$top_srcdir/tests/tap/tap.sh"
grep -q fsanitize "$top_builddir/config.log" && skip_all "the build without sanitizers has shown this"
[ -e "$top_builddir/src/libmeter/.libs/libmeter.a" ] || skip_all "built without sensors"
work=$(mktemp -d "$PWD/sensor-XXXXXX")
trap 'rm -rf "$work"' EXIT
sensor=$work/src/libmeter/sensor/count
mkdir -p "$work/src/libcore" "$sensor" "$work/no"
cat >"$sensor/count.c" <<'END'
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "src/libcore/settings.h"
#include "src/libmeter/sensor/source.h"

static int count_open(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	static char source;
	const char *file = env->settings->count_file;

	if (!*file)
		return errmsg_set(err, -ENODEV, "CountFile is not set");
	if (access(file, R_OK) < 0)
		return errmsg_errno(err, -errno, "%s", file);
	*ret = (struct source *)&source;
	return 0;
}

/* 5 W */
static int count_read(struct source *s, uint64_t dt_ns, uint32_t busy_ppm, struct source_state *state, struct reading *ret)
{
	(void)s;
	(void)busy_ppm;
	(void)state;
	*ret = (struct reading){ 0 };
	reading_part(ret, DOMAIN_CPU, 0, QUALITY_COUNTER)->energy_uj = dt_ns / 200;
	return 0;
}

static void count_describe(const struct source *s, char *buf, size_t size)
{
	(void)s;
	(void)snprintf(buf, size, "it counts");
}

static void count_close(struct source *s)
{
	(void)s;
}

const struct source_ops source_count = {
	.id = SOURCE_COUNT,
	.open = count_open,
	.read = count_read,
	.describe = count_describe,
	.close = count_close,
};
END
cat >"$sensor/settings.def" <<'END'
SETTING("CountFile", char[SETTINGS_PATH_MAX], count_file, kvconf_path, "",
	"Energy sensors", BY_SLURMD,
	"File of the sensor count.",
	"/srv/count")
END
printf '@SOURCE count@\n.TP\n.B count\nIt counts.\n@KEY CountFile@\nThe detail.\n' >"$sensor/settings.man"
rows=$top_srcdir/src/libcore/sources.def
place=$(($(grep -c '^SOURCE(' "$rows") - 1)) # the model is behind all others
node_place=$((1 + $(awk -F, '/^SOURCE\(/ && $5 > 0' "$rows" | wc -l)))
{
	cat "$rows"
	cat <<END
SOURCE(COUNT, count, $place, SENSOR_LOCAL, $node_place, "all",
       "from the count", "Part of the energy that is counted",
       SETTING_count_file, "make the count")
END
} >"$work/src/libcore/sources.def"

rows=$work/src/libcore/settings_rows.h
join=$top_srcdir/src/libcore/settings_join.sh
sh "$join" "$top_srcdir" settings.def "$rows" "$sensor" && sh "$join" "$top_srcdir" settings.man "$work/pages" "$sensor"
ok $? "its settings are joined to the others"
# what has lists of sources, of metrics or of settings is built with the row; the other objects are those of the build
# shellcheck disable=SC2086 # several flags
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O0 -I"$work" -I"$top_srcdir" -I"$top_builddir" -DSLURM_SYSCONFDIR='"/etc/slurm"' \
	-DCEEMS_LIBEXECDIR='"/nowhere"' -o "$work/program" "$top_srcdir/tests/arch/sensor_row.c" \
	"$top_srcdir/src/cmd/check/check_sources.c" "$top_srcdir/src/cmd/check/check_todo.c" \
	"$top_srcdir"/src/libnode/sources*.c "$sensor/count.c" "$top_srcdir"/src/libmeter/sensor/*/*.c \
	"$top_srcdir/src/libmeter/sensor/source.c" "$top_srcdir"/src/libcore/*.c "$top_builddir/src/libnode/.libs/libnode.a" \
	"$top_builddir/src/libledger/.libs/libledger.a" \
	"$top_builddir/src/libmeter/.libs/libmeter.a" "$top_builddir/src/libutil/.libs/libutil.a" -lpthread \
	>"$work/log" 2>&1
built=$?
ok $built "it is built"
[ $built -eq 0 ] || sed 's/^/# /' "$work/log" | head -n 20

# said WHAT [LINE..]: what `ceems check` says of WHAT, with the lines in ceems.conf
said() {
	what=$1
	shift
	printf '%s\n' "$@" >"$work/ceems.conf"
	"$work/program" "$work/ceems.conf" 2>&1 | sed -n "s/^\([a-z]* $what:\)/\1/p"
}
: >"$work/file"
is "$(said count EnergySources=count "CountFile=$work/file" "SysRoot=$work/no")" \
	"ok count: it counts; cpu 5.0 W (counter); used for cpu" "EnergySources accepts it, and it is read"
is "$(said EnergySources "CountFile=$work/file" "SysRoot=$work/no")" "ok EnergySources: cpu from count" \
	"auto takes it before the model"
is "$(said count "CountFile=$work/file" "SysRoot=$top_srcdir/tests/fixtures/xeon-2s")" \
	"note count: it counts; cpu 5.0 W (counter); not used; cpu is taken from rapl" "and after RAPL, by its place"
is "$(said count "CountFile=$work/missing" "SysRoot=$work/no")" \
	"error count: $work/missing: No such file or directory -> make the count" \
	"if its setting is set, it must be there; ceems check has its remedy"
is "$(said count "SysRoot=$work/no")" "note count: CountFile is not set" "else it may be absent"
echo EnergySources=counts >"$work/ceems.conf"
has "$("$work/program" "$work/ceems.conf" 2>&1)" "'counts' is not one of auto, rapl," "a mistake is named"
has "$("$work/program" "$work/ceems.conf" 2>&1)" ", count" "with it among the sources that there are"
has "$("$work/program")" "count ic/ceems_source_count energy.by_source.count_j" "it has a TRES and a field of the record"
page=$(awk -f "$top_srcdir/src/cmd/page.awk" -f "$top_srcdir/src/cmd/conf_page.awk" "$rows" "$work/src/libcore/sources.def" \
	"$work/pages" "$top_srcdir/src/cmd/ceems.conf.5.in")
has "$page" '
.B count
It counts.
' "ceems.conf(5) has it"
has "$page" '
.B CountFile
' "and its key"
has "$page" ', count.' "and its place"
has "$page" ', count (all).' "for the whole node, too"
has "$(sed -n '/sources.am$/p' "$top_srcdir/autogen.sh" | (cd "$work" && sh && cat src/libmeter/sources.am))" \
	'include sensor/count/build.am' "make gets its build.am"
done_testing
