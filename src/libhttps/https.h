/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * https.h - how we speak to any HTTPS server, a BMC, a provider of emission factors or a collector of traces: TLS 1.2 or
 * later, always verified; no redirect is followed, no proxy or credential taken from the
 * environment; answers are bounded; sockets are not inherited.
 */
#ifndef CEEMS_HTTPS_H
#define CEEMS_HTTPS_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

#include "src/libutil/errmsg.h"

/* Where an answer goes. TEXT has room for SIZE bytes, of which the last is for the NUL. */
struct https_body {
	char *text; /* borrowed */
	size_t size;
	size_t len;
	bool is_too_long;
};

struct https_options {
	const char *url;
	const char *ca_file; /* the only certificates trusted; empty: the system's */
	const char *proxy;   /* empty: none */
	long connect_ms, total_ms;
	bool may_be_http; /* also in the clear: nothing is sent that is secret */
};

/*
 * Prepares E, which is fresh or reset, for a GET as O says. E has copies of the texts of O. BODY is
 * emptied. BODY and WHY[CURL_ERROR_SIZE] must live until the transfer has ended.
 */
void https_prepare(CURL *e, const struct https_options *o, struct https_body *body, char *why);

/*
 * What a transfer came to. -ETIMEDOUT; -EMSGSIZE: the answer is too long; -EACCES: the certificate;
 * -EIO: else. The text is about NAME, the address.
 */
int https_result(CURLcode code, const char *name, const char *why,
		 const struct https_body *body, struct errmsg *err);

#endif
