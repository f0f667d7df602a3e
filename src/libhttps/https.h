/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * https.h - HTTPS as all our clients use it, for BMCs, providers of emission factors, and collectors
 * of traces and profiles: TLS 1.2 or later, certificates always verified, no redirect followed, no proxy or
 * credential taken from the environment, answers bounded, sockets not inherited.
 */
#ifndef CEEMS_HTTPS_H
#define CEEMS_HTTPS_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

#include "src/libutil/errmsg.h"

/* Receives an answer. TEXT has SIZE bytes, the last one for the NUL. */
struct https_body {
	char *text; /* borrowed */
	size_t size;
	size_t len;
	bool is_too_long;
};

struct https_options {
	const char *url;
	const char *name;    /* of the server in errors of https_post(); NULL: URL */
	const char *ca_file; /* the only certificates to trust; empty: the system's */
	const char *proxy;   /* empty: none */
	long connect_ms, total_ms;
	bool may_be_http; /* HTTP without TLS is allowed too: nothing secret is sent */
};

/*
 * Prepares E, which must be fresh or reset, for a GET with the options O. E copies the texts of O.
 * BODY is emptied; BODY and WHY[CURL_ERROR_SIZE] must live until the transfer has ended.
 */
void https_prepare(CURL *e, const struct https_options *o, struct https_body *body, char *why);

/*
 * Converts the result of a transfer to 0 or -errno: -ETIMEDOUT; -EMSGSIZE: the answer is too long;
 * -EACCES: the certificate was not accepted; -EIO: any other failure. NAME is the address, for ERR.
 */
int https_result(CURLcode code, const char *name, const char *why, const struct https_body *body,
		 struct errmsg *err);

/*
 * Sends DATA[len] by POST with HEADERS, as https_prepare() has it for O. Sets *RET_STATUS to the HTTP status
 * code if there was an answer. Returns 0 or an error of https_result().
 */
int https_post(CURL *e, const struct https_options *o, struct curl_slist *headers, const void *data,
	       size_t len, struct https_body *body, char *why, long *ret_status,
	       struct errmsg *err) _must_check_;

#endif
