/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/waitlist.h"

#include <string.h>

#include "src/libutil/crc32c.h"
#include "src/libutil/util.h"

struct waitlist *waitlist_create(size_t nbuckets)
{
	struct waitlist *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->nbuckets = nbuckets;
	l->bucket = calloc(nbuckets, sizeof(struct waiting *));
	if (!l->bucket) {
		free(l);
		return NULL;
	}
	return l;
}

static void waiting_destroy(struct waiting *w)
{
	record_destroy(w->record);
	free(w);
}

void waitlist_destroy(struct waitlist *l)
{
	struct waiting *w;

	if (!l)
		return;
	while ((w = l->first)) {
		l->first = w->next;
		waiting_destroy(w);
	}
	free(l->bucket);
	free(l);
}

static struct waiting **bucket_of(const struct waitlist *l, const char *key, size_t key_len)
{
	return &l->bucket[crc32c(0, key, key_len) % l->nbuckets];
}

struct waiting *waitlist_find(const struct waitlist *l, const char *key, size_t key_len)
{
	struct waiting *w = *bucket_of(l, key, key_len);

	while (w && (w->phase == WAIT_DONE || strlen(w->key) != key_len ||
		     memcmp(w->key, key, key_len) != 0))
		w = w->hash_next;
	return w;
}

struct waiting *waitlist_add(struct waitlist *l, const char *key, size_t key_len,
			     const struct spool_pos *pos, struct record *record)
{
	struct waiting *w = waitlist_find(l, key, key_len);
	struct waiting **bucket;

	if (w) {
		record_destroy(w->record);
		w->record = record;
		return w;
	}
	w = key_len < sizeof(w->key) ? calloc(1, sizeof(*w)) : NULL;
	if (!w) {
		record_destroy(record);
		return NULL;
	}
	memcpy(w->key, key, key_len);
	w->pos = *pos;
	w->record = record;
	bucket = bucket_of(l, key, key_len);
	w->hash_next = *bucket;
	*bucket = w;
	if (l->last)
		l->last->next = w;
	else
		l->first = w;
	l->last = w;
	l->n++;
	return w;
}

static void unhash(struct waitlist *l, const struct waiting *w)
{
	struct waiting **p = bucket_of(l, w->key, strlen(w->key));

	while (*p != w)
		p = &(*p)->hash_next;
	*p = w->hash_next;
}

bool waitlist_trim(struct waitlist *l)
{
	struct waiting *w;
	bool any = false;

	while ((w = l->first) && w->phase == WAIT_DONE) {
		l->first = w->next;
		if (!l->first)
			l->last = NULL;
		l->n--;
		unhash(l, w);
		waiting_destroy(w);
		any = true;
	}
	return any;
}
