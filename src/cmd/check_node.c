/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_node.c - the node's half of `ceems check`: sensors, emission factor, ledger, folders.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/cmd/check.h"
#include "src/libjob/emission.h"
#include "src/libjob/ledger_book.h"
#include "src/libmeter/cputime.h"
#include "src/libmeter/source.h"
#include "src/libnode/sources.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"

#define WATCH_NS (300 * NSEC_PER_MSEC)

/* The node's CPU use over WATCH_NS, which is also the time between two readings. */
static uint32_t watch_busy_ppm(const struct check *c)
{
	struct timespec pause = clock_ns_to_timespec(WATCH_NS);
	_cleanup_close_ int fd = fileio_open_at_root(c->settings.sys_root, "/proc/stat");
	uint64_t before = 0;
	uint64_t after = 0;
	uint32_t cpus = 0;
	uint64_t ppm;

	if (fd < 0)
		fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)cputime_node(fd, &before, &cpus);
	(void)nanosleep(&pause, NULL);
	if (fd < 0 || cputime_node(fd, &after, &cpus) < 0 || !cpus || after < before)
		return 0;
	ppm = (after - before) * 1000000 / (WATCH_NS * cpus);
	return ppm > 1000000 ? 1000000 : (uint32_t)ppm;
}

/* "cpu 12.3 W, dram 4.0 W" */
static void format_watts(const struct reading *r, uint64_t dt_ns, char *buf, size_t size)
{
	size_t used = 0;
	unsigned int d;

	*buf = '\0';
	for (d = 0; d < DOMAIN_N; d++) {
		uint64_t mw = dt_ns / 1000 ? reading_energy_uj(r, (enum domain)d) * 1000 / (dt_ns / 1000) : 0;
		int n;

		if (!reading_has(r, (enum domain)d))
			continue;
		n = snprintf(buf + used, size - used, "%s%s %llu.%llu W", used ? ", " : "",
			     domain_name(d), (unsigned long long)mw / 1000,
			     (unsigned long long)mw / 100 % 10);
		if (n < 0 || (size_t)n >= size - used)
			break;
		used += (size_t)n;
	}
}

static bool check_source(struct check *c, const struct source_ops *ops, bool is_wanted)
{
	const struct source_env env = sources_env(&c->settings);
	_cleanup_free_ struct source_state *state = calloc(1, sizeof(*state));
	struct source *s = NULL;
	struct errmsg err = { 0 };
	struct reading r = { 0 };
	char about[160] = "";
	char watts[160];
	uint64_t begin;
	uint64_t dt = 0;
	int rc;

	if (!state)
		return false;
	rc = ops->open(&env, &s, &err);
	if (rc < 0) {
		if (rc == -EACCES || rc == -EPERM)
			check_warn(c, ops->name, "run ceems check as root", "%s", err.text);
		else if (rc == -ENODEV && !is_wanted)
			check_note(c, ops->name, "%s", err.text);
		else
			check_error(c, ops->name, "EnergySources=auto", "%s", err.text);
		return false;
	}
	ops->describe(s, about, sizeof(about));
	rc = ops->read(s, 0, 0, state, &r);
	begin = clock_mono_ns();
	if (rc == 0) {
		uint32_t busy_ppm = watch_busy_ppm(c);

		dt = clock_mono_ns() - begin;
		memset(&r, 0, sizeof(r));
		rc = ops->read(s, dt, busy_ppm, state, &r);
	}
	ops->close(s);
	if (rc < 0) {
		check_error(c, ops->name, NULL, "%s; cannot be read: %s", about, strerror(-rc));
		return false;
	}
	format_watts(&r, dt, watts, sizeof(watts));
	if (r.rejected)
		check_warn(c, ops->name, NULL, "%s; %u counters gave no plausible reading",
			   about, r.rejected);
	else
		check_ok(c, ops->name, "%s; now %s%s", about, watts,
			 ops->is_estimate ? " (an estimate, not a measurement)" : "");
	return true;
}

static bool list_has(const char *list, const char *name)
{
	char item[64];

	while (settings_next_item(&list, item, sizeof(item)))
		if (!strcasecmp(item, name))
			return true;
	return false;
}

static void check_sources(struct check *c)
{
	bool is_auto = list_has(c->settings.energy_sources, "auto");
	const char *used = NULL;
	size_t i;

	for (i = 0; i < source_nbuiltin; i++) {
		bool wanted = list_has(c->settings.energy_sources, source_builtin[i]->name);

		if (!wanted && !is_auto)
			continue;
		if (check_source(c, source_builtin[i], wanted) && !used)
			used = source_builtin[i]->name;
	}
	if (is_auto && used)
		check_ok(c, "EnergySources", "auto takes %s", used);
	else if (!used)
		check_error(c, "EnergySources", "EnergySources=auto",
			    "none of the sources can be read: jobs get no energy");
}

static void check_factor(struct check *c)
{
	const char *path = c->settings.emission_factor_file;
	struct emission_factor f;
	struct errmsg err = { 0 };
	unsigned long long pue = c->settings.pue_milli;

	if (!*path)
		path = emission_default_file();
	if (emission_lookup(path, c->settings.country, &f, &err) < 0) {
		check_error(c, "emissions", "Country=<ISO code>", "%s", err.text);
		return;
	}
	if (f.kind == EMISSION_DEFAULT)
		check_warn(c, "emissions", "Country=<ISO code>",
			   "%llu g CO2e/kWh, the world mean, because no Country is set",
			   (unsigned long long)f.mg_per_kwh / 1000);
	else
		check_ok(c, "emissions", "%llu.%02llu g CO2e/kWh (%s, %u, %s), PUE %llu.%03llu",
			 (unsigned long long)f.mg_per_kwh / 1000,
			 (unsigned long long)f.mg_per_kwh / 10 % 100, f.region, f.year,
			 f.source, pue / 1000, pue % 1000);
}

static void check_ledger(struct check *c)
{
	_cleanup_free_ struct ledger_page *page = malloc(sizeof(*page));
	struct ledger *l = NULL;
	struct errmsg err = { 0 };
	uint64_t age_ms;
	int rc;

	if (!page)
		return;
	rc = ledger_open(c->settings.ledger_dir, c->node, /* writable= */ false, &l, &err);
	if (rc == -ENOENT) {
		check_note(c, "ledger", "%s/%s.ledger: no slurmd with the plugin ran since boot",
			   c->settings.ledger_dir, c->node);
		return;
	}
	if (rc == -EACCES || rc == -EPERM) {
		check_note(c, "ledger", "%s: only root can look", err.text);
		return;
	}
	if (rc == 0)
		rc = ledger_snapshot(l, page);
	ledger_close(l);
	if (rc < 0) {
		check_error(c, "ledger", "restart slurmd", "%s",
			    *err.text ? err.text : strerror(-rc));
		return;
	}
	age_ms = (clock_mono_ns() - page->t_mono_ns) / NSEC_PER_MSEC;
	if (page->conservation_error_uj || ledger_page_error_uj(page))
		check_error(c, "ledger", "please report this",
			    "%llu uJ were booked wrongly since it began, %llu uJ are missing",
			    (unsigned long long)page->conservation_error_uj,
			    (unsigned long long)ledger_page_error_uj(page));
	if (!page->t_mono_ns)
		check_warn(c, "ledger", "see slurmd's log", "no tick yet");
	else if (age_ms > 10 * c->settings.sample_interval_ns / NSEC_PER_MSEC)
		check_warn(c, "ledger", "see whether slurmd runs, and its log",
			   "the last tick is %llu s old", (unsigned long long)age_ms / 1000);
	else
		check_ok(c, "ledger", "last tick %llu ms ago, %llu ticks",
			 (unsigned long long)age_ms, (unsigned long long)page->ticks);
}

void check_node(struct check *c)
{
	check_sources(c);
	check_factor(c);
	check_folder(c, "LedgerDir", c->settings.ledger_dir, /* may_come= */ true);
	check_ledger(c);
	if (*c->settings.textfile_dir)
		check_folder(c, "TextfileDir", c->settings.textfile_dir, false);
	if (!*c->settings.bpf_dir)
		check_note(c, "BpfDir", "empty: no I/O figures from BPF");
	else if (access(c->settings.bpf_dir, F_OK) < 0)
		check_note(c, "BpfDir", "%s: %s (slurmd's plugin loads the programs)",
			   c->settings.bpf_dir, strerror(errno));
	else
		check_ok(c, "BpfDir", "%s", c->settings.bpf_dir);
}
