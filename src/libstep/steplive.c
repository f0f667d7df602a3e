/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libstep/steplive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "src/libstep/stepmemory.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "src/libutil/thread.h"

struct steplive {
	struct steplive_setup setup;
	uint64_t told_ns;     /* when steplive_poll() last published values; 0: never */
	pthread_mutex_t lock; /* guards the probes and `stop` */
	pthread_cond_t wake;
	bool stop;
	bool has_thread;
	pthread_t thread;
};

/* Reads the probes and publishes their values. The caller holds the lock. */
static void tell(struct steplive *sl)
{
	struct ledger *l = sl->setup.ledger;
	struct values known, f;

	values_init(&f);
	/* perf_read() needs the CPU time to scale counters that were on the PMU for only a part of it */
	if (ledger_step_live(l, sl->setup.slot, &known) == 0 && values_has(&known, METRIC_CPU_TIME))
		values_set(&f, METRIC_CPU_TIME, known.value[METRIC_CPU_TIME]);
	stepmemory_fill_kept(ledger_slot(l, sl->setup.slot), &f);
	if (sl->setup.probes)
		stepprobes_read_own(sl->setup.probes, &f);
	ledger_tell(l, sl->setup.slot, &f);
}

static void *steplive_run(void *arg)
{
	struct steplive *sl = arg;

	(void)prctl(PR_SET_NAME, "ceems-live", 0, 0, 0);
	(void)pthread_mutex_lock(&sl->lock);
	while (!sl->stop) {
		const struct timespec next = clock_ns_to_timespec(clock_mono_ns() + sl->setup.every_ns);

		tell(sl);
		while (!sl->stop && pthread_cond_timedwait(&sl->wake, &sl->lock, &next) == 0)
			;
	}
	(void)pthread_mutex_unlock(&sl->lock);
	return NULL;
}

int steplive_start(const struct steplive_setup *setup, struct steplive **ret)
{
	struct steplive *sl = calloc(1, sizeof(*sl));
	int rc = -ENOMEM;

	if (!sl)
		return rc;
	sl->setup = *setup;
	rc = thread_cond_init(&sl->wake);
	if (rc < 0) {
		free(sl);
		return rc;
	}
	(void)pthread_mutex_init(&sl->lock, NULL);
	rc = setup->every_ns ? thread_start(&sl->thread, steplive_run, sl) : -ENOENT;
	sl->has_thread = rc == 0;
	if (setup->every_ns && rc < 0)
		logger_info(
			"cannot start a thread for this step: %s; its hardware counters in ceems.prom change "
			"only when Slurm polls",
			strerror(-rc));
	*ret = sl;
	return 0;
}

void steplive_poll(struct steplive *sl)
{
	uint64_t now = clock_mono_ns();

	if ((sl->told_ns && now - sl->told_ns < STEPLIVE_AGAIN_NS) || pthread_mutex_trylock(&sl->lock))
		return;
	sl->told_ns = now;
	if (sl->setup.probes)
		stepprobes_poll(sl->setup.probes);
	tell(sl);
	(void)pthread_mutex_unlock(&sl->lock);
}

void steplive_read(struct steplive *sl, bool is_all, struct values *values)
{
	if (!sl || !sl->setup.probes)
		return;
	(void)pthread_mutex_lock(&sl->lock);
	if (is_all)
		stepprobes_read(sl->setup.probes, values, NULL);
	else
		stepprobes_read_own(sl->setup.probes, values);
	(void)pthread_mutex_unlock(&sl->lock);
}

void steplive_stop(struct steplive *sl)
{
	if (!sl)
		return;
	(void)pthread_mutex_lock(&sl->lock);
	sl->stop = true;
	(void)pthread_cond_signal(&sl->wake);
	(void)pthread_mutex_unlock(&sl->lock);
	if (sl->has_thread)
		(void)pthread_join(sl->thread, NULL);
	(void)pthread_cond_destroy(&sl->wake);
	(void)pthread_mutex_destroy(&sl->lock);
	free(sl);
}
