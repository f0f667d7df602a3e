/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/sensor/gpu_poll.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "src/libutil/module.h"

/* Drivers without persistence initialise a GPU, for a second or two, when they are asked first. */
#define CONNECT_WAIT_NS (3 * NSEC_PER_SEC)
/*
 * Of the 50 ms that a step's end waits for a tick. NVML takes 4 ms on average for the counter of an H100
 * (driver 580), 15 ms at times, and GPUs are asked one after the other: eight fit in.
 */
#define ANSWER_WAIT_NS (40 * NSEC_PER_MSEC)
/*
 * An answer is new for so long: the driver keeps a CPU busy for all of the above, and an H100's counter moves
 * every 100 ms.
 */
#define FRESH_NS (50 * NSEC_PER_MSEC)
#define STOP_WAIT_NS NSEC_PER_SEC
/* Steps that begin and end ask for energy; how busy a GPU is may wait. */
#define USAGE_EVERY_NS NSEC_PER_SEC
/* Until the library is closed and opened anew after a device failed; doubles each time. */
#define RETRY_FIRST_NS NSEC_PER_SEC
#define RETRY_LAST_NS (600 * NSEC_PER_SEC)

struct gpu_poll {
	const struct gpu_library_ops *ops;
	char path[PATH_MAX];
	pthread_t thread;
	pthread_mutex_t lock; /* guards from here to `view` */
	pthread_cond_t changed;
	uint64_t asked;
	uint64_t answered;
	uint64_t answered_ns; /* when the energy was there */
	bool is_settled;   /* the first attempt to connect has ended, as it says here: */
	int connect_rc;
	struct errmsg connect_err;
	bool is_stopping;
	bool has_ended;
	bool is_abandoned; /* nobody will join: the thread frees all */
	struct gpu_view view;
	/* the thread's own */
	void *library;
	struct gpu_view now;
	struct logger_trouble trouble[GPUS_MAX];
	size_t missing; /* that may be there the next time */
	struct logger_once mute, excess;
	uint64_t usage_ns;
	uint64_t retry_at_ns;
	uint64_t retry_wait_ns;
};

/* Threads that were given up and have not ended yet. */
static atomic_uint abandoned;

/* --- the thread ------------------------------------------------------------------------- */

static void disconnect(struct gpu_poll *p)
{
	if (p->library)
		p->ops->close(p->library);
	p->library = NULL;
}

static size_t place_of(const struct gpu_view *v, const struct gpu_device *d)
{
	size_t i;

	for (i = 0; i < v->n; i++)
		if (!strcmp(v->device[i].id, d->id))
			break;
	return i;
}

static void take_devices(struct gpu_poll *p, const struct gpu_device *found, size_t n)
{
	struct gpu_view *v = &p->now;
	size_t i;

	for (i = 0; i < v->n; i++)
		v->device[i].handle = 0;
	for (i = 0; i < n; i++) {
		size_t k = place_of(v, &found[i]);

		if (k == GPUS_MAX)
			continue;
		if (k == v->n)
			v->n++;
		v->device[k] = found[i];
	}
}

/* Those that cannot be measured must not taint, at every tick, what others show. */
static void say_left_out(struct gpu_poll *p, int mute, int excess)
{
	if (mute)
		logger_log_once(&p->mute, LOGGER_INFO,
				"%s: GPUs that show neither power nor energy: %d", p->ops->name, mute);
	if (excess)
		logger_log_once(&p->excess, LOGGER_ERROR,
				"%s: GPUs beyond the first %d, which are not measured: %d",
				p->ops->name, GPUS_MAX, excess);
}

/* Returns how many devices it wrote. */
static int find(struct gpu_poll *p, struct gpu_device found[GPUS_MAX], struct errmsg *err)
{
	int count = p->ops->count(p->library, err);
	int why = 0;
	int mute = 0;
	int n = 0;
	int i;

	if (count < 0)
		return count;
	for (i = 0; i < count && n < GPUS_MAX; i++) {
		int rc = p->ops->identify(p->library, (unsigned int)i, &found[n]);

		n += rc == 0;
		if (rc == -EOPNOTSUPP)
			mute++;
		else if (rc < 0)
			why = rc;
	}
	p->missing = (size_t)(i - n - mute);
	say_left_out(p, mute, count - i);
	if (n)
		return n;
	return why ? errmsg_errno(err, why, "none of %d GPUs can be asked", count) :
		     errmsg_set(err, -ENODEV, "the driver has no GPU%s",
				count ? " that shows power or energy" : "");
}

static int connect_library(struct gpu_poll *p, struct errmsg *err)
{
	struct gpu_device found[GPUS_MAX];
	int rc;

	memset(found, 0, sizeof(found));
	rc = p->ops->open(p->path, &p->library, err);
	if (rc < 0)
		return rc;
	rc = find(p, found, err);
	if (rc < 0) {
		disconnect(p);
		return rc;
	}
	take_devices(p, found, (size_t)rc);
	return 0;
}

static void connect_first(struct gpu_poll *p)
{
	struct errmsg err = { 0 };
	int rc = connect_library(p, &err);

	(void)pthread_mutex_lock(&p->lock);
	p->view = p->now;
	p->connect_rc = rc;
	p->connect_err = err;
	p->is_settled = true;
	(void)pthread_cond_broadcast(&p->changed);
	(void)pthread_mutex_unlock(&p->lock);
}

static bool is_any_failing(const struct gpu_poll *p)
{
	size_t i;

	for (i = 0; i < p->now.n; i++)
		if (p->now.sample[i].rc < 0)
			return true;
	return !p->library || p->missing;
}

/*
 * A GPU that was reset or a driver that was loaded anew is seen only by a library that is opened
 * anew. It takes seconds and disturbs the other GPUs, so ever less often.
 */
static void reconnect_if_due(struct gpu_poll *p)
{
	uint64_t now_ns = clock_mono_ns();
	struct errmsg err = { 0 };

	if (!is_any_failing(p)) {
		p->retry_wait_ns = RETRY_FIRST_NS;
		p->retry_at_ns = 0;
		return;
	}
	if (!p->retry_at_ns)
		p->retry_at_ns = now_ns + p->retry_wait_ns;
	if (now_ns < p->retry_at_ns)
		return;
	disconnect(p);
	if (connect_library(p, &err) < 0)
		logger_debug("%s: %s", p->ops->name, err.text);
	if (p->retry_wait_ns < RETRY_LAST_NS)
		p->retry_wait_ns *= 2;
	p->retry_at_ns = clock_mono_ns() + p->retry_wait_ns;
}

static void note_failure(struct gpu_poll *p, size_t i)
{
	const struct gpu_device *d = &p->now.device[i];
	const struct gpu_sample *s = &p->now.sample[i];

	switch (logger_trouble_note(&p->trouble[i], s->rc < 0, s->t_ns)) {
	case LOGGER_BEGINS:
		logger_error("%s: GPU %u (%s) cannot be read: %s; its energy is missing until it can",
			     p->ops->name, d->unit, d->id, strerror(-s->rc));
		break;
	case LOGGER_ENDS:
		logger_info("%s: GPU %u (%s) can be read again", p->ops->name, d->unit, d->id);
		break;
	case LOGGER_NO_NEWS:
		break;
	}
}

static void read_energy(struct gpu_poll *p)
{
	size_t i;

	for (i = 0; i < p->now.n; i++) {
		struct gpu_sample *s = &p->now.sample[i];

		s->t_ns = clock_mono_ns();
		s->energy_uj = s->power_mw = GPU_UNKNOWN;
		s->rc = -ENODEV;
		if (p->library && p->now.device[i].handle)
			s->rc = p->ops->read_energy(p->library, &p->now.device[i], s);
		note_failure(p, i);
	}
}

static void read_usage(struct gpu_poll *p)
{
	size_t i;

	p->usage_ns = clock_mono_ns();
	for (i = 0; i < p->now.n; i++) {
		struct gpu_sample *s = &p->now.sample[i];

		s->busy_ppm = s->mem_used_bytes = s->mem_total_bytes = GPU_UNKNOWN;
		if (s->rc == 0)
			p->ops->read_usage(p->library, &p->now.device[i], s);
	}
}

static void publish(struct gpu_poll *p, uint64_t answered)
{
	(void)pthread_mutex_lock(&p->lock);
	p->view = p->now;
	if (p->answered != answered)
		p->answered_ns = clock_mono_ns();
	p->answered = answered;
	(void)pthread_cond_broadcast(&p->changed);
	(void)pthread_mutex_unlock(&p->lock);
}

/* Waits for a question; false: to end. */
static bool next_question(struct gpu_poll *p, uint64_t *ret_asked)
{
	bool is_stopping;

	(void)pthread_mutex_lock(&p->lock);
	while (!p->is_stopping && p->asked == p->answered)
		(void)pthread_cond_wait(&p->changed, &p->lock);
	is_stopping = p->is_stopping;
	*ret_asked = p->asked;
	(void)pthread_mutex_unlock(&p->lock);
	return !is_stopping;
}

static void destroy(struct gpu_poll *p)
{
	(void)pthread_cond_destroy(&p->changed);
	(void)pthread_mutex_destroy(&p->lock);
	free(p);
}

static void *run(void *arg)
{
	struct gpu_poll *p = arg;
	uint64_t asked;
	bool is_abandoned;

	(void)prctl(PR_SET_NAME, "ceems-gpu", 0, 0, 0);
	connect_first(p);
	while (next_question(p, &asked)) {
		read_energy(p);
		publish(p, asked);
		if (clock_mono_ns() - p->usage_ns >= USAGE_EVERY_NS) {
			read_usage(p);
			publish(p, asked);
		}
		reconnect_if_due(p);
	}
	disconnect(p);
	(void)pthread_mutex_lock(&p->lock);
	p->has_ended = true;
	is_abandoned = p->is_abandoned;
	(void)pthread_cond_broadcast(&p->changed);
	(void)pthread_mutex_unlock(&p->lock);
	if (is_abandoned) {
		destroy(p);
		(void)atomic_fetch_sub(&abandoned, 1);
	}
	return NULL;
}

/* --- its users -------------------------------------------------------------------------- */

/* Waits until *IS_TRUE or the time is up; P is locked. */
static void wait_until(struct gpu_poll *p, const bool *is_true, uint64_t wait_ns)
{
	struct timespec until = clock_ns_to_timespec(clock_mono_ns() + wait_ns);

	while (!*is_true && pthread_cond_timedwait(&p->changed, &p->lock, &until) == 0)
		;
}

static struct gpu_poll *create(const struct gpu_library_ops *ops, const char *path)
{
	struct gpu_poll *p = calloc(1, sizeof(*p));
	pthread_condattr_t attr;

	if (!p)
		return NULL;
	p->ops = ops;
	(void)snprintf(p->path, sizeof(p->path), "%s", path);
	p->retry_wait_ns = RETRY_FIRST_NS;
	(void)pthread_mutex_init(&p->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&p->changed, &attr);
	(void)pthread_condattr_destroy(&attr);
	return p;
}

static int start_thread(struct gpu_poll *p)
{
	sigset_t all, before;
	int rc;

	(void)sigfillset(&all);
	rc = pthread_sigmask(SIG_SETMASK, &all, &before);
	if (rc)
		return -rc;
	rc = pthread_create(&p->thread, NULL, run, p);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -rc;
}

int gpu_poll_start(const struct gpu_library_ops *ops, const char *path, struct gpu_poll **ret,
		   struct errmsg *err)
{
	struct gpu_poll *p;
	int rc;

	if (atomic_load(&abandoned))
		return errmsg_set(err, -EBUSY, "an earlier call into the driver still hangs");
	p = create(ops, path);
	if (!p)
		return errmsg_errno(err, -ENOMEM, "GPUs");
	rc = start_thread(p);
	if (rc < 0) {
		destroy(p);
		return errmsg_errno(err, rc, "thread");
	}
	(void)pthread_mutex_lock(&p->lock);
	wait_until(p, &p->is_settled, CONNECT_WAIT_NS);
	rc = p->is_settled ? p->connect_rc : 0;
	if (rc < 0)
		(void)errmsg_set(err, rc, "%s", p->connect_err.text);
	(void)pthread_mutex_unlock(&p->lock);
	if (rc < 0) {
		gpu_poll_stop(p);
		return rc;
	}
	*ret = p;
	return 0;
}

void gpu_poll_ask(struct gpu_poll *p, struct gpu_view *ret)
{
	uint64_t now_ns;

	(void)pthread_mutex_lock(&p->lock);
	now_ns = clock_mono_ns(); /* not before an answer that came meanwhile */
	if (p->is_settled && p->asked == p->answered && now_ns - p->answered_ns >= FRESH_NS) {
		const struct timespec until = clock_ns_to_timespec(now_ns + ANSWER_WAIT_NS);
		const uint64_t question = ++p->asked;

		(void)pthread_cond_broadcast(&p->changed);
		while (p->answered < question &&
		       pthread_cond_timedwait(&p->changed, &p->lock, &until) == 0)
			;
	}
	*ret = p->view;
	(void)pthread_mutex_unlock(&p->lock);
}

void gpu_poll_stop(struct gpu_poll *p)
{
	bool has_ended;

	if (!p)
		return;
	(void)pthread_mutex_lock(&p->lock);
	p->is_stopping = true;
	(void)pthread_cond_broadcast(&p->changed);
	wait_until(p, &p->has_ended, STOP_WAIT_NS);
	has_ended = p->has_ended;
	if (!has_ended) {
		p->is_abandoned = true;
		(void)atomic_fetch_add(&abandoned, 1);
		module_pin(&abandoned); /* with the code that the thread returns to */
		(void)pthread_detach(p->thread);
		logger_error("%s: a call into the driver hangs; its thread is left behind, and GPU "
			     "energy is off until it returns", p->ops->name);
	}
	(void)pthread_mutex_unlock(&p->lock);
	if (has_ended) {
		(void)pthread_join(p->thread, NULL);
		destroy(p);
	}
}
