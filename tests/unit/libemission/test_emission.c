/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libemission/emission.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/libutil/fileio.h"
#include "src/libutil/util.h"
#include "tap.h"

#define HEAD "iso2,iso3,year,gco2e_per_kwh,country\n"

static const struct {
	const char *text;
	int rc;
	const char *error; /* behind the path */
} bad[] = {
	{ "", -ENOENT, ": no country 'FR'" },
	{ "code,year\n", -EINVAL, ":1: not 'iso2,iso3,year,gco2e_per_kwh,country'" },
	{ HEAD "DE,DEU,2024,344.14,Germany\n", -ENOENT, ": no country 'FR'" },
	{ "\xef\xbb\xbf" HEAD "DE,DEU,2024,344.14,Germany\n", -ENOENT, ": no country 'FR'" },
	{ HEAD "FX,FXX,2024,44.18,fr\n", -ENOENT, ": no country 'FR'; did you mean FX?" },
	{ HEAD "FR,FRA,2024,44.18\n", -EINVAL, ":2: fewer than 5 fields" },
	{ HEAD "FRA,FR,2024,44.18,France\n", -EINVAL, ":2: not an ISO 3166 code" },
	{ HEAD "F1,FRA,2024,44.18,France\n", -EINVAL, ":2: not an ISO 3166 code" },
	{ HEAD "FR,FRA,now,44.18,France\n", -EINVAL, ":2: not a year" },
	{ HEAD "FR,FRA,24,44.18,France\n", -EINVAL, ":2: not a year" },
	{ HEAD "FR,FRA,2024,-1,France\n", -EINVAL, ":2: not a factor in gCO2e/kWh" },
	{ HEAD "FR,FRA,2024,,France\n", -EINVAL, ":2: not a factor in gCO2e/kWh" },
	{ HEAD "FR,FRA,2024,44180,France\n", -EINVAL, ":2: not a factor in gCO2e/kWh" },
	{ HEAD "FR,FRA,2024,44.18,France\n\nXX", -EINVAL, ":4: fewer than 5 fields" },
	{ HEAD "FR,FRA,2024,44.18,France\nFR,FRA,2023,50,France\n", -EINVAL, ":3: FR is listed twice" },
};

static const struct {
	uint64_t energy_uj, ug_per_kwh, pue_milli, ng;
} ng[] = {
	{ 0, 475000000, 1000, 0 },
	{ 3600000, 1000000, 1000, 1000 }, /* 1 uWh at 1 g/kWh is 1 ug */
	{ UINT64_C(3600000000000), 475000000, 1350, UINT64_C(641250000000) },
	{ 1, 1799999999, 1000, 0 }, /* just below half */
	{ 1, 1800000000, 1000, 1 }, /* half */
	{ 3, 1800000000, 1000, 2 }, /* one and a half */
	{ UINT64_C(1000000000000000), UINT64_C(5000000000), 5000, UINT64_C(6944444444444444) },
	{ UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX },
	{ UINT64_MAX, UINT64_C(3600000000), 1001, UINT64_MAX },
};

/* A country's name, and codes that ISO 3166 does not have. */
static const struct {
	const char *country, *code;
} meant[] = {
	{ "United Kingdom", "GB" },
	{ "great britain", "GB" },
	{ "Saint Vincent and the Grenadines", "VC" },
	{ "United States of America", "US" },
	{ "Czech Republic", "CZ" },
	{ "GER", "DE" },
	{ "sui", "CH" },
};

static void write_table(const char *path, const char *text)
{
	struct errmsg err;

	if (fileio_write_atomic(path, text, strlen(text), 0600, &err) < 0)
		diag("%s", err.text);
}

static void test_shipped(void)
{
	const char *top = getenv("top_srcdir");
	struct emission_factor f = { 0 };
	struct errmsg err = { 0 };
	char path[4096];
	char want[32];
	size_t i;

	if (!top) {
		skip(9 + 2 * ARRAY_SIZE(meant) + 3, "top_srcdir is not set: run by make check");
		return;
	}
	snprintf(path, sizeof(path), "%s/src/libemission/data/emission-factors.csv", top);
	is_int(emission_lookup(path, "fr", &f, &err), 0, "France is in the table we ship");
	is_u64(f.mg_per_kwh, 44180, "44.18 g/kWh");
	is_u64(f.year, 2024, "of 2024");
	is_int(emission_lookup(path, "DEU", &f, &err), 0, "Germany by its three letters");
	is_int(emission_lookup(path, "XX", &f, &err), -ENOENT, "no such country");
	is_int(emission_lookup(path, "UK", &f, &err), -ENOENT, "nor UK");
	ok(strstr(err.text, "did you mean GB?") != NULL, "  which ISO 3166 calls GB");
	is_int(emission_lookup(path, "germany", &f, &err), -ENOENT, "nor a name");
	ok(strstr(err.text, "did you mean DE?") != NULL, "  whose code is told");
	for (i = 0; i < ARRAY_SIZE(meant); i++) {
		is_int(emission_lookup(path, meant[i].country, &f, &err), -ENOENT, meant[i].country);
		(void)snprintf(want, sizeof(want), "did you mean %s?", meant[i].code);
		ok(strstr(err.text, want) != NULL, "  %s", want);
	}
	is_int(emission_lookup(path, "Atlantis", &f, &err), -ENOENT, "a name that no country has");
	ok(strstr(err.text,
		  "no country 'Atlantis'; a country is an ISO 3166 code of two or three letters, such as "
		  "GB") != NULL,
	   "  the error says what a code is");
	is_int(emission_lookup(path, "XXX", &f, &err), -ENOENT, "three letters that no country has");
}

int main(void)
{
	char path[] = "/tmp/test_emission.XXXXXX";
	struct emission_factor f = { .year = 77 };
	struct errmsg err = { 0 };
	size_t i;
	int fd = mkstemp(path);

	if (fd < 0)
		return 99;
	close(fd);
	is_int(emission_lookup("/nonexistent/factors.csv", "FR", &f, &err), -ENOENT, "no file");
	ok(strstr(err.text, "/nonexistent/factors.csv") != NULL, "the message names the file");
	is_int(emission_lookup("/proc", "FR", &f, &err), -EINVAL, "a folder");
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		write_table(path, bad[i].text);
		is_int(emission_lookup(path, "FR", &f, &err), bad[i].rc, bad[i].error);
		is_str(err.text + strlen(path), bad[i].error, "file, line and reason");
	}
	is_u64(f.year, 77, "a failure writes nothing");

	is_int(emission_lookup("/nonexistent", "", &f, &err), 0, "no country: the world mean");
	is_u64(f.mg_per_kwh, EMISSION_WORLD_MG_PER_KWH, "475 g/kWh");
	is_str(emission_kind_name(f.kind), "default", "labelled default");
	is_str(f.region, "", "no region");
	write_table(path, HEAD "XK,XKX,2023,900.5,Kosovo, so to speak\r\n"
			       "FR,FRA,2024,44.1796,France");
	is_int(emission_lookup(path, "Fra", &f, &err), 0, "any case, no newline at the end");
	is_u64(f.mg_per_kwh, 44180, "rounded to milligrams");
	is_u64(f.year, 2024, "year");
	is_str(f.region, "FR", "region");
	is_str(emission_kind_name(f.kind), "static", "labelled static");
	ok(strstr(f.source, "Ember") != NULL, "whom to cite");
	is_int(emission_lookup(path, "xk", &f, &err), 0, "a comma in the name, CRLF");
	unlink(path);

	for (i = 0; i < ARRAY_SIZE(ng); i++)
		is_u64(emission_ng(ng[i].energy_uj, ng[i].ug_per_kwh, ng[i].pue_milli), ng[i].ng,
		       "emission_ng()");
	ok(strstr(emission_default_file(), "emission-factors.csv") != NULL, "the default: %s",
	   emission_default_file());
	test_shipped();
	return done_testing();
}
