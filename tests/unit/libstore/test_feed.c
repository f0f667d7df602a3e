/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libstore/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "src/libutil/clock.h"
#include "src/libutil/util.h"

#include "tap.h"

#define ENTRIES 100000

static void test_limits(void)
{
	static char big[4096];
	struct errmsg err = { 0 };
	struct feed_lost lost;
	struct feed *f = NULL;
	const void *data;
	size_t len;
	unsigned int n;
	unsigned int i;

	is_int(feed_create(SIZE_MAX / 2, &f, &err), -EINVAL, "a ring of half the memory");
	is_int(feed_create(1, &f, &err), 0, "a small ring");
	is_int(feed_push(f, big, 2048), -EMSGSIZE, "an entry over half of the ring");
	is_int(feed_next(f, &data, &len), 0, "an empty ring has nothing");
	is_int(feed_push(f, big, 2040), 0, "half of the ring fits");
	is_int(feed_push(f, big, 2040), 0, "twice");
	is_int(feed_push(f, big, 0), -ENOSPC, "then nothing more, not even an empty entry");
	is_int(feed_next(f, &data, &len), 1, "the first entry is read");
	is_int(feed_push(f, big, 8), -ENOSPC, "reading frees nothing");
	feed_rewind(f);
	is_int(feed_next(f, &data, &len), 1, "read again after a rewind");
	is_u64(len, 2040, "with its length");
	ok((uintptr_t)data % 8 == 0, "aligned");
	is_int(feed_next(f, &data, &len), 1, "and the one behind it");
	feed_unget(f);
	feed_release(f);
	is_int(feed_push(f, big, 8), 0, "releasing frees room");
	is_int(feed_next(f, &data, &len), 1, "what was put back is still there");
	is_u64(len, 2040, "whole");
	is_int(feed_next(f, &data, &len), 1, "before what came later");
	is_u64(len, 8, "whole, too");
	feed_destroy(f);

	require(feed_create(4096, &f, &err) == 0);
	is_u64(feed_take_lost(f, &lost), 0, "nothing was lost");
	for (i = 0; i < 20; i++)
		feed_note_lost(f, 100 + i);
	is_u64(feed_take_lost(f, &lost), 20, "losses are counted");
	is_u64(lost.nids, FEED_LOST_IDS, "the first ones are named");
	ok(lost.id[0] == 100 && lost.id[15] == 115, "by their ids");
	feed_note_lost(f, 7);
	is_u64(feed_take_lost(f, &lost), 1, "later ones count anew");
	is_u64(lost.id[0], 7, "and are named");

	/* every length, over many turns of the ring */
	for (n = 0; n < 20000; n++) {
		unsigned char buf[700];
		size_t want = n * 7 % sizeof(buf);

		memset(buf, (int)(n & 0xff), want);
		if (feed_push(f, buf, want) < 0 || feed_next(f, &data, &len) != 1 || len != want ||
		    memcmp(data, buf, len))
			break;
		feed_release(f);
	}
	is_u64(n, 20000, "what went in comes out, at every length and place");
	feed_destroy(f);
	feed_destroy(NULL);
}

static void test_memory(void)
{
	static char entry[800];
	const char *lowest = NULL;
	const char *highest = NULL;
	struct feed *f = NULL;
	const void *data;
	size_t len;
	size_t n;

	require(feed_create(8 << 20, &f, NULL) == 0);
	for (n = 0; n < 50000; n++) {
		if (feed_push(f, entry, sizeof(entry)) < 0 || feed_next(f, &data, &len) != 1)
			break;
		lowest = !lowest || (const char *)data < lowest ? data : lowest;
		highest = !highest || (const char *)data > highest ? data : highest;
		feed_release(f);
	}
	is_u64(n, 50000, "five turns of a ring that is never full");
	ok(highest - lowest < 512 << 10, "take a sixteenth of its memory");

	for (n = 0; feed_push(f, entry, sizeof(entry)) == 0; n++)
		;
	ok(n > 8126464 / 808 - 32, "in a burst there is room in all of it (%zu entries)", n);
	for (; n && feed_next(f, &data, &len) == 1; n--)
		;
	ok(!n && feed_next(f, &data, &len) == 0, "and all come out");
	feed_release(f);
	is_int(feed_push(f, entry, sizeof(entry)), 0, "which makes room");
	feed_destroy(f);
}

struct entry {
	uint64_t number;
	uint32_t len;
	unsigned char fill[64];
};

static void *push_all(void *arg)
{
	struct feed *f = arg;
	uint64_t i;

	for (i = 0; i < ENTRIES; i++) {
		struct entry e = { .number = i, .len = (uint32_t)(i % 64) };

		memset(e.fill, (int)(i & 0xff), e.len);
		while (feed_push(f, &e, offsetof(struct entry, fill) + e.len) == -ENOSPC)
			(void)sched_yield();
	}
	return NULL;
}

static void test_threads(void)
{
	struct feed *f = NULL;
	pthread_t t;
	uint64_t expected = 0;
	bool good = true;

	require(feed_create(8192, &f, NULL) == 0);
	(void)pthread_create(&t, NULL, push_all, f);
	while (expected < ENTRIES && good) {
		const void *data;
		size_t len;

		if (!feed_next(f, &data, &len)) {
			feed_release(f);
			feed_wait(f, 10000);
			continue;
		}
		const struct entry *e = data;

		good = e->number == expected++ && len == offsetof(struct entry, fill) + e->len &&
		       (!e->len || e->fill[e->len - 1] == (e->number & 0xff));
	}
	ok(good, "two threads: nothing lost, doubled or torn");
	feed_release(f);
	if (good)
		(void)pthread_join(t, NULL);
	feed_destroy(f);
}

static void test_keys(void)
{
	static struct job_key seen[100];
	struct job_key key = { .user_id = 1000, .submit = 1700000000 };
	struct feed *f = NULL;
	uint64_t expected = 1;
	bool good = true;
	size_t n;
	size_t i;

	require(feed_create(4096, &f, NULL) == 0);
	is_u64(feed_next_keys(f, seen, 100), 0, "no key at first");
	for (key.job_id = 1; key.job_id <= FEED_KEYS; key.job_id++)
		if (feed_push_key(f, &key) < 0)
			break;
	is_u64(key.job_id, FEED_KEYS + 1, "a million keys find room");
	is_int(feed_push_key(f, &key), -ENOSPC, "and no more");
	is_u64(feed_next_keys(f, seen, 3), 3, "three are read");
	is_u64(seen[2].job_id, 3, "in order");
	is_int(feed_push_key(f, &key), -ENOSPC, "reading frees nothing");
	feed_rewind_keys(f);
	is_u64(feed_next_keys(f, seen, 2), 2, "read again after a rewind");
	feed_release_keys(f);
	is_int(feed_push_key(f, &key), 0, "releasing frees room");
	expected = 3;
	while ((n = feed_next_keys(f, seen, 100))) {
		for (i = 0; i < n; i++)
			good = good && seen[i].job_id == expected++ && seen[i].user_id == 1000 &&
			       seen[i].submit == 1700000000;
		feed_release_keys(f);
	}
	ok(good && expected == FEED_KEYS + 2, "all come out, in order");
	(void)feed_push_key(f, &key);
	feed_wait(f, -1);
	ok(true, "no waiting when there is a key");
	feed_destroy(f);
}

static void *push_keys(void *arg)
{
	struct job_key key = { 0 };

	for (key.job_id = 0; key.job_id < ENTRIES; key.job_id++) {
		key.end = ~key.job_id;
		while (feed_push_key(arg, &key) < 0)
			(void)sched_yield();
	}
	return NULL;
}

static void test_key_threads(void)
{
	struct feed *f = NULL;
	struct job_key key[7];
	uint32_t expected = 0;
	bool good = true;
	pthread_t t;
	size_t n;
	size_t i;

	require(feed_create(4096, &f, NULL) == 0);
	(void)pthread_create(&t, NULL, push_keys, f);
	while (expected < ENTRIES) {
		n = feed_next_keys(f, key, ARRAY_SIZE(key));
		for (i = 0; i < n; i++, expected++)
			good = good && key[i].job_id == expected && key[i].end == ~expected;
		feed_release_keys(f);
		if (!n)
			feed_wait(f, 10000);
	}
	ok(good, "two threads: no key lost, doubled or torn");
	(void)pthread_join(t, NULL);
	feed_destroy(f);
}

static void *wake_it(void *arg)
{
	feed_wake(arg);
	return NULL;
}

static void test_wait(void)
{
	struct feed *f = NULL;
	pthread_t t;

	require(feed_create(4096, &f, NULL) == 0);
	(void)feed_push(f, "x", 1);
	feed_wait(f, -1);
	ok(true, "no waiting when there is an entry");
	const void *data;
	size_t len;

	require(feed_next(f, &data, &len) == 1);
	(void)pthread_create(&t, NULL, wake_it, f);
	feed_wait(f, -1);
	ok(true, "a wake-up ends the wait");
	(void)pthread_join(t, NULL);
	feed_wait(f, 0);
	feed_wait(f, 1);
	feed_pause(f, 1);
	ok(true, "a time-out, too");
	feed_destroy(f);
}

int main(void)
{
	test_limits();
	test_memory();
	test_threads();
	test_keys();
	test_key_threads();
	test_wait();
	return done_testing();
}
