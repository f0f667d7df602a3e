/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libstep/steptrace.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "src/libmeter/activity/memuse.h"
#include "src/libmeter/activity/pressure.h"
#include "src/libstep/stepmemory.h"
#include "src/libtrace/trace_sample.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "src/libutil/thread.h"

/*
 * Room for some seconds of samples every 10 ms, in case the file system does not answer for so
 * long.
 */
#define SOCKET_BYTES (4 * 1024 * 1024)
/* Clocks differ a little, so a sample may be taken 1/EARLY of an interval before it is due. */
#define EARLY 8

struct steptrace {
	struct steptrace_setup setup;
	uint64_t every_ns;
	struct stepfile_command command;
	/* guards `stop`: while it is held and `stop` is false, the borrowed objects exist */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
	bool has_left;	      /* the tasks have ended, so the program must not be in the step's cgroups */
	struct stepfile file; /* set with the lock held; else used as what follows */
	pthread_t thread;
	/* used by the thread, and after its end by steptrace_finish() */
	struct memuse *memuse;
	struct trace_sample sample; /* the last sample */
	uint64_t due_ns;	    /* when the sample after it was due; 0: there was no sample */
	uint64_t slow_ns;	    /* when the values of STEPTRACE_SLOW_NS were last read */
	uint64_t gpu_held_ns;
};

/* --- a sample ----------------------------------------------------------------------------- */

static void open_memory(struct steptrace *st)
{
	const struct ledger_slot *s = ledger_slot(st->setup.ledger, st->setup.slot);
	struct errmsg err = { 0 };

	if (memuse_open(&s->cgroup, &st->memuse, &err) < 0)
		logger_debug("trace: memory of this step: %s", err.text);
}

static void read_memory(struct steptrace *st, struct trace_sample *s)
{
	struct memuse_kinds kinds;

	s->held_bytes = s->cache_bytes = TRACE_UNKNOWN;
	if (!st->memuse || memuse_read_kinds(st->memuse, &kinds) < 0)
		return;
	s->held_bytes = kinds.held;
	s->cache_bytes = kinds.page_cache;
}

static void read_slowly(const struct steptrace *st, const struct ledger_view *v, struct values *f)
{
	const struct ledger_slot *s = ledger_slot(st->setup.ledger, st->setup.slot);

	pressure_read(&s->cgroup, f);
	ledger_memory_values(&s->id, &v->memory, v->t_mono_ns, f);
	stepmemory_fill_kept(s, f);
}

/* Reads the values that slurmstepd reads itself, some 0.1 ms after the tick. */
static void read_own(struct steptrace *st, const struct ledger_view *v, struct trace_sample *s)
{
	const bool is_slow = !st->slow_ns || v->t_mono_ns - st->slow_ns >= STEPTRACE_SLOW_NS;
	/* a reading by processes opens files of each process */
	const bool is_cheap = st->memuse && !memuse_opens_files(st->memuse);
	uint64_t user_ns, system_ns;

	if (st->setup.cputime && cputime_read_modes(st->setup.cputime, &user_ns, &system_ns) == 0) {
		values_set(&s->values, METRIC_CPU_USER_TIME, user_ns);
		values_set(&s->values, METRIC_CPU_SYSTEM_TIME, system_ns);
	}
	steplive_read(st->setup.live, is_slow, &s->values);
	s->held_bytes = s->cache_bytes = TRACE_UNKNOWN;
	if (is_cheap || is_slow)
		read_memory(st, s);
	if (!is_slow)
		return;
	st->slow_ns = v->t_mono_ns;
	read_slowly(st, v, &s->values);
}

static void take_sample(struct steptrace *st)
{
	struct ledger *l = st->setup.ledger;
	struct trace_sample *s = &st->sample;
	struct ledger_view v;

	if (ledger_step_view(l, st->setup.slot, &v) < 0 || v.t_mono_ns <= s->mono_ns)
		return;
	s->mono_ns = v.t_mono_ns;
	s->wall_ns = v.t_wall_ns;
	values_init(&s->values);
	if (v.told_mono_ns) /* first: scaled counters refer to it */
		values_set(&s->values, METRIC_CPU_TIME, v.busy_ns);
	(void)ledger_values(l, &v.energy, &s->values);
	if (v.gpu.held_ns != st->gpu_held_ns)
		ledger_gpu_add(&v.gpu, &s->values);
	st->gpu_held_ns = v.gpu.held_ns;
	read_own(st, &v, s);
}

/* Sends a message to the program; drops and counts it if the socket is full. False: the program is gone. */
static bool send_message(struct steptrace *st, const void *message, size_t size)
{
	if (send(st->file.in, message, size, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return true;
	if (errno != EAGAIN && errno != ENOBUFS && errno != EINTR)
		return false;
	st->sample.dropped++;
	return true;
}

/* --- the thread --------------------------------------------------------------------------- */

static bool send_start(struct steptrace *st)
{
	const struct ledger_slot *s = ledger_slot(st->setup.ledger, st->setup.slot);
	struct trace_start start = {
		.mono_ns = s->t_open_mono_ns,
		.wall_ns = clock_wall_ns() - (clock_mono_ns() - s->t_open_mono_ns),
		.groups = s->request.groups,
	};
	unsigned int g;

	for (g = 0; g < GPUS_MAX; g++)
		start.has_gpus |= s->id.step_gpu_ppm[g] || s->id.job_gpu_ppm[g];
	(void)snprintf(start.node, sizeof(start.node), "%s", ledger_node(st->setup.ledger));
	return send_message(st, &start, sizeof(start));
}

/*
 * Returns when the next sample is due, on the monotonic clock: at the next multiple of the interval on the
 * wall clock. So all nodes sample at the same time, and steps share a tick. A multiple nearer than 1/EARLY of
 * the interval is skipped. WALL_NS and MONO_NS are the time now on both clocks.
 */
static uint64_t next_sample_ns(const struct steptrace *st, uint64_t wall_ns, uint64_t mono_ns)
{
	uint64_t due_ns = st->every_ns - wall_ns % st->every_ns;

	if (due_ns < st->every_ns / EARLY)
		due_ns += st->every_ns;
	return mono_ns + due_ns;
}

/* Notes in the new sample how many samples were missed since the one before. */
static void count_missed(struct steptrace *st)
{
	struct trace_sample *s = &st->sample;

	if (st->due_ns && s->mono_ns > st->due_ns)
		s->missed += (s->mono_ns - st->due_ns + st->every_ns / EARLY) / st->every_ns;
	st->due_ns = next_sample_ns(st, s->wall_ns, s->mono_ns);
}

/* Takes one sample. Needs the lock. False: the program is gone. */
static bool trace_once(struct steptrace *st)
{
	struct timespec next;
	uint64_t before_ns = st->sample.mono_ns;
	int rc;

	(void)pthread_mutex_unlock(&st->lock);
	rc = ledger_await_tick(st->setup.ledger, STEPTRACE_TICK_NS);
	(void)pthread_mutex_lock(&st->lock);
	if (st->stop)
		return true;
	if (rc == 0)
		take_sample(st);
	if (st->sample.mono_ns != before_ns) {
		count_missed(st);
		if (!send_message(st, &st->sample, sizeof(st->sample)))
			return false;
	}
	next = clock_ns_to_timespec(next_sample_ns(st, clock_wall_ns(), clock_mono_ns()));
	while (!st->stop && pthread_cond_timedwait(&st->wake, &st->lock, &next) == 0)
		;
	return true;
}

static void *steptrace_run(void *arg)
{
	struct steptrace *st = arg;
	struct stepfile file = st->file;
	bool is_there;
	int rc;

	(void)prctl(PR_SET_NAME, "ceems-trace", 0, 0, 0);
	rc = stepfile_start(&file, &st->command, SOCKET_BYTES);
	if (rc < 0) {
		(void)errmsg_set(&st->file.lost, 0, "trace: cannot start %s: %s; this step is not traced",
				 st->command.program, strerror(-rc));
		logger_info("%s", st->file.lost.text);
		return NULL;
	}
	(void)pthread_mutex_lock(&st->lock);
	st->file = file;
	if (st->has_left)
		stepfile_leave(&file);
	(void)pthread_mutex_unlock(&st->lock);
	is_there = send_start(st); /* also if the step has ended: the program needs it before the last row */
	(void)pthread_mutex_lock(&st->lock);
	while (is_there && !st->stop)
		is_there = trace_once(st);
	(void)pthread_mutex_unlock(&st->lock);
	if (!is_there)
		stepfile_end(&st->file, clock_mono_ns() + STEPFILE_END_NS);
	return NULL;
}

/* --- all of it ---------------------------------------------------------------------------- */

static void steptrace_free(struct steptrace *st)
{
	stepfile_command_clear(&st->command);
	memuse_close(st->memuse);
	(void)pthread_cond_destroy(&st->wake);
	(void)pthread_mutex_destroy(&st->lock);
	free(st);
}

int steptrace_start(const struct steptrace_setup *setup, struct steptrace **ret, struct errmsg *err)
{
	const struct stepfile_setup program = {
		.what = "trace",
		.settings = setup->settings,
		.owner = setup->owner,
		.ledger = setup->ledger,
		.id = &ledger_slot(setup->ledger, setup->slot)->id,
		.dir = setup->settings->trace_dir,
		.size_max = STEPTRACE_FILE_MAX,
	};
	struct steptrace *st;
	int rc;

	if (!strcmp(setup->settings->trace_dir, SETTINGS_NONE))
		return errmsg_set(err, -EPERM, "TraceDir=" SETTINGS_NONE " in ceems.conf");
	st = calloc(1, sizeof(*st));
	if (!st)
		return errmsg_errno(err, -ENOMEM, "trace");
	st->setup = *setup;
	stepfile_init(&st->file, "trace", "the trace of this step ends there");
	st->every_ns = ledger_slot(setup->ledger, setup->slot)->trace_ns;
	(void)pthread_mutex_init(&st->lock, NULL);
	rc = thread_cond_init(&st->wake);
	if (rc < 0) {
		free(st);
		return errmsg_errno(err, rc, "trace");
	}
	open_memory(st);
	rc = stepfile_command_make(&program, &st->command);
	if (rc == 0)
		rc = thread_start(&st->thread, steptrace_run, st);
	if (rc < 0) {
		steptrace_free(st);
		return errmsg_errno(err, rc, "trace");
	}
	*ret = st;
	return 0;
}

void steptrace_leave(struct steptrace *st)
{
	if (!st)
		return;
	(void)pthread_mutex_lock(&st->lock);
	st->has_left = true;
	stepfile_leave(&st->file);
	(void)pthread_mutex_unlock(&st->lock);
}

void steptrace_halt(struct steptrace *st)
{
	if (!st)
		return;
	(void)pthread_mutex_lock(&st->lock);
	st->stop = true;
	(void)pthread_cond_signal(&st->wake);
	(void)pthread_mutex_unlock(&st->lock);
}

/* Sends the last row, and waits until DEADLINE_NS for room in the socket. */
static void send_last(struct steptrace *st, const struct values *values, uint64_t deadline_ns)
{
	struct trace_sample *s = &st->sample;
	struct pollfd p = { .fd = st->file.in, .events = POLLOUT };
	uint64_t now_ns = clock_mono_ns();
	struct ledger_view v;

	s->is_last = 1;
	s->values = *values;
	s->held_bytes = s->cache_bytes = TRACE_UNKNOWN; /* no task is left */
	s->mono_ns = now_ns;
	s->wall_ns = clock_wall_ns();
	if (ledger_step_view(st->setup.ledger, st->setup.slot, &v) == 0 && v.t_mono_ns) {
		s->mono_ns = v.t_mono_ns;
		s->wall_ns = v.t_wall_ns;
	}
	if (poll(&p, 1, (int)((deadline_ns - now_ns) / NSEC_PER_MSEC)) == 1)
		/* a program that is gone is noticed by stepfile_end() */
		(void)send_message(st, s, sizeof(*s));
}

void steptrace_finish(struct steptrace *st, const struct values *values, struct errmsg *ret_lost)
{
	uint64_t deadline_ns;

	if (!st)
		return;
	steptrace_halt(st);
	(void)pthread_join(st->thread, NULL); /* the thread waits for a tick, at most STEPTRACE_TICK_NS */
	deadline_ns = clock_mono_ns() + STEPFILE_END_NS;
	if (st->file.in >= 0 && values)
		send_last(st, values, deadline_ns);
	stepfile_end(&st->file, deadline_ns);
	stepfile_take_lost(&st->file, ret_lost);
	steptrace_free(st);
}
