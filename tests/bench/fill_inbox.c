/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fill_inbox DIR [EVERY]: writes job ends into the inbox in DIR, as jobcomp/ceems does. Reads a line for each
 * job from standard input, as tests/e2e/t0821-records.t selects it from slurmdbd's table: id, array's id (0:
 * none), task, het job's id (0: none), offset, uid, submit, eligible, start, end, state. If the id of a job
 * is a multiple of EVERY, its WorkDir is so long that its record is more than twice as large, also when it is
 * compressed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libstore/inbox.h"
#include "src/libstore/job_facts.h"
#include "src/libutil/util.h"

#define BATCH 500 /* per sync */
#define LONG_DIR 4000

/* A path that no compression makes much shorter. */
static void add_long_dir(struct job_facts *f)
{
	char text[LONG_DIR] = "/";
	size_t used = 1;

	while (used < sizeof(text) - 8)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%lx", random());
	job_facts_add_text(f, FACT_WORK_DIR, text);
}

static bool read_job(struct job_facts *f, uint32_t every)
{
	uint32_t array = 0;
	uint32_t task = 0;
	uint32_t het = 0;
	uint32_t offset = 0;
	char user[16];

	memset(f, 0, offsetof(struct job_facts, text));
	if (scanf("%" SCNu32 "%" SCNu32 "%" SCNu32 "%" SCNu32 "%" SCNu32 "%" SCNu32 "%" SCNu64 "%" SCNu64
		  "%" SCNu64 "%" SCNu64 "%" SCNu32,
		  &f->job_id, &array, &task, &het, &offset, &f->user_id, &f->submit, &f->eligible, &f->start,
		  &f->end, &f->state) != 11)
		return false;
	f->group_id = f->user_id;
	f->array_job_id = array ? array : FACT_UNKNOWN;
	f->array_task_id = array ? task : FACT_UNKNOWN;
	f->het_job_id = het ? het : FACT_UNKNOWN;
	f->het_job_offset = het ? offset : FACT_UNKNOWN;
	f->time_limit_min = 60;
	f->priority = f->total_nodes = f->total_cpus = f->nsteps = 1;
	f->flags = FACT_HAS_BATCH | (het ? 0 : FACT_HAS_NSTEPS);
	f->db_index = f->job_id;
	(void)snprintf(user, sizeof(user), "user%" PRIu32, f->user_id % 100);
	job_facts_add_text(f, FACT_JOB_NAME, "wrap");
	job_facts_add_text(f, FACT_USER, user);
	job_facts_add_text(f, FACT_ACCOUNT, "project");
	job_facts_add_text(f, FACT_PARTITION, "debug");
	job_facts_add_text(f, FACT_QOS, "normal");
	job_facts_add_text(f, FACT_STATE, "COMPLETED");
	job_facts_add_text(f, FACT_NODES, "n1");
	if (every && f->job_id % every == 0)
		add_long_dir(f);
	else
		job_facts_add_text(f, FACT_WORK_DIR, "/home/user1/project/run");
	job_facts_add_text(f, FACT_TRES_REQ, "cpu=1,mem=100M,node=1");
	job_facts_add_text(f, FACT_TRES_ALLOC, "cpu=1,mem=100M,node=1,billing=1");
	return true;
}

int main(int argc, char **argv)
{
	static const struct cluster_facts site = { .cluster = "ceems",
						   .flags = SITE_HAS_SLURMDBD | SITE_HAS_EXTERN };
	static struct job_facts facts;
	struct inbox_writer *w = NULL;
	struct errmsg err = { 0 };
	uint64_t n = 0;
	int rc;

	if (argc != 2 && argc != 3) {
		(void)fprintf(stderr, "usage: fill_inbox DIR [EVERY] <JOBS\n");
		return 2;
	}
	rc = inbox_writer_open(argv[1], &site, &w, &err);
	while (rc == 0 && read_job(&facts, argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0)) {
		rc = inbox_append(w, INBOX_END, &facts, job_facts_size(&facts));
		if (rc == 0 && ++n % BATCH == 0)
			rc = inbox_flush(w, &err);
	}
	if (rc == 0)
		rc = inbox_flush(w, &err);
	inbox_writer_close(w);
	if (rc < 0)
		(void)fprintf(stderr, "fill_inbox: %s\n", *err.text ? err.text : strerror(-rc));
	(void)printf("%" PRIu64 "\n", n);
	return rc < 0 ? 1 : 0;
}
