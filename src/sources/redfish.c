/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source redfish: what the whole node draws, as its BMC shows it over the network. A BMC takes
 * some hundred milliseconds for an answer, or for ever, so a thread asks it; read() books the
 * samples that came meanwhile. They are few and late: until_ns says how far they reach.
 */
#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>

#include "src/libmeter/sensor/counter_state.h"
#include "src/libmeter/sensor/integrate.h"
#include "src/libmeter/sensor/source.h"
#include "src/libutil/clock.h"
#include "src/sources/redfish_walk.h"

/* SlowInterval is 2 s or more, SampleInterval a minute or less. */
#define SAMPLES_MAX 64

/* slurmd starts no later than this for a BMC that hangs; most answer in a tenth of it. */
#define FIRST_ANSWER_NS (2 * NSEC_PER_SEC)

/* A missed answer or two is bridged, by the mean of those around it. */
#define GAP_INTERVALS 4

/* The longest pause after failures, in SlowIntervals, each twice the one before. */
#define PAUSE_MAX_INTERVALS 16

/* As failed log-ins lock the user out of some BMCs. */
#define PAUSE_REFUSED_INTERVALS 64

#define STATE_NAME_MAX sizeof(((struct source_counter *)0)->name)

struct source {
	uint64_t interval_ns;
	struct redfish_conf conf;
	int stop_fd; /* eventfd: readable when the thread is to end */
	pthread_t thread;
	bool has_thread;
	struct logger_trouble trouble; /* the thread's: the last question was not answered */
	/* read()'s own */
	struct integrate integrate;
	struct counter counter;
	uint64_t sampled_ns; /* the last one that was booked */
	uint64_t waited_ns;  /* for the first: since what was kept of another process */
	uint64_t until_ns;   /* the last one that told how much was used */
	/* shared with the thread, guarded by the lock */
	pthread_mutex_t lock;
	pthread_cond_t asked;
	bool has_asked; /* once, for open() */
	int first_rc;
	struct errmsg first_err;
	bool has_kind;
	enum redfish_kind kind;
	uint32_t failures; /* not yet reported */
	size_t nsamples;
	struct redfish_sample sample[SAMPLES_MAX];
};

/* --- the thread --------------------------------------------------------------------------- */

static void add_sample(struct source *s, const struct redfish_sample *got)
{
	if (s->nsamples == SAMPLES_MAX) { /* nobody reads: the oldest goes */
		memmove(s->sample, s->sample + 1, sizeof(s->sample) - sizeof(s->sample[0]));
		s->nsamples--;
		s->failures++;
	}
	s->sample[s->nsamples++] = *got;
}

static void publish(struct source *s, int rc, const struct redfish_sample *got,
		    const struct errmsg *err)
{
	(void)pthread_mutex_lock(&s->lock);
	if (rc == 0) {
		s->kind = got->kind;
		s->has_kind = true;
		add_sample(s, got);
	} else if (rc != -ECANCELED) {
		s->failures++;
	}
	if (!s->has_asked) {
		s->has_asked = true;
		s->first_rc = rc;
		s->first_err = *err;
		(void)pthread_cond_signal(&s->asked);
	}
	(void)pthread_mutex_unlock(&s->lock);
}

static void say(struct source *s, int rc, const struct errmsg *err)
{
	if (rc == -ECANCELED)
		return;
	switch (logger_trouble_note(&s->trouble, rc < 0, clock_mono_ns())) {
	case LOGGER_BEGINS:
		logger_info("redfish: %s; it is asked again later", err->text);
		break;
	case LOGGER_ENDS:
		logger_info("redfish: %s answers again", s->conf.url);
		break;
	case LOGGER_NO_NEWS:
		break;
	}
}

/* True: it is time to end. */
static bool wait_to_ask(const struct source *s, uint64_t intervals)
{
	uint64_t ms = intervals * s->interval_ns / NSEC_PER_MSEC;
	struct pollfd p = { .fd = s->stop_fd, .events = POLLIN };

	return poll(&p, 1, (int)ms) > 0;
}

static void *ask(void *arg)
{
	struct source *s = arg;
	struct redfish_walk *walk = NULL;
	struct errmsg err = { 0 };
	uint64_t pause = 1;
	uint64_t pause_max;
	int rc = redfish_walk_create(&s->conf, s->stop_fd, &walk, &err);

	do {
		struct redfish_sample got = { 0 };

		if (rc == 0)
			rc = redfish_walk_ask(walk, &got, &err);
		publish(s, rc, &got, &err);
		say(s, rc, &err);
		pause_max = rc == -EACCES ? PAUSE_REFUSED_INTERVALS : PAUSE_MAX_INTERVALS;
		pause = rc == 0 ? 1 : 2 * pause;
		if (pause > pause_max)
			pause = pause_max;
		rc = walk ? 0 : rc;
	} while (!wait_to_ask(s, pause));
	redfish_walk_destroy(walk);
	return NULL;
}

static int start_thread(struct source *s, struct errmsg *err)
{
	sigset_t all;
	sigset_t old;
	int rc;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = -pthread_create(&s->thread, NULL, ask, s);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	s->has_thread = rc == 0;
	return rc < 0 ? errmsg_errno(err, rc, "thread") : 0;
}

/* --- opening ------------------------------------------------------------------------------ */

static void redfish_close(struct source *s)
{
	if (!s)
		return;
	if (s->has_thread) {
		(void)eventfd_write(s->stop_fd, 1);
		(void)pthread_join(s->thread, NULL);
	}
	if (s->stop_fd >= 0)
		(void)close(s->stop_fd);
	(void)pthread_cond_destroy(&s->asked);
	(void)pthread_mutex_destroy(&s->lock);
	redfish_conf_wipe(&s->conf);
	curl_global_cleanup();
	free(s);
}

static struct source *make_source(uint64_t interval_ns)
{
	struct source *s = calloc(1, sizeof(*s));
	pthread_condattr_t attr;

	if (!s)
		return NULL;
	if (curl_global_init(CURL_GLOBAL_DEFAULT)) {
		free(s);
		return NULL;
	}
	s->interval_ns = interval_ns;
	s->integrate.max_mw = COUNTER_PLATFORM_MAX_W * 1000;
	s->integrate.max_gap_ns = GAP_INTERVALS * interval_ns;
	s->counter.max_w = COUNTER_PLATFORM_MAX_W;
	s->counter.range_uj = UINT64_MAX;
	s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	(void)pthread_mutex_init(&s->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&s->asked, &attr);
	(void)pthread_condattr_destroy(&attr);
	return s;
}

/*
 * What will not be different the next time is known by the first answer: no such resource, a user
 * or certificate that is refused. A BMC that is slow or away is a source all the same.
 */
static int wait_first(struct source *s, struct errmsg *err)
{
	struct timespec until = clock_ns_to_timespec(clock_mono_ns() + FIRST_ANSWER_NS);
	int rc = 0;

	(void)pthread_mutex_lock(&s->lock);
	while (!s->has_asked && rc == 0)
		rc = pthread_cond_timedwait(&s->asked, &s->lock, &until);
	rc = s->has_asked ? s->first_rc : 0;
	if (rc == -ENOENT)
		rc = -ENODEV;
	if (rc == -ENODEV || rc == -EACCES)
		(void)errmsg_set(err, rc, "%s", s->first_err.text);
	else
		rc = 0;
	(void)pthread_mutex_unlock(&s->lock);
	return rc;
}

static int redfish_open(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	struct source *s;
	int rc;

	if (!env->redfish_conf || !*env->redfish_conf)
		return errmsg_set(err, -ENODEV, "RedfishConf is not set");
	logger_set_sink(env->log);
	s = make_source(env->slow_interval_ns);
	if (!s)
		return errmsg_errno(err, -ENOMEM, "source");
	rc = s->stop_fd < 0 ? errmsg_set(err, -EMFILE, "no eventfd") :
			      redfish_conf_read(env->redfish_conf, &s->conf, err);
	if (rc == 0)
		rc = start_thread(s, err);
	if (rc == 0)
		rc = wait_first(s, err);
	if (rc < 0) {
		redfish_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

/* --- one tick ----------------------------------------------------------------------------- */

/* "redfish EnergykWh": what the state keeps of a kind has this, and a suffix, for a name. */
static void state_name(char name[STATE_NAME_MAX], enum redfish_kind kind, const char *suffix)
{
	(void)snprintf(name, STATE_NAME_MAX, "redfish %s%s", redfish_kind_name(kind), suffix);
}

/*
 * The BMC got another firmware and shows another kind now: what was kept of the one before must
 * not be gone on from later, as the time in between is the other's.
 */
static void forget_others(struct source *s, struct source_state *state, enum redfish_kind kind)
{
	static const char *const of_power[] = { " ns", " mW" };
	char name[STATE_NAME_MAX];
	unsigned int k;
	size_t i;

	for (k = 0; k < REDFISH_KINDS; k++) {
		state_name(name, (enum redfish_kind)k, "");
		if (k != kind && k != REDFISH_WATTS && source_state_find(state, name))
			counter_state_forget(&s->counter, state, name);
	}
	for (i = 0; kind != REDFISH_WATTS && i < ARRAY_SIZE(of_power); i++) {
		state_name(name, REDFISH_WATTS, of_power[i]);
		source_state_drop(state, name);
	}
}

/*
 * A counter of kilowatt hours may stand still for hours and then show a step of 3.6 MJ at once.
 * That is plausible for the time since the last step only, so one that stands still says nothing.
 */
static void book_counter(struct source *s, const struct redfish_sample *x, uint64_t dt_ns,
			 struct source_state *state, struct reading *out,
			 struct reading_part *part)
{
	char name[STATE_NAME_MAX];
	const uint64_t *base;
	bool wrapped = false;
	uint64_t uj = 0;
	int rc;

	state_name(name, x->kind, "");
	base = source_state_find(state, name);
	rc = base && *base == x->value ? -ENODATA : 0;
	rc = counter_state_advance(&s->counter, state, name, rc, x->value, dt_ns, &uj, &wrapped);
	if (rc < 0) {
		out->rejected += rc != -ENODATA;
		return;
	}
	part->is_new_base |= rc == 1;
	part->energy_uj += uj;
	s->until_ns = x->t_ns;
}

static void book_power(struct source *s, const struct redfish_sample *x,
		       struct source_state *state, struct reading *out,
		       struct reading_part *part)
{
	char name[STATE_NAME_MAX];
	int rc;

	state_name(name, x->kind, "");
	rc = integrate_book(&s->integrate, state, name, x->value, x->t_ns, out, part);
	if (rc == 0 || rc == -ETIME)
		s->until_ns = x->t_ns;
}

static void book(struct source *s, const struct redfish_sample *x, struct source_state *state,
		 struct reading *out, struct reading_part *part)
{
	uint64_t dt_ns = s->sampled_ns ? x->t_ns - s->sampled_ns : s->waited_ns;

	s->sampled_ns = x->t_ns;
	forget_others(s, state, x->kind);
	if (x->kind == REDFISH_WATTS)
		book_power(s, x, state, out, part);
	else
		book_counter(s, x, dt_ns, state, out, part);
}

static int redfish_read(struct source *s, uint64_t dt_ns, uint32_t busy_ppm,
			struct source_state *state, struct reading *ret)
{
	struct reading out = { 0 };
	struct reading_part *part;
	size_t n = 0;

	(void)busy_ppm;
	if (!s->sampled_ns)
		s->waited_ns += dt_ns;
	(void)pthread_mutex_lock(&s->lock);
	part = reading_part(&out, DOMAIN_OTHER, 0,
			    s->kind == REDFISH_WATTS ? QUALITY_INTEGRATED : QUALITY_COUNTER);
	part->is_whole_node = true;
	/* what comes after a new base is for the next tick: a base has no energy beside it */
	while (n < s->nsamples && !part->is_new_base)
		book(s, &s->sample[n++], state, &out, part);
	s->nsamples -= n;
	memmove(s->sample, s->sample + n, s->nsamples * sizeof(s->sample[0]));
	if (s->until_ns) {
		out.rejected += s->failures;
		s->failures = 0;
	}
	(void)pthread_mutex_unlock(&s->lock);
	if (!s->until_ns)
		return -EIO;
	part->until_ns = s->until_ns; /* of several samples the last */
	out.late += clock_mono_ns() - s->sampled_ns > s->integrate.max_gap_ns;
	*ret = out;
	return 0;
}

static void redfish_describe(const struct source *s, char *buf, size_t size)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&s->lock; /* taken, nothing is changed */
	static const char *const how[REDFISH_KINDS] = {
		[REDFISH_JOULES] = "counter",
		[REDFISH_WATTS] = "integrated",
		[REDFISH_KWH] = "counter in kWh",
	};

	(void)pthread_mutex_lock(lock);
	if (s->has_kind)
		(void)snprintf(buf, size, "node: %s of %s, %s", redfish_kind_name(s->kind),
			       s->conf.url, how[s->kind]);
	else
		(void)snprintf(buf, size, "node: %s has not answered yet", s->conf.url);
	(void)pthread_mutex_unlock(lock);
}

static const struct source_ops source_redfish = {
	.id = SOURCE_REDFISH,
	.name = "redfish",
	.is_estimate = false,
	.open = redfish_open,
	.read = redfish_read,
	.describe = redfish_describe,
	.close = redfish_close,
};

source_module_fn ceems_source;

const struct source_ops *ceems_source(unsigned int abi)
{
	return abi == SOURCE_ABI ? &source_redfish : NULL;
}
