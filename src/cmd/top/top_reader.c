/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/top/top_reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "src/libutil/clock.h"
#include "src/libutil/thread.h"

struct top_reader {
	struct top_source *source; /* only for the thread */
	uint64_t interval_ns;
	pthread_t thread;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t changed;
	bool is_asked, is_stopping, is_ended;
	uint32_t job_id; /* the job whose nodes to read; 0: read all rows */
	bool is_new;
	struct top_frame frame; /* owned; the newest answer, if err is empty */
	struct errmsg err;	/* the newest error; empty: none */
};

/* Waits until UNTIL_NS, or until somebody asks for a reading or the end. The caller holds the lock. */
static void wait_turn(struct top_reader *r, uint64_t until_ns)
{
	const struct timespec until = { (time_t)(until_ns / NSEC_PER_SEC), (long)(until_ns % NSEC_PER_SEC) };

	while (!r->is_stopping && !r->is_asked)
		if (pthread_cond_timedwait(&r->changed, &r->lock, &until) == ETIMEDOUT)
			break;
	r->is_asked = false;
}

static void *run_reader(void *arg)
{
	struct top_reader *r = arg;

	(void)pthread_mutex_lock(&r->lock);
	while (!r->is_stopping) {
		struct top_frame frame = { 0 };
		struct errmsg err = { 0 };
		uint64_t begin = clock_mono_ns();
		uint32_t job_id = r->job_id;
		int rc;

		(void)pthread_mutex_unlock(&r->lock);
		rc = r->source->ops->read(r->source, job_id, &frame, &err);
		(void)pthread_mutex_lock(&r->lock);
		if (rc == 0)
			err.text[0] = '\0';
		if (rc < 0 || job_id != r->job_id)
			top_frame_free(&frame);
		/* keep the answer only if no other rows were asked for meanwhile */
		if (job_id == r->job_id) {
			top_frame_free(&r->frame);
			r->frame = frame;
			r->err = err;
			r->is_new = true;
		}
		wait_turn(r, begin + r->interval_ns);
	}
	r->is_ended = true;
	(void)pthread_cond_broadcast(&r->changed);
	(void)pthread_mutex_unlock(&r->lock);
	return NULL;
}

/*
 * Starts the thread. In it, the signals that the screen handles are blocked, so that they do not interrupt
 * its calls. Other signals are not blocked, because sstat and timeout(1) inherit the mask.
 */
static int start_thread(struct top_reader *r)
{
	sigset_t screen, before;
	int rc;

	(void)sigemptyset(&screen);
	(void)sigaddset(&screen, SIGWINCH);
	(void)sigaddset(&screen, SIGTSTP);
	(void)pthread_sigmask(SIG_BLOCK, &screen, &before);
	rc = -pthread_create(&r->thread, NULL, run_reader, r);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int top_reader_start(struct top_source *source, uint64_t interval_ns, struct top_reader **ret)
{
	struct top_reader *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return -ENOMEM;
	r->source = source;
	r->interval_ns = interval_ns;
	(void)pthread_mutex_init(&r->lock, NULL);
	rc = thread_cond_init(&r->changed);
	if (rc == 0)
		rc = start_thread(r);
	if (rc < 0) {
		free(r);
		return rc;
	}
	*ret = r;
	return 0;
}

bool top_reader_stop(struct top_reader *r, uint64_t wait_ns)
{
	uint64_t until_ns = clock_mono_ns() + wait_ns;
	const struct timespec until = { (time_t)(until_ns / NSEC_PER_SEC), (long)(until_ns % NSEC_PER_SEC) };
	bool is_ended;

	(void)pthread_mutex_lock(&r->lock);
	r->is_stopping = true;
	(void)pthread_cond_broadcast(&r->changed);
	while (!r->is_ended && pthread_cond_timedwait(&r->changed, &r->lock, &until) != ETIMEDOUT)
		;
	is_ended = r->is_ended;
	(void)pthread_mutex_unlock(&r->lock);
	if (!is_ended) {
		(void)pthread_detach(r->thread);
		return false;
	}
	(void)pthread_join(r->thread, NULL);
	top_frame_free(&r->frame);
	(void)pthread_cond_destroy(&r->changed);
	(void)pthread_mutex_destroy(&r->lock);
	free(r);
	return true;
}

void top_reader_ask(struct top_reader *r, uint32_t job_id)
{
	(void)pthread_mutex_lock(&r->lock);
	r->job_id = job_id;
	r->is_asked = true;
	(void)pthread_cond_broadcast(&r->changed);
	(void)pthread_mutex_unlock(&r->lock);
}

bool top_reader_take(struct top_reader *r, struct top_frame *f, struct errmsg *err)
{
	bool is_new;

	(void)pthread_mutex_lock(&r->lock);
	is_new = r->is_new;
	if (is_new) {
		*err = r->err;
		if (!*err->text) {
			top_frame_free(f);
			*f = r->frame;
			r->frame = (struct top_frame){ 0 };
		}
		r->is_new = false;
	}
	(void)pthread_mutex_unlock(&r->lock);
	return is_new;
}
