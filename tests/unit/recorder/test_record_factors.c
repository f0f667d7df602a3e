/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The factors of records, while the file system that they come from hangs. */
#include "recorder/recorder_factors.h"

#include <stdlib.h>

#include "src/libutil/clock.h"

#include "scratch.h"
#include "tap.h"

#define LONG_NS (30 * NSEC_PER_SEC)

static char dir[] = SCRATCH_TEMPLATE;
static struct settings settings = { .emission_max_age_ns = 7200 * NSEC_PER_SEC };

static void put(const char *name, const char *text, mode_t mode)
{
	if (fileio_write_atomic(scratch_path(dir, name), text, strlen(text), mode, NULL) < 0)
		exit(99);
}

static void test_none(void)
{
	struct recorder_factors f;

	factors_open(&f, &settings);
	ok(!factors_now(&f), "no table of factors: none");
	factors_close(&f);
	put("table", "iso2,iso3,year,gco2e_per_kwh,country\nFR,FRA,2024,44.18,France\n", 0644);
	(void)snprintf(settings.emission_factor_file, sizeof(settings.emission_factor_file), "%s",
		       scratch_path(dir, "table"));
	factors_open(&f, &settings);
	ok(factors_now(&f) && !factors_now(&f)->series, "no series: the yearly mean");
	factors_close(&f);
}

static void test_hang(void)
{
	uint64_t begin = clock_mono_ns();
	struct factor_mix mix;
	struct recorder_factors f;

	put("ceems-series", "#!/bin/sh\nexec sleep 1000\n", 0755);
	(void)snprintf(settings.helper_dir, sizeof(settings.helper_dir), "%s", dir);
	(void)snprintf(settings.emission_series_file, sizeof(settings.emission_series_file), "%s",
		       scratch_path(dir, "factors.csv"));
	factors_open(&f, &settings);
	ok(factors_now(&f) != NULL && clock_mono_ns() - begin < LONG_NS,
	   "the first record waits, not for long");
	begin = clock_mono_ns();
	ok(factors_now(&f) != NULL && clock_mono_ns() - begin < NSEC_PER_SEC, "the next one does not");
	factor_chain_mix(factors_now(&f), 0, 10 * NSEC_PER_SEC, &mix);
	ok(mix.now_step == FACTOR_STATIC && mix.mean_ug_per_kwh == 44180000, "both have the yearly mean");
	begin = clock_mono_ns();
	factors_close(&f);
	ok(clock_mono_ns() - begin < LONG_NS, "nor does the end");
}

int main(void)
{
	if (!mkdtemp(dir))
		exit(99);
	(void)snprintf(settings.country, sizeof(settings.country), "FR");
	(void)snprintf(settings.emission_factor_file, sizeof(settings.emission_factor_file), "%s",
		       scratch_path(dir, "missing"));
	test_none();
	test_hang();
	scratch_clear(dir);
	(void)rmdir(dir);
	return done_testing();
}
