/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prov_uk.c - Carbon Intensity API of the system operator NESO, for Great Britain
 * (https://carbon-intensity.github.io/api-definitions/; CC BY 4.0). Direct: "CO2 emissions related
 * to electricity generation only", with imports and grid losses; in gCO2/kWh.
 *
 * Interface: GET /intensity/FROM/TO for the country, and /regional/intensity/FROM/TO/regionid/N for
 * one of 17 regions. Each half hour is {"from": "2026-11-22T10:00Z", "to": .., "intensity":
 * {"forecast": 266, "actual": 263}}. "actual" is null until it is known, and missing for a region.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "src/factors/provider.h"
#include "src/libutil/parse.h"
#include "src/libutil/rfc3339.h"

#define COUNTRY "GB"
#define REGIONS 17

static bool is_country(const struct provider_ask *ask)
{
	return !strcasecmp(ask->zone.zone, COUNTRY);
}

/* Writes the name of ZONE in the series: 13 (London) becomes GB-13. */
static void prov_uk_region(const char *zone, char *buf, size_t size)
{
	(void)snprintf(buf, size, strcasecmp(zone, COUNTRY) ? COUNTRY "-%.20s" : COUNTRY, zone);
}

static int prov_uk_fetch(struct fetch *f, const struct provider_ask *ask, const char **ret_text,
			 size_t *ret_len, struct errmsg *err)
{
	char from[RFC3339_SIZE], to[RFC3339_SIZE], path[256];
	const struct fetch_request r = { .base = ask->conf->url, .path = path };
	uint64_t id;

	if (!is_country(ask) && (parse_u64(ask->zone.zone, &id) < 0 || id < 1 || id > REGIONS))
		return errmsg_set(err, -EINVAL, "UkZones: '%s' is neither " COUNTRY " nor 1 to %d",
				  ask->zone.zone, REGIONS);
	rfc3339_utc(ask->now_s - PROVIDER_WINDOW_S, from);
	rfc3339_utc(ask->now_s, to);
	if (is_country(ask))
		(void)snprintf(path, sizeof(path), "/intensity/%.16sZ/%.16sZ", from, to);
	else
		(void)snprintf(path, sizeof(path), "/regional/intensity/%.16sZ/%.16sZ/regionid/%s", from, to,
			       ask->zone.zone);
	return fetch_get(f, &r, ret_text, ret_len, err);
}

static int parse_half_hour(const struct provider_ask *ask, json_t *v, uint64_t length_s, struct points *ret,
			   struct errmsg *err)
{
	json_t *intensity = json_object_get(v, "intensity");
	const char *note = "";
	uint64_t from_s, until_s, mg;
	int rc = provider_number(json_object_get(intensity, "actual"), 1000, &mg, err);

	(void)length_s; /* each point has its own end */
	if (rc == -ENODATA) {
		note = "forecast";
		rc = provider_number(json_object_get(intensity, "forecast"), 1000, &mg, err);
	}
	if (rc == -ENODATA)
		return 0;
	if (rc == 0)
		rc = provider_time(json_object_get(v, "from"), &from_s, err);
	if (rc == 0)
		rc = provider_time(json_object_get(v, "to"), &until_s, err);
	return rc < 0 ? rc : provider_push(ret, ask, from_s, until_s, mg, note, err);
}

/*
 * Finds the list of half hours. For a region, "data" is {"regionid": 13, "data": [..]}, or a list
 * with one such object.
 */
static int find_list(const struct provider_ask *ask, json_t *root, json_t **ret, uint64_t *ret_length_s,
		     struct errmsg *err)
{
	json_t *data = json_object_get(root, "data");
	uint64_t id, asked;

	*ret_length_s = 0;
	if (is_country(ask))
		return provider_array(root, "data", ret, err);
	if (json_array_size(data) == 1)
		data = json_array_get(data, 0);
	if (parse_u64(ask->zone.zone, &asked) < 0 ||
	    provider_number(json_object_get(data, "regionid"), 1, &id, NULL) < 0 || id != asked)
		return errmsg_set(err, -EINVAL, "another zone than region %s", ask->zone.zone);
	return provider_array(data, "data", ret, err);
}

static int prov_uk_parse(const struct provider_ask *ask, const char *text, size_t len, struct points *ret,
			 struct errmsg *err)
{
	static const struct provider_list list = { .find = find_list,
						   .time = "from",
						   .item = parse_half_hour };

	return provider_parse_list(&list, ask, text, len, ret, err);
}

const struct provider provider_uk = {
	.name = "uk",
	.cite = "NESO Carbon Intensity API (CC BY 4.0)",
	.kind = EMISSION_AVERAGE,
	.scope = EMISSION_DIRECT,
	.ahead_s = 4 * 86400,
	.is_steady = true,
	.keys = { PROVIDER_KEY("UkUrl", kvconf_https, url, "https://api.carbonintensity.org.uk",
			       "uk: address."),
		  PROVIDER_KEY("UkZones", factors_conf_zones, zones, "GB",
			       "uk: GB, or numbers of its regions.") },
	.region = prov_uk_region,
	.fetch = prov_uk_fetch,
	.parse = prov_uk_parse,
};
