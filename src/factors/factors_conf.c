/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/factors/factors_conf.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "src/factors/provider.h"
#include "src/libcore/settings.h"
#include "src/libutil/clock.h"

static int take_name(const char **p, char *buf, size_t size)
{
	size_t len = strspn(*p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");

	if (!len || len >= size)
		return -EINVAL;
	memcpy(buf, *p, len);
	buf[len] = '\0';
	*p += len;
	return 0;
}

int factors_zone_next(const char **list, struct factors_zone *ret, struct errmsg *err)
{
	struct factors_zone z = { 0 };
	const char *p = *list + strspn(*list, " \t");
	const char *item = p;
	int rc;

	if (!*p)
		return 0;
	rc = take_name(&p, z.zone, sizeof(z.zone));
	if (rc == 0 && *p == ':') {
		p++;
		rc = take_name(&p, z.region, sizeof(z.region));
	}
	p += strspn(p, " \t");
	if (rc < 0 || (*p && *p != ','))
		return errmsg_set(err, -EINVAL, "'%.*s' is not ZONE or ZONE:REGION",
				  (int)strcspn(item, ","), item);
	*list = *p ? p + 1 : p;
	*ret = z;
	return 1;
}

static int parse_zones(const char *value, void *field, const struct kvconf_key *key,
		       struct errmsg *err)
{
	struct factors_zone z;
	const char *list = value;
	int rc;

	do
		rc = factors_zone_next(&list, &z, err);
	while (rc > 0);
	return rc < 0 ? rc : kvconf_text(value, field, key, err);
}

static int parse_providers(const char *value, void *field, const struct kvconf_key *key,
			   struct errmsg *err)
{
	const char *list = value;
	char name[64];

	while (settings_next_item(&list, name, sizeof(name)))
		if (!provider_find(name))
			return errmsg_set(err, -EINVAL, "'%s' is no provider; there are %s", name,
					  PROVIDER_NAMES);
	return kvconf_text(value, field, key, err);
}

static int parse_scope(const char *value, void *field, const struct kvconf_key *key,
		       struct errmsg *err)
{
	(void)key;
	if (emission_scope_of(value, field) < 0)
		return errmsg_set(err, -EINVAL, "'%s' is not life-cycle or direct", value);
	return 0;
}

/* A user and a password in it would be shown with it, and sent in the clear. */
static int parse_proxy(const char *value, void *field, const struct kvconf_key *key,
		       struct errmsg *err)
{
	if (*value && strncmp(value, "http://", 7) && strncmp(value, "https://", 8))
		return errmsg_set(err, -EINVAL, "is not http://HOST:PORT");
	if (strpbrk(value, "@ \t"))
		return errmsg_set(err, -EINVAL, "may have no user in it");
	return kvconf_text(value, field, key, err);
}

static int parse_bounded(const char *value, void *field, const struct kvconf_key *key,
			 uint64_t min_ns, uint64_t max_ns, const char *bounds, struct errmsg *err)
{
	uint64_t ns;
	int rc = kvconf_duration(value, &ns, key, err);

	if (rc == 0 && (ns < min_ns || ns > max_ns))
		rc = errmsg_set(err, -EINVAL, "'%s' is not within %s", value, bounds);
	if (rc == 0)
		*(uint64_t *)field = ns;
	return rc;
}

static int parse_wait(const char *value, void *field, const struct kvconf_key *key,
		      struct errmsg *err)
{
	return parse_bounded(value, field, key, 10 * NSEC_PER_MSEC, 600 * NSEC_PER_SEC,
			     "10ms to 10m", err);
}

static int parse_keep(const char *value, void *field, const struct kvconf_key *key,
		      struct errmsg *err)
{
	return parse_bounded(value, field, key, 86400 * NSEC_PER_SEC, 90 * 86400 * NSEC_PER_SEC,
			     "1d to 90d", err);
}

static int parse_tries(const char *value, void *field, const struct kvconf_key *key,
		       struct errmsg *err)
{
	uint64_t n;
	int rc = kvconf_u64(value, &n, key, err);

	if (rc == 0 && (n < 1 || n > 20))
		rc = errmsg_set(err, -EINVAL, "'%s' is not within 1 to 20", value);
	if (rc == 0)
		*(uint64_t *)field = n;
	return rc;
}

#define KEY(name, parse, member, initial, help)                                          \
	{                                                                                \
		name, parse, offsetof(struct factors_conf, member),                      \
			sizeof(((struct factors_conf *)0)->member), initial, help        \
	}

const struct kvconf_key factors_conf_keys[] = {
	KEY("Providers", parse_providers, providers, "",
	    "Whom to ask, the preferred one first: " PROVIDER_NAMES "."),
	KEY("SeriesFile", kvconf_path, series_file, "",
	    "What is written; empty: EmissionSeriesFile of ceems.conf."),
	KEY("Keep", parse_keep, keep_ns, "14d", "How long points are kept."),
	KEY("Timeout", parse_wait, timeout_ns, "30s", "For one answer."),
	KEY("Tries", parse_tries, tries, "4", "How often one zone is asked for, at most."),
	KEY("RetryWait", parse_wait, retry_wait_ns, "2s",
	    "Before the second try, about; doubles with each."),
	KEY("RetryLimit", parse_wait, retry_limit_ns, "2m",
	    "For all tries of one zone; bounds what a server may ask us to wait, too."),
	KEY("CAFile", kvconf_path, ca_file, "",
	    "The only certificates to trust, in PEM; empty: the system's."),
	KEY("Proxy", parse_proxy, proxy, "", "http://HOST:PORT; empty: none."),
	KEY("File", kvconf_path, file, "", "file: the site's own points, in the series' format."),
	KEY("RteUrl", kvconf_https, rte_url, "https://odre.opendatasoft.com", "rte: where."),
	KEY("UkUrl", kvconf_https, uk_url, "https://api.carbonintensity.org.uk", "uk: where."),
	KEY("UkZones", parse_zones, uk_zones, "GB", "uk: GB, or numbers of its regions."),
	KEY("EnergyChartsUrl", kvconf_https, energy_charts_url, "https://api.energy-charts.info",
	    "energycharts: where."),
	KEY("EnergyChartsZones", parse_zones, energy_charts_zones, "",
	    "energycharts: countries, such as de."),
	KEY("EnergyChartsScope", parse_scope, energy_charts_scope, "life-cycle",
	    "energycharts: life-cycle or direct; its interface does not say."),
	KEY("ElectricityMapsUrl", kvconf_https, electricity_maps_url,
	    "https://api.electricitymaps.com", "electricitymaps: where."),
	KEY("ElectricityMapsZones", parse_zones, electricity_maps_zones, "",
	    "electricitymaps: zones, such as DE or US-CAL-CISO:US-CA."),
	KEY("ElectricityMapsTokenFile", kvconf_path, electricity_maps_token_file, "",
	    "electricitymaps: file with the token, mode 0600."),
	KEY("WattTimeUrl", kvconf_https, watttime_url, "https://api.watttime.org",
	    "watttime: where."),
	KEY("WattTimeZones", parse_zones, watttime_zones, "",
	    "watttime: regions, such as CAISO_NORTH:US-CA."),
	KEY("WattTimeUser", kvconf_text, watttime_user, "", "watttime: the user."),
	KEY("WattTimePasswordFile", kvconf_path, watttime_password_file, "",
	    "watttime: file with the password, mode 0600."),
};
const size_t factors_conf_nkeys = ARRAY_SIZE(factors_conf_keys);

int factors_conf_read(const char *path, struct factors_conf *ret, struct errmsg *err)
{
	int rc = kvconf_defaults(factors_conf_keys, factors_conf_nkeys, ret, err);

	if (rc == 0)
		rc = kvconf_read(path, factors_conf_keys, factors_conf_nkeys, ret, err);
	if (rc == 0 && !*ret->providers)
		rc = errmsg_set(err, -EINVAL, "%s: Providers is missing", path);
	return rc;
}
