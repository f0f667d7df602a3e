/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * provider.h - a provider publishes emission factors of a grid. Each provider has a row in
 * providers.def and a file prov_NAME.c. fetch() asks, parse() understands the answer; they are
 * apart so that parse() can be tested without a network. validate.h checks whether an answer is
 * plausible.
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
#include "src/libutil/must_check.h"

/*
 * Length of the past to ask for at each update, in seconds. It includes points that came late or
 * were corrected.
 */
#define PROVIDER_WINDOW_S 86400

#define POINTS_SKIPPED_MAX 5 /* skipped values that are described */

/* Points of an answer: in its order until validate_points() sorts them. */
struct points {
	struct factor_point *point; /* owned */
	size_t n, room;
	/* values that were skipped, because they cannot be true or be read; the first ones are described */
	size_t nskipped;
	struct errmsg skipped[POINTS_SKIPPED_MAX];
};
void points_fini(struct points *p);

/* Sorts the points by region, kind and time. */
void points_sort(struct points *p);

/* Counts a skipped value; the text says what is wrong with it, and which one it is. */
void points_skip(struct points *p, const char *fmt, ...) _printf_(2, 3);
/* -EINVAL: all values of the answer were skipped. ERR then has the first reason. */
int points_check(const struct points *p, struct errmsg *err);

struct provider_ask {
	const struct provider_conf *conf; /* settings of the provider */
	const struct provider *provider;
	struct factors_zone zone; /* its region is never empty */
	uint64_t now_s;
};

struct provider {
	const char *name; /* its name in the key Providers */
	const char *cite; /* the source of its points begins with this */
	enum emission_kind kind;
	enum emission_scope scope;
	/*
	 * seconds ahead for which it publishes forecasts, which are dropped; a later time is an
	 * error
	 */
	uint64_t ahead_s;
	/* values are means of a whole grid, so a jump to ten times the last value is doubtful */
	bool is_steady;
	/* root wrote the points: times and values are not checked */
	bool is_ours;
	/* "ZONE[:REGION],.."; NULL: use the zones in its struct provider_conf */
	const char *zones;
	/* Its keys in ceems-factors.conf (PROVIDER_KEY); the list ends at a key without a name. */
	struct kvconf_key keys[PROVIDER_KEYS_MAX];
	/*
	 * Writes the name that ZONE gets in the series if the site gave it no name; NULL:
	 * ZONE itself is the name.
	 */
	void (*region)(const char *zone, char *buf, size_t size);
	/* Checks that tokens and passwords are there; NULL: none is needed. */
	int (*ready)(const struct provider_conf *conf, struct errmsg *err);
	/* Gets the answer, which F owns until its next call; NULL: there is nothing to ask. */
	int (*fetch)(struct fetch *f, const struct provider_ask *ask, const char **ret_text, size_t *ret_len,
		     struct errmsg *err);
	/*
	 * Appends the answer's points to RET, in any order. Values that are null are left out. Calls
	 * points_skip() for each value that cannot be read. -EINVAL: ERR says why it is not the answer to
	 * ASK, or why no value can be read.
	 */
	int (*parse)(const struct provider_ask *ask, const char *text, size_t len, struct points *ret,
		     struct errmsg *err);
};

#define PROVIDER(name) extern const struct provider provider_##name;
#include "src/factors/providers.def"
#undef PROVIDER

const struct provider *provider_of(enum provider_id id);

/* Finds a provider by its name in Providers; NULL: there is none. */
const struct provider *provider_find(const char *name);
const struct provider_conf *provider_conf_of(const struct provider *p, const struct factors_conf *conf);

/* --- for the files of providers ------------------------------------------------------------ */

#define PROVIDER_KEY(name, parse, member, initial, help)                           \
	{                                                                          \
		name, parse, offsetof(struct provider_conf, member),               \
			sizeof(((struct provider_conf *)0)->member), initial, help \
	}

/*
 * Parses TEXT as JSON; the caller frees *RET with json_decref(). TEXT is NUL-ended and may have a byte
 * order mark. NaN, Infinity, and bytes that are not UTF-8, become texts. -EINVAL: empty, HTML, or not JSON;
 * -ENOMEM.
 */
int provider_json(const char *text, size_t len, json_t **ret, struct errmsg *err) _must_check_;

/* How to read an answer that is a list with one value per item. */
struct provider_list {
	/*
	 * Finds the list in ROOT and checks that it answers ASK. *RET_LENGTH_S is the number of
	 * seconds that one item covers; item() gets it as LENGTH_S.
	 */
	int (*find)(const struct provider_ask *ask, json_t *root, json_t **ret, uint64_t *ret_length_s,
		    struct errmsg *err);
	const char *time; /* the name of an item's time; it names an item that is skipped */
	/* Appends the point of item V to RET. -EINVAL: the item is skipped, and ERR says why. */
	int (*item)(const struct provider_ask *ask, json_t *v, uint64_t length_s, struct points *ret,
		    struct errmsg *err);
};

/*
 * Parses TEXT and appends the points of all its items to RET. Items that item() refuses are skipped.
 * Returns 0 or -errno; -EINVAL also if all items were skipped.
 */
int provider_parse_list(const struct provider_list *l, const struct provider_ask *ask, const char *text,
			size_t len, struct points *ret, struct errmsg *err) _must_check_;

/* Returns member NAME of O, which must be an array. O may be NULL. -EINVAL: it is not there. */
int provider_array(json_t *o, const char *name, json_t **ret, struct errmsg *err) _must_check_;

/* Parses the text V as a time of RFC 3339, into seconds since the epoch. -EINVAL. */
int provider_time(const json_t *v, uint64_t *ret_s, struct errmsg *err) _must_check_;

/*
 * Reads V as a multiple of 1/SCALE. -ENODATA: V is null or missing; -EINVAL: no number, negative or
 * too large.
 */
int provider_number(const json_t *v, uint64_t scale, uint64_t *ret, struct errmsg *err) _must_check_;

/*
 * Checks that V, unless it is null or missing, is the text WANT in any case. -EINVAL: ERR begins
 * with WRONG.
 */
int provider_expect(const json_t *v, const char *want, const char *wrong, struct errmsg *err);

/*
 * Appends a point of ASK's provider and region. NOTE ("" or "forecast") is added to the source.
 * -ENOMEM.
 */
int provider_push(struct points *p, const struct provider_ask *ask, uint64_t from_s, uint64_t until_s,
		  uint64_t mg_per_kwh, const char *note, struct errmsg *err);

/*
 * Reads a token or a password from the one-line file PATH. Refuses a file that other users can read.
 * KEY is for messages. The caller wipes BUF. Returns 0 or -errno.
 */
int provider_secret(const char *key, const char *path, char *buf, size_t size,
		    struct errmsg *err) _must_check_;

#endif
