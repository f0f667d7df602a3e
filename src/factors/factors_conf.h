/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * factors_conf.h - reads ceems-factors.conf: which providers of emission factors to ask, for which
 * zones, with which credentials. Secrets are in files of their own, which ceems-factors.conf only
 * names.
 */
#ifndef CEEMS_FACTORS_CONF_H
#define CEEMS_FACTORS_CONF_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/libemission/emission.h"
#include "src/libutil/errmsg.h"
#include "src/libutil/kvconf.h"

#define FACTORS_REGION_SIZE sizeof(((struct emission_factor *)0)->region)

enum provider_id {
#define PROVIDER(name) PROVIDER_##name,
#include "src/factors/providers.def"
#undef PROVIDER
	PROVIDER_N
};

/* The settings of one provider. struct provider lists the keys that a provider has. */
struct provider_conf {
	char url[256];
	char zones[512];
	char user[128];
	char file[PATH_MAX]; /* a file with a token or password, or the site's own points */
	enum emission_scope scope;
};
#define PROVIDER_KEYS_MAX 5 /* one for each member of struct provider_conf */

struct factors_conf {
	char providers[256];	    /* names separated by commas, the preferred provider first */
	char series_file[PATH_MAX]; /* empty: EmissionSeriesFile */
	uint64_t keep_ns;	    /* how long points are kept */
	uint64_t timeout_ns;	    /* longest wait for the answer to one try */
	uint64_t tries;
	uint64_t retry_wait_ns;	 /* before the second try; doubles with each try */
	uint64_t retry_limit_ns; /* for all tries of one zone, waits included */
	char ca_file[PATH_MAX];	 /* empty: the system's certificates */
	char proxy[256];
	struct provider_conf provider[PROVIDER_N];
};

/* Returns all *RET_N keys: the common ones, then those of every provider. */
const struct kvconf_key *factors_conf_keys(size_t *ret_n);

/* A kvconf parser for a list of zones. */
int factors_conf_zones(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err);

/* Reads PATH into RET. Returns 0, -ENOENT (no file), or -EINVAL: ERR names file, line and key. */
int factors_conf_read(const char *path, struct factors_conf *ret, struct errmsg *err) _must_check_;

struct factors_zone {
	char zone[FACTORS_REGION_SIZE];	  /* name of the zone at the provider */
	char region[FACTORS_REGION_SIZE]; /* name of the zone in the series; empty: not given */
};

/*
 * Takes the next item off *LIST, "ZONE[:REGION],..". Returns 1, 0 at the end, or -EINVAL:
 * malformed. Names have letters, digits, '-' and '_' only, so they are safe in an address.
 */
int factors_zone_next(const char **list, struct factors_zone *ret, struct errmsg *err) _must_check_;

#endif
