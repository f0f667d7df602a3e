/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/factors/factors_conf.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "src/factors/provider.h"
#include "src/libcore/settings.h"
#include "src/libutil/clock.h"
#include "src/libutil/items.h"

static const char provider_names[] =
#define PROVIDER(name) " " #name
#include "src/factors/providers.def"
#undef PROVIDER
	;

static int parse_providers(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	const char *list = value;
	char name[64];

	while (items_next(&list, name, sizeof(name)))
		if (!provider_find(name))
			return errmsg_set(err, -EINVAL, "'%s' is not a provider; there are%s", name,
					  provider_names);
	return kvconf_text(value, field, key, err);
}

/*
 * A user and password are not allowed in the address: it is logged, and the proxy gets it
 * unencrypted.
 */
static int parse_proxy(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	if (*value && strncmp(value, "http://", 7) && strncmp(value, "https://", 8))
		return errmsg_set(err, -EINVAL, "is not http://HOST:PORT");
	if (strpbrk(value, "@ \t"))
		return errmsg_set(err, -EINVAL, "may not contain a user");
	return kvconf_text(value, field, key, err);
}

static int parse_bounded(const char *value, void *field, const struct kvconf_key *key, uint64_t min_ns,
			 uint64_t max_ns, const char *bounds, struct errmsg *err)
{
	uint64_t ns;
	int rc = kvconf_duration(value, &ns, key, err);

	if (rc == 0 && (ns < min_ns || ns > max_ns))
		rc = errmsg_set(err, -EINVAL, "'%s' is not within %s", value, bounds);
	if (rc == 0)
		*(uint64_t *)field = ns;
	return rc;
}

static int parse_wait(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	return parse_bounded(value, field, key, 10 * NSEC_PER_MSEC, 600 * NSEC_PER_SEC, "10ms to 10m", err);
}

static int parse_keep(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	return parse_bounded(value, field, key, 86400 * NSEC_PER_SEC, 90 * 86400 * NSEC_PER_SEC, "1d to 90d",
			     err);
}

static int parse_tries(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	uint64_t n;
	int rc = kvconf_u64(value, &n, key, err);

	if (rc == 0 && (n < 1 || n > 20))
		rc = errmsg_set(err, -EINVAL, "'%s' is not within 1 to 20", value);
	if (rc == 0)
		*(uint64_t *)field = n;
	return rc;
}

#define KEY(name, parse, member, initial, help)                                   \
	{                                                                         \
		name, parse, offsetof(struct factors_conf, member),               \
			sizeof(((struct factors_conf *)0)->member), initial, help \
	}

static const struct kvconf_key common_keys[] = {
	KEY("Providers", parse_providers, providers, "", "Providers to ask, the preferred one first."),
	KEY("SeriesFile", kvconf_path, series_file, "",
	    "The file to write; empty: EmissionSeriesFile of ceems.conf."),
	KEY("Keep", parse_keep, keep_ns, "14d", "How long values are kept."),
	KEY("Timeout", parse_wait, timeout_ns, "30s", "Longest wait for one answer."),
	KEY("Tries", parse_tries, tries, "4", "Largest number of requests per zone."),
	KEY("RetryWait", parse_wait, retry_wait_ns, "2s",
	    "Pause before the second request, varied at random; doubles with each request."),
	KEY("RetryLimit", parse_wait, retry_limit_ns, "2m",
	    "Longest time for all requests of one zone, pauses included."),
	KEY("CAFile", kvconf_path, ca_file, "",
	    "The only certificates to trust, in PEM; empty: those of the system."),
	KEY("Proxy", parse_proxy, proxy, "", "http://HOST:PORT; empty: none."),
};

const struct kvconf_key *factors_conf_keys(size_t *ret_n)
{
	static struct kvconf_key keys[ARRAY_SIZE(common_keys) + PROVIDER_N * PROVIDER_KEYS_MAX];
	size_t n = ARRAY_SIZE(common_keys);
	size_t i, k;

	memcpy(keys, common_keys, sizeof(common_keys));
	for (i = 0; i < PROVIDER_N; i++) {
		const struct provider *p = provider_of(i);

		for (k = 0; k < PROVIDER_KEYS_MAX && p->keys[k].name; k++) {
			keys[n] = p->keys[k];
			keys[n++].offset += offsetof(struct factors_conf, provider) +
					    i * sizeof(struct provider_conf);
		}
	}
	*ret_n = n;
	return keys;
}

int factors_conf_read(const char *path, struct factors_conf *ret, struct errmsg *err)
{
	size_t n;
	const struct kvconf_key *keys = factors_conf_keys(&n);
	int rc = kvconf_defaults(keys, n, ret, err);

	if (rc == 0)
		rc = kvconf_read(path, keys, n, ret, err);
	if (rc == 0 && !*ret->providers)
		rc = errmsg_set(err, -EINVAL, "%s: Providers is missing", path);
	return rc;
}
