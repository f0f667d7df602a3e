/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_factors.c - emissions in `ceems check`: the yearly mean, the series as slurmd reads it, the
 * factor in use now, and the site's contract.
 */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "src/cmd/check/check.h"
#include "src/libemission/factor_chain.h"
#include "src/libemission/factor_feed.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "src/libutil/rfc3339.h"

#define FIX_SERIES "ceems factors check; systemctl status ceems-factors.timer"

/* Writes MG as grams, such as "44.180". Returns BUF. */
static const char *grams(uint64_t mg, char buf[32])
{
	(void)snprintf(buf, 32, "%" PRIu64 ".%03" PRIu64, mg / 1000, mg % 1000);
	return buf;
}

static void check_fixed(struct check *c, const struct emission_factor *f)
{
	char g[32], pue[32];

	if (f->kind == EMISSION_DEFAULT)
		check_warn(c, "emissions", check_hint_setting(SETTING_country, "Country=<ISO code>"),
			   "%s g CO2e/kWh, the world mean, because no Country is set",
			   grams(f->mg_per_kwh, g));
	else
		check_ok(c, "emissions", "%s g CO2e/kWh (%s, %u, %s), PUE %s", grams(f->mg_per_kwh, g),
			 f->region, f->year, f->source, grams(c->settings.pue_milli, pue));
}

/* --- the series -------------------------------------------------------------------------- */

/* The last error that the feed logged. */
static struct errmsg trouble;

static void note_trouble(enum logger_level level, const char *line)
{
	if (level == LOGGER_ERROR)
		(void)errmsg_set(&trouble, 0, "%s", line);
}

/*
 * Reads the series through a helper process of its own, as slurmd does, so that `ceems check` does not
 * hang if the file system hangs.
 */
static struct factor_feed *read_series(struct check *c, const struct factor_chain *chain)
{
	const struct factor_feed_options o = {
		.path = c->settings.emission_series_file,
		.region = chain->region,
		.helper_dir = c->settings.helper_dir,
	};
	struct factor_feed *f = NULL;

	trouble = (struct errmsg){ 0 };
	if (factor_feed_open(&o, &f, &trouble) < 0)
		return NULL;
	logger_set_sink(note_trouble);
	(void)factor_feed_wait(f, clock_mono_ns() + FACTOR_FEED_TIMEOUT_NS + NSEC_PER_SEC);
	logger_set_sink(logger_sink_stderr);
	if (!*trouble.text && !factor_feed_series(f))
		(void)errmsg_set(&trouble, 0, "%s: took too long to read", o.path);
	return f;
}

static void check_newest_point(struct check *c, const struct factor_chain *chain)
{
	uint64_t now_ns = clock_wall_ns();
	const struct factor_point *p = factor_series_at(chain->series, chain->region, EMISSION_AVERAGE,
							now_ns / NSEC_PER_SEC);
	char until[RFC3339_SIZE], g[32];
	struct factor_mix m;

	if (!p) {
		check_error(c, "series",
			    check_hint_setting(SETTING_emission_region,
					       "EmissionRegion=<a region that ceems factors list shows>"),
			    "%s has no average factor of region %s; the yearly mean is used",
			    c->settings.emission_series_file, chain->region);
		return;
	}
	factor_chain_mix(chain, now_ns, now_ns, &m);
	rfc3339_utc(p->until_s, until);
	if (m.now_step == FACTOR_FRESH)
		check_ok(c, "series", "%s g CO2e/kWh now (%s, %s, %s), until %s", grams(m.now.mg_per_kwh, g),
			 m.now.region, emission_scope_name(m.now.scope), m.now.source, until);
	else
		check_warn(c, "series", check_hint_system(FIX_SERIES),
			   "the newest factor of %s ended at %s; the %s factor is used, %s g CO2e/kWh",
			   chain->region, until, factor_step_name(m.now_step), grams(m.now.mg_per_kwh, g));
	if (p->factor.scope != chain->fixed.scope)
		check_note(c, "series",
			   "its factors are %s, the yearly mean is %s: emissions jump when one "
			   "replaces the other",
			   emission_scope_name(p->factor.scope), emission_scope_name(chain->fixed.scope));
}

static void check_series(struct check *c, struct factor_chain *chain)
{
	struct factor_feed *f;

	if (!chain->region[0]) {
		check_error(
			c, "series",
			check_hint_setting(SETTING_country, "Country=<ISO code> or EmissionRegion=<zone>"),
			"EmissionSeriesFile is set, but neither Country nor EmissionRegion says which region "
			"to use");
		return;
	}
	f = read_series(c, chain);
	chain->series = f ? factor_feed_series(f) : NULL;
	if (*trouble.text && !(chain->series && !chain->series->n))
		check_error(c, "series", check_hint_system(FIX_SERIES), "%s", trouble.text);
	else
		check_newest_point(c, chain);
	chain->series = NULL;
	factor_feed_close(f);
}

/* What to type where the yearly mean of Country is not found. */
static struct check_hint fix_country(const struct settings *s, char *hint, size_t size)
{
	const char *path = *s->emission_factor_file ? s->emission_factor_file : emission_default_file();
	char code[EMISSION_CODE_SIZE];

	if (access(path, R_OK) < 0)
		return *s->emission_factor_file ?
			       check_hint_setting(SETTING_emission_factor_file,
						  "EmissionFactorFile=<a file that slurmd can read>") :
			       check_hint_system("install slurm-ceems");
	if (emission_guess(path, s->country, code) == 0)
		(void)snprintf(hint, size, "Country=%s", code);
	else
		(void)snprintf(hint, size, "Country=<ISO 3166 code>  # cut -d, -f1,5 %s lists them", path);
	return check_hint_setting(SETTING_country, hint);
}

void check_factors(struct check *c)
{
	char hint[PATH_MAX + 64];
	const struct settings *s = &c->settings;
	struct factor_chain chain;
	struct errmsg err = { 0 };
	char g[32];

	if (check_is_hung(c, s->emission_factor_file))
		return;
	if (factor_chain_setup(s, &chain, &err) < 0) {
		check_error(c, "emissions", fix_country(s, hint, sizeof(hint)), "%s", err.text);
		return;
	}
	check_fixed(c, &chain.fixed);
	if (s->emission_series_file[0] && !check_is_hung(c, s->emission_series_file))
		check_series(c, &chain);
	if (s->market_mg_per_kwh != SETTINGS_NO_MARKET)
		check_ok(c, "market", "%s g CO2e/kWh by contract (%s), beside the grid's",
			 grams(s->market_mg_per_kwh, g), s->market_source);
	if (s->embodied_ug_per_cpu_hour)
		check_ok(c, "embodied", "%" PRIu64 ".%06" PRIu64 " g CO2e per hour of a CPU (%s)",
			 s->embodied_ug_per_cpu_hour / 1000000, s->embodied_ug_per_cpu_hour % 1000000,
			 s->embodied_source);
}
