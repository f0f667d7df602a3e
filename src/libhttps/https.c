/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libhttps/https.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "src/libhttps/curl_compat.h"

/*
 * Opens a socket with SOCK_CLOEXEC. libcurl's own sockets would be inherited by the slurmstepd and
 * jobs that slurmd starts.
 */
static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *a)
{
	(void)ctx;
	(void)purpose;
	return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

static size_t on_body(char *data, size_t size, size_t n, void *ctx)
{
	struct https_body *b = ctx;

	n *= size;
	if (n >= b->size - b->len) {
		b->is_too_long = true;
		return 0;
	}
	memcpy(b->text + b->len, data, n);
	b->len += n;
	b->text[b->len] = '\0';
	return n;
}

void https_prepare(CURL *e, const struct https_options *o, struct https_body *body, char *why)
{
	body->len = 0;
	body->is_too_long = false;
	body->text[0] = '\0';
	why[0] = '\0';
	(void)curl_easy_setopt(e, CURLOPT_URL, o->url);
	(void)curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_compat_quick_exit(e); /* a resolver may hang for long */
	(void)curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_compat_https_only(e, o->may_be_http);
	(void)curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
	/* "" also disables the proxy of the environment */
	(void)curl_easy_setopt(e, CURLOPT_PROXY, o->proxy);
	(void)curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 1L);
	(void)curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 2L);
	(void)curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (*o->ca_file) {
		(void)curl_easy_setopt(e, CURLOPT_CAINFO, o->ca_file);
		(void)curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
	}
	(void)curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, o->connect_ms);
	(void)curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, o->total_ms);
	(void)curl_easy_setopt(e, CURLOPT_ERRORBUFFER, why);
	(void)curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(e, CURLOPT_WRITEDATA, body);
}

int https_result(CURLcode code, const char *name, const char *why, const struct https_body *body,
		 struct errmsg *err)
{
	if (code == CURLE_OK)
		return 0;
	if (body->is_too_long)
		return errmsg_set(err, -EMSGSIZE, "%s: the answer is longer than %zu bytes", name,
				  body->size - 1);
	return errmsg_set(err,
			  code == CURLE_OPERATION_TIMEDOUT ? -ETIMEDOUT :
			  code == CURLE_PEER_FAILED_VERIFICATION ||
					  /* libcurl 7.62 made these two one */
					  code == CURLE_SSL_CACERT || code == CURLE_SSL_CACERT_BADFILE ?
							     -EACCES :
							     -EIO,
			  "%s: %s", name, *why ? why : curl_easy_strerror(code));
}

int https_post(CURL *e, const struct https_options *o, struct curl_slist *headers, const void *data,
	       size_t len, struct https_body *body, char *why, long *ret_status, struct errmsg *err)
{
	CURLcode code;
	int rc;

	curl_easy_reset(e);
	https_prepare(e, o, body, why);
	(void)curl_easy_setopt(e, CURLOPT_HTTPHEADER, headers);
	(void)curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
	(void)curl_easy_setopt(e, CURLOPT_POSTFIELDS, data);
	code = curl_easy_perform(e);
	rc = https_result(code, o->name ? o->name : o->url, why, body, err);
	if (rc == 0)
		(void)curl_easy_getinfo(e, CURLINFO_RESPONSE_CODE, ret_status);
	return rc;
}
