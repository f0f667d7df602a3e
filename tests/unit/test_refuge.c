/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Job ends that the spool does not take are kept beside slurmctld's state, and get into the spool
 * when it takes them, also in the next process.
 */
#include "jobcomp/refuge.h"

#include <errno.h>
#include <stdlib.h>

#include "scratch.h"
#include "tap.h"

static struct errmsg err;
static char dir[] = SCRATCH_TEMPLATE;
static char spool_path[PATH_MAX];

static void open_store(struct store *s, uint64_t max_bytes)
{
	if (store_init(s, max_bytes) < 0 || spool_open(spool_path, max_bytes, &s->spool, &err) < 0)
		diag("%s", err.text);
}

/* The entries in the spool, and whether they are those from FIRST on, in order. */
static unsigned int entries(struct store *s, unsigned int first, bool *ret_in_order)
{
	struct spool_cursor *c = NULL;
	struct spool_entry e;
	unsigned int n = 0;
	char key[32];

	*ret_in_order = spool_cursor_open(s->spool, "look", &c, &err) == 0;
	while (c && spool_read(c, &e, &err) > 0) {
		snprintf(key, sizeof(key), "c/%u,1,0/0", first + n++);
		*ret_in_order &= e.kind == SPOOL_PENDING && e.key_len == strlen(key) &&
				 !memcmp(e.key, key, e.key_len) && e.len == 2 &&
				 !memcmp(e.data, "{}", 2);
	}
	spool_cursor_close(c);
	return n;
}

static int put(struct refuge *r, unsigned int id)
{
	char key[32];

	snprintf(key, sizeof(key), "c/%u,1,0/0", id);
	return refuge_append(r, SPOOL_PENDING, key, "{}", 2, &err);
}

int main(void)
{
	struct refuge r;
	struct store s;
	unsigned int i;
	bool in_order;
	int rc = 0;

	if (!mkdtemp(dir))
		return 1;
	snprintf(spool_path, sizeof(spool_path), "%s/spool", dir);

	refuge_init(&r, NULL);
	is_int(put(&r, 1), -ENOENT, "no StateSaveLocation, no refuge");
	refuge_init(&r, "/nowhere/at/all");
	ok(!r.has_entries, "nothing in a folder that is not there");

	refuge_init(&r, dir);
	open_store(&s, 1);
	is_int(refuge_move(&r, &s, &err), 0, "nothing to move");
	ok(access(r.dir, F_OK) < 0, "and no folder made for it");
	for (i = 1; i <= 1000; i++)
		rc |= put(&r, i);
	is_int(rc, 0, "it takes what the spool does not");
	is_int(refuge_sync(&r, &err), 0, "to disk");
	is_int(refuge_move(&r, &s, &err), -ENOSPC, "a full spool is still full");
	refuge_close(&r);
	store_fini(&s);

	refuge_init(&r, dir);
	ok(r.has_entries, "the next process notices them");
	open_store(&s, UINT64_C(1) << 20);
	is_int(refuge_move(&r, &s, &err), 0, "the spool has room: they are moved");
	is_int(entries(&s, 1, &in_order), 1000, "all of them");
	ok(in_order, "once, in order");
	ok(!r.has_entries && !r.spool, "the refuge is closed");
	is_int(put(&r, 1001) | refuge_sync(&r, &err), 0, "it opens again");
	is_int(refuge_move(&r, &s, &err), 0, "and is emptied again");
	is_int(entries(&s, 1, &in_order), 1001, "with one more");
	ok(in_order, "behind the others");
	refuge_close(&r);
	store_fini(&s);

	/* with the next process */
	scratch_clear(spool_path);
	refuge_init(&r, dir);
	is_int(put(&r, 7) | refuge_sync(&r, &err), 0, "one more");
	open_store(&s, UINT64_C(1) << 20);
	is_int(refuge_move(&r, &s, &err), 0, "moved");
	is_int(entries(&s, 7, &in_order), 1, "what was moved before does not come again");
	ok(in_order, "it is that one");
	refuge_close(&r);
	store_fini(&s);
	scratch_clear(dir);
	(void)rmdir(dir);
	return done_testing();
}
