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

static int parse_columns(const struct provider_ask *ask, const struct columns *c, struct points *ret,
			 struct errmsg *err)
{
	uint64_t from_s, mg;
	const char *note;
	size_t i;
	int rc;

	for (i = 0; i < json_array_size(c->time); i++) {
		note = "";
		rc = provider_number(json_array_get(c->value, i), 1000, &mg, err);
		if (rc == -ENODATA) {
			note = "forecast";
			rc = provider_number(json_array_get(c->forecast, i), 1000, &mg, err);
		}
		if (rc == 0 && provider_number(json_array_get(c->time, i), 1, &from_s, NULL) < 0)
			rc = errmsg_set(err, -EINVAL, "a value without a time");
		if (rc == 0)
			rc = provider_push(ret, ask, from_s, from_s, mg, note, err);
		if (rc < 0 && rc != -ENODATA)
			return rc;
	}
	return 0;
}

/*
 * Sets the end of each point. Countries have quarters of an hour or hours: a point ends where the
 * next begins, but after an hour at most.
 */
static void close_points(struct points *p, enum emission_scope scope)
{
	uint64_t length_s = QUARTER_S;
	size_t i;

	for (i = 0; i < p->n; i++) {
		uint64_t from_s = p->point[i].from_s;

		if (i + 1 < p->n && p->point[i + 1].from_s > from_s &&
		    p->point[i + 1].from_s - from_s <= HOUR_S)
			length_s = p->point[i + 1].from_s - from_s;
		p->point[i].until_s = from_s + length_s;
		p->point[i].factor.scope = scope;
	}
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
	return rc;
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
