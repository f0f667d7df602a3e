/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/sampler_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "src/libnode/profilepush.h"
#include "src/libnode/textfile.h"
#include "src/libutil/clock.h"
#include "src/libutil/textfile_feed.h"
#include "src/libutil/thread.h"

/* Running steps may be read so much earlier than due, if there is a tick anyway. */
#define SHOW_SLACK_NS (NSEC_PER_SEC / 10)

static void open_textfile(struct sampler *s)
{
	const struct textfile_feed_options o = {
		.dir = s->settings.textfile_dir,
		.file = "ceems.prom",
		.mode = (unsigned int)s->settings.textfile_mode,
		.group = s->settings.textfile_group,
		.helper_dir = s->settings.helper_dir,
	};
	struct errmsg err = { 0 };

	if (*o.dir && textfile_feed_open(&o, &s->textfile, &err) < 0)
		logger_error("textfile: %s; ceems.prom is not written", err.text);
}

static void write_textfile(struct sampler *s, bool is_last)
{
	struct source_zone zone[SOURCE_MAX_COUNTERS];
	struct gpu_reading gpu[GPUS_MAX];
	struct nodeprobes_lost lost;
	const struct gpu_instance_reading *instance;
	const size_t ninstances = sources_instances(s->sources, &instance);
	const struct textfile_input in = {
		.memory = s->memory,
		.ledger = s->ledger,
		.series = s->chain.series,
		.region = s->chain.region,
		.gpu = gpu,
		.ngpus = sources_gpus(s->sources, gpu, GPUS_MAX),
		.instance = instance,
		.ninstances = ninstances,
		.zone = zone,
		.nzones = sources_zones(s->sources, zone, SOURCE_MAX_COUNTERS),
		.lost = nodeprobes_lost(s->probes, &lost) ? &lost : NULL,
		.no_jobs = !s->settings.textfile_jobs,
		.has_rapl = s->settings.textfile_rapl,
		.has_ended = is_last,
	};
	_cleanup_free_ char *text = NULL;
	struct errmsg err = { 0 };
	size_t len;

	if (textfile_make(&in, &text, &len, &err) == 0)
		(is_last ? textfile_feed_end : textfile_feed_put)(s->textfile, text, len);
	else
		logger_log_once(&s->textfile_failed, LOGGER_ERROR, "textfile: %s; ceems.prom is not updated",
				err.text);
}

static void open_push(struct sampler *s)
{
	struct errmsg err = { 0 };

	if (*s->settings.profile_push_url && profilepush_open(&s->settings, &s->push, &err) < 0)
		logger_error("profile push: %s; profiles stay in ProfilePushDir", err.text);
}

/* Writes the values of running steps to the ledger, for slurmstepds, and ceems.prom. */
static void show_steps(struct sampler *s, uint64_t now_ns, bool is_last)
{
	s->live_ns = now_ns;
	if (!is_last)
		live_read(&s->live, s->ledger, s->probes, s->readers);
	if (s->textfile)
		write_textfile(s, is_last);
}

static void space_out(uint64_t last_ns)
{
	uint64_t now = clock_mono_ns();
	struct timespec ts;

	if (now - last_ns >= SAMPLER_SPACING_NS)
		return;
	ts = clock_ns_to_timespec(last_ns + SAMPLER_SPACING_NS);
	(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

uint64_t sampler_due_in_ns(uint64_t wall_ns, uint64_t every_ns)
{
	uint64_t left_ns = every_ns - wall_ns % every_ns;

	return left_ns < SAMPLER_HINTS_NS ? left_ns + every_ns : left_ns;
}

/*
 * Returns when running steps are due to be read. A node with a shorter SampleInterval reads them more often.
 */
static uint64_t next_show(const struct sampler *s)
{
	uint64_t every_ns = SAMPLER_SHOW_EVERY * s->settings.sample_interval_ns;

	return s->live_ns + (every_ns < SAMPLER_SHOW_NS ? every_ns : SAMPLER_SHOW_NS);
}

/*
 * Returns how much earlier than due running steps may be read. There must be some tolerance: ticks follow the
 * wall clock, so their distance is not an exact multiple of the interval.
 */
static uint64_t show_slack_ns(const struct sampler *s)
{
	uint64_t half_ns = s->settings.sample_interval_ns / 2;

	return half_ns < SHOW_SLACK_NS ? half_ns : SHOW_SLACK_NS;
}

/* Returns when the next tick after the one at LAST_NS is due if no process requests one. */
static uint64_t next_tick(const struct sampler *s, uint64_t last_ns)
{
	uint64_t wall_ns = clock_wall_ns() - (clock_mono_ns() - last_ns);
	uint64_t due_ns = sampler_due_in_ns(wall_ns, s->settings.sample_interval_ns);
	uint64_t patience_ns = readers_patience_ns(s->readers);
	uint64_t next_ns = last_ns + (patience_ns < due_ns ? patience_ns : due_ns);

	/*
	 * reading steps needs a new tick: between two ticks counters do not move, which
	 * would look like no power
	 */
	return (s->textfile || s->nlines) && next_show(s) + show_slack_ns(s) < next_ns ? next_show(s) :
											 next_ns;
}

static void *sampler_run(void *arg)
{
	struct sampler *s = arg;
	bool is_last = false;
	uint64_t last_ns;

	(void)prctl(PR_SET_NAME, "ceems-sampler", 0, 0, 0);
	/* load the BPF programs in this thread: Slurm waits for the thread that starts this one */
	nodeprobes_start(&s->settings, sources_env(&s->settings).helper_dir, &s->probes);
	open_textfile(s);
	open_push(s);
	for (;;) {
		last_ns = clock_mono_ns();
		(void)sampler_tick(s);
		oldhelpers_reap(&s->oldhelpers);
		if (s->textfile)
			textfile_feed_poll(s->textfile);
		if (s->push)
			profilepush_poll(s->push);
		if (is_last || last_ns + show_slack_ns(s) >= next_show(s))
			show_steps(s, last_ns, is_last);
		if (is_last)
			break;
		/*
		 * sampler_stop() sets `stop` and then requests a tick, so do not wait once it is
		 * set
		 */
		if (!atomic_load(&s->stop) &&
		    ledger_wait_request(s->ledger, last_ns + SAMPLER_HINTS_NS, next_tick(s, last_ns)))
			space_out(last_ns);
		/* then make a last tick, and write to ceems.prom that slurmd ends */
		is_last = atomic_load(&s->stop);
	}
	profilepush_close(s->push);
	textfile_feed_close(s->textfile);
	nodeprobes_stop(s->probes);
	return NULL;
}

int sampler_start(struct sampler *s, struct errmsg *err)
{
	int rc = thread_start(&s->thread, sampler_run, s);

	if (rc < 0)
		return errmsg_errno(err, rc, "sampler: thread");
	s->is_running = true;
	return 0;
}

int sampler_node_energy(struct sampler *s, uint64_t *ret_energy_uj, uint64_t *ret_power_mw)
{
	if (!atomic_load(&s->has_energy))
		return -ENODATA;
	*ret_energy_uj = atomic_load(&s->energy_uj);
	*ret_power_mw = atomic_load(&s->power_mw);
	return 0;
}
