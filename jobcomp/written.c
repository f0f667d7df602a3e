/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ceems_config.h" /* _GNU_SOURCE for memrchr() */

#include "jobcomp/written.h"

#include <string.h>

/*
 * Slurm may have told of a later end, or of another run, before R was written: that has no record yet.
 * A start that is not known was filled in from slurmdbd.
 */
static bool is_record_of(const struct record *r, const struct record *told)
{
	return r->end >= told->end && (!told->start || r->start == told->start);
}

void written_take_record(struct waitlist *l, const struct spool_entry *e)
{
	struct waiting *w = waitlist_find(l, e->key, e->key_len);
	struct errmsg err = { 0 };
	struct record *r = NULL;
	bool is_of_another = false;

	if (!w || w->is_written)
		return;
	w->steps_missing = 0;
	if (record_from_json(e->data, e->len, &r, &err) == 0) {
		is_of_another = !is_record_of(r, w->record);
		if (!is_of_another && r->steps_total > r->nsteps)
			w->steps_missing = r->steps_total - r->nsteps;
	}
	record_destroy(r);
	if (!w->steps_missing && !is_of_another)
		waitlist_remove(l, w);
}

void written_take_part(struct waitlist *l, const struct spool_entry *e)
{
	const char *hash = memrchr(e->key, '#', e->key_len);
	struct waiting *w = hash ? waitlist_find(l, e->key, (size_t)(hash - e->key)) : NULL;
	struct errmsg err = { 0 };
	char key[RECORD_KEY_MAX];
	struct record *r = NULL;

	if (!w || w->is_written || !w->steps_missing ||
	    record_from_steps_json(e->data, e->len, &r, key, &err) < 0)
		return;
	w->steps_missing -= r->nsteps < w->steps_missing ? r->nsteps : w->steps_missing;
	record_destroy(r);
	if (!w->steps_missing)
		waitlist_remove(l, w);
}
