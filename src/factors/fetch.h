/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fetch.h - gets a document from a provider: some tries, longer and longer apart, within a limit.
 */
#ifndef CEEMS_FACTORS_FETCH_H
#define CEEMS_FACTORS_FETCH_H

#include <stddef.h>

#include "src/factors/factors_conf.h"
#include "src/libutil/errmsg.h"

#define FETCH_ANSWER_MAX (1024 * 1024)

struct fetch;

/* CONF is borrowed. */
int fetch_create(const struct factors_conf *conf, struct fetch **ret, struct errmsg *err);
void fetch_destroy(struct fetch *f);

/* RetryLimit begins. */
void fetch_begin(struct fetch *f);

struct fetch_request {
	const char *base;   /* https://HOST */
	const char *path;   /* "/..." */
	const char *header; /* a secret one, "auth-token: ..."; NULL: none */
	const char *user, *password; /* NULL: none */
};

/*
 * *ret_text ends with NUL and is good until the next call. Tried again: no connection, no answer in
 * time, HTTP 408, 429 and 5xx. -EACCES: credentials or certificate are refused. No message has a
 * header, a password or what stands behind a '?'.
 */
int fetch_get(struct fetch *f, const struct fetch_request *r, const char **ret_text,
	      size_t *ret_len, struct errmsg *err);

/* The same of a file on this machine. */
int fetch_file(struct fetch *f, const char *path, const char **ret_text, size_t *ret_len,
	       struct errmsg *err);

#endif
