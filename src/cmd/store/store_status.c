/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_status.c - ceems store status: prints how many job ends wait in the inbox, and how many records wait
 * in the store for each sink.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "src/cmd/cmd.h"
#include "src/cmd/store/store_cmd.h"
#include "src/librecord/exactjson.h"
#include "src/libsink/sink.h"
#include "src/libutil/items.h"

struct status {
	const struct settings *settings;
	struct inbox_status inbox;
	bool has_writer;
	struct store_status store;
	struct store_sink_status *sink;
	size_t nsinks;
};

const char *store_bytes(uint64_t n, char *buf)
{
	return metric_text_value(UNIT_BYTES, n, buf, METRIC_TEXT_MAX);
}

const char *store_age(uint64_t since, char *buf)
{
	static const struct {
		uint64_t seconds;
		const char *name;
	} unit[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };
	uint64_t now = (uint64_t)time(NULL);
	uint64_t s = now > since ? now - since : 0;
	size_t i = 0;

	if (!since)
		return "n/a";
	while (s < 2 * unit[i].seconds && unit[i].seconds > 1)
		i++;
	(void)snprintf(buf, METRIC_TEXT_MAX, "%" PRIu64 " %s", s / unit[i].seconds, unit[i].name);
	return buf;
}

/* Returns true if the key Sinks has SINK. */
static bool store_is_wanted(const struct settings *s, const char *sink)
{
	const char *list = s->sinks;
	char name[64];

	while (items_next(&list, name, sizeof(name)))
		if (!strcmp(name, sink))
			return true;
	return false;
}

unsigned int store_sink_kinds(const char *sink)
{
	const struct sink_ops *ops = sink_find(sink);

	return ops ? ops->kinds : UINT32_MAX;
}

int store_inbox_status(const struct settings *s, struct store_view *v, struct inbox_status *ret,
		       struct errmsg *err)
{
	struct inbox_pos pos = { 0 };
	struct inbox_pos found;
	size_t len = 0;
	int rc = v ? store_view_meta(v, STORE_META_INBOX, &found, sizeof(found), &len, err) : 0;

	if (rc > 0 && len == sizeof(found))
		pos = found;
	return rc < 0 ? rc : inbox_get_status(s->inbox_dir, &pos, ret, err);
}

/* --- what there is ------------------------------------------------------------------------------- */

struct status_sinks {
	struct status *st;
	struct store_view *v;
	struct errmsg *err;
};

static int status_add_sink(struct status_sinks *list, const char *name)
{
	struct status *st = list->st;
	struct store_sink_status *more;
	size_t i;

	for (i = 0; i < st->nsinks; i++)
		if (!strcmp(st->sink[i].name, name))
			return 0;
	more = realloc(st->sink, (st->nsinks + 1) * sizeof(*more));
	if (!more)
		return errmsg_set(list->err, -ENOMEM, "out of memory");
	st->sink = more;
	return store_view_sink(list->v, name, store_sink_kinds(name), &more[st->nsinks++], list->err);
}

static int status_visit_sink(void *ctx, const char *name)
{
	return status_add_sink(ctx, name);
}

static int status_read_sinks(struct status *st, struct store_view *v, struct errmsg *err)
{
	struct status_sinks list = { st, v, err };
	const char *names = st->settings->sinks;
	char name[STORE_SINK_NAME_MAX];
	int rc = 0;

	while (rc == 0 && items_next(&names, name, sizeof(name)))
		rc = status_add_sink(&list, name);
	return rc < 0 ? rc : store_view_sinks(v, status_visit_sink, &list, err);
}

static int status_read(struct status *st, struct errmsg *err)
{
	const char *dir = st->settings->store_dir;
	struct store_view *v = NULL;
	int rc = store_view_open(dir, /* writable= */ false, &v, err);

	if (rc == 0)
		rc = store_view_status(v, (uint64_t)time(NULL), &st->store, err);
	if (rc == 0)
		rc = status_read_sinks(st, v, err);
	if (rc == 0) {
		rc = store_inbox_status(st->settings, v, &st->inbox, err);
		if (rc == -ENOENT) /* slurmctld has not made InboxDir yet */
			rc = 0;
	}
	store_view_close(v);
	if (rc == 0) {
		rc = store_view_has_writer(dir, err);
		st->has_writer = rc > 0;
	}
	return rc < 0 ? rc : 0;
}

/* --- as text ------------------------------------------------------------------------------------- */

static void status_print_store(const struct status *st)
{
	const struct settings *s = st->settings;
	const struct store_status *store = &st->store;
	char a[METRIC_TEXT_MAX];
	char b[METRIC_TEXT_MAX];
	char c[METRIC_TEXT_MAX];

	printf("recorder  %s\n", st->has_writer ? "runs" : "does not run: systemctl start ceems-recorder");
	printf("inbox     %s: %" PRIu64 " files, %s", s->inbox_dir, st->inbox.files,
	       store_bytes(st->inbox.bytes, a));
	if (st->inbox.unread)
		printf(", %s not taken since %s", store_bytes(st->inbox.unread, b),
		       store_age(st->inbox.oldest, c));
	printf("\nstore     %s: %s", s->store_dir, store_bytes(store->used_bytes, a));
	if (s->store_max_bytes)
		printf(" of %s", store_bytes(s->store_max_bytes, b));
	printf(", %" PRIu64 " records (%s)\n", store->records, store_bytes(store->record_bytes, c));
	printf("jobs      %" PRIu64 " ended, %" PRIu64 " final, %" PRIu64 " corrected",
	       store->jobs[STORE_JOB_ENDED], store->jobs[STORE_JOB_FINAL], store->jobs[STORE_JOB_CORRECTED]);
	if (store->overdue)
		printf("; %" PRIu64 " overdue since %s", store->overdue, store_age(store->oldest_due, a));
	printf("\n");
}

static void status_print_sink(const struct settings *s, const struct store_sink_status *k)
{
	char size[METRIC_TEXT_MAX];
	char old[METRIC_TEXT_MAX];

	cmd_print("%-12s %10" PRIu64 " %12s %8s %8" PRIu64 "%s", k->name, k->waiting,
		  store_bytes(k->waiting_bytes, size), k->waiting ? store_age(k->oldest, old) : "",
		  k->refused, store_is_wanted(s, k->name) ? "" : "  not in Sinks: holds nothing back");
}

static void status_print(const struct status *st)
{
	size_t i;

	status_print_store(st);
	printf("%-12s %10s %12s %8s %8s\n", "SINK", "WAITING", "BYTES", "OLDEST", "REFUSED");
	for (i = 0; i < st->nsinks; i++)
		status_print_sink(st->settings, &st->sink[i]);
	for (i = 0; i < st->nsinks; i++)
		if (st->sink[i].refused)
			cmd_print("%s has refused %" PRIu64 " records: ceems store ls --refused %s; "
				  "ceems store replay %s --refused",
				  st->sink[i].name, st->sink[i].refused, st->sink[i].name, st->sink[i].name);
}

/* --- as JSON ------------------------------------------------------------------------------------- */

static json_t *status_number(uint64_t n)
{
	return json_integer((json_int_t)n);
}

/* Returns a time as a JSON number, or null for 0, which is unknown. */
static json_t *status_time(uint64_t t)
{
	return t ? status_number(t) : json_null();
}

static json_t *status_sink_object(const struct settings *s, const struct store_sink_status *k)
{
	return json_pack("{s:s, s:b, s:o, s:o, s:o, s:o, s:o}", "name", k->name, "wanted",
			 store_is_wanted(s, k->name), "seq", status_number(k->seq), "waiting",
			 status_number(k->waiting), "waiting_bytes", status_number(k->waiting_bytes),
			 "oldest", status_time(k->oldest), "refused", status_number(k->refused));
}

static json_t *status_object(const struct status *st)
{
	const struct settings *s = st->settings;
	const struct store_status *store = &st->store;
	json_t *sinks = json_array();
	size_t i;

	for (i = 0; i < st->nsinks; i++)
		(void)json_array_append_new(sinks, status_sink_object(s, &st->sink[i]));
	return json_pack("{s:b, s:{s:s, s:o, s:o, s:o, s:o}, s:{s:s, s:o, s:o, s:o, s:o, s:o, s:o}, "
			 "s:{s:o, s:o, s:o, s:o, s:o}, s:o}",
			 "recorder_runs", st->has_writer, "inbox", "dir", s->inbox_dir, "files",
			 status_number(st->inbox.files), "bytes", status_number(st->inbox.bytes),
			 "unread_bytes", status_number(st->inbox.unread), "oldest",
			 status_time(st->inbox.oldest), "store", "dir", s->store_dir, "used_bytes",
			 status_number(store->used_bytes), "max_bytes", status_number(s->store_max_bytes),
			 "file_bytes", status_number(store->file_bytes), "layout",
			 status_number(store->layout), "records", status_number(store->records),
			 "record_bytes", status_number(store->record_bytes), "jobs", "ended",
			 status_number(store->jobs[STORE_JOB_ENDED]), "final",
			 status_number(store->jobs[STORE_JOB_FINAL]), "corrected",
			 status_number(store->jobs[STORE_JOB_CORRECTED]), "overdue",
			 status_number(store->overdue), "oldest_due", status_time(store->oldest_due), "sinks",
			 sinks);
}

static int status_print_json(const struct status *st)
{
	json_t *o = status_object(st);
	_cleanup_free_ char *text = o ? exactjson_dump(o, NULL) : NULL;

	json_decref(o);
	if (!text)
		return cmd_error("out of memory");
	puts(text);
	return CMD_OK;
}

int store_status(const struct store_args *a)
{
	struct status st = { .settings = &a->settings };
	struct errmsg err = { 0 };
	int rc = status_read(&st, &err);

	if (rc < 0)
		rc = store_cmd_error(rc, &err);
	else if (a->json)
		rc = status_print_json(&st);
	else
		status_print(&st);
	free(st.sink);
	return rc;
}
