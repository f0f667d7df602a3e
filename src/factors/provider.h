/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * provider.h - whoever publishes how much CO2 a grid's electricity has: one row in providers.def and one
 * file (prov_NAME.c) each. Asking and understanding are apart, so that the latter is tested without a
 * network; whether an answer can be true is validate.h's matter.
 */
#ifndef CEEMS_FACTORS_PROVIDER_H
#define CEEMS_FACTORS_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/factors/factors_conf.h"
#include "src/factors/fetch.h"
#include "src/libemission/factor_series.h"
#include "src/librecord/exactjson.h"

/* Of which past is asked for, each time: what was late or is corrected comes with it. */
#define PROVIDER_WINDOW_S 86400

/* In the order of the answer. */
struct points {
	struct factor_point *point; /* owned */
	size_t n, room;
};
void points_fini(struct points *p);

struct provider_ask {
	const struct provider_conf *conf; /* the provider's own */
	const struct provider *provider;
	struct factors_zone zone; /* its region is never empty */
	uint64_t now_s;
};

struct provider {
	const char *name; /* in Providers */
	const char *cite; /* the source of its points begins with this */
	enum emission_kind kind;
	enum emission_scope scope;
	/* how far ahead it forecasts; such points are left out. 0: a time in the future is an error */
	uint64_t ahead_s;
	/* means of a whole grid: ten times the last value is an error */
	bool is_steady;
	/* root wrote it: times and values are as they are meant */
	bool is_ours;
	/* "ZONE[:REGION],.."; NULL: those of its struct provider_conf, of which none may be set */
	const char *zones;
	/* Its keys of ceems-factors.conf (PROVIDER_KEY), up to the first without a name. */
	struct kvconf_key keys[PROVIDER_KEYS_MAX];
	/* The name in the series for a ZONE without one; NULL: as it is. */
	void (*region)(const char *zone, char *buf, size_t size);
	/* Is all there that it takes to ask: tokens, passwords? NULL: always. */
	int (*ready)(const struct provider_conf *conf, struct errmsg *err);
	/* NULL: there is nothing to ask. The answer is F's, until the next. */
	int (*fetch)(struct fetch *f, const struct provider_ask *ask, const char **ret_text,
		     size_t *ret_len, struct errmsg *err);
	/* -EINVAL: it is not what was asked for, and why. Values that are null are no points. */
	int (*parse)(const struct provider_ask *ask, const char *text, size_t len,
		     struct points *ret, struct errmsg *err);
};

#define PROVIDER(name) extern const struct provider provider_##name;
#include "src/factors/providers.def"
#undef PROVIDER

const struct provider *provider_of(enum provider_id id);

/* NULL: there is none of that NAME. */
const struct provider *provider_find(const char *name);
const struct provider_conf *provider_conf_of(const struct provider *p,
					     const struct factors_conf *conf);

/* --- for the files of providers ------------------------------------------------------------ */

#define PROVIDER_KEY(name, parse, member, initial, help)                                 \
	{                                                                                \
		name, parse, offsetof(struct provider_conf, member),                     \
			sizeof(((struct provider_conf *)0)->member), initial, help       \
	}

/* JSON, and not a page for people; the caller destroys the tree. TEXT ends with NUL. */
int provider_json(const char *text, size_t len, json_t **ret, struct errmsg *err);

/* How to understand an answer that is a list with a value each. */
struct provider_list {
	/* The list in ROOT, once it is what was asked for; *ret_length_s is for item(). */
	int (*find)(const struct provider_ask *ask, json_t *root,
		    json_t **ret, uint64_t *ret_length_s, struct errmsg *err);
	int (*item)(const struct provider_ask *ask, json_t *v, uint64_t length_s,
		    struct points *ret, struct errmsg *err);
};

int provider_parse_list(const struct provider_list *l, const struct provider_ask *ask,
			const char *text, size_t len, struct points *ret, struct errmsg *err);

/* The array NAME of O, which may be NULL. */
int provider_array(json_t *o, const char *name, json_t **ret,
		   struct errmsg *err);

/* The time in the text V. */
int provider_time(const json_t *v, uint64_t *ret_s, struct errmsg *err);

/* A number of 1/SCALE. -ENODATA: null, or not there. */
int provider_number(const json_t *v, uint64_t scale, uint64_t *ret,
		    struct errmsg *err);

/* V, where there is one, is the text WANT, in any case; else an error that says what is WRONG. */
int provider_expect(const json_t *v, const char *want, const char *wrong,
		    struct errmsg *err);

/* NOTE, "" or "forecast", is added to the source. */
int provider_push(struct points *p, const struct provider_ask *ask, uint64_t from_s,
		  uint64_t until_s, uint64_t mg_per_kwh, const char *note, struct errmsg *err);

/* A file with one line that nobody else can read: a token, a password. */
int provider_secret(const char *key, const char *path, char *buf, size_t size,
		    struct errmsg *err);

#endif
