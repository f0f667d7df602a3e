/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libemission/emission.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"
#include "src/libutil/trust.h"
#include "src/libutil/utf8.h"
#include "src/libutil/util.h"

#define TABLE_MAX_BYTES (1024 * 1024)
#define TABLE_HEAD "iso2,iso3,year,gco2e_per_kwh,country"
#define EMBER "Ember via Our World in Data (CC BY 4.0)"

#define UJ_PER_KWH UINT64_C(3600000000000)
#define NG_PER_UG UINT64_C(1000)

static const char *const kind_name[EMISSION_KIND_N] = {
	[EMISSION_AVERAGE] = "average",
	[EMISSION_MARGINAL] = "marginal",
	[EMISSION_STATIC] = "static",
	[EMISSION_DEFAULT] = "default",
};

static const char *const scope_name[EMISSION_SCOPE_N] = {
	[EMISSION_LIFE_CYCLE] = "life-cycle",
	[EMISSION_DIRECT] = "direct",
};

const char *emission_kind_name(enum emission_kind kind)
{
	return kind < EMISSION_KIND_N ? kind_name[kind] : "?";
}

const char *emission_scope_name(enum emission_scope scope)
{
	return scope < EMISSION_SCOPE_N ? scope_name[scope] : "?";
}

static int find_name(const char *const *names, unsigned int n, const char *name)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return (int)i;
	return -EINVAL;
}

int emission_kind_of(const char *name, enum emission_kind *ret)
{
	int i = find_name(kind_name, EMISSION_KIND_N, name);

	if (i < 0)
		return i;
	*ret = (enum emission_kind)i;
	return 0;
}

int emission_scope_of(const char *name, enum emission_scope *ret)
{
	int i = find_name(scope_name, EMISSION_SCOPE_N, name);

	if (i < 0)
		return i;
	*ret = (enum emission_scope)i;
	return 0;
}

const char *emission_default_file(void)
{
	return EMISSION_DEFAULT_FILE;
}

uint64_t emission_ng(uint64_t energy_uj, uint64_t ug_per_kwh, uint64_t pue_milli)
{
	/* uJ * ug/kWh / (uJ/kWh) is ug; PUE is in thousandths */
	const uint64_t divisor = UJ_PER_KWH / NG_PER_UG * 1000;
	unsigned __int128 v = (unsigned __int128)energy_uj * ug_per_kwh;
	unsigned __int128 rest;

	if (!v)
		return 0; /* fast path: most nodes have no sensor for most domains */
	if (__builtin_mul_overflow(v, (unsigned __int128)pue_milli, &v))
		return UINT64_MAX;
	rest = v % divisor;
	v = (v - rest) / divisor + (rest >= divisor - rest);
	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

uint64_t emission_mean_ug(uint64_t co2e_ng, uint64_t energy_uj, uint64_t pue_milli)
{
	/* ng * (uJ/kWh) / uJ is ng/kWh. PUE in thousandths cancels against ng per ug. */
	unsigned __int128 by = (unsigned __int128)energy_uj * pue_milli;
	unsigned __int128 v = by ? ((unsigned __int128)co2e_ng * UJ_PER_KWH + by / 2) / by : UINT64_MAX;

	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

/* --- the table -------------------------------------------------------------------------- */

struct row {
	const char *iso2, *iso3, *name;
	uint64_t year, mg_per_kwh;
};

static bool is_code(const char *s, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (!isalpha((unsigned char)s[i]))
			return false;
	return !s[len];
}

/* Splits LINE at its commas; the last field, the country's name, may contain commas. */
static int parse_row(char *line, struct row *ret, const char **ret_why)
{
	char *field[5] = { line };
	size_t i;

	for (i = 1; i < 5; i++) {
		field[i] = strchr(field[i - 1], ',');
		if (!field[i]) {
			*ret_why = "fewer than 5 fields";
			return -EINVAL;
		}
		*field[i]++ = '\0';
	}
	ret->iso2 = field[0];
	ret->iso3 = field[1];
	ret->name = field[4];
	if (!is_code(field[0], 2) || !is_code(field[1], 3)) {
		*ret_why = "not an ISO 3166 code";
		return -EINVAL;
	}
	if (parse_u64(field[2], &ret->year) < 0 || ret->year < 1990 || ret->year > 2200) {
		*ret_why = "not a year";
		return -EINVAL;
	}
	if (parse_decimal(field[3], 1000, &ret->mg_per_kwh) < 0 ||
	    ret->mg_per_kwh > EMISSION_MAX_MG_PER_KWH) {
		*ret_why = "not a factor in gCO2e/kWh";
		return -EINVAL;
	}
	return 0;
}

/* Calls EACH for each row of TEXT until EACH fails; errors name the line. */
static int walk(const char *path, char *text,
		int (*each)(void *ctx, const struct emission_factor *f, const char *iso3, struct errmsg *err),
		void *ctx, struct errmsg *err)
{
	unsigned int line = 0;
	char *next;

	for (; *text; text = next) {
		struct emission_factor f = { .kind = EMISSION_STATIC };
		const char *why;
		struct row row;
		int rc;

		next = text + strcspn(text, "\n");
		if (*next)
			*next++ = '\0';
		text[strcspn(text, "\r")] = '\0';
		if (++line == 1) {
			if (strcmp(text, TABLE_HEAD))
				return errmsg_set(err, -EINVAL, "%s:1: not '%s'", path, TABLE_HEAD);
			continue;
		}
		if (!*text)
			continue;
		if (parse_row(text, &row, &why) < 0)
			return errmsg_set(err, -EINVAL, "%s:%u: %s", path, line, why);
		f.mg_per_kwh = row.mg_per_kwh;
		f.year = (uint32_t)row.year;
		(void)snprintf(f.region, sizeof(f.region), "%s", row.iso2);
		(void)snprintf(f.source, sizeof(f.source), "%s", EMBER);
		rc = each(ctx, &f, row.iso3, err);
		if (rc == -EEXIST)
			return errmsg_set(err, -EINVAL, "%s:%u: %s is listed twice", path, line, row.iso2);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int read_table(const char *path, char **ret, struct errmsg *err)
{
	_cleanup_free_ char *text = NULL;
	size_t len;
	int rc = fileio_read_checked(path, TABLE_MAX_BYTES, trust_is_ours, /* st= */ NULL, &text, &len, err);

	if (rc < 0)
		return rc;
	if (strlen(text) != len)
		return errmsg_set(err, -EINVAL, "%s: not a text file", path);
	*ret = TAKE_PTR(text);
	return 0;
}

int emission_foreach(const char *path,
		     int (*each)(void *ctx, const struct emission_factor *f, const char *iso3,
				 struct errmsg *err),
		     void *ctx, struct errmsg *err)
{
	_cleanup_free_ char *text = NULL;
	int rc = read_table(path, &text, err);

	return rc < 0 ? rc : walk(path, text + utf8_bom(text), each, ctx, err);
}

struct search {
	const char *country;
	bool found;
	struct emission_factor factor;
};

/* Walks on after the country is found, so that a malformed row anywhere is reported. */
static int find_country(void *ctx, const struct emission_factor *f, const char *iso3, struct errmsg *err)
{
	struct search *s = ctx;

	(void)err;
	if (strcasecmp(s->country, f->region) && strcasecmp(s->country, iso3))
		return 0;
	if (s->found)
		return -EEXIST;
	s->found = true;
	s->factor = *f;
	return 0;
}

void emission_world(struct emission_factor *ret)
{
	*ret = (struct emission_factor){ .kind = EMISSION_DEFAULT,
					 .scope = EMISSION_DIRECT,
					 .year = EMISSION_WORLD_YEAR,
					 .mg_per_kwh = EMISSION_WORLD_MG_PER_KWH };
	(void)snprintf(ret->source, sizeof(ret->source), "world mean, IEA 2019");
}

/*
 * Codes and names that ISO 3166 and the table do not have: of the EU's style guide, of sports, in common use.
 */
static const char *const usual[][2] = {
	{ "UK", "GB" },
	{ "EL", "GR" },
	{ "UAE", "AE" },
	{ "GER", "DE" },
	{ "SUI", "CH" },
	{ "DEN", "DK" },
	{ "POR", "PT" },
	{ "GRE", "GR" },
	{ "CRO", "HR" },
	{ "SLO", "SI" },
	{ "BUL", "BG" },
	{ "Great Britain", "GB" },
	{ "Czech Republic", "CZ" },
	{ "The Netherlands", "NL" },
	{ "United States of America", "US" },
};

int emission_guess(const char *path, const char *country, char ret_code[EMISSION_CODE_SIZE])
{
	_cleanup_free_ char *text = NULL;
	char *next;
	char *line;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(usual); i++)
		if (!strcasecmp(country, usual[i][0])) {
			memcpy(ret_code, usual[i][1], EMISSION_CODE_SIZE);
			return 0;
		}
	if (read_table(path, &text, NULL) < 0)
		return -ENOENT;
	for (line = text; *line; line = next) {
		struct row row;
		const char *why;

		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		line[strcspn(line, "\r")] = '\0';
		if (parse_row(line, &row, &why) == 0 && !strcasecmp(row.name, country)) {
			memcpy(ret_code, row.iso2, EMISSION_CODE_SIZE);
			return 0;
		}
	}
	return -ENOENT;
}

int emission_lookup(const char *path, const char *country, struct emission_factor *ret, struct errmsg *err)
{
	struct search s = { .country = country };
	char meant[EMISSION_CODE_SIZE];
	int rc;

	if (!*country) {
		emission_world(ret);
		return 0;
	}
	rc = emission_foreach(path, find_country, &s, err);
	if (rc < 0)
		return rc;
	if (!s.found && emission_guess(path, country, meant) == 0)
		return errmsg_set(err, -ENOENT, "%s: no country '%s'; did you mean %s?", path, country,
				  meant);
	if (!s.found && !is_code(country, 2) && !is_code(country, 3))
		return errmsg_set(err, -ENOENT,
				  "%s: no country '%s'; a country is an ISO 3166 code of two or three "
				  "letters, such as GB",
				  path, country);
	if (!s.found)
		return errmsg_set(err, -ENOENT, "%s: no country '%s'", path, country);
	*ret = s.factor;
	return 0;
}
