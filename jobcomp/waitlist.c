/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/waitlist.h"

#include <string.h>

#include "src/libutil/crc32c.h"
#include "src/libutil/util.h"

#define PER_BUCKET 2

struct waitlist *waitlist_create(size_t max)
{
	struct waitlist *l = calloc(1, sizeof(*l));
	unsigned int i;

	if (!l)
		return NULL;
	l->max = max;
	l->nbuckets = max / PER_BUCKET + 1;
	l->bucket = calloc(l->nbuckets, sizeof(struct waiting *));
	for (i = 0; i < WAIT_PHASES; i++)
		l->heap[i].item = calloc(max, sizeof(struct waiting *));
	for (i = 0; i < WAIT_PHASES && l->bucket && l->heap[i].item; i++)
		;
	if (i == WAIT_PHASES)
		return l;
	waitlist_destroy(l);
	return NULL;
}

static void waiting_destroy(struct waiting *w)
{
	record_destroy(w->record);
	free(w);
}

void waitlist_destroy(struct waitlist *l)
{
	struct waiting *w;
	unsigned int i;

	if (!l)
		return;
	while ((w = l->first)) {
		l->first = w->next;
		waiting_destroy(w);
	}
	for (i = 0; i < WAIT_PHASES; i++)
		free(l->heap[i].item);
	free(l->bucket);
	free(l);
}

/* --- by key -------------------------------------------------------------------------------- */

static struct waiting **bucket_of(const struct waitlist *l, const char *key, size_t key_len)
{
	return &l->bucket[crc32c(0, key, key_len) % l->nbuckets];
}

struct waiting *waitlist_find(const struct waitlist *l, const char *key, size_t key_len)
{
	struct waiting *w = *bucket_of(l, key, key_len);

	while (w && (strlen(w->key) != key_len || memcmp(w->key, key, key_len) != 0))
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
		w->ended = w->requeued = w->gone = w->needs_refill = false;
		w->steps_open = w->all_told = false;
		w->steps_missing = w->told_since_ns = w->complete_since_ns = 0;
		w->ctld_energy_j = w->dbd_energy_j = (struct maybe_u64){ 0 };
		return w;
	}
	w = key_len < sizeof(w->key) && l->n < l->max ? calloc(1, sizeof(*w)) : NULL;
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
	w->prev = l->last;
	if (l->last)
		l->last->next = w;
	else
		l->first = w;
	l->last = w;
	l->n++;
	return w;
}

/* --- by time ------------------------------------------------------------------------------- */

static void put(struct wait_heap *h, struct waiting *w, size_t place)
{
	h->item[place] = w;
	w->place = place;
}

static void rise(struct wait_heap *h, struct waiting *w)
{
	size_t at = w->place;

	while (at && h->item[(at - 1) / 2]->next_try_mono_ns > w->next_try_mono_ns) {
		put(h, h->item[(at - 1) / 2], at);
		at = (at - 1) / 2;
	}
	put(h, w, at);
}

static void sink(struct wait_heap *h, struct waiting *w)
{
	size_t at = w->place;
	size_t child;

	while ((child = 2 * at + 1) < h->n) {
		if (child + 1 < h->n && h->item[child + 1]->next_try_mono_ns <
						h->item[child]->next_try_mono_ns)
			child++;
		if (h->item[child]->next_try_mono_ns >= w->next_try_mono_ns)
			break;
		put(h, h->item[child], at);
		at = child;
	}
	put(h, w, at);
}

static void leave(struct waitlist *l, struct waiting *w)
{
	struct wait_heap *h = &l->heap[w->phase];
	struct waiting *last;

	if (!w->is_queued)
		return;
	w->is_queued = false;
	last = h->item[--h->n];
	if (last == w)
		return;
	put(h, last, w->place);
	rise(h, last);
	sink(h, last);
}

void waitlist_enter(struct waitlist *l, struct waiting *w, enum wait_phase phase)
{
	struct wait_heap *h = &l->heap[phase];

	leave(l, w);
	w->phase = phase;
	w->is_queued = true;
	put(h, w, h->n++);
	rise(h, w);
}

void waitlist_begin(struct waitlist *l, struct waiting *w, enum wait_phase phase, uint64_t now,
		    uint64_t first_ns, uint64_t patience_ns)
{
	w->begin_mono_ns = now;
	w->interval_ns = first_ns;
	w->next_try_mono_ns = now + first_ns;
	w->deadline_mono_ns = now + patience_ns;
	waitlist_enter(l, w, phase);
}

void waitlist_again(struct waitlist *l, struct waiting *w, uint64_t now, uint64_t max_ns,
		    uint64_t latest_mono_ns)
{
	w->next_try_mono_ns = now + w->interval_ns;
	if (w->next_try_mono_ns > latest_mono_ns)
		w->next_try_mono_ns = latest_mono_ns;
	w->interval_ns += w->interval_ns / 2;
	if (w->interval_ns > max_ns)
		w->interval_ns = max_ns;
	waitlist_enter(l, w, w->phase);
}

struct waiting *waitlist_take_due(struct waitlist *l, enum wait_phase phase, uint64_t now)
{
	struct waiting *w;

	if (!l->heap[phase].n || waitlist_next_due(l, phase) > now)
		return NULL;
	w = l->heap[phase].item[0];
	leave(l, w);
	return w;
}

uint64_t waitlist_next_due(const struct waitlist *l, enum wait_phase phase)
{
	const struct wait_heap *h = &l->heap[phase];

	return h->n ? h->item[0]->next_try_mono_ns : UINT64_MAX;
}

void waitlist_remove(struct waitlist *l, struct waiting *w)
{
	struct waiting **p = bucket_of(l, w->key, strlen(w->key));

	leave(l, w);
	while (*p != w)
		p = &(*p)->hash_next;
	*p = w->hash_next;
	if (w->prev)
		w->prev->next = w->next;
	else
		l->first = w->next;
	if (w->next)
		w->next->prev = w->prev;
	else
		l->last = w->prev;
	l->n--;
	waiting_destroy(w);
}
