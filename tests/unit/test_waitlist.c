/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/waitlist.h"

#include <stdlib.h>

#include "tap.h"

static struct waiting *add(struct waitlist *l, const char *key, uint64_t offset)
{
	struct spool_pos pos = { 1, offset };

	return waitlist_add(l, key, strlen(key), &pos, record_create());
}

static struct waiting *find(struct waitlist *l, const char *key)
{
	return waitlist_find(l, key, strlen(key));
}

static void test_keys(void)
{
	static char long_key[RECORD_KEY_MAX + 1];
	struct waitlist *l = waitlist_create(2); /* two buckets, so that keys share one */
	struct record *second;
	struct waiting *a;
	struct waiting *b;

	memset(long_key, 'k', RECORD_KEY_MAX);
	ok(!add(l, long_key, 0), "a key that is too long");
	ok(!find(l, "a"), "nobody waits");
	a = add(l, "a", 10);
	b = add(l, "ab", 20);
	ok(find(l, "a") == a && find(l, "ab") == b, "found by key");
	is_u64(l->n, 2, "two");
	ok(!add(l, "abc", 30), "full");
	second = record_create();
	ok(waitlist_add(l, "a", 1, &b->pos, second) == a && a->record == second,
	   "a repeat has the new record");
	is_u64(a->pos.offset, 10, "and the old place");
	waitlist_remove(l, a);
	ok(!find(l, "a") && l->first == b && l->last == b, "the first goes");
	add(l, "a", 40);
	is_u64(l->first->pos.offset, 20, "its key may come again, behind");
	waitlist_remove(l, l->last);
	waitlist_remove(l, b);
	ok(!l->first && !l->last && !l->n, "and then nobody");
	waitlist_destroy(l);
	waitlist_destroy(NULL);
}

#define MANY 1000

/* Against a plain search for the smallest. */
static void test_times(void)
{
	struct waitlist *l = waitlist_create(MANY);
	struct waiting *of[MANY];
	unsigned int wrong = 0;
	unsigned int left = 0;
	uint64_t last = 0;
	struct waiting *w;
	unsigned int i;

	srand(5);
	ok(!waitlist_take_due(l, WAIT_END, UINT64_MAX), "nobody is due in an empty list");
	is_u64(waitlist_next_due(l, WAIT_END), UINT64_MAX, "nor ever");
	for (i = 0; i < MANY; i++) {
		char key[16];

		(void)snprintf(key, sizeof(key), "c/%u", i);
		of[i] = add(l, key, i);
		of[i]->next_try_mono_ns = (uint64_t)rand() % 500;
		waitlist_enter(l, of[i], WAIT_END);
	}
	for (i = 0; i + 1 < MANY; i += 3) { /* some go on, some are done, some get another time */
		of[i]->next_try_mono_ns = (uint64_t)rand() % 500;
		waitlist_enter(l, of[i], i % 2 ? WAIT_STEPS : WAIT_END);
		waitlist_remove(l, of[(i + 1) % MANY]);
	}
	for (i = 1; i < MANY; i += 3)
		of[i] = NULL;
	for (i = 0; i < MANY; i++)
		left += of[i] && of[i]->phase == WAIT_END && find(l, of[i]->key) == of[i];
	while ((w = waitlist_take_due(l, WAIT_END, 250))) {
		wrong += w->next_try_mono_ns < last || w->next_try_mono_ns > 250;
		last = w->next_try_mono_ns;
		left--;
	}
	ok(waitlist_next_due(l, WAIT_END) > 250, "the rest is not due");
	while ((w = waitlist_take_due(l, WAIT_END, 500))) {
		wrong += w->next_try_mono_ns < last;
		last = w->next_try_mono_ns;
		left--;
	}
	is_u64(wrong, 0, "in the order of their times");
	is_u64(left, 0, "all of them");
	ok(l->heap[WAIT_STEPS].n > 0, "another phase has its own");
	waitlist_destroy(l);
}

int main(void)
{
	test_keys();
	test_times();
	return done_testing();
}
