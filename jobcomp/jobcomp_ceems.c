/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobcomp/ceems - slurmctld tells it of every job's end, which it writes to the inbox for ceems-recorder. Loaded by
 * slurmctld, and by `sacct -c`, where it does nothing.
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

/* Slurm calls every function below under one mutex of its own, which guards these. */
static struct intake *intake; /* NULL: inert */
static struct hook_time hook_time;
static struct job_facts facts; /* not on the stack: the threads that call are new, and so is theirs */
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

/* What the queue has no room for is read from slurmdbd later, by its key. */
static void hand_over(struct feed *feed)
{
	struct job_key key;

	if (feed_push(feed, &facts, job_facts_size(&facts)) == 0)
		return;
	job_copy_key(&facts, &key);
	if (feed_push_key(feed, &key) < 0)
		feed_note_lost(feed, facts.job_id);
}

/* Of a job that it refuses at once, 24.11 tells twice in a row. */
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
		resized = resizes_note(job->job_id, (uint64_t)job->start_time,
				       (uint64_t)job->resize_time);
	job_copy_facts(job, resized, &facts);
	if (!is_told_again())
		hand_over(intake_feed(intake));
	hook_time_add(&hook_time, clock_mono_ns() - begin_ns);
}

static int start(struct errmsg *err)
{
	char path[PATH_MAX];
	struct settings settings;
	struct job_site site;
	int rc = settings_path(slurm_conf.slurm_conf, path, sizeof(path));

	if (rc < 0)
		return errmsg_errno(err, rc, "ceems.conf");
	rc = settings_load(path, &settings, err);
	if (rc == -ENOENT)
		logger_info("ceems: jobcomp: no %s: defaults are in force", path);
	else if (rc < 0)
		return rc;
	job_copy_site(&site);
	if (!*site.cluster)
		return errmsg_set(err, -EINVAL, "slurm.conf has no ClusterName");
	wants_starts = *settings.kafka_start_topic;
	if (wants_starts && !COMPAT_TELLS_STARTS)
		logger_info("ceems: jobcomp: KafkaStartTopic is of no use: Slurm tells of job "
			    "starts from 25.05 on");
	return intake_start(settings.inbox_dir, &site, &hook_time, &intake, err);
}

/*
 * The first call would pay for page faults and for finding functions by name, under slurmctld's
 * lock.
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

/* A plugin that fails here takes slurmctld with it (from 23.02 on), so it does not. */
int init(void)
{
	struct errmsg err = { 0 };

	if (!running_in_slurmctld() || intake)
		return SLURM_SUCCESS;
	logger_set_sink(log_line);
	warm_up();
	if (start(&err) < 0)
		error("ceems: jobcomp: %s; no job records are written until slurmctld is "
		      "restarted", err.text);
	return SLURM_SUCCESS;
}

int fini(void)
{
	if (!intake)
		return SLURM_SUCCESS;
	if (!intake_stop(intake)) {
		error("ceems: jobcomp: the disk of InboxDir hangs; a thread is left behind");
		module_pin(&intake); /* its code, which goes on running */
	}
	intake = NULL;
	if (hook_time.n)
		info("ceems: jobcomp: time in slurmctld: %" PRIu64
		     " jobs, median %.1f us, 99 %% below %.1f us, worst %.1f us",
		     hook_time.n, (double)hook_time_quantile_ns(&hook_time, 500) / 1e3,
		     (double)hook_time_quantile_ns(&hook_time, 990) / 1e3, (double)hook_time.max_ns / 1e3);
	if (starts_left_out)
		info("ceems: jobcomp: %" PRIu64 " job starts were not told: the queue was half full",
		     starts_left_out);
	logger_set_sink(NULL);
	return SLURM_SUCCESS;
}

int jobcomp_p_set_location(COMPAT_SET_LOCATION_ARGS)
{
	return SLURM_SUCCESS; /* where records go is in ceems.conf */
}

/* Up to 24.11. */
int jobcomp_p_log_record(job_record_t *job)
{
	/* revoked: a sibling cluster's job, which has its record there */
	if (intake && abi_check_job(job) && !IS_JOB_REVOKED(job))
		on_job_end(job);
	return SLURM_SUCCESS;
}

/* From 25.05 on. */
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
	/* a burst of starts must not take the room of ends */
	if (feed_is_half_full(intake_feed(intake)) ||
	    feed_push(intake_feed(intake), &facts, job_facts_size(&facts)) < 0)
		starts_left_out++;
	return SLURM_SUCCESS;
}

/* For `sacct -c`, which says "no jobs" then: records are where ceems.conf sends them. */
compat_list_t jobcomp_p_get_jobs(slurmdb_job_cond_t *cond)
{
	(void)cond;
	return NULL;
}
