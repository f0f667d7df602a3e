/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/sampler.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "src/libemission/factor_chain.h"
#include "src/libemission/factor_feed.h"
#include "src/libledger/ledger_book.h"
#include "src/libmeter/activity/cgmount.h"
#include "src/libnode/cpuweights.h"
#include "src/libnode/gpuwatch.h"
#include "src/libnode/live.h"
#include "src/libnode/memwatch.h"
#include "src/libnode/nodecpu.h"
#include "src/libnode/nodeprobes.h"
#include "src/libnode/oldhelpers.h"
#include "src/libnode/parts.h"
#include "src/libnode/profilepush.h"
#include "src/libnode/readers.h"
#include "src/libnode/sources.h"
#include "src/libnode/textfile.h"
#include "src/libutil/textfile_feed.h"
#include "src/libnode/weights.h"
#include "src/libutil/apportion.h"
#include "src/libutil/clock.h"
#include "src/libutil/crc32c.h"
#include "src/libutil/fileio.h"
#include "src/libutil/logger.h"
#include "src/libutil/pages.h"
#include "src/libutil/thread.h"

struct sampler {
	struct settings settings;
	struct ledger *ledger;
	bool is_fresh; /* the ledger is new, not that of an earlier slurmd */
	struct ledger_book *book;
	struct sources *sources;
	struct nodecpu *cpus;
	uint32_t node_cpus; /* CPUs that Slurm can allocate */
	uint64_t node_mem_mb;
	struct factor_chain chain;
	bool has_factor;
	struct factor_feed *feed; /* NULL: no series */
	struct parts parts;
	struct cpuweights cpuweights;
	struct weights *weights;
	struct readers *readers;
	struct memwatch *memory;
	struct gpuwatch *gpus;
	struct nodeprobes *probes; /* only for the thread; NULL: there is none */
	/* read by Slurm's RPC threads, which must not wait for a tick */
	_Atomic uint64_t energy_uj;
	_Atomic uint64_t power_mw;
	_Atomic bool has_energy;
	/* all below is only for the thread */
	struct gpu_slices slices; /* the last value of ledger_set_slices() */
	bool has_slices;	  /* ledger_set_slices() was called */
	struct textfile_feed *textfile; /* NULL: ceems.prom is not written */
	struct profilepush *push; /* NULL: profiles are not pushed */
	struct oldhelpers oldhelpers;
	struct live live;
	size_t nlines;			/* number of steps in the last tick */
	uint64_t live_ns;		/* when running steps were last read and the textfile written */
	struct logger_once tick_failed, textfile_failed;
	pthread_t thread;
	bool is_running;
	_Atomic bool stop;
};

/* --- setting up ------------------------------------------------------------------------- */

static uint64_t kernel_mem_mb(const char *root)
{
	_cleanup_close_ int fd = nodecpu_open_proc(root, "/proc/meminfo");
	unsigned long long kb = 0;
	char buf[8192];
	const char *p;

	if (fd < 0 || fileio_pread_all(fd, buf, sizeof(buf)) < 0)
		return 0;
	p = strstr(buf, "MemTotal:");
	return p && sscanf(p, "MemTotal: %llu kB", &kb) == 1 ? kb / 1024 : 0;
}

static int open_node(struct sampler *s, struct errmsg *err)
{
	int rc = nodecpu_open(s->settings.sys_root, &s->cpus, err);

	if (rc < 0)
		return rc;
	s->node_cpus = nodecpu_count(s->cpus);
	s->node_mem_mb = kernel_mem_mb(s->settings.sys_root);
	return 0;
}

/* With a fake SysRoot the host's PMU does not match it, so it is not used. */
static int open_weights(struct sampler *s, struct errmsg *err)
{
	const char *root = s->settings.sys_root;
	const bool is_real = !root[0] || !strcmp(root, "/");
	const struct weights_setup setup = {
		.sys_root = root,
		.topology = nodecpu_topology(s->cpus),
		.pmu = s->settings.step_counters && is_real ? &pmu_hardware : NULL,
	};
	int rc = weights_create(&setup, &s->weights);

	if (rc == 0)
		rc = readers_create(s->weights, &s->readers);
	if (rc == 0)
		rc = memwatch_create(&s->memory);
	if (rc == 0)
		rc = gpuwatch_create(&s->gpus);
	return rc < 0 ? errmsg_errno(err, rc, "steps") : 0;
}

static int open_sources(struct sampler *s, struct errmsg *err)
{
	const struct source_env env = sources_env(&s->settings);
	struct errmsg why = { 0 };
	int rc = sources_open(s->settings.energy_sources, source_builtin, source_nbuiltin, &env,
			      &s->sources, &why);

	if (rc < 0)
		return errmsg_set(err, rc, "%s", why.text);
	if (why.text[0])
		logger_info("energy is not measured on this node: %s", why.text);
	return 0;
}

/*
 * How long points are kept, longer than EmissionMaxAge. If slurmd was away for longer, the rest of
 * the gap is charged with the yearly mean.
 */
#define SERIES_KEEP_S (3 * 86400)

/*
 * How long slurmd's start waits for the series. The first tick may cover all the time in which
 * slurmd was away, so it needs the factors.
 */
#define SERIES_WAIT_NS NSEC_PER_SEC
/* Running steps may be read so much earlier than due, if there is a tick anyway. */
#define SHOW_SLACK_NS (NSEC_PER_SEC / 10)

static void open_series(struct sampler *s, const char *node)
{
	const struct factor_feed_options o = {
		.path = s->settings.emission_series_file,
		.region = s->chain.region,
		.helper_dir = s->settings.helper_dir,
		.keep_s = SERIES_KEEP_S + s->chain.max_age_s,
		.offset_ns = crc32c(0, node, strlen(node)) %
			     (FACTOR_FEED_INTERVAL_NS / NSEC_PER_SEC) * NSEC_PER_SEC,
	};
	struct errmsg err = { 0 };

	if (!o.path[0])
		return;
	if (factor_feed_open(&o, &s->feed, &err) < 0)
		logger_error("emissions: %s; the yearly mean is used", err.text);
	else
		(void)factor_feed_wait(s->feed, clock_mono_ns() + SERIES_WAIT_NS);
}

static void load_factor(struct sampler *s, const char *node)
{
	struct errmsg err = { 0 };
	int rc = factor_chain_setup(&s->settings, &s->chain, &err);

	s->has_factor = rc == 0;
	if (rc < 0)
		logger_error("emissions: %s; emissions are off on this node", err.text);
	else
		open_series(s, node);
}

static void sampler_publish(struct sampler *s, const struct ledger_page *page)
{
	uint64_t mw = 0;
	bool has = false;
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++) {
		has |= page->t_mono_ns && page->domain_source[d] < SOURCE_N;
		mw += page->power_mw[d];
	}
	atomic_store(&s->energy_uj, account_total_uj(&page->measured));
	atomic_store(&s->power_mw, mw);
	atomic_store(&s->has_energy, has);
}

static void tell_mounts(struct ledger *l)
{
	struct cgmount_points mounts;

	cgmount_points(&mounts);
	ledger_set_mounts(l, &mounts);
}

int sampler_create(const struct settings *settings, const char *node, struct sampler **ret,
		   struct errmsg *err)
{
	struct sampler *s = pages_alloc(sizeof(*s));
	int rc;

	if (!s)
		return errmsg_errno(err, -ENOMEM, "sampler");
	s->settings = *settings;
	rc = open_node(s, err);
	if (rc < 0)
		goto fail;
	rc = open_weights(s, err);
	if (rc < 0)
		goto fail;
	/*
	 * make the ledger before opening the sources, which may take seconds: if another process holds the
	 * ledger, the caller tries again soon
	 */
	rc = ledger_create(s->settings.ledger_dir, node, &s->ledger, &s->is_fresh, err);
	if (rc < 0)
		goto fail;
	tell_mounts(s->ledger);
	oldhelpers_find(&s->oldhelpers, sources_env(&s->settings).helper_dir);
	rc = open_sources(s, err);
	if (rc < 0)
		goto fail;
	rc = ledger_book_create(s->ledger, &s->book);
	if (rc < 0) {
		(void)errmsg_errno(err, rc, "ledger book");
		goto fail;
	}
	load_factor(s, node);
	sampler_publish(s, ledger_current(s->ledger));
	*ret = s;
	return 0;
fail:
	sampler_destroy(s);
	return rc;
}

void sampler_set_capacity(struct sampler *s, uint32_t cpus, uint64_t mem_mb)
{
	if (cpus)
		s->node_cpus = cpus;
	if (mem_mb)
		s->node_mem_mb = mem_mb;
}

void sampler_describe(const struct sampler *s, char *buf, size_t size)
{
	char sources[256];
	char weights[256];
	char factor[96] = "no emission factor";

	sources_describe(s->sources, sources, sizeof(sources));
	weights_describe(s->weights, weights, sizeof(weights));
	if (s->has_factor)
		(void)snprintf(factor, sizeof(factor), "%llu.%03llu gCO2e/kWh (%s%s%s)%s",
			       (unsigned long long)s->chain.fixed.mg_per_kwh / 1000,
			       (unsigned long long)s->chain.fixed.mg_per_kwh % 1000,
			       s->chain.fixed.region, s->chain.fixed.region[0] ? ", " : "",
			       emission_kind_name(s->chain.fixed.kind),
			       s->feed ? " where the series has none" : "");
	(void)snprintf(buf, size, "energy from %s; %s; %s; %sledger in %s", sources, weights,
		       factor, s->is_fresh ? "new " : "", s->settings.ledger_dir);
}

static const struct factor_chain *follow_series(struct sampler *s, uint64_t now_mono_ns)
{
	if (s->feed) {
		(void)factor_feed_poll(s->feed, now_mono_ns);
		s->chain.series = factor_feed_series(s->feed);
	}
	return s->has_factor ? &s->chain : NULL;
}

/* --- one tick --------------------------------------------------------------------------- */

static void note_sources(struct ledger_page *page, const struct sources_reading *r)
{
	page->rejected += r->rejected;
	page->wraps += r->wraps;
	page->late += r->late;
	page->disagreement_uj += r->disagreement_uj;
	memcpy(page->domain_source, r->from, sizeof(page->domain_source));
}

/*
 * Writes the sizes of MIG instances to the ledger if they have changed. The first tick writes also an empty list,
 * because the ledger may have a list by an earlier slurmd.
 */
static void tell_slices(struct sampler *s)
{
	static const struct gpu_slices none;
	const struct gpu_slices *now = sources_slices(s->sources);

	if (!now)
		now = &none;
	if (s->has_slices && !memcmp(now, &s->slices, sizeof(*now)))
		return;
	s->slices = *now;
	s->has_slices = true;
	ledger_set_slices(s->ledger, now);
}

static uint64_t sampler_grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* CPU time since the last page. */
struct cpu_tick {
	uint64_t busy_ns;
	uint64_t socket_ns[SOCKETS_MAX];
};

/*
 * Reads the CPU time of the node and of each socket. The sockets' times come from other lines of /proc/stat, which
 * may be missing or a moment later, so they are scaled to sum up to the node's time.
 */
static void read_cpus(struct sampler *s, struct ledger_page *page, struct book_tick *tick,
		      struct cpu_tick *ret)
{
	const struct topology *t = nodecpu_topology(s->cpus);
	uint64_t raw[SOCKETS_MAX];
	uint64_t where[SOCKETS_MAX];
	bool has_base = page->t_mono_ns != 0;
	uint64_t any = 0;
	unsigned int i;

	*ret = (struct cpu_tick){ 0 };
	tick->node_busy_ns = page->node_busy_ns;
	memcpy(page->socket_cpus, t->socket_cpus, sizeof(page->socket_cpus));
	if (nodecpu_read(s->cpus, &tick->node_busy_ns, raw) < 0)
		return;
	for (i = 0; i < SOCKETS_MAX; i++) {
		where[i] = sampler_grown(raw[i], page->socket_busy_ns[i]);
		any |= where[i];
		page->socket_busy_ns[i] = raw[i];
	}
	for (i = 0; i < SOCKETS_MAX && !any; i++)
		where[i] = t->socket_cpus[i];
	if (has_base)
		ret->busy_ns = sampler_grown(tick->node_busy_ns, page->node_busy_ns);
	(void)apportion(ret->busy_ns, where, SOCKETS_MAX, ret->socket_ns);
}

/* Computes the weights of each line in this tick, and the activity of all processes. */
static void weigh(struct sampler *s, const struct ledger_page *page, const struct cpu_tick *cpu,
		  struct book_line *line, size_t nlines, struct book_tick *tick)
{
	bool has_dram = page->domain_source[DOMAIN_DRAM] < SOURCE_N;
	struct weights_step *const *step;

	readers_read(s->readers, line, nlines, &step);
	cpuweights_fill(&s->cpuweights, nodecpu_topology(s->cpus)->socket_cpus, cpu->socket_ns,
			line, nlines, tick);
	weights_fill(s->weights, nodecpu_cpu_ns(s->cpus), has_dram, step, line, nlines, tick);
	readers_close_gone(s->readers);
}

static bool jobs_use_gpus(const struct book_line *line, size_t nlines, const struct gpu_reading *gpu, size_t ngpus)
{
	uint32_t held_ppm[GPUS_MAX] = { 0 };
	unsigned int g;
	size_t i;

	for (i = 0; i < nlines; i++)
		for (g = 0; g < GPUS_MAX; g++)
			held_ppm[g] |= line[i].s->id.job_gpu_ppm[g];
	return idle_gpus_work(held_ppm, gpu, ngpus);
}

static uint64_t jobs_busy(const struct book_line *line, size_t nlines)
{
	uint64_t ns = 0;
	size_t i;

	for (i = 0; i < nlines; i++)
		ns += sampler_grown(line[i].busy_ns, line[i].booked_ns);
	return ns;
}

static uint32_t busy_ppm(uint64_t busy_ns, uint64_t dt_ns, uint32_t cpus)
{
	unsigned __int128 all = (unsigned __int128)dt_ns * cpus;
	unsigned __int128 ppm = all ? (unsigned __int128)busy_ns * 1000000 / all : 0;

	return ppm > 1000000 ? 1000000 : (uint32_t)ppm;
}

static int sampler_book(struct sampler *s, struct ledger_page *page, const struct book_tick *tick)
{
	int rc;

	page->pue_milli = s->settings.pue_milli;
	page->market_known = s->settings.market_mg_per_kwh != SETTINGS_NO_MARKET;
	page->market_mg_per_kwh = page->market_known ? s->settings.market_mg_per_kwh : 0;
	rc = ledger_book_apply(s->book, page, tick);
	if (rc < 0)
		logger_log_once(&s->tick_failed, LOGGER_ERROR,
				"ledger: cannot write this tick: %s; the next tick will include its energy",
				strerror(-rc));
	else
		(void)logger_once_reset(&s->tick_failed);
	return rc;
}

int sampler_tick(struct sampler *s)
{
	struct ledger_page *page = ledger_begin(s->ledger);
	struct book_tick tick = { .node_cpus = s->node_cpus, .node_mem_mb = s->node_mem_mb };
	const struct parts_setup setup = {
		.interval_ns = s->settings.sample_interval_ns,
		.configured_mw = s->settings.idle_mw,
		.cpus = nodecpu_count(s->cpus),
	};
	struct parts_tick all = { 0 };
	struct sources_reading r;
	struct gpu_reading gpu[GPUS_MAX];
	const struct gpu_instance_reading *instance;
	struct book_line *line;
	struct cpu_tick cpu;
	bool is_gap;
	size_t nlines, ngpus, ninstances;
	int rc;

	tick.t_mono_ns = clock_mono_ns();
	tick.t_wall_ns = clock_wall_ns();
	if (page->t_mono_ns)
		all.dt_ns = sampler_grown(tick.t_mono_ns, page->t_mono_ns);
	tick.chain = follow_series(s, tick.t_mono_ns);
	is_gap = all.dt_ns > SAMPLER_GAP_INTERVALS * setup.interval_ns;
	page->gaps += is_gap;
	read_cpus(s, page, &tick, &cpu);
	all.busy_ns = cpu.busy_ns;

	sources_read(s->sources, tick.t_mono_ns, all.dt_ns,
		     busy_ppm(cpu.busy_ns, all.dt_ns, setup.cpus),
		     page->state, &r);
	note_sources(page, &r);
	tell_slices(s);
	tick.is_lost = r.lost != 0;
	tick.lag_ns = r.lag_ns;
	nodeprobes_look(s->probes, tick.t_mono_ns);
	nlines = ledger_book_collect(s->book, page, tick.t_mono_ns, &line);
	s->nlines = nlines;
	nodeprobes_salvage(s->probes, s->book, line, nlines);
	memwatch_read(s->memory, page, line, nlines, tick.t_mono_ns);
	ngpus = sources_gpus(s->sources, gpu, GPUS_MAX);
	ninstances = sources_instances(s->sources, &instance);
	gpuwatch_read(s->gpus, s->book, page, line, nlines, gpu, ngpus, instance, ninstances, tick.t_mono_ns);
	weigh(s, page, &cpu, line, nlines, &tick);
	all.jobs_ns = jobs_busy(line, nlines);
	weights_activity(s->weights, &tick, &all.activity);
	parts_note(&s->parts, page, &r, &setup, &tick);
	rc = sampler_book(s, page, &tick);
	if (rc < 0)
		return rc;
	all.is_tainted = is_gap || r.is_tainted;
	weights_learn(s->weights, &tick, all.dt_ns, all.is_tainted);
	all.is_tainted |= jobs_use_gpus(line, nlines, gpu, ngpus);
	parts_advance(&s->parts, page, &setup, &tick, &all);
	ledger_turn(s->ledger);
	nodeprobes_clear(s->probes);
	sampler_publish(s, page);
	return 0;
}

/* --- the thread ------------------------------------------------------------------------- */

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
		logger_log_once(&s->textfile_failed, LOGGER_ERROR,
				"textfile: %s; ceems.prom is not updated", err.text);
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

/* Returns when running steps are due to be read. A node with a shorter SampleInterval reads them more often. */
static uint64_t next_show(const struct sampler *s)
{
	uint64_t every_ns = SAMPLER_SHOW_EVERY * s->settings.sample_interval_ns;

	return s->live_ns + (every_ns < SAMPLER_SHOW_NS ? every_ns : SAMPLER_SHOW_NS);
}

/*
 * Returns how much earlier than due running steps may be read. There must be some tolerance: ticks follow the wall
 * clock, so their distance is not an exact multiple of the interval.
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

	/* reading steps needs a new tick: between two ticks counters do not move, which would look like no power */
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
		is_last = atomic_load(&s->stop); /* then make a last tick, and write to ceems.prom that slurmd ends */
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

void sampler_destroy(struct sampler *s)
{
	if (!s)
		return;
	if (s->is_running) {
		atomic_store(&s->stop, true);
		ledger_request_tick(s->ledger);
		(void)pthread_join(s->thread, NULL);
	}
	factor_feed_close(s->feed);
	gpuwatch_destroy(s->gpus);
	memwatch_destroy(s->memory);
	readers_destroy(s->readers);
	weights_destroy(s->weights);
	ledger_book_destroy(s->book);
	ledger_close(s->ledger);
	sources_close(s->sources);
	nodecpu_close(s->cpus);
	oldhelpers_fini(&s->oldhelpers);
	pages_free(s, sizeof(*s));
}

int sampler_node_energy(struct sampler *s, uint64_t *ret_energy_uj, uint64_t *ret_power_mw)
{
	if (!atomic_load(&s->has_energy))
		return -ENODATA;
	*ret_energy_uj = atomic_load(&s->energy_uj);
	*ret_power_mw = atomic_load(&s->power_mw);
	return 0;
}
