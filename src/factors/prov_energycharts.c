/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prov_energycharts.c - Energy-Charts of Fraunhofer ISE, for countries of Europe
 * (https://api.energy-charts.info/; CC BY 4.0), computed from data of ENTSO-E. No token is needed.
 *
 * Interface: GET /co2eq?country=de&start=..&end=.. returns {"unix_seconds": [..], "co2eq": [..],
 * "co2eq_forecast": [..]}, three lists of the same length, in gCO2eq/kWh. co2eq is null where only
 * the forecast is known. The interface does not say whether factors are direct or life-cycle, so
 * the site says it: EnergyChartsScope.
 */
#include <ctype.h>
#include <errno.h>

#include "src/factors/provider.h"
#include "src/libutil/rfc3339.h"

#define HOUR_S 3600
#define QUARTER_S 900

/* Writes the name of ZONE in the series: de becomes DE. */
static void prov_energycharts_region(const char *zone, char *buf, size_t size)
{
	size_t i;

	for (i = 0; zone[i] && i + 1 < size; i++)
		buf[i] = (char)toupper((unsigned char)zone[i]);
	buf[i] = '\0';
}

static int prov_energycharts_fetch(struct fetch *f, const struct provider_ask *ask, const char **ret_text,
				   size_t *ret_len, struct errmsg *err)
{
	char from[RFC3339_SIZE], to[RFC3339_SIZE], path[256];
	const struct fetch_request r = { .base = ask->conf->url, .path = path };

	rfc3339_utc(ask->now_s - PROVIDER_WINDOW_S, from);
	rfc3339_utc(ask->now_s, to);
	(void)snprintf(path, sizeof(path), "/co2eq?country=%s&start=%.16sZ&end=%.16sZ", ask->zone.zone, from,
		       to);
	return fetch_get(f, &r, ret_text, ret_len, err);
}

struct columns {
	json_t *time, *value, *forecast; /* forecast is NULL if the answer has none */
};

static int find_columns(json_t *root, struct columns *ret, struct errmsg *err)
{
	int rc = provider_array(root, "unix_seconds", &ret->time, err);

	if (rc == 0)
		rc = provider_array(root, "co2eq", &ret->value, err);
	if (rc < 0)
		return rc;
	ret->forecast = json_object_get(root, "co2eq_forecast");
	if (!json_is_array(ret->forecast))
		ret->forecast = NULL;
	if (json_array_size(ret->value) != json_array_size(ret->time) ||
	    (ret->forecast && json_array_size(ret->forecast) != json_array_size(ret->time)))
		return errmsg_set(err, -EINVAL, "the answer has not as many values as times");
	return 0;
}

#define UNKNOWN UINT64_MAX /* a value in mg/kWh: its time only says where the point before ends */

/* Reads value I, or else its forecast. -EINVAL: ERR says why it is skipped. */
static int parse_value(const struct columns *c, size_t i, uint64_t *ret_mg, const char **ret_note,
		       struct errmsg *err)
{
	int rc = provider_number(json_array_get(c->value, i), 1000, ret_mg, err);

	*ret_note = "";
	if (rc != -ENODATA)
		return rc;
	*ret_note = "forecast";
	return provider_number(json_array_get(c->forecast, i), 1000, ret_mg, err);
}

static int parse_columns(const struct provider_ask *ask, const struct columns *c, struct points *ret,
			 struct errmsg *err)
{
	char at[RFC3339_SIZE];
	uint64_t from_s, mg;
	const char *note;
	size_t i;
	int rc;

	for (i = 0; i < json_array_size(c->time); i++) {
		struct errmsg why = { 0 };

		rc = parse_value(c, i, &mg, &note, &why);
		if (provider_number(json_array_get(c->time, i), 1, &from_s, NULL) < 0) {
			if (rc != -ENODATA)
				points_skip(ret, "a value without a time (value %zu)", i + 1);
			continue;
		}
		rfc3339_utc(from_s, at);
		if (rc == -EINVAL)
			points_skip(ret, "%s (value %zu, %s)", why.text, i + 1, at);
		rc = provider_push(ret, ask, from_s, from_s, rc < 0 ? UNKNOWN : mg, note, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/*
 * Sets the end of each point, and drops those without a value. Countries have quarters of an hour or hours: a
 * point ends at the next time of the answer, but after an hour at most.
 */
static void close_points(struct points *p, enum emission_scope scope)
{
	uint64_t length_s = QUARTER_S;
	size_t n = 0, next = 0;
	size_t i;

	points_sort(p);
	for (i = 0; i < p->n; i++) {
		struct factor_point point = p->point[i];

		while (next < p->n && p->point[next].from_s <= point.from_s)
			next++;
		if (next < p->n && p->point[next].from_s - point.from_s <= HOUR_S)
			length_s = p->point[next].from_s - point.from_s;
		point.until_s = point.from_s + length_s;
		point.factor.scope = scope;
		if (point.factor.mg_per_kwh != UNKNOWN)
			p->point[n++] = point;
	}
	p->n = n;
}

static int prov_energycharts_parse(const struct provider_ask *ask, const char *text, size_t len,
				   struct points *ret, struct errmsg *err)
{
	json_t *root = NULL;
	struct columns c;
	int rc = provider_json(text, len, &root, err);

	if (rc < 0)
		return rc;
	rc = find_columns(root, &c, err);
	if (rc == 0)
		rc = parse_columns(ask, &c, ret, err);
	json_decref(root);
	close_points(ret, ask->conf->scope);
	return rc < 0 ? rc : points_check(ret, err);
}

static int parse_scope(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	(void)key;
	if (emission_scope_of(value, field) < 0)
		return errmsg_set(err, -EINVAL, "'%s' is not life-cycle or direct", value);
	return 0;
}

const struct provider provider_energycharts = {
	.name = "energycharts",
	.cite = "Energy-Charts, Fraunhofer ISE (CC BY 4.0)",
	.kind = EMISSION_AVERAGE,
	.scope = EMISSION_LIFE_CYCLE,
	.ahead_s = 7 * 86400,
	.is_steady = true,
	.keys = { PROVIDER_KEY("EnergyChartsUrl", kvconf_https, url, "https://api.energy-charts.info",
			       "energycharts: address."),
		  PROVIDER_KEY("EnergyChartsZones", factors_conf_zones, zones, "",
			       "energycharts: countries, such as de."),
		  PROVIDER_KEY("EnergyChartsScope", parse_scope, scope, "life-cycle",
			       "energycharts: life-cycle or direct; its interface does not say.") },
	.region = prov_energycharts_region,
	.fetch = prov_energycharts_fetch,
	.parse = prov_energycharts_parse,
};
