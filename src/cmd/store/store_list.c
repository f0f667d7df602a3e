/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_list.c - ceems store ls and cat: prints rows of the table `record`. Users wrote some of
 * their content, so control characters are masked.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/cmd/store/store_cmd.h"
#include "src/libutil/rfc3339.h"
#include "src/libutil/text.h"
#include "src/libutil/utf8.h"

struct list {
	const struct store_args *args;
	void (*print)(const struct list *l, const struct store_row *row);
	FILE *out; /* in memory: writing to a pager could take long, and keep the store's transaction open */
	uint64_t last;
};

/* --- one row -------------------------------------------------------------------------------------- */

/* Writes JSON on one line, with control characters as \u00xx. */
static void list_print_json(FILE *f, const char *s, size_t len)
{
	size_t i = 0;

	while (i < len) {
		unsigned char c = (unsigned char)s[i];
		size_t n = utf8_sequence(s + i, len - i);

		if (!n)
			fputs("\\ufffd", f);
		else if (c < ' ' || c == 0x7f)
			(void)fprintf(f, "\\u%04x", c);
		else if (c == 0xc2 && (unsigned char)s[i + 1] < 0xa0) /* a C1 control character in UTF-8 */
			(void)fprintf(f, "\\u%04x", (unsigned char)s[i + 1]);
		else
			(void)fwrite(s + i, 1, n, f);
		i += n ? n : 1;
	}
}

static void list_print_text(FILE *f, const char *text)
{
	char masked[1024];

	fputs(text_mask(text, masked, sizeof(masked)), f);
}

static void list_print_line(const struct list *l, const struct store_row *row)
{
	char time[RFC3339_SIZE];
	char size[METRIC_TEXT_MAX];

	rfc3339_utc(row->time, time);
	(void)fprintf(l->out, "%8" PRIu64 " %-7s %-20s %11s ", row->seq, store_kind_name(row->kind), time,
		      store_bytes(row->json_len, size));
	list_print_text(l->out, row->key);
	if (row->reason) {
		fputs("  ", l->out);
		list_print_text(l->out, row->reason);
	}
	(void)fputc('\n', l->out);
}

static void list_print_record(const struct list *l, const struct store_row *row)
{
	if (l->args->is_long) {
		(void)fprintf(l->out, "%" PRIu64 " %s ", row->seq, store_kind_name(row->kind));
		list_print_text(l->out, row->key);
		(void)fputc(' ', l->out);
	}
	list_print_json(l->out, row->json, row->json_len);
	(void)fputc('\n', l->out);
}

/* --- which rows ----------------------------------------------------------------------------------- */

struct list_known {
	const char *sink;
	bool is_known;
};

static int list_visit_sink(void *ctx, const char *name)
{
	struct list_known *k = ctx;

	k->is_known |= !strcmp(name, k->sink);
	return 0;
}

static int list_check_sink(const char *dir, struct store_view *v, const char *sink, struct errmsg *err)
{
	struct list_known k = { .sink = sink };
	int rc = store_view_sinks(v, list_visit_sink, &k, err);

	return rc == 0 && !k.is_known ? errmsg_set(err, -EINVAL, "%s: has no sink '%s'", dir, sink) : rc;
}

static int list_set_pick(const struct store_args *a, struct store_view *v, struct store_pick *pick,
			 struct errmsg *err)
{
	const char *sink = a->waiting ? a->waiting : a->pick.refused;
	int rc = sink ? list_check_sink(a->settings.store_dir, v, sink, err) : 0;

	if (rc < 0 || !a->waiting)
		return rc;
	pick->kinds = (pick->kinds ? pick->kinds : UINT32_MAX) & store_sink_kinds(a->waiting);
	/* 0 would mean all kinds; a bit without a kind chooses none */
	pick->kinds = pick->kinds ? pick->kinds : UINT32_C(1) << 31;
	return store_view_cursor(v, a->waiting, &pick->after, err);
}

static int list_visit(void *ctx, const struct store_row *row)
{
	struct list *l = ctx;

	l->last = row->seq;
	l->print(l, row);
	return ferror(l->out) ? -ENOMEM : 0;
}

/*
 * Prints some rows after pick->after. Returns as store_view_records(): more than 0 if
 * there may be further rows.
 */
static int list_some(struct list *l, struct store_view *v, const struct store_pick *pick, struct errmsg *err)
{
	char *text = NULL;
	size_t len = 0;
	int rc;

	l->out = open_memstream(&text, &len);
	if (!l->out)
		return errmsg_set(err, -ENOMEM, "out of memory");
	rc = store_view_records(v, pick, list_visit, l, err);
	if (fclose(l->out) || rc == -ENOMEM)
		rc = errmsg_set(err, -ENOMEM, "out of memory");
	else
		(void)fwrite(text, 1, len, stdout);
	free(text);
	return rc;
}

static int list_all(struct list *l)
{
	struct store_pick pick = l->args->pick;
	struct store_view *v = NULL;
	struct errmsg err = { 0 };
	int rc = store_view_open(l->args->settings.store_dir, /* writable= */ false, &v, &err);

	if (rc == 0)
		rc = list_set_pick(l->args, v, &pick, &err);
	pick.max_rows = 1000;
	pick.max_bytes = 4 << 20;
	if (rc == 0)
		rc = 1;
	while (rc > 0 && !ferror(stdout)) { /* ceems.c reports an error of stdout */
		rc = list_some(l, v, &pick, &err);
		pick.after = l->last;
	}
	store_view_close(v);
	return rc < 0 ? store_cmd_error(rc, &err) : CMD_OK;
}

int store_ls(const struct store_args *a)
{
	struct list l = { .args = a, .print = list_print_line };

	return list_all(&l);
}

int store_cat(const struct store_args *a)
{
	struct list l = { .args = a, .print = list_print_record };

	return list_all(&l);
}
