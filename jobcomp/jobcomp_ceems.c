/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobcomp/ceems - slurmctld calls this plugin at the end of each job. The plugin writes the job end to the
 * inbox of ceems-recorder. `sacct -c` also loads the plugin; there it does nothing.
 */
#include "jobcomp/slurm_compat.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "jobcomp/abi_check.h"
#include "jobcomp/hook_time.h"
#include "jobcomp/intake.h"
#include "jobcomp/job_copy.h"
#include "jobcomp/resizes.h"
#include "src/libcore/settings.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "src/libutil/module.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT const char plugin_name[] = "Job records with energy and emissions (ceems)";
EXPORT const char plugin_type[] = "jobcomp/ceems";
EXPORT const uint32_t plugin_version = SLURM_VERSION_NUMBER;

EXPORT int init(void);
EXPORT int fini(void);
EXPORT int jobcomp_p_set_location(COMPAT_SET_LOCATION_ARGS);
EXPORT int jobcomp_p_log_record(job_record_t *job);
EXPORT int jobcomp_p_record_job_end(job_record_t *job, uint32_t event);
EXPORT int jobcomp_p_record_job_start(job_record_t *job, uint32_t event);
EXPORT compat_list_t jobcomp_p_get_jobs(slurmdb_job_cond_t *cond);

/* Guarded by a mutex of Slurm, which is held during each call of the plugin. */
static struct intake *intake; /* NULL: the plugin does nothing */
static struct hook_time hook_time;
static struct job_facts facts; /* not on the stack, which would be new memory in each thread that calls us */
static bool wants_starts;
static uint64_t starts_left_out;

static void log_line(enum logger_level level, const char *line)
{
	switch (level) {
	case LOGGER_ERROR:
		error("%s", line);
		break;
	case LOGGER_INFO:
		info("%s", line);
		break;
	case LOGGER_DEBUG:
		debug("%s", line);
		break;
	}
}

/*
 * Queues `facts`. If the queue has no room, queues only the key, by which the recorder
 * finds the job in slurmdbd.
 */
static void hand_over(struct feed *feed)
{
	struct job_key key;

	if (feed_push(feed, &facts, job_facts_size(&facts)) == 0)
		return;
	job_copy_key(&facts, &key);
	if (feed_push_key(feed, &key) < 0)
		feed_note_lost(feed, facts.job_id);
}

/*
 * Returns true if `facts` is the same job end as in the last call. 24.11 reports a job that
 * it refuses twice in a row.
 */
static bool is_told_again(void)
{
	static char last[offsetof(struct job_facts, text)];
	bool again = !facts.start && !memcmp(last, &facts, sizeof(last));

	memcpy(last, &facts, sizeof(last));
	return again;
}

/* slurmctld's job write lock is held: copy, queue, return. */
static void on_job_end(const job_record_t *job)
{
	uint64_t begin_ns = clock_mono_ns();
	uint64_t resized = 0;

	if (IS_JOB_RESIZING(job))
		resized = resizes_note(job->job_id, (uint64_t)job->start_time, (uint64_t)job->resize_time);
	job_copy_facts(job, resized, &facts);
	if (!is_told_again())
		hand_over(intake_feed(intake));
	hook_time_add(&hook_time, clock_mono_ns() - begin_ns);
}

static int start(struct errmsg *err)
{
	char path[PATH_MAX];
	struct settings settings;
	struct cluster_facts site;
	int rc = settings_path(slurm_conf.slurm_conf, path, sizeof(path));

	if (rc < 0)
		return errmsg_errno(err, rc, "ceems.conf");
	rc = settings_load(path, &settings, err);
	if (rc == -ENOENT)
		logger_info("ceems: jobcomp: %s does not exist; every setting has its default", path);
	else if (rc < 0)
		return rc;
	job_copy_site(&site);
	if (!*site.cluster)
		return errmsg_set(err, -EINVAL, "slurm.conf has no ClusterName");
	wants_starts = *settings.kafka_start_topic;
	if (wants_starts && !COMPAT_TELLS_STARTS)
		logger_info("ceems: jobcomp: KafkaStartTopic has no effect: Slurm reports job starts "
			    "only from 25.05 on");
	return intake_start(settings.inbox_dir, &site, &hook_time, &intake, err);
}

/*
 * Calls the functions of the hook once. Otherwise the first job end would pay for page faults and for binding
 * functions, under slurmctld's lock.
 */
static void warm_up(void)
{
	static const job_record_t nothing;
	struct feed *f = NULL;

	memset(&facts, 0xff, sizeof(facts));
	memset(&hook_time, 0, sizeof(hook_time));
	job_copy_facts(&nothing, 0, &facts);
	if (feed_create(1, &f, NULL) < 0)
		return;
	hand_over(f);
	hook_time_add(&hook_time, 0);
	memset(&hook_time, 0, sizeof(hook_time));
	feed_destroy(f);
}

/* Always returns SLURM_SUCCESS: from 23.02 on, slurmctld ends if init() fails. */
int init(void)
{
	struct errmsg err = { 0 };

	if (!running_in_slurmctld() || intake)
		return SLURM_SUCCESS;
	logger_set_sink(log_line);
	warm_up();
	if (start(&err) < 0)
		error("ceems: jobcomp: %s; no job records are written until slurmctld is "
		      "restarted",
		      err.text);
	return SLURM_SUCCESS;
}

int fini(void)
{
	if (!intake)
		return SLURM_SUCCESS;
	if (!intake_stop(intake)) {
		error("ceems: jobcomp: the disk of InboxDir does not answer; the thread that writes to it "
		      "is left running");
		module_pin(&intake); /* keep the plugin loaded, since the thread still runs its code */
	}
	intake = NULL;
	if (hook_time.n)
		info("ceems: jobcomp: time in slurmctld: %" PRIu64
		     " jobs, median %.1f us, 99 %% below %.1f us, worst %.1f us",
		     hook_time.n, (double)hook_time_quantile_ns(&hook_time, 500) / 1e3,
		     (double)hook_time_quantile_ns(&hook_time, 990) / 1e3, (double)hook_time.max_ns / 1e3);
	if (starts_left_out)
		info("ceems: jobcomp: %" PRIu64 " job starts have no record: the queue was half full",
		     starts_left_out);
	logger_set_sink(NULL);
	return SLURM_SUCCESS;
}

int jobcomp_p_set_location(COMPAT_SET_LOCATION_ARGS)
{
	return SLURM_SUCCESS; /* where records go is in ceems.conf */
}

/* Called by Slurm up to 24.11. */
int jobcomp_p_log_record(job_record_t *job)
{
	/* a revoked job runs on another cluster of the federation, and has its record there */
	if (intake && abi_check_job(job) && !IS_JOB_REVOKED(job))
		on_job_end(job);
	return SLURM_SUCCESS;
}

/* Called by Slurm from 25.05 on, as is jobcomp_p_record_job_start(). */
int jobcomp_p_record_job_end(job_record_t *job, uint32_t event)
{
	(void)event;
	return jobcomp_p_log_record(job);
}

int jobcomp_p_record_job_start(job_record_t *job, uint32_t event)
{
	(void)event;
	if (!intake || !wants_starts || !abi_check_job(job))
		return SLURM_SUCCESS;
	job_copy_facts(job, 0, &facts);
	facts.flags |= FACT_IS_START;
	/* many starts at once must leave room for job ends */
	if (feed_is_half_full(intake_feed(intake)) ||
	    feed_push(intake_feed(intake), &facts, job_facts_size(&facts)) < 0)
		starts_left_out++;
	return SLURM_SUCCESS;
}

/* Called by `sacct -c`, which then shows no jobs: records are only where ceems.conf sends them. */
compat_list_t jobcomp_p_get_jobs(slurmdb_job_cond_t *cond)
{
	(void)cond;
	return NULL;
}
