/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prov_electricitymaps.c - Electricity Maps, for most of the world
 * (https://portal.electricitymaps.com/docs/api). The site needs a token. Factors are life-cycle and
 * of consumption: imports count as at their origin. The licence may forbid passing values on;
 * records cite the source.
 *
 * Interface: GET /v3/carbon-intensity/history?zone=Z with the header auth-token returns the last 24
 * hours:
 * {"zone": "DE", "history": [{"datetime": "2026-11-22T10:00:00.000Z", "carbonIntensity": 413,
 * "emissionFactorType": "lifecycle", "isEstimated": false, "updatedAt": .., ..}, ..]} in gCO2eq/kWh. A point
 * lasts an hour, unless "temporalGranularity" says otherwise. Of two points of one time, the one that was
 * updated later replaces the other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/factors/provider.h"

#define HEADER "auth-token: "
#define TOKEN_SIZE 256

static int read_token(const struct provider_conf *conf, char buf[TOKEN_SIZE], struct errmsg *err)
{
	return provider_secret("ElectricityMapsTokenFile", conf->file, buf, TOKEN_SIZE, err);
}

static int prov_electricitymaps_ready(const struct provider_conf *conf, struct errmsg *err)
{
	char token[TOKEN_SIZE];
	int rc = read_token(conf, token, err);

	explicit_bzero(token, sizeof(token));
	return rc;
}

static int prov_electricitymaps_fetch(struct fetch *f, const struct provider_ask *ask, const char **ret_text,
				      size_t *ret_len, struct errmsg *err)
{
	char header[sizeof(HEADER) - 1 + TOKEN_SIZE] = HEADER;
	char path[128];
	const struct fetch_request r = { .base = ask->conf->url, .path = path, .header = header };
	int rc = read_token(ask->conf, header + sizeof(HEADER) - 1, err);

	(void)snprintf(path, sizeof(path), "/v3/carbon-intensity/history?zone=%s", ask->zone.zone);
	if (rc == 0)
		rc = fetch_get(f, &r, ret_text, ret_len, err);
	explicit_bzero(header, sizeof(header));
	return rc;
}

static int parse_granularity(const json_t *v, uint64_t *ret_s, struct errmsg *err)
{
	static const struct {
		const char *name;
		uint64_t s;
	} known[] = { { "hourly", 3600 }, { "15_minutes", 900 }, { "5_minutes", 300 } };
	size_t i;

	*ret_s = known[0].s;
	if (!v || json_is_null(v))
		return 0;
	for (i = 0; exactjson_is_text(v) && i < ARRAY_SIZE(known); i++) {
		*ret_s = known[i].s;
		if (!strcmp(json_string_value(v), known[i].name))
			return 0;
	}
	return errmsg_set(err, -EINVAL, "an unknown temporalGranularity");
}

static int parse_hour(const struct provider_ask *ask, json_t *v, uint64_t length_s, struct points *ret,
		      struct errmsg *err)
{
	json_t *estimated = json_object_get(v, "isEstimated");
	const char *note = json_is_true(estimated) ? "estimated" : "";
	uint64_t from_s, mg;
	int rc = provider_number(json_object_get(v, "carbonIntensity"), 1000, &mg, err);

	if (rc == -ENODATA)
		return 0;
	if (rc == 0)
		rc = provider_expect(json_object_get(v, "zone"), ask->zone.zone, "another zone", err);
	if (rc == 0)
		rc = provider_expect(json_object_get(v, "emissionFactorType"), "lifecycle", "another unit",
				     err);
	if (rc == 0)
		rc = provider_time(json_object_get(v, "datetime"), &from_s, err);
	if (rc < 0)
		return rc;
	return provider_push(ret, ask, from_s, from_s + length_s, mg, note, err);
}

/* An item of the list with its times, in seconds since the epoch. */
struct revision {
	uint64_t from_s, updated_s;
	json_t *item;
};

static int compare_revisions(const void *a, const void *b)
{
	const struct revision *x = a;
	const struct revision *y = b;

	if (x->from_s != y->from_s)
		return x->from_s < y->from_s ? -1 : 1;
	return (x->updated_s > y->updated_s) - (x->updated_s < y->updated_s);
}

/* Makes the values null that a later revision in LIST replaces. */
static int forget_replaced(const json_t *list, struct errmsg *err)
{
	_cleanup_free_ struct revision *r = calloc(json_array_size(list) + 1, sizeof(*r));
	size_t n = 0, last;
	size_t i;

	if (!r)
		return errmsg_set(err, -ENOMEM, "out of memory");
	for (i = 0; i < json_array_size(list); i++) {
		r[n].item = json_array_get(list, i);
		if (provider_time(json_object_get(r[n].item, "datetime"), &r[n].from_s, NULL) == 0 &&
		    provider_time(json_object_get(r[n].item, "updatedAt"), &r[n].updated_s, NULL) == 0)
			n++;
	}
	qsort(r, n, sizeof(*r), compare_revisions);
	last = n ? n - 1 : 0;
	for (i = last; i-- > 0;)
		if (r[i].from_s != r[last].from_s)
			last = i;
		else if (r[i].updated_s < r[last].updated_s &&
			 json_object_set_new(r[i].item, "carbonIntensity", json_null()) < 0)
			return errmsg_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int find_list(const struct provider_ask *ask, json_t *root, json_t **ret, uint64_t *ret_length_s,
		     struct errmsg *err)
{
	int rc = provider_expect(json_object_get(root, "zone"), ask->zone.zone, "another zone", err);

	if (rc == 0)
		rc = parse_granularity(json_object_get(root, "temporalGranularity"), ret_length_s, err);
	if (rc == 0)
		rc = provider_array(root, "history", ret, err);
	return rc < 0 ? rc : forget_replaced(*ret, err);
}

static int prov_electricitymaps_parse(const struct provider_ask *ask, const char *text, size_t len,
				      struct points *ret, struct errmsg *err)
{
	static const struct provider_list list = { .find = find_list,
						   .time = "datetime",
						   .item = parse_hour };

	return provider_parse_list(&list, ask, text, len, ret, err);
}

const struct provider provider_electricitymaps = {
	.name = "electricitymaps",
	.cite = "Electricity Maps",
	.kind = EMISSION_AVERAGE,
	.scope = EMISSION_LIFE_CYCLE,
	/* the current hour is published at its beginning, sometimes a little earlier */
	.ahead_s = 3600,
	.is_steady = true,
	.keys = { PROVIDER_KEY("ElectricityMapsUrl", kvconf_https, url, "https://api.electricitymaps.com",
			       "electricitymaps: address."),
		  PROVIDER_KEY("ElectricityMapsZones", factors_conf_zones, zones, "",
			       "electricitymaps: zones, such as DE or US-CAL-CISO:US-CA."),
		  PROVIDER_KEY("ElectricityMapsTokenFile", kvconf_path, file, "",
			       "electricitymaps: file with the token, mode 0600.") },
	.ready = prov_electricitymaps_ready,
	.fetch = prov_electricitymaps_fetch,
	.parse = prov_electricitymaps_parse,
};
