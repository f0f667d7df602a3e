/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_jobs.c - the source of running jobs. slurmctld lists the jobs, and so decides which of them a user may
 * see. Their values come from sstat, which answers only the owner, root and SlurmUser, or from Prometheus.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slurmdb/ctld_running.h"
#include "src/cmd/job/job_live.h"
#include "src/librecord/job_sums.h"
#include "src/cmd/top/top_prom.h"
#include "src/cmd/top/top_rates.h"
#include "src/cmd/top/top_source.h"
#include "src/libledger/ledger.h"
#include "src/librecord/record_names.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

/*
 * The shortest time between two requests for the list of jobs. If any job has changed, slurmctld sends all of
 * them. So this program asks for the jobs of all users four times less often than `squeue -i 5` does.
 */
#define LIST_OWN_NS (10 * NSEC_PER_SEC)
#define LIST_ALL_NS (20 * NSEC_PER_SEC)
#define LIST_OWN_MAX 500 /* with more, the list of a user's own jobs is as dear */

/*
 * The jobs that sstat is asked for in one reading, in turn. sstat asks slurmctld twice for each, which goes
 * through all its jobs each time: with 5,000 of them, a job costs as much as 400 jobs of a list
 * (tests/bench/run top).
 */
#define TURN_MAX 5

struct top_jobs {
	struct top_source source;
	struct ctld_running *running;
	struct slurmdb_jobs jobs;
	uint64_t listed_ns; /* when the list of jobs was read; 0: not yet */
	uint64_t list_ns;   /* LIST_OWN_NS or LIST_ALL_NS */
	unsigned int whole; /* this many readings of all jobs come before sstat is read in turn */
	size_t turn;	    /* index of the job whose sstat is read next */
	struct record_names names;
	struct top_rates *rates;
	uint64_t window_ns;	 /* for top_rates_create() */
	uint64_t first_ns;	 /* when sstat was first read; 0: not yet */
	struct prometheus *prom; /* NULL: not used */
	bool all_users;
	bool by_prom;	    /* values come from Prometheus, not from sstat */
	char prom_why[160]; /* why Prometheus cannot be used; empty: no reason */
	char what[80];
};

/* --- rows of records --------------------------------------------------------------------------- */

static void copy_text(char to[TOP_TEXT_MAX], const char *from)
{
	(void)snprintf(to, TOP_TEXT_MAX, "%s", from ? from : "");
}

static int add_job(struct top_jobs *j, struct record *r, uint64_t now, struct top_frame *f)
{
	struct top_row *row = top_frame_add(f);

	if (!row)
		return -ENOMEM;
	if (!r->user_name)
		r->user_name = record_names_user(&j->names, r->user_id);
	row->job_id = r->job_id;
	job_id_text(r, row->id, sizeof(row->id));
	copy_text(row->name, r->job_name);
	copy_text(row->user, r->user_name);
	copy_text(row->account, r->account);
	copy_text(row->partition, r->partition);
	copy_text(row->nodes, r->nodes);
	row->nnodes = r->total_nodes;
	row->cpus = r->total_cpus;
	if (!record_tres(r->tres_alloc, "gres/gpu", &row->gpus))
		row->gpus = 0;
	if (!record_tres(r->tres_alloc, "mem", &row->memory))
		row->memory = 0;
	row->elapsed_s = now > r->start ? now - r->start : 0;
	return 0;
}

/* --- by sstat ---------------------------------------------------------------------------------- */

static void forget_steps(struct record *r)
{
	record_steps_destroy(r->steps, r->nsteps);
	r->steps = NULL;
	r->nsteps = 0;
}

/*
 * Computes the values of a job from its steps. Our values of the extern step are those of the whole job,
 * including steps that have ended. Where they are missing, sstat has Slurm's values of the extern step alone.
 * So the value of the job is the larger one of two: the extern step's, or the sum of the other steps.
 */
static void job_values(const struct record *r, struct values *ret)
{
	const struct record_step *whole = NULL;
	unsigned int m;
	size_t i;

	values_init(ret);
	for (i = 0; i < r->nsteps; i++) {
		if (r->steps[i].step_id == LEDGER_STEP_EXTERN)
			whole = &r->steps[i];
		else
			values_fold(ret, &r->steps[i].values);
	}
	if (!whole)
		return;
	metric_foreach(m)
		if (values_has(&whole->values, (enum metric)m) &&
		    (!values_has(ret, (enum metric)m) || whole->values.value[m] > ret->value[m]))
			values_set(ret, (enum metric)m, whole->values.value[m]);
}

static void set_source(const struct top_jobs *j, size_t asked, size_t n, uint64_t now, struct top_frame *f)
{
	uint64_t span = now - j->first_ns > j->window_ns ? j->window_ns : now - j->first_ns;

	if (asked < n)
		(void)snprintf(f->source, sizeof(f->source), "sstat, %zu of %zu jobs in turn", asked, n);
	else if (span + NSEC_PER_SEC / 2 < TOP_RATES_LIVE_NS)
		(void)snprintf(f->source, sizeof(f->source), "sstat, means since their start");
	else
		(void)snprintf(f->source, sizeof(f->source), "sstat, means of %u s",
			       (unsigned int)((span + NSEC_PER_SEC / 2) / NSEC_PER_SEC));
	if (n < j->jobs.n && !*f->note)
		(void)snprintf(f->note, sizeof(f->note), "sstat is asked for %d jobs only", JOB_LIVE_MAX);
}

static int set_rates(struct top_jobs *j, const struct record *r, uint64_t now, uint64_t wall,
		     struct top_row *row)
{
	uint64_t age = wall - r->start * NSEC_PER_SEC;
	struct values values;

	if (!r->nsteps)
		return 0;
	job_values(r, &values);
	return top_rates_set(j->rates, r->job_id, now, age < now ? now - age : UINT64_MAX, &values, row);
}

/* The rows of F are those of the jobs. */
static int read_sstat(struct top_jobs *j, struct top_frame *f)
{
	size_t n = j->jobs.n < JOB_LIVE_MAX ? j->jobs.n : JOB_LIVE_MAX;
	size_t asked = j->whole || n < TURN_MAX ? n : TURN_MAX;
	struct record *r[JOB_LIVE_MAX];
	uint64_t wall = clock_wall_ns();
	uint64_t now;
	size_t i;
	int rc = 0;

	for (i = 0; i < asked; i++) {
		r[i] = j->jobs.job[(j->turn + i) % n].record;
		forget_steps(r[i]);
	}
	job_live_ask(r, asked, f->note);
	now = clock_mono_ns();
	for (i = 0; rc == 0 && i < n; i++) {
		size_t k = (j->turn + i) % n;

		if (i < asked)
			rc = set_rates(j, r[i], now, wall, &f->row[k]);
		else
			top_rates_keep(j->rates, j->jobs.job[k].record->job_id, &f->row[k]);
	}
	top_rates_sweep(j->rates);
	if (!j->first_ns)
		j->first_ns = now;
	if (n)
		j->turn = (j->turn + asked) % n;
	if (j->whole)
		j->whole--;
	set_source(j, asked, n, now, f);
	return rc;
}

/* --- the source -------------------------------------------------------------------------------- */

static int read_nodes(struct top_jobs *j, uint32_t job_id, struct top_frame *f, struct errmsg *err)
{
	size_t i;

	if (!j->prom)
		return errmsg_set(err, -ENOTSUP, "%s",
				  *j->prom_why ? j->prom_why :
						 "the nodes of a job need PrometheusUrl in ceems.conf");
	/* a user who may not see the job may not see its nodes */
	for (i = 0; i < j->jobs.n && j->jobs.job[i].record->job_id != job_id; i++)
		;
	if (i == j->jobs.n)
		return errmsg_set(err, -ENOENT, "job %u does not run", job_id);
	f->id_title = "NODE";
	(void)snprintf(f->what, sizeof(f->what), "nodes of job %u", job_id);
	(void)snprintf(f->source, sizeof(f->source), "Prometheus");
	return top_prom_read(j->prom, job_id, f, err);
}

static int read_jobs(struct top_source *s, uint32_t job_id, struct top_frame *f, struct errmsg *err)
{
	struct top_jobs *j = s->ctx;
	uint64_t mono = clock_mono_ns();
	struct errmsg why = { 0 };
	size_t i;
	int rc = 0;

	f->t = clock_wall_ns() / NSEC_PER_SEC;
	if (!j->listed_ns || mono - j->listed_ns + NSEC_PER_SEC / 2 >= j->list_ns) {
		rc = ctld_running_get(j->running, &j->jobs, err);
		j->listed_ns = mono;
		j->list_ns = j->all_users || j->jobs.n > LIST_OWN_MAX ? LIST_ALL_NS : LIST_OWN_NS;
	}
	if (rc < 0)
		return rc;
	if (job_id)
		return read_nodes(j, job_id, f, err);
	(void)snprintf(f->what, sizeof(f->what), "%s", j->what);
	(void)snprintf(f->note, sizeof(f->note), "%s", j->prom_why);
	for (rc = 0, i = 0; rc == 0 && i < j->jobs.n; i++)
		rc = add_job(j, j->jobs.job[i].record, f->t, f);
	if (rc == 0 && j->by_prom) {
		(void)snprintf(f->source, sizeof(f->source), "Prometheus, means of 2 minutes");
		/* without an answer, the jobs are shown without values */
		if (top_prom_read(j->prom, 0, f, &why) < 0)
			(void)snprintf(f->note, sizeof(f->note), "Prometheus: %s", why.text);
	} else if (rc == 0) {
		rc = read_sstat(j, f);
	}
	return rc < 0 ? errmsg_set(err, rc, "out of memory") : 0;
}

static void close_jobs(struct top_source *s)
{
	struct top_jobs *j = s->ctx;

	ctld_running_destroy(j->running);
	slurmdb_jobs_free(&j->jobs);
	top_rates_destroy(j->rates);
	prometheus_destroy(j->prom);
	free(j);
}

int top_jobs_open(const struct top_jobs_options *o, struct top_source **ret, struct errmsg *err)
{
	static const struct top_source_ops ops = { .read = read_jobs, .close = close_jobs };
	struct top_jobs *j = calloc(1, sizeof(*j));
	struct errmsg why = { 0 };

	if (!j)
		return errmsg_set(err, -ENOMEM, "out of memory");
	j->source = (struct top_source){ &ops, j };
	j->running = ctld_running_create(o->all_users, o->uid);
	j->rates = top_rates_create(o->window_ns);
	j->window_ns = o->window_ns;
	j->all_users = o->all_users;
	j->whole = o->whole;
	if (!j->running || !j->rates) {
		close_jobs(&j->source);
		return errmsg_set(err, -ENOMEM, "out of memory");
	}
	if (*o->prometheus && prometheus_create(o->prometheus, "", &j->prom, &why) < 0)
		(void)snprintf(j->prom_why, sizeof(j->prom_why), "%s", why.text);
	/* sstat has newer values than Prometheus, but answers only for one's own jobs */
	j->by_prom = j->prom && (o->all_users || o->uid != geteuid());
	(void)snprintf(j->what, sizeof(j->what), "running jobs of %s", o->all_users ? "all users" : o->user);
	*ret = &j->source;
	return 0;
}
