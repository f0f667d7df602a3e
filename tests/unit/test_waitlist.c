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

int main(void)
{
	static char long_key[RECORD_KEY_MAX + 1];
	struct waitlist *l = waitlist_create(2); /* so that keys share a bucket */
	struct waiting *a;
	struct waiting *b;
	struct record *second;
	unsigned int i;
	unsigned int found = 0;

	ok(!waitlist_trim(l), "nothing to free in an empty list");
	memset(long_key, 'k', RECORD_KEY_MAX);
	ok(!add(l, long_key, 0), "a key that is too long");
	ok(!find(l, "a"), "nobody waits");
	a = add(l, "a", 10);
	b = add(l, "ab", 20);
	ok(find(l, "a") == a && find(l, "ab") == b, "found by key");
	is_u64(l->n, 2, "two");
	second = record_create();
	ok(waitlist_add(l, "a", 1, &b->pos, second) == a && a->record == second,
	   "a repeat has the new record");
	is_u64(a->pos.offset, 10, "and the old place");
	b->phase = WAIT_DONE;
	ok(!waitlist_trim(l), "who is done waits behind who is not");
	ok(!find(l, "ab"), "but is not found any more");
	add(l, "ab", 30);
	is_u64(l->n, 3, "its key may come again");
	a->phase = WAIT_DONE;
	ok(waitlist_trim(l), "the front is done");
	is_u64(l->n, 1, "both are freed");
	is_u64(l->first->pos.offset, 30, "the third is first");
	l->first->phase = WAIT_DONE;
	ok(waitlist_trim(l) && !l->first && !l->last, "and then nobody");
	for (i = 0; i < 100; i++) {
		char key[16];

		(void)snprintf(key, sizeof(key), "c/%u", i);
		add(l, key, i);
	}
	for (i = 0; i < 100; i += 2) {
		char key[16];

		(void)snprintf(key, sizeof(key), "c/%u", i);
		find(l, key)->phase = WAIT_DONE;
		(void)waitlist_trim(l);
	}
	for (i = 0; i < 100; i++) {
		char key[16];

		(void)snprintf(key, sizeof(key), "c/%u", i);
		found += !!find(l, key);
	}
	is_u64(found, 50, "half of a hundred");
	waitlist_destroy(l);
	waitlist_destroy(NULL);
	return done_testing();
}
