/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Providers' answers: parsing, validation, and which provider's value is used.
 * Requests: tests/cmd/factors.py.
 */
#include <errno.h>
#include <stdlib.h>

#include "src/factors/validate.h"
#include "src/factors/merge.h"
#include "src/libutil/rfc3339.h"
#include "tap.h"
#include "scratch.h"

#define NOW "2026-11-22T10:40:00Z"

static struct factors_conf conf;

static uint64_t at(const char *text)
{
	uint64_t s = 0;

	if (rfc3339_parse(text, &s) < 0)
		diag("%s", text);
	return s;
}

static struct provider_ask ask_of(const char *provider, const char *zone, const char *region)
{
	struct provider_ask a = { .provider = provider_find(provider), .now_s = at(NOW) };

	a.conf = provider_conf_of(a.provider, &conf);
	(void)snprintf(a.zone.zone, sizeof(a.zone.zone), "%s", zone);
	(void)snprintf(a.zone.region, sizeof(a.zone.region), "%s", region);
	return a;
}

/* "FROM UNTIL MG SOURCE" for each point, with a newline. */
static const char *as_text(const struct factor_point *p, size_t n)
{
	static char text[4096];
	char from[RFC3339_SIZE], until[RFC3339_SIZE];
	size_t len = 0;
	size_t i;

	text[0] = '\0';
	for (i = 0; i < n && len < sizeof(text) - 200; i++) {
		rfc3339_utc(p[i].from_s, from);
		rfc3339_utc(p[i].until_s, until);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%.5s %.5s %u %s\n", from + 11,
					until + 11, (unsigned int)p[i].factor.mg_per_kwh, p[i].factor.source);
	}
	return text;
}

/* --- answers ------------------------------------------------------------------------------- */

#define RTE(rows) "{\"total_count\":3,\"results\":[" rows "]}"
#define WATTTIME(rows, units)                                                        \
	"{\"data\":[" rows "],\"meta\":{\"region\":\"CAISO_NORTH\",\"signal_type\":" \
	"\"co2_moer\",\"units\":\"" units "\",\"data_point_period_seconds\":300}}"

static const struct {
	const char *provider, *zone;
	const char *text;
	const char *error;  /* NULL: none */
	const char *points; /* before validation */
} answers[] = {
	{ "rte", "FR", "", "the answer is empty", NULL },
	{ "rte", "FR", " \n", "the answer is empty", NULL },
	{ "rte", "FR", "\n<html>", "the answer is HTML, not JSON", NULL },
	{ "rte", "FR", "[]", "the answer has no list 'results'", NULL },
	{ "rte", "FR", "{\"results\":{}}", "the answer has no list 'results'", NULL },
	{ "rte", "FR", RTE("{\"taux_co2\":1}"), "a value without a time", NULL },
	{ "rte", "FR", RTE("{\"taux_co2\":1,\"date_heure\":7}"), "a value without a time", NULL },
	{ "rte", "FR", RTE("{\"taux_co2\":1,\"date_heure\":\"2026-11-22 10:00\"}"),
	  "'2026-11-22 10:00' is not a time of RFC 3339", NULL },
	{ "rte", "FR", RTE("{\"taux_co2\":\"1\"}"), "a value is not a number", NULL },
	{ "rte", "FR", RTE("{\"taux_co2\":-0.5}"), "a negative value: -0.5", NULL },
	{ "rte", "FR", RTE("{\"taux_co2\":1e40}"), "a value above any grid's: 1e40", NULL },
	{ "rte", "FR", RTE(""), NULL, "" },
	{ "rte", "FR", RTE("{\"taux_co2\":null,\"date_heure\":\"2026-11-22T10:00:00+00:00\"}"), NULL, "" },
	/* the newest first; the night in which clocks in Paris show 2 h twice, in local time */
	{ "rte", "FR",
	  RTE("{\"date_heure\":\"2026-10-25T02:15:00+01:00\",\"taux_co2\":31.2345},"
	      "{\"date_heure\":\"2026-10-25T02:00:00+01:00\",\"taux_co2\":null},"
	      "{\"date_heure\":\"2026-10-25T02:45:00+02:00\",\"taux_co2\":29}"),
	  NULL, "01:15 01:30 31235 RTE eCO2mix\n00:45 01:00 29000 RTE eCO2mix\n" },
	/* one of two is odd */
	{ "rte", "FR",
	  "\xef\xbb\xbf {\"by\":\"\xc9\\\"\",\"results\":["
	  "{\"date_heure\":\"2026-10-25T02:15:00+01:00\",\"taux_co2\":NaN},"
	  "{\"date_heure\":\"2026-10-25T02:45:00+01:00\",\"taux_co2\":-Infinity},"
	  "{\"date_heure\":\"2026-10-25T02:45:00+02:00\",\"taux_co2\":29}]}",
	  NULL, "00:45 01:00 29000 RTE eCO2mix\n" },
	{ "uk", "GB",
	  "{\"data\":[{\"from\":\"2026-11-22T09:30Z\",\"to\":\"2026-11-22T10:00Z\","
	  "\"intensity\":{\"forecast\":266,\"actual\":0}},{\"from\":\"2026-11-22T10:00Z\","
	  "\"to\":\"2026-11-22T10:30Z\",\"intensity\":{\"forecast\":270,\"actual\":null}},"
	  "{\"from\":\"2026-11-22T10:30Z\",\"to\":\"2026-11-22T11:00Z\",\"intensity\":null}]}",
	  NULL,
	  "09:30 10:00 0 NESO Carbon Intensity API (CC BY 4.0)\n"
	  "10:00 10:30 270000 NESO Carbon Intensity API (CC BY 4.0) (forecast)\n" },
	{ "uk", "13", "{\"data\":{\"regionid\":12,\"data\":[]}}", "another zone than region 13", NULL },
	{ "uk", "13", "{\"data\":[]}", "another zone than region 13", NULL },
	{ "uk", "London", "{\"data\":{\"regionid\":13,\"data\":[]}}", "another zone than region London",
	  NULL },
	{ "uk", "13",
	  "{\"data\":[{\"regionid\":13,\"data\":[{\"from\":\"2026-11-22T10:00Z\","
	  "\"to\":\"2026-11-22T10:30Z\",\"intensity\":{\"forecast\":88,\"index\":\"low\"}}]}]}",
	  NULL, "10:00 10:30 88000 NESO Carbon Intensity API (CC BY 4.0) (forecast)\n" },
	{ "energycharts", "de", "{\"unix_seconds\":[1,2],\"co2eq\":[1]}",
	  "the answer has not as many values as times", NULL },
	{ "energycharts", "de", "{\"unix_seconds\":[1],\"co2eq\":[1],\"co2eq_forecast\":[]}",
	  "the answer has not as many values as times", NULL },
	{ "energycharts", "de", "{\"unix_seconds\":[null],\"co2eq\":[1]}", "a value without a time", NULL },
	{ "energycharts", "de", "{\"unix_seconds\":[1795341600],\"co2eq\":[491.5]}", NULL,
	  "10:00 10:15 491500 Energy-Charts, Fraunhofer ISE (CC BY 4.0)\n" },
	/* hours */
	{ "energycharts", "ch",
	  "{\"unix_seconds\":[1795338000,1795341600,1795345200],\"co2eq\":[40.5,null,null],"
	  "\"co2eq_forecast\":[null,41.25,null]}",
	  NULL,
	  "09:00 10:00 40500 Energy-Charts, Fraunhofer ISE (CC BY 4.0)\n"
	  "10:00 11:00 41250 Energy-Charts, Fraunhofer ISE (CC BY 4.0) (forecast)\n" },
	{ "electricitymaps", "DE", "{\"zone\":\"DE\",\"history\":null}", "the answer has no list 'history'",
	  NULL },
	{ "electricitymaps", "DE", "{\"zone\":\"DE\",\"temporalGranularity\":\"daily\"}",
	  "an unknown temporalGranularity", NULL },
	{ "electricitymaps", "DE",
	  "{\"zone\":\"DE\",\"temporalGranularity\":\"15_minutes\",\"history\":[{\"zone\":\"DE\","
	  "\"carbonIntensity\":413,\"datetime\":\"2026-11-22T10:00:00.000Z\",\"isEstimated\":true}]}",
	  NULL, "10:00 10:15 413000 Electricity Maps (estimated)\n" },
	{ "electricitymaps", "DE",
	  "{\"history\":[{\"carbonIntensity\":413,\"datetime\":\"2026-11-22T10:00:00.000Z\"}]}", NULL,
	  "10:00 11:00 413000 Electricity Maps\n" },
	{ "watttime", "CAISO_NORTH", "{\"data\":[]}", "the answer names no unit", NULL },
	{ "watttime", "CAISO_NORTH", WATTTIME("", "percentile"),
	  "another unit: 'percentile' instead of 'lbs_co2_per_mwh'", NULL },
	{ "watttime", "CAISO_SOUTH", WATTTIME("", "lbs_co2_per_mwh"),
	  "another zone: 'CAISO_NORTH' instead of 'CAISO_SOUTH'", NULL },
	/* 1 lb is 453.59237 g by definition; half a milligram is rounded up */
	{ "watttime", "CAISO_NORTH",
	  WATTTIME("{\"point_time\":\"2026-11-22T10:00:00+00:00\",\"value\":1000},"
		   "{\"point_time\":\"2026-11-22T10:05:00+00:00\",\"value\":0},"
		   "{\"point_time\":\"2026-11-22T02:10:00-08:00\",\"value\":0.0022},"
		   "{\"point_time\":\"2026-11-22T10:15:00+00:00\",\"value\":null}",
		   "lbs_co2_per_mwh"),
	  NULL,
	  "10:00 10:05 453592 WattTime MOER\n10:05 10:10 0 WattTime MOER\n"
	  "10:10 10:15 1 WattTime MOER\n" },
	{ "file", "file", "nonsense\n", "file:1:", NULL },
	{ "file", "file",
	  FACTOR_SERIES_HEAD "\n2026-11-22T10:00:00Z,2026-11-22T12:00:00Z,7.5,average,life-cycle,XX,"
			     "2026-11-22T09:00:00Z,our meter\n",
	  NULL, "10:00 12:00 7500 file: our meter\n" },
};

static void test_answers(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		struct provider_ask ask = ask_of(answers[i].provider, answers[i].zone, "XX");
		struct points p = { 0 };
		struct errmsg err = { 0 };
		int rc = ask.provider->parse(&ask, answers[i].text, strlen(answers[i].text), &p, &err);

		is_int(rc, answers[i].error ? -EINVAL : 0, answers[i].provider);
		if (answers[i].error)
			ok(!strncmp(err.text, answers[i].error, strlen(answers[i].error)), "%s (%s)",
			   answers[i].error, err.text);
		else
			is_str(as_text(p.point, p.n), answers[i].points, "its points");
		points_fini(&p);
	}
	{
		struct provider_ask ask = ask_of("rte", "FR", "FR");
		struct points p = { 0 };
		struct errmsg err = { 0 };

		is_int(ask.provider->parse(&ask, "{}\0{}", 5, &p, &err), -EINVAL, "a NUL byte");
		points_fini(&p);
	}
}

/* --- can they be true? --------------------------------------------------------------------- */

static void push(struct points *p, const struct provider_ask *ask, const char *from, uint64_t s, uint64_t mg)
{
	struct errmsg err = { 0 };

	(void)provider_push(p, ask, at(from), at(from) + s, mg, "", &err);
}

static const struct {
	const char *name, *provider;
	const char *from;
	int64_t s;
	uint64_t mg;
	int rc;
	size_t n;
} validated[] = {
	{ "the largest factor allowed", "rte", "2026-11-22T10:00:00Z", 900, 2000000, 0, 1 },
	{ "above the largest factor", "rte", "2026-11-22T10:00:00Z", 900, 2000001, -EINVAL, 0 },
	{ "a point of a day", "rte", "2026-11-21T10:00:00Z", 86400, 1, 0, 1 },
	{ "a point of more than a day", "rte", "2026-11-21T10:00:00Z", 86401, 1, -EINVAL, 0 },
	{ "a point of no length", "rte", "2026-11-22T10:00:00Z", 0, 1, -EINVAL, 0 },
	{ "a point that ends before it begins", "rte", "2026-11-22T10:00:00Z", -1, 1, -EINVAL, 0 },
	{ "a clock that is slow", "rte", "2026-11-22T10:45:00Z", 900, 1, 0, 1 },
	{ "the future", "rte", "2026-11-22T10:45:01Z", 900, 1, -EINVAL, 0 },
	{ "a forecast alone", "uk", "2026-11-22T11:00:00Z", 1800, 1, -EINVAL, 0 },
	{ "an impossible forecast", "uk", "2027-11-22T11:00:00Z", 1800, 1, -EINVAL, 0 },
	{ "any time, length and factor of the site's own file", "file", "2027-11-22T11:00:00Z", 900000,
	  3000000, 0, 1 },
};

static void test_validate(void)
{
	struct factor_series none = { 0 };
	struct provider_ask uk = ask_of("uk", "GB", "GB");
	struct points p = { 0 };
	struct errmsg err = { 0 };
	size_t i, doubts;

	for (i = 0; i < ARRAY_SIZE(validated); i++) {
		struct provider_ask ask = ask_of(validated[i].provider, "x", "FR");

		push(&p, &ask, validated[i].from, (uint64_t)validated[i].s, validated[i].mg);
		is_int(validate_points(&ask, &none, false, &p, &doubts, &err), validated[i].rc,
		       validated[i].name);
		if (validated[i].rc == 0)
			is_u64(p.n, validated[i].n, "points");
		points_fini(&p);
	}
	push(&p, &uk, "2026-11-22T10:00:00Z", 1800, 1);
	push(&p, &uk, "2026-11-22T10:30:00Z", 1800, 2);
	push(&p, &uk, "2026-11-22T11:00:00Z", 1800, 3);
	push(&p, &uk, "2026-11-24T11:00:00Z", 1800, 4);
	is_int(validate_points(&uk, &none, false, &p, &doubts, &err), 0, "two values, two forecasts");
	is_u64(p.n, 2, "the latter are left out");
	points_fini(&p);
	is_int(validate_points(&uk, &none, false, &p, &doubts, &err), -EINVAL, "no value");
	/* sorted, and once each */
	push(&p, &uk, "2026-11-22T10:00:00Z", 1800, 2);
	push(&p, &uk, "2026-11-22T09:30:00Z", 1800, 1);
	push(&p, &uk, "2026-11-22T10:00:00Z", 1800, 2);
	is_int(validate_points(&uk, &none, false, &p, &doubts, &err), 0, "one twice, and not in order");
	is_str(as_text(p.point, p.n),
	       "09:30 10:00 1 NESO Carbon Intensity API (CC BY 4.0)\n"
	       "10:00 10:30 2 NESO Carbon Intensity API (CC BY 4.0)\n",
	       "  is sorted");
	is_u64(p.nskipped, 0, "  without a word");
	points_fini(&p);
	/* one between two: of the usual length, but not at a usual time */
	push(&p, &uk, "2026-11-22T08:30:00Z", 1800, 1);
	push(&p, &uk, "2026-11-22T09:00:00Z", 1800, 1);
	push(&p, &uk, "2026-11-22T09:15:00Z", 1800, 1);
	push(&p, &uk, "2026-11-22T09:30:00Z", 1800, 1);
	is_int(validate_points(&uk, &none, false, &p, &doubts, &err), 0, "one at an odd time");
	is_u64(p.n, 3, "  is skipped");
	is_str(p.skipped[0].text, "a time that overlaps another value's: 2026-11-22T09:15:00Z",
	       "  and named");
	points_fini(&p);
	push(&p, &uk, "2026-11-22T10:00:00Z", 1800, 1);
	push(&p, &uk, "2026-11-22T10:29:59Z", 1800, 1);
	is_int(validate_points(&uk, &none, false, &p, &doubts, &err), -EINVAL, "they overlap");
	points_fini(&p);
}

/* --- properties of odd answers --------------------------------------------------------------- */

#define QUARTERS 64
#define ANSWERS 2000

/* What may be wrong with one of an answer's items. */
enum fault {
	FAULT_NONE,
	FAULT_NEGATIVE,
	FAULT_TEXT,
	FAULT_NAN,
	FAULT_HUGE,
	FAULT_ZONE,
	FAULT_NO_TIME,
	FAULT_ODD_TIME,
	FAULT_FUTURE,
	FAULT_NULL,    /* the value: not known, so nothing is said */
	FAULT_NO_ITEM, /* null in place of the item */
	FAULT_SAME,    /* twice */
	FAULT_OTHER,   /* twice, with another value */
	FAULT_N
};

/* Writes item I, and for FAULT_SAME and FAULT_OTHER its double, to TEXT[2]. */
static void odd_item(size_t i, enum fault f, char text[2][160])
{
	char time[RFC3339_SIZE], value[16], *to = text[0];

	rfc3339_utc(at(NOW) - 900 * (QUARTERS - i), time);
	(void)snprintf(value, sizeof(value), "%zu", 100 + i);
	text[1][0] = '\0';
	if (f == FAULT_NO_ITEM)
		(void)snprintf(to, 160, "null");
	else
		(void)snprintf(to, 160, "{\"date_heure\":\"%s\",\"perimetre\":\"%s\",\"taux_co2\":%s}",
			       f == FAULT_NO_TIME  ? "" :
			       f == FAULT_ODD_TIME ? "26-11-22" :
			       f == FAULT_FUTURE   ? "2031-01-01T00:00:00Z" :
						     time,
			       f == FAULT_ZONE ? "Corse" : "France",
			       f == FAULT_NEGATIVE ? "-3.5" :
			       f == FAULT_TEXT	   ? "\"90\"" :
			       f == FAULT_NAN	   ? "NaN" :
			       f == FAULT_HUGE	   ? "1e9" :
			       f == FAULT_NULL	   ? "null" :
						     value);
	if (f == FAULT_SAME || f == FAULT_OTHER)
		(void)snprintf(text[1], 160,
			       "{\"date_heure\":\"%s\",\"perimetre\":\"France\",\"taux_co2\":%zu}", time,
			       100 + i + (f == FAULT_OTHER));
}

/* Makes an answer with up to 15 odd items, in any order. *RET_NAMED is how many of them must be named. */
static char *odd_answer(uint64_t *seed, enum fault fault[QUARTERS], size_t *ret_named)
{
	static char item[2 * QUARTERS][160];
	char *text = NULL;
	size_t n = 0, len, i;
	FILE *out;

	*ret_named = 0;
	memset(fault, 0, QUARTERS * sizeof(*fault));
	for (i = scratch_random(seed) % 16; i > 0; i--)
		fault[scratch_random(seed) % QUARTERS] = scratch_random(seed) % FAULT_N;
	for (i = 0; i < QUARTERS; i++) {
		odd_item(i, fault[i], &item[n]);
		n += item[n + 1][0] ? 2 : 1;
		*ret_named += fault[i] != FAULT_NONE && fault[i] != FAULT_SAME && fault[i] != FAULT_NULL;
	}
	for (i = n; i > 1; i--) { /* Fisher and Yates */
		size_t k = scratch_random(seed) % i;
		char swap[160];

		memcpy(swap, item[k], sizeof(swap));
		memcpy(item[k], item[i - 1], sizeof(swap));
		memcpy(item[i - 1], swap, sizeof(swap));
	}
	out = open_memstream(&text, &len);
	if (!out)
		exit(1);
	(void)fputs(scratch_random(seed) % 2 ? "\xef\xbb\xbf" : "", out);
	for (i = 0; i < n; i++)
		(void)fprintf(out, "%s%s", i ? "," : "{\"results\":[", item[i]);
	(void)fputs("]}", out);
	(void)fclose(out);
	return text;
}

/* Whatever is wrong with some items, the others are taken with their own values, and each odd one named. */
static void test_odd(void)
{
	struct provider_ask rte = ask_of("rte", "FR", "FR");
	struct factor_series none = { 0 };
	uint64_t seed = UINT64_C(20261128);
	size_t n_wrong = 0, n, i;

	for (n = 0; n < ANSWERS; n++) {
		const uint64_t begun = seed;
		enum fault fault[QUARTERS];
		struct points p = { 0 };
		struct errmsg err = { 0 };
		size_t named, doubts, k = 0;
		_cleanup_free_ char *text = odd_answer(&seed, fault, &named);
		bool is_right = rte.provider->parse(&rte, text, strlen(text), &p, &err) == 0 &&
				validate_points(&rte, &none, false, &p, &doubts, &err) == 0 && !doubts &&
				p.nskipped == named;

		for (i = 0; is_right && i < QUARTERS; i++)
			if (fault[i] == FAULT_NONE || fault[i] == FAULT_SAME) {
				is_right = k < p.n && p.point[k].factor.mg_per_kwh == 1000 * (100 + i) &&
					   p.point[k].from_s == at(NOW) - 900 * (QUARTERS - i);
				k++;
			}
		if (!is_right || k != p.n) {
			n_wrong++;
			diag("seed %llu: %s; %zu named of %zu", (unsigned long long)begun, err.text,
			     p.nskipped, named);
		}
		points_fini(&p);
	}
	is_u64(n_wrong, 0,
	       "of 2,000 odd answers, those that lost a good value, kept an odd one, or did not name it");
}

static void test_tenfold(void)
{
	struct provider_ask rte = ask_of("rte", "FR", "FR");
	struct provider_ask maps = ask_of("electricitymaps", "FR", "FR");
	struct provider_ask moer = ask_of("watttime", "x", "FR");
	struct factor_series known = { 0 };
	struct points p = { 0 };
	struct errmsg err = { 0 };
	size_t doubts;

	push(&p, &rte, "2026-11-20T09:00:00Z", 900, 30000);
	push(&p, &maps, "2026-11-22T09:00:00Z", 3600, 2000);
	(void)factor_series_add(&known, &p.point[0], &err);
	(void)factor_series_add(&known, &p.point[1], &err);
	points_fini(&p);
	push(&p, &rte, "2026-11-22T10:00:00Z", 900, 300000);
	push(&p, &rte, "2026-11-22T10:15:00Z", 900, 300001);
	is_int(validate_points(&rte, &known, false, &p, &doubts, &err), 0,
	       "ten times the provider's last value");
	is_u64(doubts, 0, "is taken, however old that is and whatever another provider says");
	points_fini(&p);
	push(&p, &rte, "2026-11-22T10:00:00Z", 900, 300001);
	push(&p, &rte, "2026-11-22T10:15:00Z", 900, 31000);
	is_int(validate_points(&rte, &known, false, &p, &doubts, &err), 0, "more than that");
	is_str(as_text(p.point, p.n), "10:15 10:30 31000 RTE eCO2mix\n", "is left out, the next is taken");
	is_u64(doubts, 1, "one value is counted as doubtful");
	is_str(err.text,
	       "300.001 g/kWh at 2026-11-22T10:00:00Z is more than 10 times the last value, "
	       "30.000 at 2026-11-20T09:00:00Z",
	       "and the message names it");
	points_fini(&p);
	push(&p, &rte, "2026-11-22T10:00:00Z", 900, 300001);
	is_int(validate_points(&rte, &known, true, &p, &doubts, &err), 0,
	       "more than that, accepted by the caller");
	is_u64(p.n, 1, "it is taken");
	points_fini(&p);
	/* below 10 g/kWh all is one */
	push(&p, &maps, "2026-11-22T10:00:00Z", 900, 100000);
	push(&p, &maps, "2026-11-22T10:15:00Z", 900, 0);
	push(&p, &maps, "2026-11-22T10:30:00Z", 600, 100001);
	is_int(validate_points(&maps, &known, false, &p, &doubts, &err), 0, "a grid of water and wind");
	is_str(as_text(p.point, p.n), "10:00 10:15 100000 Electricity Maps\n10:15 10:30 0 Electricity Maps\n",
	       "may jump to 100 g/kWh");
	points_fini(&p);
	push(&p, &moer, "2026-11-22T10:00:00Z", 900, 0);
	push(&p, &moer, "2026-11-22T10:15:00Z", 900, 1100000);
	is_int(validate_points(&moer, &known, false, &p, &doubts, &err), 0, "marginal values");
	is_u64(p.n, 2, "may jump");
	points_fini(&p);
	factor_series_fini(&known);
}

/* --- whose word counts --------------------------------------------------------------------- */

static void merge(struct factor_series *s, const char *preference, const char *provider, const char *from,
		  uint64_t length_s, uint64_t mg)
{
	struct provider_ask ask = ask_of(provider, "x", "FR");
	struct points p = { 0 };
	struct errmsg err = { 0 };

	push(&p, &ask, from, length_s, mg);
	ok(merge_points(s, preference, ask.provider, &p, &err) == 0, "%s says %u", provider,
	   (unsigned int)mg);
	points_fini(&p);
}

static void test_merge(void)
{
	const char *order = "rte, energycharts,electricitymaps";
	struct factor_series s = { 0 };

	merge(&s, order, "rte", "2026-11-22T10:15:00Z", 900, 1);
	merge(&s, order, "electricitymaps", "2026-11-22T10:00:00Z", 3600, 2);
	is_str(as_text(s.point, s.n),
	       "10:00 10:15 2 Electricity Maps\n10:15 10:30 1 RTE eCO2mix\n"
	       "10:30 11:00 2 Electricity Maps\n",
	       "one fills in around the other");
	merge(&s, order, "energycharts", "2026-11-22T10:10:00Z", 1800, 3);
	is_str(as_text(s.point, s.n),
	       "10:00 10:10 2 Electricity Maps\n"
	       "10:10 10:15 3 Energy-Charts, Fraunhofer ISE (CC BY 4.0)\n"
	       "10:15 10:30 1 RTE eCO2mix\n"
	       "10:30 10:40 3 Energy-Charts, Fraunhofer ISE (CC BY 4.0)\n"
	       "10:40 11:00 2 Electricity Maps\n",
	       "the second provider goes before the third, behind the first");
	merge(&s, order, "rte", "2026-11-22T10:00:00Z", 3600, 4);
	is_str(as_text(s.point, s.n), "10:00 11:00 4 RTE eCO2mix\n", "the first provider replaces all");
	merge(&s, order, "electricitymaps", "2026-11-22T10:00:00Z", 3600, 5);
	is_str(as_text(s.point, s.n), "10:00 11:00 4 RTE eCO2mix\n",
	       "the third provider replaces nothing of the first");
	merge(&s, order, "rte", "2026-11-22T11:00:00Z", 900, 4);
	merge(&s, order, "rte", "2026-11-22T11:30:00Z", 900, 4);
	merge(&s, order, "rte", "2026-11-22T11:45:00Z", 900, 5);
	merge(&s, order, "watttime", "2026-11-22T11:15:00Z", 900, 4);
	merge_neighbours(&s);
	is_str(as_text(s.point, s.n),
	       "10:00 11:15 4 RTE eCO2mix\n11:30 11:45 4 RTE eCO2mix\n"
	       "11:45 12:00 5 RTE eCO2mix\n11:15 11:30 4 WattTime MOER\n",
	       "neighbours become one: not over a gap, not another value or kind");
	/* a provider that is no longer in the order */
	merge(&s, "uk", "uk", "2026-11-22T10:00:00Z", 3600, 6);
	ok(s.n && s.point[0].factor.mg_per_kwh == 6, "its values are replaced by any other's");
	factor_series_fini(&s);
}

/* Each provider's keys are its own: what is set for one is no other's. */
static void test_keys(void)
{
	struct errmsg err = { 0 };
	const struct kvconf_key *keys;
	size_t n, i;

	keys = factors_conf_keys(&n);
	for (i = 0; i < n && strcmp(keys[i].name, "UkZones"); i++)
		;
	ok(i < n, "there is a key UkZones");
	is_int(keys[i].parse("13:GB-13", (char *)&conf + keys[i].offset, &keys[i], &err), 0,
	       "  takes a zone");
	is_str(provider_conf_of(&provider_uk, &conf)->zones, "13:GB-13", "  for uk");
	is_str(provider_conf_of(&provider_energycharts, &conf)->zones, "", "  not for another");
	is_str(provider_conf_of(&provider_rte, &conf)->url, "https://odre.opendatasoft.com",
	       "RteUrl has its default");
	for (i = 0; i < PROVIDER_N; i++)
		ok(provider_find(provider_of(i)->name) == provider_of(i), "%s is found by its name",
		   provider_of(i)->name);
}

int main(void)
{
	struct errmsg err = { 0 };
	size_t n;
	const struct kvconf_key *keys = factors_conf_keys(&n);

	if (kvconf_defaults(keys, n, &conf, &err) < 0)
		diag("%s", err.text);
	test_keys();
	test_answers();
	test_validate();
	test_odd();
	test_tenfold();
	test_merge();
	return done_testing();
}
