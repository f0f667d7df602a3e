/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prov_watttime.c - marginal operating emissions rate of WattTime (https://docs.watttime.org/):
 * what one more kWh at that time would have emitted. The site needs an account. Marginal factors
 * are never mixed with averages.
 *
 * Interface: GET /login with basic authentication returns {"token": ".."}, valid for half an hour.
 * GET /v3/historical?region=R&signal_type=co2_moer&start=..&end=.. with this bearer token returns
 * {"data": [{"point_time": "2026-11-22T10:00:00+00:00", "value": 870}, ..], "meta": {"region": "R",
 * "signal_type": "co2_moer", "units": "lbs_co2_per_mwh", "data_point_period_seconds": 300}}.
 */
#include <errno.h>
#include <string.h>

#include "src/factors/error_words.h"
#include "src/factors/provider.h"
#include "src/libutil/rfc3339.h"

#define SIGNAL "co2_moer"
#define SECRET_SIZE 256
#define TOKEN_MAX 4096
#define BEARER "Authorization: Bearer "

static int read_password(const struct provider_conf *conf, char buf[SECRET_SIZE], struct errmsg *err)
{
	if (!*conf->user)
		return errmsg_set(err, -EINVAL, "WattTimeUser is not set");
	return provider_secret("WattTimePasswordFile", conf->file, buf, SECRET_SIZE, err);
}

static int prov_watttime_ready(const struct provider_conf *conf, struct errmsg *err)
{
	char password[SECRET_SIZE];
	int rc = read_password(conf, password, err);

	explicit_bzero(password, sizeof(password));
	return rc;
}

/*
 * Makes HEADER from the token in TEXT, the answer to a login. Does not use jansson, which would
 * leave a copy of the token in memory.
 */
static int parse_token(const char *text, char header[sizeof(BEARER) + TOKEN_MAX], struct errmsg *err)
{
	const char *p = strstr(text, "\"token\"");
	char words[ERROR_WORDS_SIZE];
	size_t len = 0;

	if (p) {
		p += sizeof("\"token\"") - 1;
		p += strspn(p, " \t\r\n");
		p += *p == ':';
		p += strspn(p, " \t\r\n");
	}
	if (p && *p == '"')
		len = strspn(++p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~+/=");
	if (!len || len > TOKEN_MAX || p[len] != '"') {
		/* if there is a token after all, it is nothing to show */
		(void)error_words(p ? "" : text, NULL, words);
		return errmsg_set(err, -EINVAL, "the login gave no token%s%s", *words ? "; it says: " : "",
				  words);
	}
	(void)snprintf(header, sizeof(BEARER) + TOKEN_MAX, BEARER "%.*s", (int)len, p);
	return 0;
}

static int prov_watttime_login(struct fetch *f, const struct provider_ask *ask,
			       char header[sizeof(BEARER) + TOKEN_MAX], struct errmsg *err)
{
	char password[SECRET_SIZE];
	const struct fetch_request r = {
		.base = ask->conf->url, .path = "/login", .user = ask->conf->user, .password = password
	};
	const char *text;
	size_t len;
	int rc = read_password(ask->conf, password, err);

	if (rc == 0)
		rc = fetch_get(f, &r, &text, &len, err);
	if (rc == 0)
		rc = parse_token(text, header, err);
	explicit_bzero(password, sizeof(password));
	return rc;
}

static int prov_watttime_fetch(struct fetch *f, const struct provider_ask *ask, const char **ret_text,
			       size_t *ret_len, struct errmsg *err)
{
	char header[sizeof(BEARER) + TOKEN_MAX];
	char from[RFC3339_SIZE], to[RFC3339_SIZE], path[256];
	const struct fetch_request r = { .base = ask->conf->url, .path = path, .header = header };
	int rc = prov_watttime_login(f, ask, header, err);

	rfc3339_utc(ask->now_s - PROVIDER_WINDOW_S, from);
	rfc3339_utc(ask->now_s, to);
	(void)snprintf(path, sizeof(path), "/v3/historical?region=%s&signal_type=" SIGNAL "&start=%s&end=%s",
		       ask->zone.zone, from, to);
	if (rc == 0)
		rc = fetch_get(f, &r, ret_text, ret_len, err);
	explicit_bzero(header, sizeof(header));
	return rc;
}

static int parse_meta(const struct provider_ask *ask, json_t *meta, uint64_t *ret_s, struct errmsg *err)
{
	int rc;

	if (!json_object_get(meta, "units"))
		return errmsg_set(err, -EINVAL, "the answer names no unit");
	rc = provider_expect(json_object_get(meta, "units"), "lbs_co2_per_mwh", "another unit", err);
	if (rc == 0)
		rc = provider_expect(json_object_get(meta, "signal_type"), SIGNAL, "another signal", err);
	if (rc == 0)
		rc = provider_expect(json_object_get(meta, "region"), ask->zone.zone, "another zone", err);
	if (rc < 0)
		return rc;
	if (provider_number(json_object_get(meta, "data_point_period_seconds"), 1, ret_s, NULL) < 0)
		*ret_s = 300;
	if (*ret_s < 60 || *ret_s > 3600)
		return errmsg_set(err, -EINVAL,
				  "the data points are %llu s apart; from 60 s to 3600 s is accepted",
				  (unsigned long long)*ret_s);
	return 0;
}

/* Converts VALUE, in millionths of lb/MWh. 1 lb/MWh is 0.45359237 g/kWh. */
static uint64_t to_mg_per_kwh(uint64_t value)
{
	unsigned __int128 v = (unsigned __int128)value * 45359237 + UINT64_C(50000000000);
	uint64_t mg = (uint64_t)(v / UINT64_C(100000000000));

	return mg;
}

static int parse_point(const struct provider_ask *ask, json_t *v, uint64_t length_s, struct points *ret,
		       struct errmsg *err)
{
	uint64_t from_s, value;
	int rc = provider_number(json_object_get(v, "value"), 1000000, &value, err);

	if (rc == -ENODATA)
		return 0;
	if (rc == 0)
		rc = provider_time(json_object_get(v, "point_time"), &from_s, err);
	if (rc < 0)
		return rc;
	return provider_push(ret, ask, from_s, from_s + length_s, to_mg_per_kwh(value), "", err);
}

static int find_list(const struct provider_ask *ask, json_t *root, json_t **ret, uint64_t *ret_length_s,
		     struct errmsg *err)
{
	int rc = provider_array(root, "data", ret, err);

	return rc < 0 ? rc : parse_meta(ask, json_object_get(root, "meta"), ret_length_s, err);
}

static int prov_watttime_parse(const struct provider_ask *ask, const char *text, size_t len,
			       struct points *ret, struct errmsg *err)
{
	static const struct provider_list list = { .find = find_list,
						   .time = "point_time",
						   .item = parse_point };

	return provider_parse_list(&list, ask, text, len, ret, err);
}

const struct provider provider_watttime = {
	.name = "watttime",
	.cite = "WattTime MOER",
	.kind = EMISSION_MARGINAL,
	.scope = EMISSION_DIRECT,
	.keys = { PROVIDER_KEY("WattTimeUrl", kvconf_https, url, "https://api.watttime.org",
			       "watttime: address."),
		  PROVIDER_KEY("WattTimeZones", factors_conf_zones, zones, "",
			       "watttime: regions, such as CAISO_NORTH:US-CA."),
		  PROVIDER_KEY("WattTimeUser", kvconf_text, user, "", "watttime: the user."),
		  PROVIDER_KEY("WattTimePasswordFile", kvconf_path, file, "",
			       "watttime: file with the password, mode 0600.") },
	.ready = prov_watttime_ready,
	.fetch = prov_watttime_fetch,
	.parse = prov_watttime_parse,
};
