/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/sampler_internal.h"

#include <errno.h>
#include <string.h>

#include "src/libemission/factor_feed.h"
#include "src/libmeter/activity/cgmount.h"
#include "src/libnode/gpubook.h"
#include "src/libnode/membook.h"
#include "src/libnode/nodecpu.h"
#include "src/libutil/clock.h"
#include "src/libutil/crc32c.h"
#include "src/libutil/fileio.h"
#include "src/libutil/pages.h"

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
		rc = membook_create(&s->memory);
	if (rc == 0)
		rc = gpubook_create(&s->gpus);
	return rc < 0 ? errmsg_errno(err, rc, "steps") : 0;
}

static int open_sources(struct sampler *s, struct errmsg *err)
{
	struct source_env env = sources_env(&s->settings);
	struct source_notes notes;
	struct errmsg why = { 0 };
	int rc;

	ledger_notes(s->ledger, &notes);
	env.notes = &notes; /* rapl copies what it needs */
	rc = sources_open(s->settings.energy_sources, source_builtin, source_nbuiltin, &env, &s->sources,
			  &why);
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

static void open_series(struct sampler *s, const char *node)
{
	const struct factor_feed_options o = {
		.path = s->settings.emission_series_file,
		.region = s->chain.region,
		.helper_dir = s->settings.helper_dir,
		.keep_s = SERIES_KEEP_S + s->chain.max_age_s,
		.offset_ns = crc32c(0, node, strlen(node)) % (FACTOR_FEED_INTERVAL_NS / NSEC_PER_SEC) *
			     NSEC_PER_SEC,
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
			       (unsigned long long)s->chain.fixed.mg_per_kwh % 1000, s->chain.fixed.region,
			       s->chain.fixed.region[0] ? ", " : "", emission_kind_name(s->chain.fixed.kind),
			       s->feed ? " where the series has none" : "");
	(void)snprintf(buf, size, "energy from %s; %s; %s; %sledger in %s", sources, weights, factor,
		       s->is_fresh ? "new " : "", s->settings.ledger_dir);
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
	gpubook_destroy(s->gpus);
	membook_destroy(s->memory);
	readers_destroy(s->readers);
	weights_destroy(s->weights);
	ledger_book_destroy(s->book);
	ledger_close(s->ledger);
	sources_close(s->sources);
	nodecpu_close(s->cpus);
	oldhelpers_fini(&s->oldhelpers);
	pages_free(s, sizeof(*s));
}
