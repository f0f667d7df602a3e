/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurmdb/slurmdb_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "slurmdb/slurm_compat.h"
#include "slurmdb/slurmdb_copy.h"
#include "src/libutil/clock.h"
#include "src/libutil/parse.h"
#include "src/libutil/util.h"

/* Shortest time between two look-ups of names because of an unknown QOS. */
#define NAMES_AGAIN_NS (60 * NSEC_PER_SEC)
#define ACK_DELAY_US 5000 /* the kernel refuses one of its ticks, which has 4 ms at 250 Hz */
#ifndef TCP_DELACK_MAX_US
#define TCP_DELACK_MAX_US 46 /* linux/tcp.h */
#endif
#define SOCKETS_MAX 256 /* a new file has the lowest number that is free */
/*
 * slurmdbd leaves out jobs that begin after "usage_end". It is set a day ahead, because slurmdbd's
 * clock may differ.
 */
#define USAGE_END_AHEAD_S 86400

struct slurmdb_rows {
	struct slurmdb_options options;
	char *cluster; /* owned; NULL: all */
	struct slurmdb_names names;
	uint64_t names_mono_ns; /* when the names were read; 0: never */
	void *db;		/* connection, kept if one_connection is set; NULL: none yet */
};

int slurmdb_rows_create(const struct slurmdb_options *o, struct slurmdb_rows **ret, struct errmsg *err)
{
	struct slurmdb_rows *r = calloc(1, sizeof(*r));

	if (r) {
		r->options = *o;
		r->cluster = o->cluster ? strdup(o->cluster) : NULL;
	}
	if (!r || (o->cluster && !r->cluster)) {
		free(r);
		return errmsg_set(err, -ENOMEM, "out of memory");
	}
	slurmdb_names_init(&r->names);
	/*
	 * The process never calls slurm_fini(): Slurm 24.11 crashes in a slurm_init() after it, because
	 * tls_g_fini() leaves a count of -1. A second slurm_init() alone does nothing.
	 */
	slurm_init(NULL);
	*ret = r;
	return 0;
}

void slurmdb_rows_destroy(struct slurmdb_rows *r)
{
	if (!r)
		return;
	if (r->db)
		(void)slurmdb_connection_close(&r->db);
	slurmdb_names_fini(&r->names);
	free(r->cluster);
	free(r);
}

void slurmdb_jobs_free(struct slurmdb_jobs *jobs)
{
	while (jobs->n)
		record_destroy(jobs->job[--jobs->n].record);
	free(jobs->job);
	*jobs = (struct slurmdb_jobs){ 0 };
}

/* --- questions and connections -------------------------------------------------------------- */

/*
 * Disables Nagle's algorithm. slurm_persist_send_msg() writes the size of a question and then its
 * text. With Nagle the text waits for the acknowledgement of the size, which slurmdbd's kernel
 * delays by 40 ms. slurmdbd sends its answer in two parts, too; since Linux 6.15 our kernel can be
 * told to acknowledge the first part earlier. libslurm hides its socket, so this sets the options on
 * all fds; the process has no other TCP socket.
 */
static void rows_send_at_once(void)
{
	const int on = 1, delay_us = ACK_DELAY_US;
	int fd;

	for (fd = 0; fd < SOCKETS_MAX; fd++)
		if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0)
			(void)setsockopt(fd, IPPROTO_TCP, TCP_DELACK_MAX_US, &delay_us, sizeof(delay_us));
}

static int rows_connect(void **ret, struct errmsg *err)
{
	uint16_t flags = 0;
	void *db;

	errno = 0;
	db = slurmdb_connection_get(&flags);
	if (db && !errno) {
		rows_send_at_once();
		*ret = db;
		return 0;
	}
	errmsg_set(err, -ECONNREFUSED, "slurmdbd: %s", errno ? slurm_strerror(errno) : "no connection");
	if (db)
		(void)slurmdb_connection_close(&db);
	return -ECONNREFUSED;
}

enum rows_question { ROWS_TRES, ROWS_QOS, ROWS_JOBS, ROWS_PERIOD, ROWS_CLUSTERS, ROWS_USERS, ROWS_CONFIG };

static void rows_limit(const struct slurmdb_rows *r, enum slurmdb_question what)
{
	if (r->options.limit)
		r->options.limit(what);
}

/* rows_connect(), or the connection that is kept. */
static int rows_begin(struct slurmdb_rows *r, void **ret, struct errmsg *err)
{
	if (r->db) {
		*ret = r->db;
		return 0;
	}
	rows_limit(r, SLURMDB_ASKS_LITTLE);
	return rows_connect(ret, err);
}

static compat_list *rows_answer(void *db, enum rows_question q, void *cond)
{
	if (q == ROWS_TRES)
		return slurmdb_tres_get(db, cond);
	if (q == ROWS_QOS)
		return slurmdb_qos_get(db, cond);
	if (q == ROWS_CLUSTERS)
		return slurmdb_clusters_get(db, cond);
	if (q == ROWS_USERS)
		return slurmdb_users_get(db, cond);
	if (q == ROWS_CONFIG)
		return compat_config(db);
	return slurmdb_jobs_get(db, cond);
}

/* Asks slurmdbd. COND has the type that question Q needs. The caller destroys *RET. */
static int rows_ask(struct slurmdb_rows *r, enum rows_question q, void *cond, compat_list **ret,
		    struct errmsg *err)
{
	compat_list *rows = NULL;
	void *db = NULL;
	int rc = rows_begin(r, &db, err);

	if (rc == 0) {
		rows_limit(r, q == ROWS_PERIOD ? SLURMDB_ASKS_PERIOD : SLURMDB_ASKS_LITTLE);
		errno = 0;
		rows = rows_answer(db, q, cond);
		if (!rows)
			rc = errmsg_set(err, -EIO, "slurmdbd does not answer: %s", slurm_strerror(errno));
		if (r->options.one_connection)
			r->db = db;
		else
			(void)slurmdb_connection_close(&db);
	}
	rows_limit(r, SLURMDB_ASKS_NOTHING);
	if (rows)
		*ret = rows;
	return rc;
}

/* --- names --------------------------------------------------------------------------------- */

static int rows_learn_tres(struct slurmdb_rows *r, struct slurmdb_names *names, struct errmsg *err)
{
	slurmdb_tres_cond_t cond;
	const slurmdb_tres_rec_t *tres;
	compat_list *rows = NULL;
	compat_list_itr *it;
	int rc;

	slurmdb_init_tres_cond(&cond, 0);
	cond.with_deleted = 1;
	rc = rows_ask(r, ROWS_TRES, &cond, &rows, err);
	if (rc < 0)
		return rc;
	it = slurm_list_iterator_create(rows);
	while (rc == 0 && (tres = slurm_list_next(it)))
		rc = slurmdb_names_add_tres(names, tres->id, tres->type, tres->name);
	slurm_list_iterator_destroy(it);
	slurm_list_destroy(rows);
	return rc;
}

static int rows_learn_qos(struct slurmdb_rows *r, struct slurmdb_names *names, struct errmsg *err)
{
	slurmdb_qos_cond_t cond = compat_all_qos();
	const slurmdb_qos_rec_t *qos;
	compat_list *rows = NULL;
	compat_list_itr *it;
	int rc = rows_ask(r, ROWS_QOS, &cond, &rows, err);

	if (rc < 0)
		return rc;
	it = slurm_list_iterator_create(rows);
	while (rc == 0 && (qos = slurm_list_next(it)))
		rc = slurmdb_names_add_qos(names, qos->id, qos->name);
	slurm_list_iterator_destroy(it);
	slurm_list_destroy(rows);
	return rc;
}

static int rows_learn_names(struct slurmdb_rows *r, struct errmsg *err)
{
	struct slurmdb_names names;
	int rc;

	slurmdb_names_init(&names);
	rc = rows_learn_tres(r, &names, err);
	if (rc == 0 && !r->options.no_qos)
		rc = rows_learn_qos(r, &names, err);
	if (rc < 0) {
		slurmdb_names_fini(&names);
		return rc == -ENOMEM ? errmsg_set(err, rc, "out of memory") : rc;
	}
	slurmdb_names_fini(&r->names);
	r->names = names;
	r->names_mono_ns = clock_mono_ns();
	return 0;
}

/* Whether ROWS need names that are not known yet. An answer without jobs needs none. */
static bool rows_lack_names(const struct slurmdb_rows *r, compat_list *rows)
{
	compat_list_itr *it;
	const slurmdb_job_rec_t *job;
	bool lack = false;

	if (!r->names_mono_ns)
		return slurm_list_count(rows) > 0;
	if (r->options.no_qos || clock_mono_ns() - r->names_mono_ns < NAMES_AGAIN_NS)
		return false;
	it = slurm_list_iterator_create(rows);
	while (!lack && (job = slurm_list_next(it)))
		lack = job->qosid && !slurmdb_names_qos(&r->names, job->qosid);
	slurm_list_iterator_destroy(it);
	return lack;
}

/* --- jobs ---------------------------------------------------------------------------------- */

static slurmdb_job_cond_t rows_condition(const struct slurmdb_rows *r, uint32_t flags)
{
	slurmdb_job_cond_t cond = { .db_flags = SLURMDB_JOB_FLAG_NOTSET,
				    .flags = JOBCOND_FLAG_DUP | JOBCOND_FLAG_NO_TRUNC | flags };

	if (!r->options.whole_het)
		cond.flags |= JOBCOND_FLAG_NO_WHOLE_HETJOB;
	if (r->cluster) {
		cond.cluster_list = slurm_list_create(NULL);
		slurm_list_append(cond.cluster_list, r->cluster);
	}
	return cond;
}

static void rows_condition_fini(slurmdb_job_cond_t *cond)
{
	if (cond->cluster_list)
		slurm_list_destroy(cond->cluster_list);
	if (cond->state_list)
		slurm_list_destroy(cond->state_list);
	if (cond->step_list)
		slurm_list_destroy(cond->step_list);
	if (cond->userid_list)
		slurm_list_destroy(cond->userid_list);
	if (cond->acct_list)
		slurm_list_destroy(cond->acct_list);
	if (cond->partition_list)
		slurm_list_destroy(cond->partition_list);
	if (cond->jobname_list)
		slurm_list_destroy(cond->jobname_list);
}

/*
 * Whether to select a task by array and task number. That is done for the first job of an array,
 * whose id returns the rows of all tasks, and for a task of unknown id. Other tasks are selected by
 * id: a row that slurmdbd made from a job's end message alone lacks the id of the array.
 */
static bool want_is_by_task(const struct slurmdb_want *w)
{
	return w->array_job_id && w->array_task_id != SLURMDB_NO_TASK &&
	       (!w->job_id || w->job_id == w->array_job_id);
}

static slurm_selected_step_t rows_selected(const struct slurmdb_want *w)
{
	slurm_selected_step_t s = {
		.array_task_id = NO_VAL,
		.het_job_offset = NO_VAL,
		.step_id = { .job_id = w->job_id, .step_id = NO_VAL, .step_het_comp = NO_VAL },
	};

	if (want_is_by_task(w)) {
		s.step_id.job_id = w->array_job_id;
		s.array_task_id = w->array_task_id;
	} else if (w->het_job_id) {
		s.step_id.job_id = w->het_job_id;
		s.het_job_offset = w->het_offset;
	}
	return s;
}

/*
 * Whether to ask for steps. An array as a whole never ran, and its id would return the steps of all
 * its tasks.
 */
static bool want_has_steps(const struct slurmdb_want *w)
{
	return !w->no_steps && !(w->array_job_id && w->array_task_id == SLURMDB_NO_TASK);
}

static bool want_has_script(const struct slurmdb_want *w)
{
	return w->script;
}

/*
 * Asks for those of WANT[n] for which IS_WANTED is true, or false if NEGATE. *RET is NULL if there
 * is none.
 */
static int rows_ask_jobs(struct slurmdb_rows *r, const struct slurmdb_want *want, size_t n,
			 bool (*is_wanted)(const struct slurmdb_want *), bool negate, uint32_t flags,
			 compat_list **ret, struct errmsg *err)
{
	_cleanup_free_ slurm_selected_step_t *which = calloc(n, sizeof(*which));
	slurmdb_job_cond_t cond;
	size_t used = 0;
	size_t i;
	int rc = 0;

	*ret = NULL;
	if (!which)
		return errmsg_set(err, -ENOMEM, "out of memory");
	cond = rows_condition(r, flags);
	cond.step_list = slurm_list_create(NULL);
	for (i = 0; i < n; i++) {
		if (is_wanted(&want[i]) == negate)
			continue;
		which[used] = rows_selected(&want[i]);
		slurm_list_append(cond.step_list, &which[used++]);
	}
	cond.usage_end = time(NULL) + USAGE_END_AHEAD_S;
	if (used)
		rc = rows_ask(r, ROWS_JOBS, &cond, ret, err);
	rows_condition_fini(&cond);
	return rc;
}

static const struct slurmdb_known *rows_known(const slurmdb_job_rec_t *job, const struct slurmdb_want *want,
					      size_t n)
{
	static const struct slurmdb_known nothing;
	size_t i;

	for (i = 0; i < n; i++)
		if (want[i].submit && want[i].job_id == job->jobid && want[i].submit == (uint64_t)job->submit)
			return &want[i].known;
	return &nothing;
}

/* Appends the jobs in ROWS to RET. -ENOMEM. */
static int rows_take(struct slurmdb_rows *r, compat_list *rows, bool no_steps,
		     const struct slurmdb_want *want, size_t n, struct slurmdb_jobs *ret)
{
	int count = rows ? slurm_list_count(rows) : 0;
	struct slurmdb_copy copy = { .names = &r->names,
				     .no_steps = no_steps,
				     .no_usage = r->options.no_usage };
	const slurmdb_job_rec_t *row;
	struct slurmdb_job *more;
	compat_list_itr *it;
	int rc = 0;

	if (count <= 0)
		return 0;
	more = realloc(ret->job, (ret->n + (size_t)count) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	ret->job = more;
	it = slurm_list_iterator_create(rows);
	while (rc == 0 && count-- > 0 && (row = slurm_list_next(it))) {
		copy.known = rows_known(row, want, n);
		rc = slurmdb_copy_job(&copy, row, &ret->job[ret->n]);
		ret->n += rc == 0;
	}
	slurm_list_iterator_destroy(it);
	return rc;
}

/* Reads the scripts in a question of their own: slurmdbd sends either steps or scripts. */
static int rows_get_scripts(struct slurmdb_rows *r, const struct slurmdb_want *want, size_t n,
			    struct slurmdb_jobs *jobs, struct errmsg *err)
{
	const slurmdb_job_rec_t *row;
	compat_list *rows;
	compat_list_itr *it;
	size_t i;
	int rc = rows_ask_jobs(r, want, n, want_has_script, false, JOBCOND_FLAG_SCRIPT | JOBCOND_FLAG_NO_STEP,
			       &rows, err);

	if (rc < 0 || !rows)
		return rc;
	it = slurm_list_iterator_create(rows);
	while (rc == 0 && (row = slurm_list_next(it))) {
		if (!row->script || !*row->script)
			continue;
		for (i = 0; i < jobs->n; i++) {
			struct record *job = jobs->job[i].record;

			if (job->script || job->db_index.value != row->db_index)
				continue;
			job->script = strdup(row->script);
			rc = job->script ? 0 : errmsg_set(err, -ENOMEM, "out of memory");
		}
	}
	slurm_list_iterator_destroy(it);
	slurm_list_destroy(rows);
	return rc;
}

static bool is_earlier_run(const struct record *a, const struct record *b)
{
	/* ids are reused: another user's job is no earlier run of this job */
	return a->job_id == b->job_id && a->submit < b->submit && a->end <= b->submit &&
	       a->user_id == b->user_id && a->cluster && b->cluster && !strcmp(a->cluster, b->cluster) &&
	       (!a->state || strcmp(a->state, "RESIZING") != 0);
}

/* Sets restart counts if Slurm has no column for them: to the number of earlier runs in JOBS. */
static void rows_count_restarts(struct slurmdb_jobs *jobs)
{
#ifndef HAVE_SLURMDB_RESTART_CNT
	size_t i;
	size_t k;

	for (i = 0; i < jobs->n; i++)
		for (k = 0; k < jobs->n; k++)
			if (is_earlier_run(jobs->job[k].record, jobs->job[i].record))
				jobs->job[i].record->restart_count++;
#else
	(void)jobs;
	(void)is_earlier_run;
#endif
}

/* Asks one question: for the requests with steps or, if NO_STEPS, for those without. */
static int rows_get_some(struct slurmdb_rows *r, const struct slurmdb_want *want, size_t n, bool no_steps,
			 struct slurmdb_jobs *jobs, struct errmsg *err)
{
	compat_list *rows;
	int rc = rows_ask_jobs(r, want, n, want_has_steps, no_steps, no_steps ? JOBCOND_FLAG_NO_STEP : 0,
			       &rows, err);

	if (rc < 0 || !rows)
		return rc;
	if (rows_lack_names(r, rows))
		rc = rows_learn_names(r, err);
	if (rc == 0 && rows_take(r, rows, no_steps, want, n, jobs) < 0)
		rc = errmsg_set(err, -ENOMEM, "out of memory");
	slurm_list_destroy(rows);
	return rc;
}

int slurmdb_rows_get(struct slurmdb_rows *r, const struct slurmdb_want *want, size_t n,
		     struct slurmdb_jobs *ret, struct errmsg *err)
{
	struct slurmdb_jobs jobs = { 0 };
	int rc = rows_get_some(r, want, n, /* no_steps= */ false, &jobs, err);

	if (rc == 0)
		rc = rows_get_some(r, want, n, /* no_steps= */ true, &jobs, err);
	if (rc == 0)
		rc = rows_get_scripts(r, want, n, &jobs, err);
	if (rc < 0) {
		slurmdb_jobs_free(&jobs);
		return rc;
	}
	rows_count_restarts(&jobs);
	*ret = jobs;
	return 0;
}

/*
 * All states of rows with an end, as as_mysql_job_complete() writes them. slurmdbd itself writes
 * JOB_CANCELLED after a cold start of slurmctld, and JOB_COMPLETE for runaway jobs. With any other
 * state, slurmdbd does not select by time_end.
 */
static const uint32_t ended_states[] = {
	JOB_COMPLETE,  JOB_CANCELLED, JOB_FAILED, JOB_TIMEOUT, JOB_NODE_FAIL, JOB_PREEMPTED,
	JOB_BOOT_FAIL, JOB_DEADLINE,  JOB_OOM,	  JOB_REQUEUE, JOB_RESIZING,  JOB_REVOKED,
};

static compat_list *filter_list(const struct slurmdb_texts *texts)
{
	compat_list *list = texts->n ? slurm_list_create(NULL) : NULL;
	size_t i;

	for (i = 0; i < texts->n; i++)
		slurm_list_append(list, (void *)(uintptr_t)texts->text[i]);
	return list;
}

/* Reads the jobs that match COND and FILTER. */
static int rows_get_all(struct slurmdb_rows *r, slurmdb_job_cond_t *cond, const struct slurmdb_filter *filter,
			struct slurmdb_jobs *ret, struct errmsg *err)
{
	bool no_steps = cond->flags & JOBCOND_FLAG_NO_STEP;
	struct slurmdb_jobs jobs = { 0 };
	compat_list *rows = NULL;
	int rc;

	cond->userid_list = filter_list(&filter->uids);
	cond->acct_list = filter_list(&filter->accounts);
	cond->partition_list = filter_list(&filter->partitions);
	cond->jobname_list = filter_list(&filter->names);
	rc = rows_ask(r, ROWS_PERIOD, cond, &rows, err);
	if (rc == 0 && rows_lack_names(r, rows))
		rc = rows_learn_names(r, err);
	if (rc == 0 && rows_take(r, rows, no_steps, NULL, 0, &jobs) < 0)
		rc = errmsg_set(err, -ENOMEM, "out of memory");
	if (rows)
		slurm_list_destroy(rows);
	if (rc < 0)
		slurmdb_jobs_free(&jobs);
	else
		*ret = jobs;
	return rc;
}

/*
 * Reads ended jobs. With a state_list, slurmdbd selects "state = S and time_end between FROM and
 * TO"; see _state_time_string() in as_mysql_jobacct_process.c, the same in 22.05, 24.11 and 26.05.
 * For that MariaDB uses the index rollup2 (time_end, time_eligible). Without a state_list, time_end
 * has no upper bound, and a usage_end leaves out jobs that were cancelled before they became
 * eligible.
 */
static int rows_ask_ended(struct slurmdb_rows *r, const struct slurmdb_filter *filter, uint32_t flags,
			  uint64_t from, uint64_t to, struct slurmdb_jobs *ret, struct errmsg *err)
{
	slurmdb_job_cond_t cond = rows_condition(r, flags | JOBCOND_FLAG_NO_DEFAULT_USAGE);
	char state[ARRAY_SIZE(ended_states)][12];
	size_t i;
	int rc;

	cond.usage_start = (time_t)from;
	cond.usage_end = (time_t)to;
	cond.state_list = slurm_list_create(NULL);
	for (i = 0; i < ARRAY_SIZE(ended_states); i++) {
		(void)snprintf(state[i], sizeof(state[i]), "%" PRIu32, ended_states[i]);
		slurm_list_append(cond.state_list, state[i]);
	}
	rc = rows_get_all(r, &cond, filter, ret, err);
	rows_condition_fini(&cond);
	return rc;
}

int slurmdb_rows_window(struct slurmdb_rows *r, uint64_t from, uint64_t to, struct slurmdb_jobs *ret,
			struct errmsg *err)
{
	static const struct slurmdb_filter all;

	return rows_ask_ended(r, &all, JOBCOND_FLAG_NO_STEP, from, to, ret, err);
}

int slurmdb_rows_ended(struct slurmdb_rows *r, const struct slurmdb_filter *filter, uint64_t from,
		       uint64_t to, struct slurmdb_jobs *ret, struct errmsg *err)
{
	return rows_ask_ended(r, filter, 0, from, to, ret, err);
}

/*
 * Sets no state_list: slurmdbd then selects "time_eligible < usage_end and (time_end >= usage_start
 * or time_end = 0)".
 */
int slurmdb_rows_open_at(struct slurmdb_rows *r, const struct slurmdb_filter *filter, uint64_t at,
			 struct slurmdb_jobs *ret, struct errmsg *err)
{
	slurmdb_job_cond_t cond = rows_condition(r, JOBCOND_FLAG_NO_DEFAULT_USAGE);
	int rc;

	cond.usage_start = cond.usage_end = (time_t)at;
	rc = rows_get_all(r, &cond, filter, ret, err);
	rows_condition_fini(&cond);
	return rc;
}

int slurmdb_rows_has_cluster(struct slurmdb_rows *r, const char *name, struct errmsg *err)
{
	slurmdb_cluster_cond_t cond;
	compat_list *rows = NULL;
	int rc;

	slurmdb_init_cluster_cond(&cond, 0);
	cond.cluster_list = slurm_list_create(NULL);
	slurm_list_append(cond.cluster_list, (void *)(uintptr_t)name);
	rc = rows_ask(r, ROWS_CLUSTERS, &cond, &rows, err);
	slurm_list_destroy(cond.cluster_list);
	if (rc < 0)
		return rc;
	rc = slurm_list_count(rows) > 0;
	slurm_list_destroy(rows);
	return rc;
}

/* --- rights -------------------------------------------------------------------------------- */

/* Copies VALUE of the line "KEY      = VALUE" in TEXT to BUF; "" if there is none. Returns BUF. */
static const char *config_value(const char *text, const char *key, char *buf, size_t size)
{
	const char *line = parse_find_line(text, key);

	line = line ? line + strspn(line, " =") : "";
	(void)snprintf(buf, size, "%.*s", (int)strcspn(line, "\n"), line);
	return buf;
}

/* Reads slurmdbd's configuration as text: libslurm can only print its pairs. */
static int rows_learn_config(struct slurmdb_rows *r, char **ret, struct errmsg *err)
{
	compat_list *rows = NULL;
	char title[] = "";
	char *text = NULL;
	size_t size;
	FILE *out;
	int rc = rows_ask(r, ROWS_CONFIG, NULL, &rows, err);

	if (rc < 0)
		return rc;
	out = open_memstream(&text, &size);
	if (out)
		slurm_print_key_pairs(out, rows, title);
	slurm_list_destroy(rows);
	if (!out || fclose(out) != 0) {
		free(text);
		return errmsg_set(err, -ENOMEM, "out of memory");
	}
	*ret = text;
	return 0;
}

static int rows_is_operator(struct slurmdb_rows *r, const char *user, struct errmsg *err)
{
	slurmdb_assoc_cond_t assoc = { 0 };
	slurmdb_user_cond_t cond = { .assoc_cond = &assoc };
	const slurmdb_user_rec_t *rec;
	compat_list *rows = NULL;
	compat_list_itr *it;
	int rc;

	assoc.user_list = slurm_list_create(NULL);
	slurm_list_append(assoc.user_list, (void *)(uintptr_t)user);
	rc = rows_ask(r, ROWS_USERS, &cond, &rows, err);
	slurm_list_destroy(assoc.user_list);
	if (rc < 0)
		return rc;
	it = slurm_list_iterator_create(rows);
	rec = slurm_list_next(it);
	rc = rec && rec->admin_level >= SLURMDB_ADMIN_OPERATOR;
	slurm_list_iterator_destroy(it);
	slurm_list_destroy(rows);
	return rc;
}

int slurmdb_rows_shows_all(struct slurmdb_rows *r, uint32_t uid, const char *user, struct errmsg *err)
{
	_cleanup_free_ char *config = NULL;
	char value[256], number[16];
	int rc;

	if (uid == 0)
		return 1;
	rc = rows_learn_config(r, &config, err);
	if (rc < 0)
		return rc;
	(void)snprintf(number, sizeof(number), "(%" PRIu32 ")", uid);
	if (!strstr(config_value(config, "PrivateData ", value, sizeof(value)), "jobs") ||
	    strstr(config_value(config, "SlurmUser ", value, sizeof(value)), number))
		return 1;
	return user ? rows_is_operator(r, user, err) : 0;
}

int slurmdb_rows_ping(struct slurmdb_rows *r, struct errmsg *err)
{
	struct slurmdb_names none;
	int rc;

	slurmdb_names_init(&none);
	rc = rows_learn_qos(r, &none, err);
	slurmdb_names_fini(&none);
	return rc;
}
