/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* memmem */
#include "src/libsink/deliver.h"

#include <errno.h>

#include "scratch.h"
#include "src/libsink/deadletter.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "tap.h"

#define S NSEC_PER_SEC

static char dir[] = SCRATCH_TEMPLATE;
static struct errmsg err;
static struct settings settings;

/* --- a sink that does as it is told ------------------------------------------------------ */

static struct {
	int open_rc;
	int opens, closes, rounds;
	int rc;		   /* of the next rounds */
	int fail_at;	   /* items from here on are retried; -1: none */
	int lag;	   /* so many of the last new ones are left on their way */
	const char *poison; /* items with this text are refused */
	const char *hold;   /* the item with this text waits */
	char got[65536];   /* what was acked, in order */
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

static int fake_deliver(struct sink *k, struct sink_item *item, size_t n,
			enum sink_result *result, uint64_t timeout_ns, struct errmsg *e)
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
		if (result[i] == SINK_REFUSED)
			continue;
		if (fake.hold && !strncmp(item[i].json, fake.hold, item[i].json_len))
			continue;
		result[i] = SINK_ACKED;
		if (fake.poison && memmem(item[i].json, item[i].json_len, fake.poison,
					  strlen(fake.poison))) {
			/* of "poison 1": its number */
			(void)snprintf(why, sizeof(why), "poison \"found\"%.2s",
				       item[i].json_len == 8 ? item[i].json + 6 : "");
			sink_refuse(&item[i], &result[i], why);
			continue;
		}
		strncat(fake.got, item[i].json,
			item[i].json_len < 200 ? item[i].json_len : 1);
		strcat(fake.got, ";");
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
	.kinds = SPOOL_MASK(SPOOL_RECORD),
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

/* --- a log that counts ------------------------------------------------------------------- */

static int errors, infos;
static char last_line[1024];

static void count_log(enum logger_level level, const char *line)
{
	errors += level == LOGGER_ERROR;
	infos += level == LOGGER_INFO;
	if (level != LOGGER_DEBUG)
		snprintf(last_line, sizeof(last_line), "%s", line);
}

static void put(struct spool *s, enum spool_kind kind, const char *text)
{
	spool_append(s, kind, "c/1/0", text, strlen(text), &err);
}

static struct deliver *make(struct spool *s)
{
	struct deliver *d = NULL;

	is_int(deliver_create(s, &fake_ops, &settings, &d, &err), 0, "create");
	return d;
}

/* --- the cases --------------------------------------------------------------------------- */

static void test_order(void)
{
	struct deliver_stats st;
	struct spool *s = NULL;
	struct deliver *d;
	struct deliver *twice = NULL;
	char text[16];
	char *before;
	char *after;
	size_t len;
	int i;

	fake_reset();
	spool_open(dir, 1 << 20, &s, &err);
	d = make(s);
	is_int(deliver_create(s, &fake_ops, &settings, &twice, &err), -EBUSY,
	       "one reader per sink");
	is_int(deliver_run(d, S, 5), 0, "nothing to do");
	is_int(fake.rounds, 0, "the sink is left alone");
	for (i = 0; i < 10; i++) {
		snprintf(text, sizeof(text), "%d", i);
		put(s, i % 3 == 1 ? SPOOL_PENDING : SPOOL_RECORD, text);
	}
	is_int(deliver_run(d, S, 5), 4, "one batch");
	is_u64(fake.timeout_ns, 5, "with the caller's timeout");
	is_int(deliver_run(d, S, 5), 3, "the rest");
	is_int(deliver_run(d, S, 5), 0, "no more");
	is_str(fake.got, "0;2;3;5;6;8;9;", "records only, in order");
	deliver_get_stats(d, &st);
	is_u64(st.acked, 7, "counted");
	deliver_destroy(d);
	deliver_destroy(NULL);
	is_int(fake.closes, 1, "sink closed");
	d = make(s);
	is_int(deliver_run(d, S, 5), 0, "a new one goes on behind them");
	before = scratch_read(scratch_path(dir, "fake.cur"), &len);
	put(s, SPOOL_PENDING, "p");
	is_int(deliver_run(d, S, 5), 0, "PENDING only");
	is_int(fake.rounds, 2, "is not told to the sink");
	after = scratch_read(scratch_path(dir, "fake.cur"), &len);
	ok(before && after && strcmp(before, after), "but passed, not read again each time");
	free(before);
	free(after);
	deliver_destroy(d);
	spool_close(s);
	scratch_clear(dir);
}

static void test_outage(void)
{
	struct deliver_stats st;
	struct spool *s = NULL;
	struct deliver *d;
	uint64_t now = 100 * S;
	uint64_t wait = 0;
	int i;

	fake_reset();
	errors = infos = 0;
	spool_open(dir, 1 << 20, &s, &err);
	d = make(s);
	for (i = 0; i < 6; i++)
		put(s, SPOOL_RECORD, (const char *[]){ "a", "b", "c", "d", "e", "f" }[i]);
	fake.fail_at = 2;
	is_int(deliver_run(d, now, 5), 2, "two of four");
	is_int(errors, 0, "which is no outage yet");
	fake.fail_at = 0;
	is_int(deliver_run(d, now, 5), 0, "none");
	is_int(errors, 1, "is one, and logged");
	ok(strstr(last_line, "fake: cannot deliver: connection refused; records wait in ") != NULL,
	   "as: %s", last_line);
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
	deliver_destroy(d);
	spool_close(s);
	scratch_clear(dir);
}

/* A sink that leaves items on their way. */
static void test_window(void)
{
	struct deliver_stats st;
	struct spool *s = NULL;
	struct deliver *d;
	int i;

	fake_reset();
	spool_open(dir, 1 << 20, &s, &err);
	d = make(s);
	for (i = 0; i < 6; i++)
		put(s, SPOOL_RECORD, (const char *[]){ "a", "b", "c", "d", "e", "f" }[i]);
	fake.lag = 2;
	is_int(deliver_run(d, S, 5), 2, "two settled, two on their way");
	is_int(deliver_run(d, S, 5), 2, "these, in front of two more");
	is_u64(fake.last_n, 4, "in one window");
	is_str(fake.got, "a;b;c;d;", "in order");
	put(s, SPOOL_PENDING, "p");
	put(s, SPOOL_RECORD, "g");
	deliver_destroy(d);
	is_str(fake.got, "a;b;c;d;e;f;", "what is on its way is waited for at the end");
	d = make(s);
	fake.lag = 0;
	is_int(deliver_run(d, S, 5), 1, "the next process goes on behind it");
	is_str(fake.got, "a;b;c;d;e;f;g;", "nothing twice");
	deliver_get_stats(d, &st);
	is_u64(st.acked, 1, "counted");
	deliver_destroy(d);
	spool_close(s);
	scratch_clear(dir);
}

static void test_keep_order(void)
{
	struct sink_item item[4] = { { SPOOL_RECORD, "c/1", 3, "{}", 2, 0, NULL },
				     { SPOOL_RECORD, "c/2", 3, "{}", 2, 1, NULL },
				     { SPOOL_RECORD, "c/2", 3, "{}", 2, 2, NULL },
				     { SPOOL_RECORD, "c/1", 3, "{}", 2, 3, NULL } };
	enum sink_result r[4] = { SINK_ACKED, SINK_RETRY, SINK_ACKED, SINK_ACKED };

	sink_keep_order(item, 4, r);
	ok(r[0] == SINK_ACKED && r[1] == SINK_RETRY, "what is settled stays");
	is_int(r[2], SINK_RETRY, "the same key behind what is sent again is sent again");
	is_int(r[3], SINK_ACKED, "another is not");
}

static void test_open_later(void)
{
	struct deliver_stats st;
	struct spool *s = NULL;
	struct deliver *d;

	fake_reset();
	errors = infos = 0;
	fake.open_rc = -EINVAL;
	spool_open(dir, 1 << 20, &s, &err);
	d = make(s);
	is_int(errors, 1, "a sink that cannot be opened is logged");
	ok(strstr(last_line, "no such file") != NULL, "with the reason: %s", last_line);
	put(s, SPOOL_RECORD, "a");
	deliver_get_stats(d, &st);
	is_int(deliver_run(d, st.next_try_mono_ns - 1, 5), 0, "not at once");
	is_int(fake.opens, 1, "is it tried again");
	is_int(deliver_run(d, st.next_try_mono_ns, 5), 0, "but later");
	is_int(fake.opens, 2, "it is");
	fake.open_rc = 0;
	deliver_get_stats(d, &st);
	is_int(deliver_run(d, st.next_try_mono_ns, 5), 1, "and its record has waited");
	is_int(errors + infos, 2, "two lines in all");
	deliver_destroy(d);
	spool_close(s);
	scratch_clear(dir);
}

static void test_refused(void)
{
	static const char hostile[] = "poison \"q\" \\ \n \x01 \xff\xc3( \xed\xa0\x80 \xc3\xa4";
	struct spool *s = NULL;
	struct deliver *d;
	char *text;
	size_t len = 0;

	fake_reset();
	errors = infos = 0;
	spool_open(dir, 1 << 20, &s, &err);
	d = make(s);
	put(s, SPOOL_RECORD, "a");
	put(s, SPOOL_RECORD, hostile);
	put(s, SPOOL_RECORD, "c");
	fake.poison = "poison";
	/* while it cannot be set aside it stays */
	mkdir(scratch_path(dir, "fake.dead"), 0700);
	is_int(deliver_run(d, S, 5), 0, "no place for dead letters");
	rmdir(scratch_path(dir, "fake.dead"));
	fake.got[0] = '\0';
	is_int(deliver_run(d, 1000 * S, 5), 2, "settled behind what was");
	is_str(fake.got, "c;", "the ones around it arrive");
	text = scratch_read(scratch_path(dir, "fake.dead"), &len);
	ok(text && len && text[len - 1] == '\n' && strchr(text, '\n') == text + len - 1,
	   "one line set aside");
	ok(text && strstr(text, "\"sink\":\"fake\",\"kind\":\"record\",\"key\":\"c/1/0\","
				"\"reason\":\"poison \\\"found\\\"\","
				"\"record\":\"poison \\\"q\\\" \\\\ \\u000a \\u0001 "
				"\\ufffd\\ufffd( \\ufffd\\ufffd\\ufffd \xc3\xa4\"}"),
	   "as JSON: %s", text ? text : "");
	free(text);
	is_int(deliver_run(d, 1000 * S, 5), 0, "done");
	deliver_destroy(d);
	spool_close(s);
	scratch_clear(dir);
}

/* Refused together, settled in different rounds, for which trouble has other words. */
static void test_reasons(void)
{
	struct spool *s = NULL;
	struct deliver *d;
	char *text;
	size_t len = 0;

	fake_reset();
	spool_open(dir, 1 << 20, &s, &err);
	d = make(s);
	put(s, SPOOL_RECORD, "poison 1");
	put(s, SPOOL_RECORD, "a");
	put(s, SPOOL_RECORD, "poison 2");
	fake.poison = "poison";
	fake.hold = "a";
	is_int(deliver_run(d, S, 5), 1, "what is before the one that waits");
	fake.hold = NULL;
	fake.poison = NULL;
	is_int(deliver_run(d, 1000 * S, 5), 2, "and the rest");
	is_str(fake.got, "a;", "the refused ones are not tried again");
	text = scratch_read(scratch_path(dir, "fake.dead"), &len);
	ok(text && strstr(text, "\"reason\":\"poison \\\"found\\\" 1\",\"record\":\"poison 1\"}\n") &&
		   strstr(text, "\"reason\":\"poison \\\"found\\\" 2\",\"record\":\"poison 2\"}\n"),
	   "each with its own reason: %s", text ? text : "");
	free(text);
	deliver_destroy(d);
	spool_close(s);
	scratch_clear(dir);
}

static void test_many(void)
{
	static char big[SPOOL_DATA_MAX];
	struct spool *s = NULL;
	struct deliver *d;
	int i;

	fake_reset();
	memset(big, 'x', sizeof(big));
	spool_open(dir, 64 << 20, &s, &err);
	d = make(s);
	for (i = 0; i < 3; i++)
		spool_append(s, SPOOL_RECORD, "k", big, sizeof(big), &err);
	put(s, SPOOL_RECORD, "a");
	is_int(deliver_run(d, S, 5), 1, "large records go alone");
	is_int(deliver_run(d, S, 5), 1, "each");
	is_int(deliver_run(d, S, 5), 1, "and");
	is_int(deliver_run(d, S, 5), 1, "small ones behind them");
	deliver_destroy(d);
	spool_close(s);
	scratch_clear(dir);
}

static void test_dead_rotation(void)
{
	struct sink_item item = { SPOOL_RECORD, "k", 1, "{}", 2, 0, NULL };
	struct stat st;
	int fd;

	fd = open(scratch_path(dir, "x.dead"), O_WRONLY | O_CREAT, 0600);
	if (ftruncate(fd, (off_t)DEADLETTER_FILE_MAX) < 0)
		diag("ftruncate");
	close(fd);
	errors = 0;
	is_int(deadletter_write(dir, "x", &(struct deadletter){ &item, "r" }, 1, &err), 0, "a full file of dead letters");
	ok(stat(scratch_path(dir, "x.dead.1"), &st) == 0 &&
		   (uint64_t)st.st_size == DEADLETTER_FILE_MAX,
	   "is moved aside");
	is_int(errors, 1, "which is told");
	ok(stat(scratch_path(dir, "x.dead"), &st) == 0 && st.st_size < 100 &&
		   (st.st_mode & 0777) == 0600,
	   "a new one begun");
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
	test_keep_order();
	test_open_later();
	test_refused();
	test_many();
	test_reasons();
	test_dead_rotation();
	scratch_clear(dir);
	is_int(rmdir(dir), 0, "nothing left behind");
	return done_testing();
}
