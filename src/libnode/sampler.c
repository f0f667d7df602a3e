/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/sampler.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "src/libjob/emission.h"
#include "src/libjob/ledger_book.h"
#include "src/libmeter/cputime.h"
#include "src/libnode/bpfload.h"
#include "src/libnode/idle.h"
#include "src/libnode/sources.h"
#include "src/libnode/textfile.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/logger.h"

#define BPF_TIMEOUT_NS (5 * NSEC_PER_SEC)

/* Where one step's CPU time is read: opened when its cgroup is known, closed when it has left. */
struct reader {
	struct cputime *cputime;
	uint32_t claim;	 /* the step in this slot that it belongs to */
	uint64_t seen;	 /* tick */
	bool is_settled; /* opened, or found that it cannot be */
};

struct sampler {
	struct settings settings;
	struct ledger *ledger;
	struct ledger_book *book;
	struct sources *sources;
	int proc_stat_fd;
	uint32_t kernel_cpus; /* what busy time is out of */
	uint32_t node_cpus;   /* what Slurm allocates */
	uint64_t node_mem_mb;
	struct emission_factor factor;
	bool has_factor;
	struct idle_window window;
	uint64_t ticks;
	struct reader reader[LEDGER_STEPS];
	unsigned int readers; /* entries of reader[] that were ever used */
	/* for Slurm's RPC threads, which must not wait for a tick */
	_Atomic uint64_t energy_uj;
	_Atomic uint64_t power_mw;
	_Atomic bool has_energy;
	struct logger_once source_failed, tick_failed, textfile_failed;
	pthread_t thread;
	bool is_running;
	bool has_bpf;
	_Atomic bool stop;
};

/* --- setting up ------------------------------------------------------------------------- */

/* SysRoot may hold a whole machine, or, in tests, sensors only. */
static int open_proc(const char *root, const char *path)
{
	int fd = fileio_open_at_root(root, path);

	return fd == -ENOENT ? fileio_open_at_root("/", path) : fd;
}

static uint64_t kernel_mem_mb(const char *root)
{
	_cleanup_close_ int fd = open_proc(root, "/proc/meminfo");
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
	uint64_t busy;
	int rc;

	s->proc_stat_fd = open_proc(s->settings.sys_root, "/proc/stat");
	if (s->proc_stat_fd < 0)
		return errmsg_errno(err, s->proc_stat_fd, "/proc/stat");
	rc = cputime_node(s->proc_stat_fd, &busy, &s->kernel_cpus);
	if (rc < 0)
		return errmsg_errno(err, rc, "/proc/stat");
	if (!s->kernel_cpus)
		return errmsg_set(err, -EINVAL, "/proc/stat: no processor is listed");
	s->node_cpus = s->kernel_cpus;
	s->node_mem_mb = kernel_mem_mb(s->settings.sys_root);
	return 0;
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

static void load_factor(struct sampler *s)
{
	const char *path = s->settings.emission_factor_file;
	struct errmsg err = { 0 };
	int rc = emission_lookup(path[0] ? path : emission_default_file(), s->settings.country,
				 &s->factor, &err);

	s->has_factor = rc == 0;
	if (rc < 0)
		logger_error("emissions: %s; emissions are off on this node", err.text);
}

static void publish(struct sampler *s, const struct ledger_page *page)
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

int sampler_create(const struct settings *settings, const char *node, struct sampler **ret,
		   struct errmsg *err)
{
	struct sampler *s = calloc(1, sizeof(*s));
	bool is_fresh;
	int rc;

	if (!s)
		return errmsg_errno(err, -ENOMEM, "sampler");
	s->settings = *settings;
	s->proc_stat_fd = -1;
	rc = open_node(s, err);
	if (rc < 0)
		goto fail;
	rc = open_sources(s, err);
	if (rc < 0)
		goto fail;
	rc = ledger_create(s->settings.ledger_dir, node, &s->ledger, &is_fresh, err);
	if (rc < 0)
		goto fail;
	rc = ledger_book_create(s->ledger, &s->book);
	if (rc < 0) {
		(void)errmsg_errno(err, rc, "ledger book");
		goto fail;
	}
	load_factor(s);
	logger_debug("ledger %s/%s.ledger: %s", s->settings.ledger_dir, node,
		     is_fresh ? "started afresh" : "continued");
	publish(s, ledger_current(s->ledger));
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
	char factor[96] = "no emission factor";

	sources_describe(s->sources, sources, sizeof(sources));
	if (s->has_factor)
		(void)snprintf(factor, sizeof(factor), "%llu.%03llu gCO2e/kWh (%s%s%s)",
			       (unsigned long long)s->factor.mg_per_kwh / 1000,
			       (unsigned long long)s->factor.mg_per_kwh % 1000,
			       s->factor.region, s->factor.region[0] ? ", " : "",
			       emission_kind_name(s->factor.kind));
	(void)snprintf(buf, size, "energy from %s; %s; ledger in %s", sources, factor,
		       s->settings.ledger_dir);
}

/* --- one tick --------------------------------------------------------------------------- */

static void reader_close(struct reader *r)
{
	cputime_close(r->cputime);
	memset(r, 0, sizeof(*r));
}

static void reader_open(struct reader *r, const struct book_line *line)
{
	const struct ledger_slot *slot = line->s;
	struct errmsg err = { 0 };

	if (r->claim != line->claim)
		reader_close(r);
	r->claim = line->claim;
	if (r->is_settled || !atomic_load_explicit(&slot->cgroup_known, memory_order_acquire))
		return;
	r->is_settled = true;
	if (cputime_open(slot->cgroup_v2, slot->cgroup_cpuacct, slot->cgroup_freezer, &r->cputime,
			 &err) < 0)
		logger_debug("job %u step %u: no CPU time until it ends: %s", slot->id.job_id,
			     slot->id.step_id, err.text);
}

static void read_lines(struct sampler *s, struct book_line *line, size_t nlines)
{
	unsigned int k;
	size_t i;

	for (i = 0; i < nlines; i++) {
		struct reader *r = &s->reader[line[i].slot];
		uint64_t busy_ns;

		if (line[i].slot >= s->readers)
			s->readers = line[i].slot + 1;
		if (line[i].busy_is_final) {
			reader_close(r);
			continue;
		}
		reader_open(r, &line[i]);
		r->seen = s->ticks;
		if (r->cputime && cputime_read(r->cputime, &busy_ns) == 0)
			line[i].busy_ns = busy_ns;
	}
	for (k = 0; k < s->readers; k++)
		if (s->reader[k].claim && s->reader[k].seen != s->ticks)
			reader_close(&s->reader[k]);
}

static void note_sources(struct sampler *s, struct ledger_page *page,
			 const struct sources_reading *r)
{
	unsigned int d;

	page->rejected += r->rejected;
	page->wraps += r->wraps;
	for (d = 0; d < DOMAIN_N; d++) {
		if (page->domain_source[d] != r->from[d])
			page->idle_mw[d] = 0; /* another sensor idles at another power */
		page->domain_source[d] = r->from[d];
	}
	if (r->failed < 0)
		logger_log_once(&s->source_failed, LOGGER_ERROR,
				"%s: cannot be read: %s; its energy is missing until it can",
				source_name(r->failed_id), strerror(-r->failed));
	else
		(void)logger_once_reset(&s->source_failed);
}

static void sum_domains(const struct sources_reading *r, uint64_t ret_uj[DOMAIN_N],
			uint64_t ret_stated_mw[DOMAIN_N])
{
	uint32_t i;

	memset(ret_uj, 0, DOMAIN_N * sizeof(*ret_uj));
	memset(ret_stated_mw, 0, DOMAIN_N * sizeof(*ret_stated_mw));
	for (i = 0; i < r->nparts; i++) {
		ret_uj[r->part[i].domain] += r->part[i].energy_uj;
		ret_stated_mw[r->part[i].domain] += r->part[i].idle_mw;
	}
}

static void set_idle(struct sampler *s, struct ledger_page *page,
		     const uint64_t energy_uj[DOMAIN_N], const uint64_t stated_mw[DOMAIN_N])
{
	unsigned int d;

	if (s->settings.idle_mw) {
		idle_share_configured(s->settings.idle_mw, energy_uj, page->idle_mw);
		page->idle_is_learned = 0;
		return;
	}
	for (d = 0; d < DOMAIN_N; d++)
		if (stated_mw[d])
			page->idle_mw[d] = stated_mw[d];
}

/* Power is shown for whole windows, and only whole windows teach idle power. */
static void advance_window(struct sampler *s, struct ledger_page *page,
			   const struct sources_reading *r, const uint64_t energy_uj[DOMAIN_N],
			   const uint64_t stated_mw[DOMAIN_N], uint64_t dt_ns,
			   uint64_t busy_ns, bool is_gap)
{
	struct idle_window *w = &s->window;
	uint64_t learned[DOMAIN_N];
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++)
		w->energy_uj[d] += energy_uj[d];
	w->busy_ns += busy_ns;
	w->length_ns += dt_ns;
	w->is_tainted |= is_gap || r->rejected || r->failed < 0;
	if (w->length_ns < s->settings.sample_interval_ns)
		return;
	idle_window_power(w, page->power_mw);
	memcpy(learned, page->idle_mw, sizeof(learned));
	if (!s->settings.idle_mw && idle_learn(w, s->kernel_cpus, learned))
		for (d = 0; d < DOMAIN_N; d++)
			if (!stated_mw[d] && learned[d]) {
				page->idle_mw[d] = learned[d];
				page->idle_is_learned = 1;
			}
	idle_window_clear(w);
}

static uint32_t busy_ppm(uint64_t busy_ns, uint64_t dt_ns, uint32_t cpus)
{
	unsigned __int128 all = (unsigned __int128)dt_ns * cpus;
	unsigned __int128 ppm = all ? (unsigned __int128)busy_ns * 1000000 / all : 0;

	return ppm > 1000000 ? 1000000 : (uint32_t)ppm;
}

int sampler_tick(struct sampler *s)
{
	struct ledger_page *page = ledger_begin(s->ledger);
	struct book_tick tick = { .node_cpus = s->node_cpus, .node_mem_mb = s->node_mem_mb };
	struct sources_reading r;
	struct book_line *line;
	uint64_t energy_uj[DOMAIN_N];
	uint64_t stated_mw[DOMAIN_N];
	uint64_t busy_ns = 0;
	uint64_t dt_ns = 0;
	uint32_t cpus;
	bool is_gap;
	size_t nlines;
	int rc;

	tick.t_mono_ns = clock_mono_ns();
	tick.t_wall_ns = clock_wall_ns();
	tick.node_busy_ns = page->node_busy_ns;
	(void)cputime_node(s->proc_stat_fd, &tick.node_busy_ns, &cpus);
	if (page->t_mono_ns && tick.t_mono_ns > page->t_mono_ns) {
		dt_ns = tick.t_mono_ns - page->t_mono_ns;
		if (tick.node_busy_ns > page->node_busy_ns)
			busy_ns = tick.node_busy_ns - page->node_busy_ns;
	}
	is_gap = dt_ns > SAMPLER_GAP_INTERVALS * s->settings.sample_interval_ns;
	page->gaps += is_gap;

	sources_read(s->sources, dt_ns, busy_ppm(busy_ns, dt_ns, s->kernel_cpus), page->state, &r);
	s->ticks++;
	nlines = ledger_book_collect(s->book, page, tick.t_mono_ns, &line);
	read_lines(s, line, nlines);

	note_sources(s, page, &r);
	sum_domains(&r, energy_uj, stated_mw);
	set_idle(s, page, energy_uj, stated_mw);
	page->factor_known = s->has_factor;
	page->factor_mg_per_kwh = s->has_factor ? s->factor.mg_per_kwh : 0;
	page->pue_milli = s->settings.pue_milli;
	memcpy(tick.energy_uj, energy_uj, sizeof(tick.energy_uj));
	rc = ledger_book_apply(s->book, page, &tick);
	if (rc < 0) {
		logger_log_once(&s->tick_failed, LOGGER_ERROR,
				"ledger: a tick could not be booked: %s; it is made up for by the next",
				strerror(-rc));
		return rc;
	}
	(void)logger_once_reset(&s->tick_failed);
	advance_window(s, page, &r, energy_uj, stated_mw, dt_ns, busy_ns, is_gap);
	ledger_turn(s->ledger);
	publish(s, page);
	return 0;
}

/* --- the thread ------------------------------------------------------------------------- */

static void write_textfile(struct sampler *s)
{
	const struct textfile_input in = {
		.ledger = s->ledger,
		.factor = s->has_factor ? &s->factor : NULL,
	};
	struct errmsg err = { 0 };
	unsigned int missed;

	if (!s->settings.textfile_dir[0])
		return;
	if (textfile_write(s->settings.textfile_dir, &in, &err) < 0) {
		logger_log_once(&s->textfile_failed, LOGGER_ERROR,
				"textfile: %s; ceems.prom is not updated", err.text);
		return;
	}
	missed = logger_once_reset(&s->textfile_failed);
	if (missed)
		logger_info("textfile: ceems.prom is updated again, after %u failures", missed);
}

/*
 * Loading takes some 50 ms in a process of its own, unloading as much: too long for a thread that
 * Slurm waits for, and nothing to this one.
 */
static const char *bpf_helper(const struct sampler *s)
{
	return s->settings.bpf_helper[0] ? s->settings.bpf_helper : CEEMS_LIBEXECDIR "/ceems-bpf";
}

static void load_bpf(struct sampler *s)
{
	struct errmsg err = { 0 };
	int rc;

	if (!s->settings.bpf_dir[0])
		return;
	rc = bpfload_run(bpf_helper(s), s->settings.bpf_dir, BPF_TIMEOUT_NS, &err);
	s->has_bpf = rc == 0;
	if (rc < 0)
		logger_log(rc == -EOPNOTSUPP ? LOGGER_INFO : LOGGER_ERROR,
			   "bpf: %s; I/O is not counted on this node", err.text);
}

static void unload_bpf(struct sampler *s)
{
	struct errmsg err = { 0 };

	/* -EBUSY: steps or another slurmd use it; the last of them unloads. */
	if (s->has_bpf && bpfload_stop(bpf_helper(s), s->settings.bpf_dir, BPF_TIMEOUT_NS, &err) < 0)
		logger_debug("bpf: %s", err.text);
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

static void *run(void *arg)
{
	struct sampler *s = arg;
	uint64_t every_ns = s->settings.sample_interval_ns;
	uint64_t textfile_ns = 0;
	uint64_t last_ns;

	(void)prctl(PR_SET_NAME, "ceems-sampler", 0, 0, 0);
	load_bpf(s);
	for (;;) {
		last_ns = clock_mono_ns();
		(void)sampler_tick(s);
		if (last_ns - textfile_ns >= SAMPLER_TEXTFILE_EVERY * every_ns) {
			textfile_ns = last_ns;
			write_textfile(s);
		}
		if (atomic_load(&s->stop))
			break;
		if (ledger_wait_request(s->ledger, last_ns + every_ns))
			space_out(last_ns);
		if (atomic_load(&s->stop))
			textfile_ns = 0; /* a last tick, and the file says so */
	}
	unload_bpf(s);
	return NULL;
}

int sampler_start(struct sampler *s, struct errmsg *err)
{
	sigset_t all, before;
	int rc;

	/* The thread inherits the mask: slurmd's signals are for slurmd's threads. */
	(void)sigfillset(&all);
	rc = pthread_sigmask(SIG_SETMASK, &all, &before);
	if (rc)
		return errmsg_errno(err, -rc, "sampler: signal mask");
	rc = pthread_create(&s->thread, NULL, run, s);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc)
		return errmsg_errno(err, -rc, "sampler: thread");
	s->is_running = true;
	return 0;
}

void sampler_destroy(struct sampler *s)
{
	unsigned int i;

	if (!s)
		return;
	if (s->is_running) {
		atomic_store(&s->stop, true);
		ledger_request_tick(s->ledger);
		(void)pthread_join(s->thread, NULL);
	}
	for (i = 0; i < s->readers; i++)
		reader_close(&s->reader[i]);
	ledger_book_destroy(s->book);
	ledger_close(s->ledger);
	sources_close(s->sources);
	if (s->proc_stat_fd >= 0)
		(void)close(s->proc_stat_fd);
	free(s);
}

int sampler_node_energy(struct sampler *s, uint64_t *ret_energy_uj, uint64_t *ret_power_mw)
{
	if (!atomic_load(&s->has_energy))
		return -ENODATA;
	*ret_energy_uj = atomic_load(&s->energy_uj);
	*ret_power_mw = atomic_load(&s->power_mw);
	return 0;
}
