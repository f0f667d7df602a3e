/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flame_text.c - the text forms of flame_view.h: a table for a terminal, and files for other
 * programs.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/cmd/flame/flame_view.h"
#include "src/librecord/screen_text.h"
#include "src/libutil/text.h"
#include "src/libutil/utf8.h"
#include "src/libutil/util.h"

#define NAME_COLUMNS 59u
#define DIFFERENCE_COLUMNS 49u

/* --- words -------------------------------------------------------------------------------------- */

void flame_view_set_type(struct flame_view *v, const struct profile_type *type)
{
	static const struct {
		struct profile_type type;
		const char *what, *unit;
	} known[] = {
		{ { "cpu", "nanoseconds" }, "CPU time", "nanoseconds" },
		{ { "cycles", "count" }, "CPU cycles", "cycles" },
		{ { PROFILE_WAITS, "nanoseconds" }, "off-CPU time", "nanoseconds" },
	};
	size_t i;

	v->what = type->type;
	v->unit = type->unit;
	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(known[i].type.type, type->type) && !strcmp(known[i].type.unit, type->unit)) {
			v->what = known[i].what;
			v->unit = known[i].unit;
		}
}

/* Writes a count such as "2.50 G" or "17". */
static void write_count(double value, char *buf)
{
	static const char *const prefix[] = { "", " k", " M", " G", " T", " P", " E" };
	size_t i = 0;

	for (; value >= 1000 && i < ARRAY_SIZE(prefix) - 1; i++)
		value /= 1000;
	(void)snprintf(buf, FLAME_VALUE_SIZE, "%.*f%s", i ? 2 : 0, value, prefix[i]);
}

const char *flame_view_value(const struct flame_view *v, double value, char *buf)
{
	char time[SCREEN_TEXT_MAX];

	if (!strcmp(v->unit, "nanoseconds"))
		(void)snprintf(buf, FLAME_VALUE_SIZE, "%s",
			       screen_time(value < 1e18 ? (uint64_t)value : (uint64_t)1e18, time));
	else if (!strcmp(v->unit, "cycles"))
		write_count(value, buf);
	else if (!strcmp(v->unit, "joules"))
		(void)snprintf(buf, FLAME_VALUE_SIZE, value < 1000 ? "%.3g J" : "%.0f J", value);
	else
		(void)snprintf(buf, FLAME_VALUE_SIZE, "%.0f %.32s", value,
			       strcmp(v->unit, "count") != 0 ? v->unit : "");
	return buf;
}

const char *flame_view_share(double share, char *buf)
{
	(void)snprintf(buf, FLAME_VALUE_SIZE, "%.1f %%", 100 * share);
	return buf;
}

const char *flame_view_stacks(const struct flame_view *v, enum flame_side side, char *buf, size_t size)
{
	const struct flame *f = v->flame;
	char whole[SCREEN_TEXT_MAX], cut[SCREEN_TEXT_MAX], failed[SCREEN_TEXT_MAX];

	(void)snprintf(buf, size, "%s whole, %s cut, %s failed",
		       screen_share(flame_share(f, f->whole, side), whole),
		       screen_share(flame_share(f, f->cut, side), cut),
		       screen_share(flame_share(f, f->failed, side), failed));
	return buf;
}

/* --- the table ---------------------------------------------------------------------------------- */

static void put_row(const struct flame_view *v, const struct flame_name *n, FILE *out)
{
	const struct flame *f = v->flame;
	const char *mark = n->kind == FLAME_KERNEL  ? " (kernel)" :
			   n->kind == FLAME_PROCESS ? " (process)" :
						      "";
	const size_t columns = (v->other ? DIFFERENCE_COLUMNS : NAME_COLUMNS) - strlen(mark);
	char name[4 * NAME_COLUMNS + 1];

	(void)fprintf(out, "%6.1f %% %6.1f %%  ", 100 * flame_share(f, n->self, FLAME_THIS),
		      100 * flame_share(f, n->total, FLAME_THIS));
	if (v->other)
		(void)fprintf(out, "%+7.1f   ",
			      100 * (flame_share(f, n->self, FLAME_THIS) -
				     flame_share(f, n->self, FLAME_OTHER)));
	(void)fprintf(out, "%s%s\n", text_cell(n->text, columns, name, sizeof(name)), mark);
}

static void put_summary(const struct flame_view *v, enum flame_side side, const char *title, FILE *out)
{
	const struct flame *f = v->flame;
	char value[FLAME_VALUE_SIZE], stacks[128];

	(void)fprintf(out, "%s: %s of %s", title,
		      flame_view_value(v, f->frame[FLAME_ROOT].total[side], value), v->what);
	if (f->samples[side]) /* waits are counted, not sampled */
		(void)fprintf(out, ", %" PRIu64 " samples", f->samples[side]);
	(void)fputc('\n', out);
	(void)fprintf(out, "stacks: %s\n", flame_view_stacks(v, side, stacks, sizeof(stacks)));
}

int flame_view_table(const struct flame_view *v, size_t rows, FILE *out)
{
	const struct flame *f = v->flame;
	const char *const *gap;
	_cleanup_free_ uint32_t *top = NULL;
	size_t i, shown = 0;

	if (flame_top(f, v->other != NULL, &top) < 0)
		return -ENOMEM;
	put_summary(v, FLAME_THIS, v->title, out);
	if (v->other)
		put_summary(v, FLAME_OTHER, v->other, out);
	if (v->note)
		(void)fprintf(out, "%s\n", v->note);
	for (gap = v->gap; gap && *gap; gap++)
		(void)fprintf(out, "%s\n", *gap);
	(void)fprintf(out, "\n    self    total  %sfunction\n", v->other ? "  change  " : "");
	for (i = 0; i < f->nnames && shown < rows; i++) {
		const struct flame_name *n = &f->name[top[i]];

		if (n->self[FLAME_THIS] <= 0 && (!v->other || n->self[FLAME_OTHER] <= 0))
			continue;
		put_row(v, n, out);
		shown++;
	}
	return 0;
}

/* --- for other programs ------------------------------------------------------------------------- */

/*
 * Writes the frames from the root to AT to RET. Returns how many; if more than MAX, those next to
 * the root are left out.
 */
static size_t path_to(const struct flame *f, uint32_t at, uint32_t *ret, size_t max)
{
	size_t n = 0, i;

	for (; at != FLAME_ROOT && n < max; at = f->frame[at].parent)
		ret[n++] = at;
	for (i = 0; i < n / 2; i++) {
		const uint32_t swapped = ret[i];

		ret[i] = ret[n - 1 - i];
		ret[n - 1 - i] = swapped;
	}
	return n;
}

#define PATH_FRAMES 65536u

void flame_view_folded(const struct flame_view *v, FILE *out)
{
	const double scale = !strcmp(v->unit, "joules") ? 1e6 : 1;
	const struct flame *f = v->flame;
	_cleanup_free_ uint32_t *path = calloc(PATH_FRAMES, sizeof(*path));
	size_t i, k, n;

	for (i = 1; path && i < f->nframes; i++) {
		const double value = round(f->frame[i].self[FLAME_THIS] * scale);

		if (value < 1)
			continue;
		n = path_to(f, (uint32_t)i, path, PATH_FRAMES);
		for (k = 0; k < n; k++) {
			const struct flame_name *name = &f->name[f->frame[path[k]].name];
			const char *c;

			for (c = name->text; *c; c++)
				(void)fputc(*c == ';' ? ':' : *c, out); /* ';' separates frames */
			(void)fprintf(out, "%s%s", name->kind == FLAME_KERNEL ? "_[k]" : "",
				      k + 1 < n ? ";" : "");
		}
		(void)fprintf(out, " %.0f\n", value);
	}
}

void flame_json_text(FILE *out, const char *text)
{
	(void)fputc('"', out);
	while (*text) {
		const size_t len = utf8_sequence(text, strlen(text));

		if (!len || (unsigned char)*text < 0x20)
			(void)fputc('?', out);
		else if (*text == '"' || *text == '\\')
			(void)fprintf(out, "\\%c", *text);
		/* so that "</script>" does not end the element */
		else if (*text == '<' || *text == '>' || *text == '&')
			(void)fprintf(out, "\\u%04x", *text);
		else
			(void)fwrite(text, 1, len, out);
		text += len ? len : 1;
	}
	(void)fputc('"', out);
}

/* Writes each stack that has a value, as an array of indexes of names. */
static void put_stacks(const struct flame *f, FILE *out)
{
	_cleanup_free_ uint32_t *path = calloc(PATH_FRAMES, sizeof(*path));
	const char *comma = "";
	size_t i, k, n;

	for (i = 1; path && i < f->nframes; i++) {
		if (f->frame[i].self[FLAME_THIS] <= 0)
			continue;
		n = path_to(f, (uint32_t)i, path, PATH_FRAMES);
		(void)fprintf(out, "%s[", comma);
		for (k = 0; k < n; k++)
			(void)fprintf(out, "%s%" PRIu32, k ? "," : "", f->frame[path[k]].name);
		(void)fputs("]", out);
		comma = ",";
	}
}

void flame_view_speedscope(const struct flame_view *v, FILE *out)
{
	const struct flame *f = v->flame;
	const char *comma = "";
	size_t i;

	(void)fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
		    "\"exporter\":\"ceems\",\"name\":",
		    out);
	flame_json_text(out, v->title);
	(void)fputs(",\"shared\":{\"frames\":[", out);
	for (i = 0; i < f->nnames; i++) {
		(void)fprintf(out, "%s{\"name\":", i ? "," : "");
		flame_json_text(out, f->name[i].text);
		(void)fputc('}', out);
	}
	(void)fputs("]},\"profiles\":[{\"type\":\"sampled\",\"name\":", out);
	flame_json_text(out, v->what);
	(void)fprintf(out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%.17g,\"samples\":[",
		      !strcmp(v->unit, "nanoseconds") ? "nanoseconds" : "none",
		      f->frame[FLAME_ROOT].total[FLAME_THIS]);
	put_stacks(f, out);
	(void)fputs("],\"weights\":[", out);
	for (i = 1; i < f->nframes; i++)
		if (f->frame[i].self[FLAME_THIS] > 0) {
			(void)fprintf(out, "%s%.17g", comma, f->frame[i].self[FLAME_THIS]);
			comma = ",";
		}
	(void)fputs("]}]}\n", out);
}
