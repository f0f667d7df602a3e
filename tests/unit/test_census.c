/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * At its start slurmctld has ended jobs that the spool knows, that it does not know, and that ended so
 * long ago that the spool knows them no more: the second kind is added, once.
 */
#include "jobcomp/census.h"

#include <errno.h>
#include <stdlib.h>

#include "jobcomp/job_facts.h"
#include "src/librecord/record.h"

#include "scratch.h"
#include "tap.h"

static struct errmsg err;
static char dir[] = SCRATCH_TEMPLATE;
static char spool_path[PATH_MAX];
static char refuge_path[PATH_MAX];

/* --- slurmctld ------------------------------------------------------------------------------- */

static struct {
	uint32_t id;
	uint64_t end;
	bool is_long; /* a text was left out */
} job[16];
static size_t njobs;
static uint64_t asked_since;

void census_jobs(uint64_t since, void (*fn)(void *arg, const struct job_facts *facts), void *arg)
{
	static struct job_facts f;
	size_t i;
	int t;

	asked_since = since;
	for (i = 0; i < njobs; i++) {
		if (job[i].end < since)
			continue;
		memset(&f, 0, offsetof(struct job_facts, text));
		f.job_id = job[i].id;
		f.array_job_id = f.array_task_id = FACT_UNKNOWN;
		f.het_job_id = f.het_job_offset = FACT_UNKNOWN;
		f.submit = 1000;
		f.start = 1001;
		f.end = job[i].end;
		for (t = 0; t < FACT_TEXT_N; t++)
			if (t == FACT_NODES && job[i].is_long)
				job_facts_leave_out(&f, FACT_NODES);
			else
				job_facts_add_text(&f, (enum fact_text)t, t == FACT_STATE ?
						   "COMPLETED" : NULL);
		fn(arg, &f);
	}
}

static void add_job(uint32_t id, uint64_t end)
{
	job[njobs].id = id;
	job[njobs].is_long = id == 99;
	job[njobs++].end = end;
}

/* --- the spool ------------------------------------------------------------------------------- */

static void append(struct spool *s, enum spool_kind kind, uint32_t id, uint64_t end)
{
	struct record *r = record_create();
	char key[RECORD_KEY_MAX];
	char *json = NULL;
	size_t len;

	r->cluster = strdup("c");
	r->job_id = id;
	r->submit = 1000;
	r->end = end;
	if (record_key(r, key, sizeof(key)) < 0 || record_to_json(r, &json, &len, &err) < 0 ||
	    spool_append(s, kind, key, json, len, &err) < 0)
		diag("%s", err.text);
	free(json);
	record_destroy(r);
}

static void open_store(struct store *s)
{
	if (store_init(s, UINT64_C(1) << 20) < 0 ||
	    spool_open(spool_path, UINT64_C(1) << 20, &s->spool, &err) < 0)
		diag("%s", err.text);
}

/* Runs a census and returns what it added: "kind:key kind:key ". */
static const char *added(struct store *s)
{
	static char text[1024];
	struct spool_cursor *c = NULL;
	struct census census;
	struct spool_entry e;
	unsigned int before = 0;
	unsigned int n = 0;
	size_t used = 0;

	(void)spool_cursor_open(s->spool, "look", &c, &err);
	while (spool_read(c, &e, &err) > 0)
		before++;
	census_read(&census, spool_path, refuge_path);
	census_run(&census, s, "c");
	spool_rewind(c);
	text[0] = '\0';
	while (spool_read(c, &e, &err) > 0)
		if (n++ >= before)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%d:%.*s ",
						 (int)e.kind, (int)e.key_len, e.key);
	spool_cursor_close(c);
	return text;
}

int main(void)
{
	struct spool *refuge = NULL;
	struct census census;
	struct store s;

	if (!mkdtemp(dir))
		return 1;
	snprintf(spool_path, sizeof(spool_path), "%s/spool", dir);
	snprintf(refuge_path, sizeof(refuge_path), "%s/refuge", dir);

	census_read(&census, "/nowhere/at/all", "/nor/here");
	ok(!census.n && !census.since, "no spool: nothing is known");
	census_fini(&census);

	add_job(1, 5000);
	open_store(&s);
	is_str(added(&s), "", "an empty spool: the jobs before it were not its own");

	append(s.spool, SPOOL_RECORD, 1, 4000);
	append(s.spool, SPOOL_PENDING, 2, 5000);
	append(s.spool, SPOOL_KEY, 3, 5001);
	append(s.spool, SPOOL_PENDING, 4, 5002);
	append(s.spool, SPOOL_RECORD, 2, 5000);
	(void)spool_sync(s.spool, &err);
	njobs = 0;
	add_job(10, 4990); /* before the oldest that is known */
	add_job(1, 4999); /* its record is there, what was told is not */
	add_job(2, 5000);
	add_job(3, 5001);
	add_job(4, 5002);
	is_str(added(&s), "", "all of them are known");
	is_int(asked_since, 4995, "asked for from a little before the oldest end on");
	add_job(5, 5002);
	add_job(99, 5003);
	is_str(added(&s), "6:c/5,1000,0/0 6:c/99,1000,0/0 ", "what is missing comes");
	is_str(added(&s), "", "once");
	store_fini(&s);
	open_store(&s);
	is_str(added(&s), "", "and not with the next process");
	add_job(4, 5100);
	is_str(added(&s), "6:c/4,1000,0/0 ", "one that ended again does, too");
	is_str(added(&s), "", "once");

	/* in the refuge, not yet in the spool */
	(void)spool_open(refuge_path, UINT64_C(1) << 20, &refuge, &err);
	append(refuge, SPOOL_PENDING, 7, 5004);
	spool_close(refuge);
	add_job(7, 5004);
	is_str(added(&s), "", "nor what is in the refuge");
	store_fini(&s);
	scratch_clear(dir);
	(void)rmdir(dir);
	return done_testing();
}
