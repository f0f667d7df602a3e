/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/window.h"

#include <errno.h>
#include <string.h>

#include "tap.h"

static struct errmsg err;

/* --- a sink that each record tells what to do ----------------------------------------------------- */

static struct {
	size_t n, bytes;     /* of the last call */
	uint64_t timeout_ns; /* of the last call */
	char got[256];	     /* the new records of all calls */
	bool is_open;	     /* records that are "late" are taken */
	int rc;
	const char *why;
} fake;

static bool is_a(const struct sink_item *item, const char *what)
{
	return item->json_len >= strlen(what) && !memcmp(item->json, what, strlen(what));
}

static int fake_deliver(struct sink *k, struct sink_item *item, size_t n, enum sink_result *result,
			uint64_t timeout_ns, struct errmsg *e)
{
	size_t i;

	(void)k;
	fake.n = n;
	fake.bytes = 0;
	fake.timeout_ns = timeout_ns;
	for (i = 0; i < n; i++) {
		fake.bytes += item[i].key_len + item[i].json_len;
		if (result[i] == SINK_RETRY)
			(void)snprintf(fake.got + strlen(fake.got), sizeof(fake.got) - strlen(fake.got),
				       "%.*s;", (int)item[i].json_len, item[i].json);
		if (is_a(&item[i], "bad"))
			sink_refuse(&item[i], &result[i], "it is bad");
		else if (is_a(&item[i], "sent"))
			result[i] = result[i] == SINK_SENT ? SINK_ACKED : SINK_SENT;
		else if (!is_a(&item[i], "late") || fake.is_open)
			result[i] = SINK_ACKED;
	}
	if (fake.why)
		(void)errmsg_set(e, 0, "%s", fake.why);
	return fake.rc;
}

static const struct sink_ops fake_ops = {
	.name = "fake",
	.kinds = STORE_MASK(STORE_RECORD),
	.max_batch = 4,
	.max_bytes = 32,
	.deliver = fake_deliver,
};

/* --- what the caller does ------------------------------------------------------------------------- */

static bool add(struct window *w, uint64_t seq, const char *key, const char *json)
{
	const struct store_row row = { .seq = seq,
				       .kind = STORE_RECORD,
				       .key = key,
				       .key_len = strlen(key),
				       .json = json,
				       .json_len = strlen(json) };

	return window_has_room(w, &row) && window_add(w, &row, &err) == 0;
}

static char settled[256];
static uint64_t fail_at; /* the note of this row fails */

static int note(void *ctx, const struct window *w, size_t i)
{
	size_t used = strlen(settled);

	(void)ctx;
	if (w->row[i] == fail_at)
		return -EIO;
	(void)snprintf(settled + used, sizeof(settled) - used, "%d%s%s;", (int)w->row[i],
		       w->result[i] == SINK_REFUSED ? " " : "",
		       w->result[i] == SINK_REFUSED ? sink_why(&w->item[i]) : "");
	return 0;
}

static struct window begin(void)
{
	struct window w;

	memset(&fake, 0, sizeof(fake));
	settled[0] = '\0';
	fail_at = 0;
	is_int(window_init(&w, &fake_ops, &err), 0, "a window");
	return w;
}

/* One call of the sink; settles all that can be. Returns what window_settle() does. */
static int try_once(struct window *w)
{
	(void)window_deliver(w, NULL, 5, &err);
	return window_settle(w, w->n, note, NULL);
}

/* Rows of the window, as "3;7;" */
static const char *rows(const struct window *w)
{
	static char text[64];
	size_t i;

	text[0] = '\0';
	for (i = 0; i < w->n; i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%d;", (int)w->row[i]);
	return text;
}

/* --- the cases ------------------------------------------------------------------------------------ */

static void test_call(void)
{
	struct window w = begin();

	ok(add(&w, 3, "c/1", "a") && add(&w, 5, "c/2", "bad"), "two records");
	is_int(window_deliver(&w, NULL, 5, &err), 0, "one call");
	is_u64(fake.timeout_ns, 5, "with the caller's timeout");
	is_str(fake.got, "a;bad;", "has both, in order");
	ok(window_count(&w, SINK_ACKED) == 1 && window_count(&w, SINK_REFUSED) == 1, "one is refused");
	is_int(window_settle(&w, w.n, note, NULL), 2, "both are settled");
	is_str(settled, "3;5 it is bad;", "with the reason");
	ok(!w.n && !w.bytes, "and gone");
	fake.rc = -EPIPE;
	(void)window_deliver(&w, NULL, 5, &err);
	is_str(err.text, strerror(EPIPE), "a sink that gives no reason");
	fake.why = "no route";
	is_int(window_deliver(&w, NULL, 5, &err), -EPIPE, "its result is passed on");
	is_str(err.text, "no route", "and its reason");
	window_fini(&w);
}

static void test_order(void)
{
	struct window w = begin();

	(void)(add(&w, 1, "c/1", "late") && add(&w, 2, "c/2", "b") && add(&w, 3, "c/1", "c"));
	is_int(try_once(&w), 1, "a job's first record waits");
	is_str(settled, "2;", "the other job's is settled, out of the middle");
	is_str(rows(&w), "1;3;", "the job's next record stays, although the sink took it");
	ok(w.result[0] == SINK_RETRY && w.result[1] == SINK_RETRY, "both are to be sent again");
	fake.is_open = true;
	is_int(try_once(&w), 2, "then both go");
	is_str(fake.got, "late;b;c;late;c;", "in order");
	window_fini(&w);
}

/* A caller with a cursor settles from the front only. */
static void test_front(void)
{
	struct window w = begin();

	(void)(add(&w, 1, "c/1", "a") && add(&w, 2, "c/2", "late") && add(&w, 3, "c/3", "bad"));
	(void)window_deliver(&w, NULL, 5, &err);
	is_int(window_settle(&w, 1, note, NULL), 1, "the first");
	is_str(rows(&w), "2;3;", "the others stay");
	is_int(w.result[1], SINK_REFUSED, "with their results");
	fake.is_open = true;
	is_int(try_once(&w), 2, "then they go");
	is_str(settled, "1;2;3 it is bad;", "in order");
	window_fini(&w);
}

static void test_late(void)
{
	struct window w = begin();

	(void)(add(&w, 1, "c/1", "sent") && add(&w, 2, "c/2", "sent"));
	is_int(try_once(&w), 0, "two records on their way when time is over");
	is_int((int)window_count(&w, SINK_SENT), 2, "are kept");
	ok(add(&w, 3, "c/3", "a"), "there is room for a third");
	is_int(try_once(&w), 3, "all are settled");
	is_str(fake.got, "sent;sent;a;", "none was sent twice");
	window_fini(&w);
}

static void test_room(void)
{
	static const char big[] = "a record that has more bytes than the sink wants";
	struct window w = begin();

	ok(add(&w, 1, "c/1", big), "a record that is too large goes");
	ok(!add(&w, 2, "c/2", "a"), "alone");
	is_int(try_once(&w), 1, "it is settled");
	ok(add(&w, 2, "c/2", "a"), "a small record");
	ok(!add(&w, 3, "c/3", big), "is not followed by one that is too large");
	ok(add(&w, 3, "c/3", "0123456789012345678901234"), "but by one that fits");
	ok(!add(&w, 4, "c/4", ""), "no byte more");
	(void)try_once(&w);
	is_u64(fake.bytes, 32, "which is max_bytes");
	while (add(&w, 5, "c", ""))
		;
	is_u64(w.n, 4, "max_batch records");
	window_fini(&w);

	/* sinks tell items apart by their number modulo max_batch */
	w = begin();
	(void)(add(&w, 1, "c/1", "late") && add(&w, 2, "c/2", "a") && add(&w, 3, "c/3", "b"));
	is_int(try_once(&w), 2, "one record waits in front");
	ok(add(&w, 4, "c/4", "c") && !add(&w, 5, "c/5", "d"), "numbers differ by less than max_batch");
	is_u64(w.item[1].seq - w.item[0].seq, 3, "counted over all windows");
	window_fini(&w);
}

static void test_stop(void)
{
	struct window w = begin();

	(void)(add(&w, 1, "c/1", "a") && add(&w, 2, "c/2", "b") && add(&w, 3, "c/3", "bad"));
	fail_at = 2;
	is_int(try_once(&w), -EIO, "the second cannot be noted");
	is_str(settled, "1;", "the first was");
	is_str(rows(&w), "2;3;", "the second and what is behind it stay");
	is_u64(w.bytes, 3 + 1 + 3 + 3, "and are counted");
	ok(w.result[0] == SINK_ACKED && w.result[1] == SINK_REFUSED, "their results are kept");
	fail_at = 0;
	is_int(window_settle(&w, w.n, note, NULL), 2, "they can be noted later");
	is_str(settled, "1;2;3 it is bad;", "each once");
	is_str(fake.got, "a;b;bad;", "without another call of the sink");

	(void)(add(&w, 4, "c/4", "late") && add(&w, 5, "c/5", "late") && add(&w, 6, "c/6", "bad"));
	(void)window_deliver(&w, NULL, 5, &err);
	window_cut(&w, 1);
	is_str(rows(&w), "4;", "cut behind the first");
	is_u64(w.bytes, 3 + 4, "the rest is not counted");
	window_fini(&w);
}

int main(void)
{
	test_call();
	test_order();
	test_front();
	test_late();
	test_room();
	test_stop();
	return done_testing();
}
