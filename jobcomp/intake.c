/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ceems_config.h"

#include "jobcomp/intake.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "jobcomp/resizes.h"
#include "src/libstore/inbox.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "src/libutil/thread.h"

/* Room for about 10,000 job ends, while the disk hangs. */
#define FEED_BYTES (UINT64_C(8) << 20)
/* Entries per fdatasync(), about 250 KiB. So even a slow disk takes a full queue within JOIN_NS. */
#define BATCH 512
#define KEYS_BATCH 1024
#define RETRY_MS 1000
#define JOIN_NS (6 * NSEC_PER_SEC)

struct intake {
	char dir[PATH_MAX];
	struct cluster_facts site;
	struct feed *feed;
	const struct hook_time *hook;
	struct inbox_writer *inbox; /* only for the thread; NULL: not open */
	pthread_t thread;
	atomic_bool is_stopping;
};

static struct logger_once trouble;

static int intake_open(struct intake *in, struct errmsg *err)
{
	int rc;

	if (in->inbox)
		return 0;
	rc = inbox_writer_open(in->dir, &in->site, &in->inbox, err);
	if (rc < 0)
		return rc;
	rc = inbox_append(in->inbox, INBOX_BEGIN, NULL, 0);
	if (rc < 0) {
		inbox_writer_close(in->inbox);
		in->inbox = NULL;
		return errmsg_errno(err, rc, "%s", in->dir);
	}
	return 0;
}

/*
 * Appends the times of the hook before other entries, so that they cost no write of their own. An error is
 * ignored, because the next entry of this kind replaces this one.
 */
static void intake_append_hook(struct intake *in)
{
	struct hook_cost cost;

	hook_time_cost(in->hook, &cost);
	if (cost.n)
		(void)inbox_append(in->inbox, INBOX_HOOK, &cost, sizeof(cost));
}

/*
 * Moves job ends from the queue to the inbox, and returns how many. inbox_append() keeps a copy of each until
 * it is on the disk, so the queue may release them at once.
 */
static int intake_append_ends(struct intake *in)
{
	const void *data;
	size_t len;
	int n;

	for (n = 0; n < BATCH && feed_next(in->feed, &data, &len); n++) {
		const struct job_facts *f = data;
		bool is_start = f->flags & FACT_IS_START;

		if (!n)
			intake_append_hook(in);
		if (inbox_append(in->inbox, is_start ? INBOX_START : INBOX_END, data, len) < 0) {
			feed_unget(in->feed);
			break;
		}
	}
	feed_release(in->feed);
	return n;
}

static int intake_append_keys(struct intake *in)
{
	static struct job_key key[KEYS_BATCH];
	size_t n = feed_next_keys(in->feed, key, KEYS_BATCH);
	size_t i;

	for (i = 0; i < n; i++)
		if (inbox_append(in->inbox, INBOX_KEY, &key[i], sizeof(key[i])) < 0)
			break;
	if (n && i == n) {
		feed_release_keys(in->feed);
		logger_info(
			"ceems: jobcomp: the queue was full: ceems-recorder reads %zu job ends from slurmdbd "
			"instead",
			n);
	} else if (n) {
		feed_rewind_keys(in->feed);
	}
	return n == i ? (int)n : 0;
}

static void intake_append_lost(struct intake *in)
{
	char ids[FEED_LOST_IDS * 12] = "";
	struct feed_lost lost;
	size_t used = 0;
	unsigned int i;

	if (!feed_take_lost(in->feed, &lost))
		return;
	for (i = 0; i < lost.nids; i++)
		used += (size_t)snprintf(ids + used, sizeof(ids) - used, " %" PRIu32, lost.id[i]);
	logger_error("ceems: jobcomp: the queue is full: ceems-recorder looks for the ends of %" PRIu64
		     " jobs in "
		     "slurmdbd:%s%s",
		     lost.count, ids, lost.count > lost.nids ? " ..." : "");
	(void)inbox_append(in->inbox, INBOX_LOST, &lost.count, sizeof(lost.count));
}

/* Writes everything that is queued to the disk. */
static int intake_write(struct intake *in, struct errmsg *err)
{
	int rc = intake_open(in, err);
	int n;

	do {
		n = 0;
		if (rc == 0)
			rc = inbox_flush(in->inbox, err); /* first what could not be written the last time */
		if (rc == 0) {
			n = intake_append_ends(in) + intake_append_keys(in);
			intake_append_lost(in);
			rc = inbox_flush(in->inbox, err);
		}
	} while (rc == 0 && n > 0);
	return rc;
}

static void *intake_run(void *arg)
{
	struct intake *in = arg;
	bool is_stopping = false;
	unsigned int tries;

	resizes_load();
	while (!is_stopping) {
		struct errmsg err = { 0 };
		int rc;

		/*
		 * read before writing, so that what was queued before intake_stop() is written in this round
		 */
		is_stopping = in->is_stopping;
		rc = intake_write(in, &err);
		if (rc < 0) {
			logger_log_once(&trouble, LOGGER_ERROR, "ceems: jobcomp: %s; job ends %s", err.text,
					is_stopping ? "in memory are lost; ceems-recorder looks for them in "
						      "slurmdbd" :
						      "wait in memory until the inbox can be written");
			if (!is_stopping)
				feed_pause(in->feed, RETRY_MS);
			continue;
		}
		tries = logger_once_reset(&trouble);
		if (tries)
			logger_info("ceems: jobcomp: InboxDir=%s takes job ends again after %u more tries",
				    in->dir, tries);
		if (!is_stopping)
			feed_wait(in->feed, -1);
	}
	inbox_writer_close(in->inbox);
	in->inbox = NULL;
	return NULL;
}

/*
 * Starts the thread with SCHED_BATCH. The hook wakes it while it holds slurmctld's lock, and a thread with
 * this policy does not preempt the thread that wakes it.
 */
static int intake_start_thread(struct intake *in)
{
	struct sched_param no_priority = { 0 };
	int rc = thread_start(&in->thread, intake_run, in);

	if (rc < 0)
		return rc;
	(void)pthread_setschedparam(in->thread, SCHED_BATCH, &no_priority);
	(void)pthread_setname_np(in->thread, "ceems-intake");
	return 0;
}

static void intake_destroy(struct intake *in)
{
	feed_destroy(in->feed);
	free(in);
}

int intake_start(const char *dir, const struct cluster_facts *site, const struct hook_time *hook,
		 struct intake **ret, struct errmsg *err)
{
	struct intake *in = calloc(1, sizeof(*in));
	int rc;

	if (!in)
		return errmsg_set(err, -ENOMEM, "out of memory");
	in->site = *site;
	in->hook = hook;
	(void)snprintf(in->dir, sizeof(in->dir), "%s", dir);
	rc = feed_create(FEED_BYTES, &in->feed, err);
	if (rc == 0) {
		rc = intake_start_thread(in);
		if (rc < 0)
			(void)errmsg_errno(err, rc, "cannot start a thread");
	}
	if (rc < 0) {
		intake_destroy(in);
		return rc;
	}
	*ret = in;
	return 0;
}

static int intake_join(struct intake *in)
{
	struct timespec deadline = clock_ns_to_timespec(clock_mono_ns() + JOIN_NS);

#if defined HAVE_PTHREAD_CLOCKJOIN_NP && !defined __SANITIZE_THREAD__
	return pthread_clockjoin_np(in->thread, NULL, CLOCK_MONOTONIC, &deadline);
#else
	/*
	 * before glibc 2.31; GCC 12's ThreadSanitizer does not know that function, and
	 * would report false races
	 */
	struct timespec at = clock_wall_of(&deadline);

	return pthread_timedjoin_np(in->thread, NULL, &at);
#endif
}

bool intake_stop(struct intake *in)
{
	in->is_stopping = true;
	feed_wake(in->feed);
	if (intake_join(in) != 0)
		return false;
	intake_destroy(in);
	return true;
}

struct feed *intake_feed(struct intake *in)
{
	return in->feed;
}
