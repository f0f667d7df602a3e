/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/refuge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/libutil/logger.h"

#define FOLDER "ceems-refuge"
#define READER "intake"
#define BATCH 256 /* entries between two syncs */

static struct logger_once read_trouble;

void refuge_init(struct refuge *r, const char *state_dir)
{
	int n;

	*r = (struct refuge){ 0 };
	if (!state_dir || !*state_dir)
		return;
	n = snprintf(r->dir, sizeof(r->dir), "%s/" FOLDER, state_dir);
	if (n < 0 || (size_t)n >= sizeof(r->dir))
		r->dir[0] = '\0';
	r->has_entries = r->dir[0] && access(r->dir, F_OK) == 0;
}

void refuge_close(struct refuge *r)
{
	spool_cursor_close(r->cursor);
	r->cursor = NULL;
	spool_close(r->spool);
	r->spool = NULL;
}

static int open_it(struct refuge *r, struct errmsg *err)
{
	int rc;

	if (r->spool)
		return 0;
	if (!r->dir[0])
		return errmsg_set(err, -ENOENT, "StateSaveLocation has no place for it");
	rc = spool_open(r->dir, REFUGE_MAX, &r->spool, err);
	if (rc == 0)
		rc = spool_cursor_open(r->spool, READER, &r->cursor, err);
	if (rc < 0)
		refuge_close(r);
	return rc;
}

int refuge_append(struct refuge *r, enum spool_kind kind, const char *key, const char *json,
		  size_t len, struct errmsg *err)
{
	int rc = open_it(r, err);

	if (rc == 0)
		rc = spool_append(r->spool, kind, key, json, len, err);
	if (rc == 0)
		r->has_entries = true;
	return rc;
}

int refuge_sync(struct refuge *r, struct errmsg *err)
{
	/* closed: nothing was appended, as of a batch of job starts, which it does not take */
	return r->spool ? spool_sync(r->spool, err) : 0;
}

/* Of the refuge, which must not keep the spool from being used. Returns 0: nothing was moved. */
static int note_trouble(const struct errmsg *err)
{
	logger_log_once(&read_trouble, LOGGER_ERROR,
			"ceems: jobcomp: %s; the job ends in it wait", err->text);
	return 0;
}

/* Some of them; the number of entries moved. Under the store's lock. */
static int move_batch(struct refuge *r, struct store *store, struct errmsg *err)
{
	char key[SPOOL_KEY_MAX + 1];
	struct spool_entry e;
	struct spool_pos next;
	struct errmsg why;
	int n = 0;
	int rc = 0;

	spool_rewind(r->cursor);
	while (n < BATCH) {
		rc = spool_read(r->cursor, &e, &why);
		if (rc < 0)
			rc = note_trouble(&why);
		if (rc == 0)
			break;
		memcpy(key, e.key, e.key_len);
		key[e.key_len] = '\0';
		rc = store_append(store, e.kind, key, e.data, e.len, err);
		if (rc < 0)
			break;
		next = e.next;
		n++;
	}
	if (!n)
		return rc;
	rc = spool_sync(store->spool, err);
	if (rc < 0)
		return rc;
	store_announce(store);
	/* a cursor that cannot be written means repeats, which keys make harmless */
	(void)spool_ack(r->cursor, &next, NULL);
	return n;
}

int refuge_move(struct refuge *r, struct store *store, struct errmsg *err)
{
	struct errmsg why;
	uint64_t moved = 0;
	int n;

	if (!r->has_entries)
		return 0;
	if (open_it(r, &why) < 0)
		return note_trouble(&why);
	do {
		store_lock(store);
		n = move_batch(r, store, err);
		store_unlock(store);
		moved += n > 0 ? (uint64_t)n : 0;
	} while (n > 0);
	if (moved)
		logger_info("ceems: jobcomp: %" PRIu64 " job ends moved from %s to the spool",
			    moved, r->dir);
	if (n < 0)
		return n;
	r->has_entries = false;
	refuge_close(r);
	return 0;
}
