/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/census.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "jobcomp/job_facts.h"
#include "src/librecord/record.h"
#include "src/libsink/spool_view.h"
#include "src/libutil/logger.h"

/* Some of them are short: each start begins a new one. Of 16 MiB each, reading takes half a second. */
#define SEGMENTS 16
/* Ends are not told in the order of their times. */
#define SLACK_S 5

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct census_job *)a)->key, ((const struct census_job *)b)->key);
}

/* A slurmctld that was killed may have run a job again under the key that it has. */
static bool has_end(const struct census *c, char *key, uint64_t end)
{
	struct census_job wanted = { .key = key };
	const struct census_job *job =
		c->n ? bsearch(&wanted, c->job, c->n, sizeof(*c->job), by_key) : NULL;

	return job && job->end >= end;
}

static int add_job(struct census *c, const char *key, size_t len, uint64_t end)
{
	char *copy;

	if (c->n == c->room) {
		size_t room = c->room ? 2 * c->room : 1024;
		struct census_job *more = realloc(c->job, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		c->job = more;
		c->room = room;
	}
	copy = strndup(key, len);
	if (!copy)
		return -ENOMEM;
	c->job[c->n++] = (struct census_job){ copy, end };
	return 0;
}

/* Sorted, and each key once. */
static void put_in_order(struct census *c)
{
	size_t used = 0;
	size_t i;

	if (!c->n)
		return;
	qsort(c->job, c->n, sizeof(*c->job), by_key);
	for (i = 1; i < c->n; i++) {
		if (by_key(&c->job[used], &c->job[i]) != 0) {
			c->job[++used] = c->job[i];
			continue;
		}
		if (c->job[used].end < c->job[i].end)
			c->job[used].end = c->job[i].end;
		free(c->job[i].key);
	}
	c->n = used + 1;
	for (i = 0; i < c->n; i++)
		if (!c->job[i].end)
			c->job[i].end = UINT64_MAX;
}

/* When the job of an entry ended; 0: unknown. */
static uint64_t end_of(const struct spool_entry *e)
{
	struct record *r = NULL;
	uint64_t end;

	if (record_from_json(e->data, e->len, &r, NULL) < 0)
		return 0;
	end = r->end;
	record_destroy(r);
	return end;
}

static int read_entries(struct census *c, struct spool_view *v, struct errmsg *err)
{
	struct spool_entry e;
	int rc;

	while ((rc = spool_view_read(v, &e, err)) > 0) {
		uint64_t end = 0;

		if (e.kind == SPOOL_STEPS || e.kind == SPOOL_START)
			continue;
		if (e.kind == SPOOL_PENDING || e.kind == SPOOL_KEY) {
			c->until = end = end_of(&e);
			if (!c->since)
				c->since = c->until;
		}
		rc = add_job(c, e.key, e.key_len, end);
		if (rc < 0)
			return errmsg_set(err, rc, "out of memory");
	}
	return rc;
}

void census_fini(struct census *c)
{
	while (c->n)
		free(c->job[--c->n].key);
	free(c->job);
	*c = (struct census){ 0 };
}

/* The newest N segments; a folder that is not there has none. */
static int read_newest(struct census *c, const char *dir, size_t n, struct errmsg *err)
{
	struct spool_view *v = NULL;
	struct spool_pos from;
	int rc = spool_view_open(dir, &v, err);

	if (rc == 0 && spool_view_newest(v, n, &from)) {
		spool_view_seek(v, &from);
		rc = read_entries(c, v, err);
	}
	spool_view_close(v);
	return rc == -ENOENT ? 0 : rc;
}

void census_read(struct census *c, const char *spool_dir, const char *refuge_dir)
{
	struct errmsg err = { 0 };
	int rc;

	*c = (struct census){ 0 };
	rc = read_newest(c, spool_dir, SEGMENTS, &err);
	if (rc == 0 && refuge_dir && *refuge_dir)
		rc = read_newest(c, refuge_dir, SIZE_MAX, &err);
	if (rc < 0) {
		logger_info("ceems: jobcomp: %s; job ends that a killed slurmctld had not written "
			    "are not looked for", err.text);
		census_fini(c);
	}
	put_in_order(c);
}

/* --- what is missing --------------------------------------------------------------------- */

struct missing {
	const struct census *census;
	const char *cluster;
	struct record **job; /* owned */
	size_t n, room;
};

static int keep(struct missing *m, struct record *r)
{
	if (m->n == m->room) {
		size_t room = m->room ? 2 * m->room : 64;
		struct record **more = realloc(m->job, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		m->job = more;
		m->room = room;
	}
	m->job[m->n++] = r;
	return 0;
}

static void compare(void *arg, const struct job_facts *facts)
{
	struct missing *m = arg;
	char key[RECORD_KEY_MAX];
	struct record *r = NULL;

	if (job_facts_to_record(facts, job_facts_size(facts), m->cluster, &r) < 0)
		return;
	if (record_key(r, key, sizeof(key)) < 0 || has_end(m->census, key, r->end) ||
	    keep(m, r) < 0)
		record_destroy(r);
}

/*
 * As a KEY, which is filled from slurmdbd: a slurmctld that began without slurmdbd does not know all
 * of a job that it has recovered, such as its QOS.
 */
static int add_to_store(struct store *store, const struct record *r, struct errmsg *err)
{
	_cleanup_free_ char *json = NULL;
	char key[RECORD_KEY_MAX];
	size_t len;
	int rc = record_key(r, key, sizeof(key));

	if (rc == 0)
		rc = record_to_json(r, &json, &len, err);
	if (rc == 0)
		rc = store_append(store, SPOOL_KEY, key, json, len, err);
	if (rc == 0)
		logger_info("ceems: jobcomp: %s: its end was not in the spool yet", key);
	return rc;
}

static void add_all(struct missing *m, struct store *store)
{
	struct errmsg err = { 0 };
	size_t i;
	int rc = 0;

	store_lock(store);
	for (i = 0; i < m->n && rc == 0; i++)
		rc = add_to_store(store, m->job[i], &err);
	if (rc == 0)
		rc = spool_sync(store->spool, &err);
	store_announce(store);
	store_unlock(store);
	if (rc < 0)
		logger_error("ceems: jobcomp: %s; of the last %zu jobs before the start some have "
			     "no record", err.text, m->n);
}

void census_run(struct census *c, struct store *store, const char *cluster)
{
	struct missing m = { .census = c, .cluster = cluster };

	/* what ended with the oldest may have been in a segment that is gone, and come twice */
	if (c->until > c->since + 2 * SLACK_S)
		census_jobs(c->since + SLACK_S, compare, &m);
	else if (c->since > SLACK_S)
		census_jobs(c->since - SLACK_S, compare, &m);
	if (m.n)
		add_all(&m, store);
	while (m.n)
		record_destroy(m.job[--m.n]);
	free(m.job);
	census_fini(c);
}
