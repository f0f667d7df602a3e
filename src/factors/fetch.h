/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fetch.h - gets a document from a provider. A failed try is repeated after ever longer waits,
 * within a limit.
 */
#ifndef CEEMS_FACTORS_FETCH_H
#define CEEMS_FACTORS_FETCH_H

#include <stddef.h>

#include "src/factors/factors_conf.h"
#include "src/libutil/errmsg.h"

#define FETCH_ANSWER_MAX (1024 * 1024)

struct fetch;

/* Creates a client; CONF is borrowed. Free it with fetch_destroy(). -ENOMEM. */
int fetch_create(const struct factors_conf *conf, struct fetch **ret, struct errmsg *err) _must_check_;
void fetch_destroy(struct fetch *f);

/* Starts the clock of RetryLimit; call it before the first fetch_get() for a zone. */
void fetch_begin(struct fetch *f);

struct fetch_request {
	const char *base;	     /* https://HOST */
	const char *path;	     /* "/..." */
	const char *header;	     /* a secret header, "auth-token: ..."; NULL: none */
	const char *user, *password; /* for basic authentication; NULL: none */
};

/*
 * Gets a document by HTTPS. *RET_TEXT is NUL-ended and valid until the next call. These failures
 * are tried again: no connection, no answer in time, HTTP 408, 429 and 5xx. Returns 0 or -errno;
 * -EACCES: credentials or certificate were not accepted. ERR has the server's own words, if there are any.
 * No message contains a header, a password, or what follows a '?'.
 */
int fetch_get(struct fetch *f, const struct fetch_request *r, const char **ret_text, size_t *ret_len,
	      struct errmsg *err) _must_check_;

/* Like fetch_get(), but reads a local file. */
int fetch_file(struct fetch *f, const char *path, const char **ret_text, size_t *ret_len,
	       struct errmsg *err) _must_check_;

#endif
