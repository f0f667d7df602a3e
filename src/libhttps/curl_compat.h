/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * curl_compat.h - functions for features that libcurl has only since 7.62 or later. We build with
 * 7.61 (EL 8) and 7.76 (EL 9), too.
 */
#ifndef CEEMS_CURL_COMPAT_H
#define CEEMS_CURL_COMPAT_H

#include <curl/curl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

/* The version of libcurl to build for; a test sets an older one than is installed. */
#ifndef CURL_COMPAT_AS_OF
#define CURL_COMPAT_AS_OF LIBCURL_VERSION_NUM
#endif

static inline void curl_compat_https_only(CURL *e, bool or_http)
{
#if CURL_COMPAT_AS_OF >= 0x075500 /* 7.85 */
	(void)curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, or_http ? "https,http" : "https");
#else
	(void)curl_easy_setopt(e, CURLOPT_PROTOCOLS,
			       (long)(CURLPROTO_HTTPS | (or_http ? CURLPROTO_HTTP : 0)));
#endif
}

/*
 * Makes curl_easy_cleanup() not wait for a resolver that hangs. Before libcurl 7.87 it may wait as
 * long as resolv.conf allows.
 */
static inline void curl_compat_quick_exit(CURL *e)
{
#if CURL_COMPAT_AS_OF >= 0x075700 /* 7.87 */
	(void)curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
#else
	(void)e;
#endif
}

/* Returns the seconds of the header Retry-After; 0: none, or libcurl is older than 7.66. */
static inline int64_t curl_compat_retry_after(CURL *e)
{
	curl_off_t wait_s = 0;

#if CURL_COMPAT_AS_OF >= 0x074200 /* 7.66 */
	(void)curl_easy_getinfo(e, CURLINFO_RETRY_AFTER, &wait_s);
#else
	(void)e;
#endif
	return wait_s;
}

/* Waits at most MS for a transfer of MULTI, or for one of the N fds in EXTRA. */
static inline CURLMcode curl_compat_poll(CURLM *multi, struct curl_waitfd *extra, unsigned int n, int ms)
{
#if CURL_COMPAT_AS_OF >= 0x074200
	return curl_multi_poll(multi, extra, n, ms, NULL);
#else
	int ready = 0;
	CURLMcode rc = curl_multi_wait(multi, extra, n, ms, &ready);

	/*
	 * curl_multi_wait() returns at once while it has no fd, as during a name look-up: pause
	 * here
	 */
	if (rc == CURLM_OK && !ready)
		(void)poll(NULL, 0, ms < 10 ? ms : 10);
	return rc;
#endif
}

#endif
