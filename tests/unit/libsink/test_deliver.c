/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* memmem */
#include "src/libsink/deliver.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/resource.h>

#include "counted_log.h"
#include "scratch.h"
#include "src/libstore/store_view.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "store_rig.h"
#include "tap.h"

#define S NSEC_PER_SEC

static char dir[] = SCRATCH_TEMPLATE;
static struct errmsg err;
static struct settings settings;

/* --- a sink that does as it is told ------------------------------------------------------ */

static struct {
	int open_rc;
	int opens, closes, rounds;
	int rc;		    /* of the next rounds */
	int fail_at;	    /* items from here on are retried; -1: none */
	int lag;	    /* so many of the last new ones are left on their way */
	const char *poison; /* items with this text are refused */
	bool is_partial;    /* the first item of a batch is taken in part */
	const char *hold;   /* the item with this text waits */
	char got[65536];    /* what was acked, in order */
	size_t last_n;
	uint64_t timeout_ns;
} fake;

struct sink {
	int unused;
};
static struct sink the_sink;

static int fake_open(const struct settings *s, struct sink **ret, struct errmsg *e)
{
	(void)s;
	fake.opens++;
	if (fake.open_rc < 0)
		return errmsg_set(e, fake.open_rc, "no such file");
	*ret = &the_sink;
	return 0;
}

static int fake_deliver(struct sink *k, struct sink_item *item, size_t n, enum sink_result *result,
			uint64_t timeout_ns, struct errmsg *e)
{
	char why[32];
	size_t i;

	(void)k;
	fake.rounds++;
	fake.last_n = n;
	fake.timeout_ns = timeout_ns;
	for (i = 0; i < n; i++) {
		if (result[i] == SINK_RETRY && fake.lag && i + (size_t)fake.lag >= n) {
			result[i] = SINK_SENT;
			continue;
		}
		if (fake.fail_at >= 0 && i >= (size_t)fake.fail_at)
			continue; /* SINK_RETRY is what it starts with */
		if (result[i] == SINK_REFUSED || result[i] == SINK_ACKED)
			continue;
		if (fake.hold && !strncmp(item[i].json, fake.hold, item[i].json_len))
			continue;
		result[i] = SINK_ACKED;
		if (fake.poison && memmem(item[i].json, item[i].json_len, fake.poison, strlen(fake.poison))) {
			/* of "poison 1": its number */
			(void)snprintf(why, sizeof(why), "poison \"found\"%.2s",
				       item[i].json_len == 8 ? item[i].json + 6 : "");
			sink_refuse(&item[i], &result[i], why);
			continue;
		}
		strncat(fake.got, item[i].json, item[i].json_len < 200 ? item[i].json_len : 1);
		strcat(fake.got, ";");
	}
	if (n && fake.is_partial) {
		item[0].is_partial = true;
		item[0].why = strdup("2 spans");
	}
	if (fake.hold)
		return errmsg_set(e, -EAGAIN, "it waits");
	if (fake.fail_at >= 0 && (size_t)fake.fail_at < n)
		return errmsg_set(e, -EAGAIN, "connection refused");
	return 0;
}

static void fake_close(struct sink *k)
{
	(void)k;
	fake.closes++;
}

static const struct sink_ops fake_ops = {
	.name = "fake",
	.kinds = STORE_MASK(STORE_RECORD),
	.max_batch = 4,
	.open = fake_open,
	.deliver = fake_deliver,
	.close = fake_close,
};

static void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.fail_at = -1;
}

/* --- the store --------------------------------------------------------------------------- */

/* Of the job with that number. */
static uint64_t put_job(struct store *s, enum store_kind kind, unsigned int job, const char *text)
{
	char key[32];

	(void)snprintf(key, sizeof(key), "c/%u,1,0/0", job);
	return store_rig_put(s, kind, key, text, strlen(text));
}

/* All of one job. */
static uint64_t put(struct store *s, enum store_kind kind, const char *text)
{
	return put_job(s, kind, 1, text);
}

static struct store *open_store(void)
{
	struct store *s = store_rig_open(dir);

	is_int(store_set_sinks(s, "fake", &err), 0, "a store");
	return s;
}

static struct deliver *make(struct store *s)
{
	struct deliver *d = NULL;

	is_int(deliver_create(s, dir, &fake_ops, &settings, &d, &err), 0, "create");
	return d;
}

static void end(struct store *s, struct deliver *d)
{
	deliver_destroy(d);
	store_close(s);
	scratch_clear(dir);
}

static uint64_t cursor_of(const char *sink)
{
	struct store_view *v = NULL;
	uint64_t seq = 0;

	if (store_view_open(dir, /* writable= */ false, &v, &err) < 0 ||
	    store_view_cursor(v, sink, &seq, &err) < 0)
		diag("%s", err.text);
	store_view_close(v);
	return seq;
}

static char listed[4096];

static int add_row(void *ctx, const struct store_row *row)
{
	size_t used = strlen(listed);

	(void)ctx;
	(void)snprintf(listed + used, sizeof(listed) - used, "%" PRIu64 " %s %s;", row->seq, row->json,
		       row->reason ? row->reason : "");
	return 0;
}

/* "seq record reason;" of what SINK refused; NULL: of all records. */
static const char *list(const char *sink)
{
	struct store_pick pick = { .refused = sink };
	struct store_view *v = NULL;

	listed[0] = '\0';
	if (store_view_open(dir, /* writable= */ false, &v, &err) < 0 ||
	    store_view_records(v, &pick, add_row, NULL, &err) < 0)
		diag("%s", err.text);
	store_view_close(v);
	return listed;
}

/* --- the cases --------------------------------------------------------------------------- */

static void test_order(void)
{
	struct store *s = open_store();
	struct deliver_stats st;
	struct deliver *d;
	char text[16];
	uint64_t last = 0;
	int i;

	fake_reset();
	d = make(s);
	is_int(deliver_run(d, S, 5), 0, "nothing to do");
	is_int(fake.rounds, 0, "the sink is left alone");
	for (i = 0; i < 10; i++) {
		snprintf(text, sizeof(text), "%d", i);
		last = put(s, i % 3 == 1 ? STORE_STEPS : STORE_RECORD, text);
	}
	is_int(deliver_run(d, S, 5), 3, "one batch");
	is_u64(fake.timeout_ns, 5, "with the caller's timeout");
	is_u64(cursor_of("fake"), last - 6, "the cursor is stored");
	is_int(deliver_run(d, S, 5), 2, "the next");
	is_int(deliver_run(d, S, 5), 2, "the rest");
	is_int(deliver_run(d, S, 5), 0, "no more");
	is_str(fake.got, "0;2;3;5;6;8;9;", "records only, in order");
	deliver_get_stats(d, &st);
	is_u64(st.acked, 7, "counted");
	deliver_destroy(d);
	deliver_destroy(NULL);
	is_int(fake.closes, 1, "sink closed");
	is_u64(cursor_of("fake"), last, "the cursor is behind the last record");
	d = make(s);
	is_int(deliver_run(d, S, 5), 0, "a new one goes on behind them");
	last = put(s, STORE_STEPS, "p");
	is_int(deliver_run(d, S, 5), 0, "another kind only");
	is_int(fake.rounds, 3, "is not given to the sink");
	is_u64(cursor_of("fake"), last, "but the cursor passes it");
	for (i = 0; i < 9; i++)
		put(s, STORE_STEPS, "p");
	put(s, STORE_RECORD, "r");
	is_int(deliver_run(d, S, 5), 1, "a record behind more of them than a batch has");
	end(s, d);
}

static void test_outage(void)
{
	struct store *s = open_store();
	struct deliver_stats st;
	struct deliver *d;
	uint64_t now = 100 * S;
	uint64_t wait = 0;
	int i;

	fake_reset();
	forget_log();
	d = make(s);
	for (i = 0; i < 6; i++)
		put_job(s, STORE_RECORD, (unsigned int)i,
			(const char *[]){ "a", "b", "c", "d", "e", "f" }[i]);
	fake.fail_at = 2;
	is_int(deliver_run(d, now, 5), 2, "two of four");
	is_int(errors, 0, "which is no outage yet");
	fake.fail_at = 0;
	is_int(deliver_run(d, now, 5), 0, "none of four");
	is_int(errors, 1, "is one, and logged");
	ok(strstr(last_line, "fake: cannot deliver: connection refused; records wait in ") != NULL, "as: %s",
	   last_line);
	for (i = 0; i < 12; i++) {
		int before = fake.rounds;

		deliver_get_stats(d, &st);
		wait = st.next_try_mono_ns - now;
		/* (the try itself, which counts as no pause, takes a moment) */
		if (wait > (i < 6 ? S << i : 60 * S) + 10 * S || wait < (i < 6 ? S << i : 60 * S) * 3 / 4 - 1)
			break;
		deliver_run(d, st.next_try_mono_ns - 1, 5);
		if (fake.rounds != before)
			break;
		now = st.next_try_mono_ns;
		deliver_run(d, now, 5);
		if (fake.rounds != before + 1)
			break;
	}
	ok(i == 12, "1 s, 2 s, ... 60 s, less up to a quarter (%d: %" PRIu64 ")", i, wait);
	is_int(errors, 1, "and is not logged again");
	is_int(infos, 0, "nor anything else");
	fake.fail_at = -1;
	deliver_get_stats(d, &st);
	ok(st.is_down, "it is down");
	now = st.next_try_mono_ns;
	is_int(deliver_run(d, now, 5), 4, "back: what was left, from the first unsettled");
	is_int(infos, 1, "its end is logged");
	ok(strstr(last_line, "delivers again") != NULL, "as: %s", last_line);
	is_int(deliver_run(d, now, 5), 0, "nothing twice");
	is_str(fake.got, "a;b;c;d;e;f;", "all, in order");
	deliver_get_stats(d, &st);
	ok(!st.is_down && !st.next_try_mono_ns, "up");
	is_u64(st.retries, 13, "tries counted");
	end(s, d);
}

/* A sink that leaves items on their way. */
static void test_window(void)
{
	struct store *s = open_store();
	struct deliver_stats st;
	struct deliver *d;
	int i;

	fake_reset();
	d = make(s);
	for (i = 0; i < 6; i++)
		put(s, STORE_RECORD, (const char *[]){ "a", "b", "c", "d", "e", "f" }[i]);
	fake.lag = 2;
	is_int(deliver_run(d, S, 5), 2, "two settled, two on their way");
	is_int(deliver_run(d, S, 5), 2, "these two; two more are on their way");
	is_u64(fake.last_n, 4, "in one window");
	is_str(fake.got, "a;b;c;d;", "in order");
	put(s, STORE_STEPS, "p");
	put(s, STORE_RECORD, "g");
	deliver_destroy(d);
	is_str(fake.got, "a;b;c;d;e;f;", "what is on its way is waited for at the end");
	d = make(s);
	fake.lag = 0;
	is_int(deliver_run(d, S, 5), 1, "the next process goes on behind it");
	is_str(fake.got, "a;b;c;d;e;f;g;", "nothing twice");
	deliver_get_stats(d, &st);
	is_u64(st.acked, 1, "counted");
	end(s, d);
}

/* A refused record in front of one that is on its way: the sink is not down. */
static void test_refused_in_front(void)
{
	struct store *s = open_store();
	struct deliver_stats st;
	struct deliver *d;

	fake_reset();
	forget_log();
	d = make(s);
	put_job(s, STORE_RECORD, 1, "poison");
	put_job(s, STORE_RECORD, 2, "a");
	fake.poison = "poison";
	fake.lag = 1;
	is_int(deliver_run(d, S, S), 2, "both are settled");
	deliver_get_stats(d, &st);
	ok(!st.is_down && !st.retries, "it is not down");
	is_int(errors, 1, "only the refusal is logged");
	ok(strstr(last_line, "fake: refuses record c/1,1,0/0: poison \"found\"; see ") != NULL, "as: %s",
	   last_line);
	end(s, d);
}

/* What is taken in part is settled, counted and said. */
static void test_partial(void)
{
	struct store *s = open_store();
	struct deliver_stats st;
	struct deliver *d;

	fake_reset();
	forget_log();
	d = make(s);
	put_job(s, STORE_RECORD, 1, "a");
	put_job(s, STORE_RECORD, 2, "b");
	fake.is_partial = true;
	is_int(deliver_run(d, S, S), 2, "taken in part is taken");
	deliver_get_stats(d, &st);
	ok(st.acked == 2 && !st.refused && st.partial == 1, "and counted once per batch");
	ok(errors == 1 && strstr(last_line, "fake: takes records only in part: 2 spans; ") != NULL, "as: %s",
	   last_line);
	end(s, d);
}

static void test_keep_order(void)
{
	struct sink_item item[4] = { { STORE_RECORD, "c/1", 3, "{}", 2, 0, NULL, false },
				     { STORE_RECORD, "c/2", 3, "{}", 2, 1, NULL, false },
				     { STORE_RECORD, "c/2", 3, "{}", 2, 2, NULL, false },
				     { STORE_RECORD, "c/1", 3, "{}", 2, 3, NULL, false } };
	enum sink_result r[4] = { SINK_ACKED, SINK_RETRY, SINK_ACKED, SINK_ACKED };
	struct store *s = open_store();
	struct deliver *d;

	sink_keep_order(item, 4, r);
	ok(r[0] == SINK_ACKED && r[1] == SINK_RETRY, "what is settled stays");
	is_int(r[2], SINK_RETRY, "the same key behind what is sent again is sent again");
	is_int(r[3], SINK_ACKED, "another is not");

	fake_reset();
	d = make(s);
	put_job(s, STORE_RECORD, 1, "1a");
	put_job(s, STORE_RECORD, 2, "2");
	put_job(s, STORE_RECORD, 1, "1b");
	fake.hold = "1a";
	is_int(deliver_run(d, S, 5), 0, "a job's first record waits");
	fake.hold = NULL;
	is_int(deliver_run(d, 1000 * S, 5), 3, "then all go");
	is_str(fake.got, "2;1b;1a;1b;", "the later one of the same job again behind it, the other's not");
	end(s, d);
}

static void test_open_later(void)
{
	struct store *s = open_store();
	struct deliver_stats st;
	struct deliver *d;

	fake_reset();
	forget_log();
	fake.open_rc = -EINVAL;
	d = make(s);
	is_int(errors, 1, "a sink that cannot be opened is logged");
	ok(strstr(last_line, "no such file") != NULL, "with the reason: %s", last_line);
	put(s, STORE_RECORD, "a");
	deliver_get_stats(d, &st);
	is_int(deliver_run(d, st.next_try_mono_ns - 1, 5), 0, "before its next try");
	is_int(fake.opens, 1, "it is not opened again");
	is_int(deliver_run(d, st.next_try_mono_ns, 5), 0, "at its next try");
	is_int(fake.opens, 2, "it is opened again");
	fake.open_rc = 0;
	deliver_get_stats(d, &st);
	is_int(deliver_run(d, st.next_try_mono_ns, 5), 1, "the record that waited is delivered");
	is_int(errors + infos, 2, "two lines in all");
	end(s, d);
}

static void test_refused(void)
{
	struct store *s = open_store();
	struct deliver_stats st;
	struct deliver *d;
	char want[128];
	uint64_t seq;

	fake_reset();
	forget_log();
	d = make(s);
	put_job(s, STORE_RECORD, 1, "a");
	seq = put_job(s, STORE_RECORD, 2, "poison");
	put_job(s, STORE_RECORD, 3, "c");
	fake.poison = "poison";
	is_int(deliver_run(d, S, 5), 3, "one of three is refused");
	is_str(fake.got, "a;c;", "the ones around it arrive");
	snprintf(want, sizeof(want), "%" PRIu64 " poison poison \"found\";", seq);
	is_str(list("fake"), want, "it is in the store, with the reason");
	deliver_get_stats(d, &st);
	ok(st.acked == 2 && st.refused == 1 && !st.is_down, "counted");
	is_int(errors, 1, "and logged");
	is_int(deliver_run(d, S, 5), 0, "done");
	is_int(store_reclaim(s, 0, &err), 2, "what arrived can go");
	snprintf(want, sizeof(want), "%" PRIu64 " poison ;", seq);
	is_str(list(NULL), want, "what was refused stays");
	put_job(s, STORE_RECORD, 2, "corrected");
	is_int(deliver_run(d, S, 5), 1, "the job's correction is taken");
	is_str(list("fake"), "", "nothing is refused any more");
	is_int(store_reclaim(s, 0, &err), 2, "and all of it can go");
	end(s, d);
}

/* Two records refused in one round and settled in different rounds: each keeps its own reason. */
static void test_reasons(void)
{
	struct store *s = open_store();
	struct deliver *d;

	fake_reset();
	d = make(s);
	put_job(s, STORE_RECORD, 1, "taken");
	put_job(s, STORE_RECORD, 2, "poison 1");
	put_job(s, STORE_RECORD, 3, "a");
	put_job(s, STORE_RECORD, 4, "poison 2");
	fake.poison = "poison";
	fake.hold = "a";
	is_int(deliver_run(d, S, 5), 2, "what is before the one that waits");
	fake.hold = NULL;
	fake.poison = NULL;
	is_int(deliver_run(d, 1000 * S, 5), 2, "and the rest");
	is_str(fake.got, "taken;a;", "the refused ones are not tried again");
	is_str(list("fake"), "2 poison 1 poison \"found\" 1;4 poison 2 poison \"found\" 2;",
	       "each with its own reason");
	end(s, d);
}

/* One that refuses whatever it gets has lost its rights, or its table. */
static void test_all_refused(void)
{
	struct store *s = open_store();
	struct deliver_stats st;
	struct deliver *d;
	unsigned int i;

	fake_reset();
	forget_log();
	d = make(s);
	for (i = 0; i < 6; i++)
		put_job(s, STORE_RECORD, i, "poison");
	fake.poison = "poison";
	is_int(deliver_run(d, S, S), 0, "all are refused");
	deliver_get_stats(d, &st);
	ok(st.is_down && !st.refused, "it is down");
	is_int(errors, 1, "which is logged once");
	ok(strstr(last_line,
		  "fake: cannot deliver: the sink refuses all of 4 records: poison \"found\"; records "
		  "wait") != NULL,
	   "as: %s", last_line);
	is_str(list("fake"), "", "nothing is set aside");
	is_u64(cursor_of("fake"), 0, "nothing is passed");
	is_int(deliver_run(d, st.next_try_mono_ns, S), 0, "and again");
	is_int(errors, 1, "not logged again");
	fake.poison = NULL;
	deliver_get_stats(d, &st);
	is_int(deliver_run(d, st.next_try_mono_ns, S), 4, "they are sent again, and taken");
	is_int(deliver_run(d, st.next_try_mono_ns, S), 2, "the rest as well");
	is_str(list("fake"), "", "none was set aside");
	is_int(infos, 1, "its end is logged");
	end(s, d);
}

/* One refused record alone: the fault may be the sink's. The next record decides. */
static void test_refused_alone(void)
{
	struct store *s = open_store();
	struct deliver_stats st;
	struct deliver *d;

	fake_reset();
	forget_log();
	d = make(s);
	put_job(s, STORE_RECORD, 1, "poison");
	fake.poison = "poison";
	is_int(deliver_run(d, S, S), 0, "it waits");
	deliver_get_stats(d, &st);
	ok(st.is_down, "as if the sink were down");
	put_job(s, STORE_RECORD, 2, "a");
	is_int(deliver_run(d, st.next_try_mono_ns, S), 2, "until another one is taken");
	is_str(list("fake"), "1 poison poison \"found\";", "then it is set aside");
	end(s, d);
}

static void test_start_dropped(void)
{
	static const struct sink_ops with_starts = {
		.name = "fake",
		.kinds = STORE_MASK(STORE_RECORD) | STORE_MASK(STORE_START),
		.max_batch = 4,
		.open = fake_open,
		.deliver = fake_deliver,
		.close = fake_close,
	};
	struct store *s = open_store();
	struct deliver *d = NULL;

	fake_reset();
	forget_log();
	is_int(deliver_create(s, dir, &with_starts, &settings, &d, &err), 0, "a sink that takes starts");
	put_job(s, STORE_START, 1, "poison");
	put_job(s, STORE_RECORD, 2, "a");
	fake.poison = "poison";
	is_int(deliver_run(d, S, S), 2, "a start is refused");
	is_str(list("fake"), "", "it is dropped: its record will follow");
	is_int(errors, 1, "which is logged");
	ok(strstr(last_line, "refuses the start of job c/1,1,0/0") != NULL, "as: %s", last_line);
	end(s, d);
}

static void test_large(void)
{
	static char big[5 << 20];
	struct store *s = open_store();
	struct deliver *d;
	int i;

	fake_reset();
	memset(big, 'x', sizeof(big) - 1);
	d = make(s);
	for (i = 0; i < 3; i++)
		put(s, STORE_RECORD, big);
	put(s, STORE_RECORD, "a");
	is_int(deliver_run(d, S, 5), 1, "large records go alone");
	is_int(deliver_run(d, S, 5), 1, "the second");
	is_int(deliver_run(d, S, 5), 1, "the third");
	is_int(deliver_run(d, S, 5), 1, "then the small one");
	put(s, STORE_RECORD, "b");
	put(s, STORE_RECORD, big);
	is_int(deliver_run(d, S, 5), 1, "a small record does not take a large one along");
	is_int(deliver_run(d, S, 5), 1, "which follows alone");
	end(s, d);
}

/* Refused records fill a call. More are tried, since the sink may take the next one. */
static void test_refused_fill(void)
{
	static const struct sink_ops of_few_bytes = {
		.name = "fake",
		.kinds = STORE_MASK(STORE_RECORD),
		.max_batch = 4,
		.max_bytes = 8,
		.open = fake_open,
		.deliver = fake_deliver,
		.close = fake_close,
	};
	struct store *s = open_store();
	struct deliver_stats st;
	struct deliver *d = NULL;

	fake_reset();
	is_int(deliver_create(s, dir, &of_few_bytes, &settings, &d, &err), 0, "a sink of few bytes");
	put_job(s, STORE_RECORD, 1, "poison 1");
	put_job(s, STORE_RECORD, 2, "poison 2");
	put_job(s, STORE_RECORD, 3, "a");
	put_job(s, STORE_RECORD, 4, "b");
	fake.poison = "poison";
	is_int(deliver_run(d, S, S), 3, "two are refused, the third is taken");
	deliver_get_stats(d, &st);
	ok(!st.is_down && st.refused == 2 && st.acked == 1, "so the sink is not down");
	is_int(deliver_run(d, S, S), 1, "the rest goes as usual");
	end(s, d);
}

static void test_restart(void)
{
	struct store *s = open_store();
	struct deliver_stats st;
	struct deliver *d;

	fake_reset();
	is_int(deliver_create(s, scratch_path(dir, "none"), &fake_ops, &settings, &d, &err), -ENOENT,
	       "without a store there is none");
	d = make(s);
	put_job(s, STORE_RECORD, 1, "a");
	is_int(deliver_run(d, S, S), 1, "one record");
	put_job(s, STORE_RECORD, 2, "b");
	deliver_destroy(d);
	store_close(s);
	s = store_rig_open(dir);
	d = make(s);
	is_int(deliver_run(d, S, S), 1, "after a restart: from the cursor on");
	is_str(fake.got, "a;b;", "nothing twice");
	deliver_get_stats(d, &st);
	is_u64(st.acked, 1, "counted");
	end(s, d);
}

/* --- with threads ------------------------------------------------------------------------ */

static uint64_t lines_of(const char *path)
{
	size_t len = 0;
	char *text = access(path, R_OK) == 0 ? scratch_read(path, &len) : NULL;
	uint64_t n = 0;
	size_t i;

	for (i = 0; text && i < len; i++)
		n += text[i] == '\n';
	free(text);
	return n;
}

static bool has_lines(const char *path, uint64_t n)
{
	uint64_t until = clock_mono_ns() + 60 * S;
	struct timespec pause = { 0, 10000000 };

	while (lines_of(path) < n && clock_mono_ns() < until)
		(void)nanosleep(&pause, NULL);
	return lines_of(path) == n;
}

/*
 * Runs ROUNDS rounds while the disk of the store is full. A limit on file size stands in for it; RecordFile
 * is smaller than the limit.
 */
static int run_on_full_disk(struct deliver *d, unsigned int rounds)
{
	struct deliver_stats st;
	struct rlimit limit;
	struct rlimit old;
	int settled = 0;

	(void)signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = (struct rlimit){ 4096, old.rlim_max };
	setrlimit(RLIMIT_FSIZE, &limit);
	while (rounds--) {
		deliver_get_stats(d, &st);
		settled += deliver_run(d, st.next_try_mono_ns, S);
	}
	setrlimit(RLIMIT_FSIZE, &old);
	return settled;
}

/* The store cannot note what the sink took: the sink does not get it again. */
static void test_not_noted(void)
{
	struct store *s = store_rig_open(dir);
	char path[PATH_MAX];
	struct deliver_stats st;
	struct deliver *d = NULL;

	(void)snprintf(path, sizeof(path), "%s/jobs.jsonl", dir);
	(void)snprintf(settings.record_file, sizeof(settings.record_file), "%s", path);
	is_int(store_set_sinks(s, "file", &err), 0, "a store");
	forget_log();
	put_job(s, STORE_RECORD, 1, "{}");
	put_job(s, STORE_RECORD, 2, "two\nlines");
	put_job(s, STORE_RECORD, 3, "{}");
	is_int(deliver_create(s, dir, &sink_file, &settings, &d, &err), 0,
	       "a sink that takes each item as new");
	is_int(run_on_full_disk(d, 4), 0, "four rounds while the disk of the store is full");
	is_u64(lines_of(path), 2, "the sink got each record once");
	deliver_get_stats(d, &st);
	ok(st.is_down && st.retries == 4 && !st.acked && !st.refused, "nothing counts as delivered");
	is_int(errors, 2, "logged once by the store and once for the sink");
	put_job(s, STORE_RECORD, 4, "{}");
	is_int(deliver_run(d, st.next_try_mono_ns, S), 3, "there is room: all three are noted");
	is_u64(lines_of(path), 2, "and not sent again");
	is_str(list("file"), "2 two\nlines record is empty or not one line;", "the refused one is set aside");
	deliver_get_stats(d, &st);
	ok(!st.is_down && st.acked == 2 && st.refused == 1, "counted");
	is_int(deliver_run(d, S, S), 1, "the next record");
	is_u64(lines_of(path), 3, "is sent");
	is_u64(cursor_of("file"), 4, "and noted");

	put_job(s, STORE_RECORD, 5, "{}");
	is_int(run_on_full_disk(d, 1), 0, "full again");
	is_u64(lines_of(path), 4, "the sink got one more");
	deliver_destroy(d);
	is_u64(lines_of(path), 4, "the end does not send it again");
	is_u64(cursor_of("file"), 5, "and notes it");
	store_close(s);
	scratch_clear(dir);
}

static void test_threads(void)
{
	struct store *s = store_rig_open(dir);
	struct deliveries *all = NULL;
	struct deliver_stats stats = { 0 };
	char path[PATH_MAX];
	sigset_t mask;
	bool is_blocked;
	uint64_t begin;
	unsigned int i;

	snprintf(path, sizeof(path), "%s/jobs.jsonl", dir);
	snprintf(settings.record_file, sizeof(settings.record_file), "%s", path);
	snprintf(settings.sinks, sizeof(settings.sinks), "file,nosuch");
	forget_log();
	for (i = 0; i < 3; i++)
		put_job(s, STORE_RECORD, i, "{}");
	is_int(deliveries_start(s, dir, &settings, &all, &err), 0, "start");
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	is_blocked = sigismember(&mask, SIGTERM) || sigismember(&mask, SIGINT);
	ok(!is_blocked, "the caller's signals are as before");
	is_int(errors, 1, "a sink that this build does not have");
	ok(strstr(last_line, "nosuch: this build has no such sink") != NULL, "is told: %s", last_line);
	ok(has_lines(path, 3), "what was there is delivered");
	begin = clock_mono_ns();
	put_job(s, STORE_RECORD, 4, "{}");
	ok(has_lines(path, 4), "what comes then, too");
	ok(clock_mono_ns() - begin < 5 * S, "at once, not with the next look at the store");
	ok(!deliveries_get_stats(all, "nosuch", &stats), "a sink that is not there has no counts");
	for (i = 0; i < 1000 && deliveries_get_stats(all, "file", &stats) && stats.acked < 4; i++)
		(void)usleep(10000); /* the thread tells when its round is over */
	ok(stats.acked == 4 && stats.acked_wall_s && !stats.is_down, "what was delivered is counted");
	begin = clock_mono_ns();
	ok(deliveries_stop(all, 10 * S), "stop");
	ok(clock_mono_ns() - begin < 5 * S, "without waiting for anything");
	ok(deliveries_stop(NULL, 0), "stop of NULL");
	is_u64(cursor_of("file"), 4, "the cursor is kept");
	is_int(store_reclaim(s, 0, &err), 0, "the other sink's records wait");
	store_close(s);

	s = store_rig_open(dir);
	snprintf(settings.sinks, sizeof(settings.sinks), "file");
	put_job(s, STORE_RECORD, 5, "{}");
	is_int(deliveries_start(s, dir, &settings, &all, &err), 0, "start again");
	ok(has_lines(path, 5), "goes on at the cursor");
	ok(deliveries_stop(all, 10 * S), "stop");
	is_int(store_reclaim(s, 0, &err), 5, "a sink that is not configured holds nothing back");
	store_close(s);
	scratch_clear(dir);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 99;
	logger_set_sink(count_log);
	test_order();
	test_outage();
	test_window();
	test_refused_in_front();
	test_partial();
	test_keep_order();
	test_open_later();
	test_refused();
	test_reasons();
	test_all_refused();
	test_refused_alone();
	test_start_dropped();
	test_large();
	test_refused_fill();
	test_restart();
	test_not_noted();
	test_threads();
	scratch_clear(dir);
	is_int(rmdir(dir), 0, "nothing left behind");
	return done_testing();
}
