/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * factors_conf.h - ceems-factors.conf: which providers of emission factors are asked, for which zones,
 * and as whom. Secrets are in files of their own; this one only names them.
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

/* What can be set for one provider. The provider's own row says by which keys. */
struct provider_conf {
	char url[256];
	char zones[512];
	char user[128];
	char file[PATH_MAX]; /* with a token, a password, or the site's own points */
	enum emission_scope scope;
};
#define PROVIDER_KEYS_MAX 5 /* one for each member */

struct factors_conf {
	char providers[256];	     /* comma list, the preferred one first */
	char series_file[PATH_MAX];  /* empty: EmissionSeriesFile */
	uint64_t keep_ns;
	uint64_t timeout_ns;	     /* of one try */
	uint64_t tries;
	uint64_t retry_wait_ns;	     /* before the second try; doubles */
	uint64_t retry_limit_ns;     /* for all tries of one zone, waits included */
	char ca_file[PATH_MAX];	     /* empty: the system's */
	char proxy[256];
	struct provider_conf provider[PROVIDER_N];
};

/* The keys of every provider follow the common ones. */
const struct kvconf_key *factors_conf_keys(size_t *ret_n);

/* Parser of a key for a list of zones. */
int factors_conf_zones(const char *value, void *field, const struct kvconf_key *key,
		       struct errmsg *err);

/* -ENOENT; -EINVAL names file, line and key. */
int factors_conf_read(const char *path, struct factors_conf *ret, struct errmsg *err);

struct factors_zone {
	char zone[FACTORS_REGION_SIZE];	  /* as the provider calls it */
	char region[FACTORS_REGION_SIZE]; /* as the series calls it; empty: nothing was said */
};

/*
 * Steps through "ZONE[:REGION],..". 1: *ret is the next; 0: the end; -EINVAL: not of that form. Both
 * are letters, digits, '-' and '_', so that they can stand in an address.
 */
int factors_zone_next(const char **list, struct factors_zone *ret, struct errmsg *err);

#endif
