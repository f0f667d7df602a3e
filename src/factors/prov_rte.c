/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prov_rte.c - eCO2mix of the grid operator RTE, for France: real-time data from the platform ODRÉ
 * (https://odre.opendatasoft.com/explore/dataset/eco2mix-national-tr/; Licence Ouverte 2.0, by
 * Etalab). taux_co2 is what power stations in France emit, in g/kWh: direct, without imports.
 *
 * Interface: Opendatasoft Explore API v2.1, GET catalog/datasets/DATASET/records returns at most
 * 100 records: {"results": [{"date_heure": "2026-11-22T10:00:00+00:00", "taux_co2": 32, ..}, ..]}.
 * There is one record per quarter of an hour of the day; taux_co2 is null for those to come. The newest
 * come first, so that the limit of 100 cuts old ones.
 */
#include <errno.h>

#include "src/factors/provider.h"

#define QUARTER_S 900
#define PATH                                                                     \
	"/api/explore/v2.1/catalog/datasets/eco2mix-national-tr/records"         \
	"?select=date_heure,perimetre,taux_co2&where=taux_co2%20is%20not%20null" \
	"&order_by=date_heure%20desc&limit=100&timezone=UTC"

static int prov_rte_fetch(struct fetch *f, const struct provider_ask *ask, const char **ret_text,
			  size_t *ret_len, struct errmsg *err)
{
	const struct fetch_request r = { .base = ask->conf->url, .path = PATH };

	return fetch_get(f, &r, ret_text, ret_len, err);
}

static int parse_record(const struct provider_ask *ask, json_t *v, uint64_t length_s, struct points *ret,
			struct errmsg *err)
{
	uint64_t from_s, mg;
	int rc = provider_number(json_object_get(v, "taux_co2"), 1000, &mg, err);

	if (rc == -ENODATA)
		return 0;
	if (rc == 0)
		rc = provider_expect(json_object_get(v, "perimetre"), "France", "another zone", err);
	if (rc == 0)
		rc = provider_time(json_object_get(v, "date_heure"), &from_s, err);
	if (rc < 0)
		return rc;
	return provider_push(ret, ask, from_s, from_s + length_s, mg, "", err);
}

static int find_list(const struct provider_ask *ask, json_t *root, json_t **ret, uint64_t *ret_length_s,
		     struct errmsg *err)
{
	(void)ask;
	*ret_length_s = QUARTER_S;
	return provider_array(root, "results", ret, err);
}

static int prov_rte_parse(const struct provider_ask *ask, const char *text, size_t len, struct points *ret,
			  struct errmsg *err)
{
	static const struct provider_list list = { .find = find_list,
						   .time = "date_heure",
						   .item = parse_record };

	return provider_parse_list(&list, ask, text, len, ret, err);
}

const struct provider provider_rte = {
	.name = "rte",
	.cite = "RTE eCO2mix",
	.kind = EMISSION_AVERAGE,
	.scope = EMISSION_DIRECT,
	.is_steady = true,
	.zones = "FR",
	.keys = { PROVIDER_KEY("RteUrl", kvconf_https, url, "https://odre.opendatasoft.com",
			       "rte: address.") },
	.fetch = prov_rte_fetch,
	.parse = prov_rte_parse,
};
