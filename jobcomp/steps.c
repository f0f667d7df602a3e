/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/slurm_compat.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "acct/step_spread.h"
#include "jobcomp/dbd_saved.h"
#include "jobcomp/dbd_view.h"
#include "jobcomp/job_facts.h"
#include "jobcomp/job_refill.h"
#include "jobcomp/steps.h"
#include "src/libcore/tresmap.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

/*
 * A slurmctld that starts asks for control, 26.05 for up to 29 s, and a backup that is slow in giving it
 * saves what slurmdbd is to be told when this one has looked for it. So long it may be there (dbd_saved.h).
 */
#define HANDOVER_NS (60 * NSEC_PER_SEC)

struct steps {
	compat_persist_conn_t conn;
	char cluster[256];
	char host[256];
	char saved[PATH_MAX]; /* dbd_saved.h */
	uint64_t begun;	      /* seconds; 0: there is no backup */
	uint64_t begun_mono_ns;
	struct tresmap tres;
	bool tres_known;
	bool has_usage; /* JobAcctGatherType is not none */
};

int steps_create(const char *cluster, time_t *stop, struct steps **ret, struct errmsg *err)
{
	const char *type = slurm_conf.accounting_storage_type;
	struct steps *s;

	if (!type || !strstr(type, "slurmdbd") || !slurm_conf.accounting_storage_host)
		return errmsg_set(err, -ENOENT, "accounting is not done with slurmdbd");
	s = calloc(1, sizeof(*s));
	if (!s)
		return errmsg_set(err, -ENOMEM, "out of memory");
	(void)snprintf(s->cluster, sizeof(s->cluster), "%s", cluster);
	(void)snprintf(s->host, sizeof(s->host), "%s", slurm_conf.accounting_storage_host);
	if (slurm_conf.state_save_location)
		(void)snprintf(s->saved, sizeof(s->saved), "%s/dbd.messages",
			       slurm_conf.state_save_location);
	if (slurm_conf.control_cnt > 1)
		s->begun = clock_wall_ns() / NSEC_PER_SEC;
	s->begun_mono_ns = clock_mono_ns();
	/* texts of the connection are ours: it is closed, never destroyed by Slurm */
	type = slurm_conf.job_acct_gather_type;
	s->has_usage = type && *type && !strstr(type, "none");
	s->conn.cluster_name = s->cluster;
	s->conn.rem_host = s->host;
	s->conn.rem_port = slurm_conf.accounting_storage_port;
	compat_persist_conn_closed(&s->conn);
	s->conn.flags = PERSIST_FLAG_DBD | PERSIST_FLAG_SUPPRESS_ERR;
	s->conn.persist_type = PERSIST_TYPE_DBD;
	s->conn.r_uid = SLURM_AUTH_UID_ANY;
	s->conn.shutdown = stop;
	*ret = s;
	return 0;
}

void steps_destroy(struct steps *s)
{
	free(s);
}

bool steps_is_stopping(const struct steps *s)
{
	return __atomic_load_n(s->conn.shutdown, __ATOMIC_RELAXED);
}

/* The site's ids of our TRES. They do not change while slurmctld runs. */
static void load_tres(struct steps *s)
{
	assoc_mgr_lock_t locks = { .tres = READ_LOCK };
	slurmdb_tres_rec_t *tres;
	compat_iterator_t it;

	if (s->tres_known)
		return;
	tresmap_init(&s->tres);
	assoc_mgr_lock(&locks);
	if (assoc_mgr_tres_list) {
		it = list_iterator_create(assoc_mgr_tres_list);
		while ((tres = list_next(it)))
			tresmap_learn(&s->tres, tres->id, tres->type, tres->name);
		list_iterator_destroy(it);
		s->tres_known = true;
	}
	assoc_mgr_unlock(&locks);
}

static struct maybe_u64 usage_value(const char *usage, uint32_t id)
{
	uint64_t v;

	return tresmap_value(usage, id, &v) == 0 ? (struct maybe_u64){ v, true } :
						   (struct maybe_u64){ 0 };
}

static int connect_dbd(struct steps *s, struct errmsg *err)
{
	s->conn.version = SLURM_PROTOCOL_VERSION;
	s->conn.timeout = STEPS_TIMEOUT_S * 1000;
	s->conn.inited = false;
	if (slurm_persist_conn_open(&s->conn) != SLURM_SUCCESS) {
		compat_persist_conn_closed(&s->conn);
		return errmsg_set(err, -EAGAIN, "cannot connect to slurmdbd on %s:%u", s->host,
				  s->conn.rem_port);
	}
	return 0;
}

/*
 * One connection per question: slurmdbd keeps a transaction open as long as the connection, and
 * in it MariaDB shows the tables as they were at its first question.
 */
static void disconnect(struct steps *s)
{
	dbd_fini_msg_t body = { .close_conn = 1 };
	persist_msg_t req = { .msg_type = DBD_FINI, .data = &body, .COMPAT_MSG_CONN = &s->conn };
	buf_t *buffer = pack_slurmdbd_msg(&req, SLURM_PROTOCOL_VERSION);

	if (buffer) {
		(void)slurm_persist_send_msg(&s->conn, buffer);
		free_buf(buffer);
	}
	slurm_persist_conn_close(&s->conn);
	compat_persist_conn_closed(&s->conn);
}

/* Sends the condition; the answer's list is the caller's. */
static int ask(struct steps *s, slurmdb_job_cond_t *cond, compat_list_t *ret,
	       struct errmsg *err)
{
	dbd_cond_msg_t body = { .cond = cond };
	persist_msg_t req = { .msg_type = DBD_GET_JOBS_COND,
			      .data = &body,
			      .COMPAT_MSG_CONN = &s->conn };
	persist_msg_t resp = { 0 };
	dbd_list_msg_t *got;
	buf_t *buffer;
	int rc;

	buffer = pack_slurmdbd_msg(&req, SLURM_PROTOCOL_VERSION);
	if (!buffer)
		return errmsg_set(err, -EINVAL, "cannot pack the question to slurmdbd");
	rc = slurm_persist_send_msg(&s->conn, buffer);
	free_buf(buffer);
	if (rc != SLURM_SUCCESS)
		return errmsg_set(err, -EAGAIN, "slurmdbd on %s takes no question", s->host);
	buffer = slurm_persist_recv_msg(&s->conn);
	if (!buffer)
		return errmsg_set(err, -EAGAIN, "slurmdbd on %s does not answer", s->host);
	rc = unpack_slurmdbd_msg(&resp, SLURM_PROTOCOL_VERSION, buffer);
	free_buf(buffer);
	if (rc != SLURM_SUCCESS)
		return errmsg_set(err, -EAGAIN, "slurmdbd's answer makes no sense");
	if (resp.msg_type != DBD_GOT_JOBS) {
		const char *why = "an answer of another kind";
		persist_rc_msg_t *msg = resp.msg_type == PERSIST_RC ? resp.data : NULL;

		if (msg && msg->comment)
			why = msg->comment;
		rc = errmsg_set(err, -EAGAIN, "slurmdbd: %s", why);
		if (msg)
			slurm_persist_free_rc_msg(msg);
		return rc;
	}
	got = resp.data;
	*ret = got->my_list;
	got->my_list = NULL;
	slurmdbd_free_list_msg(got);
	return *ret ? 0 : errmsg_set(err, -EAGAIN, "slurmdbd has no list for us");
}

static void copy_text(char *buf, size_t size, const char *s)
{
	(void)snprintf(buf, size, "%s", s ? s : "");
}

static uint64_t seconds(time_t t)
{
	return t > 0 ? (uint64_t)t : 0;
}

static void copy_step(const struct steps *s, const slurmdb_step_rec_t *from,
		      struct record_step *to)
{
	*to = (struct record_step){ .step_id = from->step_id.step_id,
				    .het_component = { from->step_id.step_het_comp,
						       from->step_id.step_het_comp != NO_VAL },
				    .ntasks = from->ntasks,
				    .nnodes = from->nnodes,
				    .ncpus = tresmap_cpus(from->tres_alloc_str),
				    .start = seconds(from->start),
				    .end = seconds(from->end) };
	to->name = from->stepname ? strdup(from->stepname) : NULL;
	copy_text(to->state, sizeof(to->state),
		  job_state_name(from->state));
	to->nodes = from->nodes ? strdup(from->nodes) : NULL;
	to->exit_unknown = (uint32_t)from->exitcode == NO_VAL;
	record_exit_status((uint32_t)from->exitcode, &to->exit_code, &to->exit_signal);
	to->user_cpu_us = (struct maybe_u64){
		from->user_cpu_sec * 1000000 + from->user_cpu_usec, true };
	to->system_cpu_us = (struct maybe_u64){
		from->sys_cpu_sec * 1000000 + from->sys_cpu_usec, true };
	to->max_rss_bytes = usage_value(from->stats.tres_usage_in_max, TRESMAP_MEM);
	figures_init(&to->figures);
	tresmap_read(&s->tres, from->stats.tres_usage_in_tot, SIDE_IN, &to->figures);
	tresmap_read(&s->tres, from->stats.tres_usage_out_tot, SIDE_OUT, &to->figures);
	/* sacct's ConsumedEnergy of a step is a column of its own; they agree where both are */
	if (from->stats.consumed_energy != NO_VAL64 && from->stats.consumed_energy)
		figures_set(&to->figures, METRIC_ENERGY,
			    metric_from_tres(METRIC_ENERGY, from->stats.consumed_energy));
	step_spread(from, &s->tres, METRIC_CPU_TIME, to, &to->cpu_time);
	step_spread(from, &s->tres, METRIC_ENERGY, to, &to->energy);
}

/*
 * slurmdbd shows the steps of an ended job as ended, with its end and state, even those of which it
 * has not been told (as_mysql_jobacct_process.c, "if the job has ended end the step also"). What it
 * cannot make up is their usage.
 */
static bool is_unreported(const struct steps *s, const slurmdb_job_rec_t *job,
			  const slurmdb_step_rec_t *step)
{
	const char *usage = step->stats.tres_usage_in_tot;

	return s->has_usage && job->end && step->end == job->end && (!usage || !*usage);
}

static void take_outcome(const slurmdb_job_rec_t *job, struct outcome *ret)
{
	int32_t ignored;

	*ret = (struct outcome){ .known = job->end > 0,
				 /* NO_VAL: it never did, as far as slurmdbd was told */
				 .start = job->start <= job->end ? seconds(job->start) : 0,
				 .end = seconds(job->end) };
	copy_text(ret->state, sizeof(ret->state), job_state_name(job->state));
	record_exit_status(job->exitcode, &ret->exit_code, &ret->exit_signal);
	record_exit_status(job->derived_ec, &ret->derived_exit_code, &ignored);
}

/* The steps of one job; -ENOMEM leaves the query as it was. */
static int take_steps(const struct steps *s, const slurmdb_job_rec_t *job,
		      struct steps_query *q)
{
	size_t n = job->steps ? (size_t)list_count(job->steps) : 0;
	struct record_step *steps = NULL;
	slurmdb_step_rec_t *step;
	compat_iterator_t it;
	struct dbd_view view = { .told_end = q->end,
				 .all_told = q->all_told,
				 .is_saved = q->is_saved,
				 .end = seconds(job->end),
				 .lacks_start = !job->eligible };
	enum dbd_word word;
	size_t used = 0;

	if (n) {
		steps = calloc(n, sizeof(*steps));
		if (!steps)
			return -ENOMEM;
		it = list_iterator_create(job->steps);
		while (used < n && (step = list_next(it))) {
			view.has_open_step |= !step->end;
			view.lacks_usage |= is_unreported(s, job, step);
			/* a step that is there is not told of its new start */
			view.has_older_step |= job->start <= job->end && step->start < job->start;
			copy_step(s, step, &steps[used++]);
		}
		list_iterator_destroy(it);
	}
	record_steps_destroy(q->steps, q->nsteps);
	q->steps = steps;
	q->nsteps = used;
	q->db_index = job->db_index;
	q->job_energy_j = usage_value(job->tres_alloc_str, TRESMAP_ENERGY);
	word = dbd_view_word(&view);
	if (word != DBD_NOT_YET)
		take_outcome(job, &q->outcome);
	q->unsure = word != DBD_NOT_YET && dbd_view_is_doubtful(&view);
	q->state = word == DBD_LAST ? STEPS_ENDED : STEPS_OPEN;
	return 0;
}

static bool is_row_of(const slurmdb_job_rec_t *job, const struct steps_query *q)
{
	return q->job_id == job->jobid && q->submit == seconds(job->submit);
}

/* One question about Q[n]. FLAGS: JOBCOND_FLAG_SCRIPT for scripts instead of steps. */
static int ask_about(struct steps *s, const struct steps_query *q, size_t n, uint32_t flags,
		     compat_list_t *ret, struct errmsg *err)
{
	_cleanup_free_ slurm_selected_step_t *which = calloc(n, sizeof(*which));
	slurmdb_job_cond_t cond = {
		.db_flags = SLURMDB_JOB_FLAG_NOTSET,
		.flags = JOBCOND_FLAG_DUP | JOBCOND_FLAG_NO_TRUNC |
			 JOBCOND_FLAG_NO_WHOLE_HETJOB | flags,
	};
	size_t i;
	int rc;

	if (!which)
		return errmsg_set(err, -ENOMEM, "out of memory");
	cond.step_list = list_create(NULL);
	cond.cluster_list = list_create(NULL);
	list_append(cond.cluster_list, s->cluster);
	for (i = 0; i < n; i++) {
		which[i] = (slurm_selected_step_t){
			.array_task_id = NO_VAL, .het_job_offset = NO_VAL,
			.step_id = { .job_id = q[i].job_id, .step_id = NO_VAL,
				     .step_het_comp = NO_VAL } };
		list_append(cond.step_list, &which[i]);
	}
	rc = ask(s, &cond, ret, err);
	list_destroy(cond.step_list);
	list_destroy(cond.cluster_list);
	return rc;
}

static int ask_steps(struct steps *s, struct steps_query *q, size_t n, struct errmsg *err)
{
	compat_list_t jobs = NULL;
	slurmdb_job_rec_t *job;
	compat_iterator_t it;
	size_t i;
	int rc = ask_about(s, q, n, 0, &jobs, err);

	if (rc < 0)
		return rc;
	it = list_iterator_create(jobs);
	while ((job = list_next(it))) {
		for (i = 0; i < n; i++) {
			if (!is_row_of(job, &q[i]) || take_steps(s, job, &q[i]) < 0)
				continue;
			if (q[i].refill)
				(void)job_refill(job, q[i].refill);
		}
	}
	list_iterator_destroy(it);
	list_destroy(jobs);
	return 0;
}

/* --- scripts --------------------------------------------------------------------------------- */

static bool has_script(const struct steps_query *q)
{
	size_t i;

	for (i = 0; i < q->nsteps; i++)
		if (q->steps[i].step_id == SLURM_BATCH_SCRIPT)
			return true;
	return false;
}

static void take_scripts(compat_list_t jobs, struct steps_query *q, size_t n)
{
	compat_iterator_t it = list_iterator_create(jobs);
	slurmdb_job_rec_t *job;
	size_t i;

	while ((job = list_next(it))) {
		for (i = 0; i < n; i++) {
			if (!is_row_of(job, &q[i]) || q[i].script || !job->script ||
			    !*job->script)
				continue;
			q[i].script = strdup(job->script);
		}
	}
	list_iterator_destroy(it);
}

/* slurmdbd tells either steps or scripts. */
static int ask_scripts(struct steps *s, struct steps_query *q, size_t n, struct errmsg *err)
{
	struct steps_query some[STEPS_SCRIPTS];
	size_t of[STEPS_SCRIPTS];
	compat_list_t jobs = NULL;
	size_t used = 0;
	size_t i;
	size_t k;
	int rc = 0;

	for (i = 0; i < n; i++) {
		if (q[i].wants_script && q[i].state == STEPS_ENDED && has_script(&q[i])) {
			some[used] = q[i];
			some[used].script = NULL;
			of[used++] = i;
		}
		if (!used || (used < STEPS_SCRIPTS && i + 1 < n))
			continue;
		if (rc == 0)
			rc = ask_about(s, some, used, JOBCOND_FLAG_SCRIPT | JOBCOND_FLAG_NO_STEP,
				       &jobs, err);
		if (rc == 0) {
			take_scripts(jobs, some, used);
			list_destroy(jobs);
		}
		for (k = 0; k < used; k++) {
			if (rc < 0)
				q[of[k]].state = STEPS_OPEN;
			q[of[k]].script = some[k].script;
		}
		used = 0;
	}
	return rc;
}

static uint64_t saved_until(const struct steps *s)
{
	uint64_t saved = dbd_saved_until(s->saved);

	if (saved < s->begun && clock_mono_ns() - s->begun_mono_ns < HANDOVER_NS)
		return s->begun;
	return saved;
}

int steps_fetch(struct steps *s, struct steps_query *q, size_t n, struct errmsg *err)
{
	uint64_t saved = saved_until(s);
	size_t i;
	int rc;

	for (i = 0; i < n; i++) {
		q[i].is_saved = saved && q[i].submit <= saved;
		if (q[i].is_saved)
			q[i].all_told = false;
		q[i].state = STEPS_ABSENT;
		q[i].unsure = false;
		q[i].outcome = (struct outcome){ 0 };
		q[i].steps = NULL;
		q[i].nsteps = 0;
		q[i].job_energy_j = (struct maybe_u64){ 0 };
		q[i].script = NULL;
	}
	load_tres(s);
	rc = connect_dbd(s, err);
	if (rc < 0)
		return rc;
	rc = ask_steps(s, q, n, err);
	if (rc == 0)
		(void)ask_scripts(s, q, n, err);
	disconnect(s);
	return rc;
}
