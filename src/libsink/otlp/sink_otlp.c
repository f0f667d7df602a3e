/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sink_otlp.c - sends records as traces, by OTLP/HTTP. A batch is one request. If the collector
 * refuses the request, each record is sent alone, to find the one that it refuses. A record that is
 * sent twice has the same span ids both times.
 */
#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "src/libhttps/curl_compat.h"
#include "src/libhttps/https.h"
#include "src/libsink/otlp/otlp_answer.h"
#include "src/libhttps/https_headers.h"
#include "src/libsink/otlp/otlp_spans.h"
#include "src/libsink/sink.h"
#include "src/libutil/clock.h"

/* 1 MiB of records becomes a request of some 3 MiB before compression. */
#define OTLP_BATCH 100
#define OTLP_BATCH_BYTES ((size_t)1 << 20)
#define TRACES_PATH "/v1/traces"
#define CONNECT_MS 5000L
#define CHECK_NS (5 * NSEC_PER_SEC)
#define RETRY_AFTER_MAX_S 3600

struct sink {
	const struct settings *settings;
	char url[sizeof(((struct settings *)0)->otlp_url) + sizeof(TRACES_PATH)];
	CURL *easy;		/* reused, so that its connection stays open */
	uint64_t not_before_ns; /* time of the next request by Retry-After; 0: no wait */
	char why[CURL_ERROR_SIZE];
	struct https_body body;
	char answer[OTLP_ANSWER_MAX + 1];
};

/* --- the sink --------------------------------------------------------------------------------------- */

static void otlp_close(struct sink *k)
{
	if (!k)
		return;
	curl_easy_cleanup(k->easy);
	free(k);
}

/* Sets k->url to URL. A URL without a path gets /v1/traces, the default path of OTLP. */
static int otlp_take_url(struct sink *k, const char *url, struct errmsg *err)
{
	const char *host = strstr(url, "://");
	const char *path;

	if (!host)
		return errmsg_set(err, -EINVAL, "OtlpUrl is not set");
	host += 3;
	path = host + strcspn(host, "/?#");
	if (path == host)
		return errmsg_set(err, -EINVAL, "OtlpUrl has no host");
	if (memchr(host, '@', (size_t)(path - host)))
		return errmsg_set(err, -EINVAL,
				  "OtlpUrl has a user or password in it, which belong in OtlpHeaders");
	if (!*path || !strcmp(path, "/"))
		(void)snprintf(k->url, sizeof(k->url), "%.*s" TRACES_PATH, (int)(path - url), url);
	else
		(void)snprintf(k->url, sizeof(k->url), "%s", url);
	return 0;
}

static int otlp_open(const struct settings *s, struct sink **ret, struct errmsg *err)
{
	struct sink *k = calloc(1, sizeof(*k));
	int rc;

	if (!k)
		return errmsg_set(err, -ENOMEM, "out of memory");
	k->settings = s;
	k->body = (struct https_body){ .text = k->answer, .size = sizeof(k->answer) };
	rc = otlp_take_url(k, s->otlp_url, err);
	if (rc == 0 && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
		k->easy = curl_easy_init();
	if (rc == 0 && !k->easy)
		rc = errmsg_set(err, -ENOMEM, "cannot initialise libcurl");
	if (rc < 0) {
		otlp_close(k);
		return rc;
	}
	*ret = k;
	return 0;
}

/* --- one request ------------------------------------------------------------------------------------- */

/*
 * Makes the headers of a request; the caller frees *RET. OtlpHeaders is read each time, so a new
 * token needs no restart.
 */
static int otlp_make_headers(const struct sink *k, struct curl_slist **ret, struct errmsg *err)
{
	static const char *const own[] = { "Content-Encoding: gzip", "Expect:" };
	const char *type = k->settings->otlp_json ? "Content-Type: application/json" :
						    "Content-Type: application/x-protobuf";
	struct curl_slist *list = curl_slist_append(NULL, type);
	size_t i;
	int rc = list ? 0 : errmsg_set(err, -ENOMEM, "out of memory");

	for (i = 0; rc == 0 && i < ARRAY_SIZE(own); i++)
		if (!curl_slist_append(list, own[i]))
			rc = errmsg_set(err, -ENOMEM, "out of memory");
	if (rc == 0 && k->settings->otlp_headers[0])
		rc = https_headers_read(k->settings->otlp_headers, &list, err);
	if (rc < 0)
		curl_slist_free_all(list);
	else
		*ret = list;
	return rc;
}

/*
 * Sends DATA[len] as one request. Returns 0 if there was an answer, in *RET; else -errno. ERR has
 * the reason if it was not taken.
 */
static int otlp_post(struct sink *k, const void *data, size_t len, uint64_t timeout_ns,
		     struct otlp_answer *ret, struct errmsg *err)
{
	const struct https_options o = { .url = k->url,
					 .ca_file = k->settings->otlp_ca_file,
					 .proxy = "",
					 .connect_ms = CONNECT_MS,
					 .total_ms = (long)(timeout_ns / NSEC_PER_MSEC) + 1,
					 .may_be_http = true };
	struct curl_slist *headers;
	int64_t wait_s;
	long status = 0;
	int rc = otlp_make_headers(k, &headers, err);

	if (rc < 0)
		return rc;
	rc = https_post(k->easy, &o, headers, data, len, &k->body, k->why, &status, err);
	curl_slist_free_all(headers);
	if (rc < 0)
		return rc;
	otlp_answer_read(status, k->answer, k->body.len, k->settings->otlp_json, ret);
	if (ret->verdict != OTLP_TAKEN)
		(void)errmsg_set(err, 0, "%s: HTTP %ld%s%s", k->url, status, *ret->text ? ": " : "",
				 ret->text);
	wait_s = ret->verdict == OTLP_LATER ? curl_compat_retry_after(k->easy) : 0;
	if (wait_s > 0)
		k->not_before_ns = clock_mono_ns() +
				   (uint64_t)(wait_s < RETRY_AFTER_MAX_S ? wait_s : RETRY_AFTER_MAX_S) *
					   NSEC_PER_SEC;
	return 0;
}

/* --- delivery ---------------------------------------------------------------------------------------- */

/*
 * Makes one request of ITEM[n] in *RET, which the caller frees. An item that is no record is
 * refused: its RESULT is set. If *RET_SPANS is 0, there is nothing to send. Returns 0 or -ENOMEM.
 */
static int otlp_make_request(struct sink *k, struct sink_item *item, size_t n, enum sink_result *result,
			     void **ret, size_t *ret_len, size_t *ret_spans, struct errmsg *err)
{
	struct otlp_spans *o = otlp_spans_create(k->settings->otlp_users);
	size_t i;
	int rc = o ? 0 : -ENOMEM;

	for (i = 0; rc == 0 && i < n; i++) {
		struct errmsg why = { 0 };

		rc = otlp_spans_add(o, &item[i], &why);
		if (rc == -EINVAL) {
			sink_refuse(&item[i], &result[i], why.text);
			rc = 0;
		}
	}
	if (rc == 0) {
		*ret_spans = otlp_spans_count(o);
		rc = otlp_spans_pack(o, k->settings->otlp_json, ret, ret_len);
	}
	otlp_spans_destroy(o);
	return rc < 0 ? errmsg_set(err, rc, "out of memory") : 0;
}

/*
 * Sets the results of the items that were sent. A request that was taken in part counts as
 * delivered, because the OTLP specification forbids to send it again.
 */
static void otlp_settle(struct sink_item *item, size_t n, enum sink_result *result,
			const struct otlp_answer *answer, const char *why)
{
	uint64_t rejected = answer->rejected;
	struct errmsg part;
	size_t i;

	for (i = 0; i < n; i++) {
		if (result[i] != SINK_RETRY)
			continue;
		if (answer->verdict != OTLP_TAKEN) {
			sink_refuse(&item[i], &result[i], why);
			continue;
		}
		result[i] = SINK_ACKED;
		item[i].is_partial = false;
		if (rejected) { /* only the first item carries the message */
			(void)errmsg_set(&part, 0,
					 "%" PRIu64 " spans of a request of %zu records were rejected%s%s",
					 rejected, n, *answer->text ? ": " : "", answer->text);
			free(item[i].why);
			item[i].why = strdup(part.text);
			item[i].is_partial = true;
			rejected = 0;
		}
	}
}

/*
 * Sends ITEM[n] in one request. Returns the collector's verdict; OTLP_LATER also if there was no
 * answer. ERR says why it was not taken.
 */
static enum otlp_verdict otlp_send(struct sink *k, struct sink_item *item, size_t n, enum sink_result *result,
				   uint64_t deadline_ns, struct errmsg *err)
{
	struct otlp_answer answer = { .verdict = OTLP_TAKEN };
	_cleanup_free_ void *data = NULL;
	uint64_t now_ns = clock_mono_ns();
	size_t spans = 0;
	size_t len = 0;

	if (now_ns >= deadline_ns) {
		(void)errmsg_set(err, 0, "time is over");
		return OTLP_LATER;
	}
	if (otlp_make_request(k, item, n, result, &data, &len, &spans, err) < 0 ||
	    (spans && otlp_post(k, data, len, deadline_ns - now_ns, &answer, err) < 0))
		return OTLP_LATER;
	if (answer.verdict == OTLP_TAKEN || answer.verdict == OTLP_DENIED ||
	    (answer.verdict == OTLP_BAD && n == 1))
		otlp_settle(item, n, result, &answer, err->text);
	return answer.verdict;
}

static int otlp_deliver(struct sink *k, struct sink_item *item, size_t n, enum sink_result *result,
			uint64_t timeout_ns, struct errmsg *err)
{
	uint64_t now_ns = clock_mono_ns();
	uint64_t deadline_ns = now_ns + timeout_ns;
	struct errmsg why = { 0 };
	enum otlp_verdict verdict;
	size_t i;

	for (i = 0; i < n; i++)
		result[i] = SINK_RETRY;
	if (!n)
		return 0;
	if (now_ns < k->not_before_ns)
		return errmsg_set(err, -EAGAIN, "%s asked to wait for %" PRIu64 " s more", k->url,
				  (k->not_before_ns - now_ns) / NSEC_PER_SEC + 1);
	verdict = otlp_send(k, item, n, result, deadline_ns, &why);
	if (verdict == OTLP_BAD)
		for (i = 0; i < n && verdict != OTLP_LATER; i++)
			if (result[i] == SINK_RETRY)
				verdict = otlp_send(k, &item[i], 1, &result[i], deadline_ns, &why);
	if (result[0] >= SINK_ACKED)
		return 0;
	if (err)
		*err = why;
	return -EAGAIN;
}

/* --- ceems check ------------------------------------------------------------------------------------- */

static void otlp_check_answer(const struct sink *k, const struct otlp_answer *answer, const char *why,
			      sink_tell_fn *tell, void *ctx)
{
	struct errmsg text;

	switch (answer->verdict) {
	case OTLP_TAKEN:
		(void)errmsg_set(&text, 0, "%s takes traces", k->url);
		tell(ctx, SINK_GOOD, SETTING_N, NULL, text.text);
		break;
	case OTLP_LATER:
		tell(ctx, SINK_WARN, SETTING_N, "check the collector's log; records wait in the store", why);
		break;
	case OTLP_BAD:
	case OTLP_DENIED:
		tell(ctx, SINK_WRONG, SETTING_otlp_url, "correct OtlpUrl, OtlpEncoding or OtlpHeaders", why);
		break;
	}
}

/* Sends a request without spans, which stores nothing at the collector. */
static void otlp_check(const struct settings *s, sink_tell_fn *tell, void *ctx)
{
	struct otlp_answer answer;
	_cleanup_free_ void *data = NULL;
	struct errmsg err = { 0 };
	struct sink *k = NULL;
	size_t spans, len = 0;
	int rc = otlp_open(s, &k, &err);

	if (rc < 0) {
		tell(ctx, SINK_WRONG, SETTING_otlp_url, "OtlpUrl=https://HOST:4318", err.text);
		return;
	}
	if (s->otlp_headers[0] && !strncmp(k->url, "http://", 7))
		tell(ctx, SINK_WARN, SETTING_otlp_url,
		     "an OtlpUrl with https://, if OtlpHeaders has a secret",
		     "the headers of OtlpHeaders go over the network in the clear");
	rc = otlp_make_request(k, NULL, 0, NULL, &data, &len, &spans, &err);
	if (rc == 0)
		rc = otlp_post(k, data, len, CHECK_NS, &answer, &err);
	if (rc == 0)
		otlp_check_answer(k, &answer, err.text, tell, ctx);
	else if (rc == -EACCES || rc == -EINVAL)
		tell(ctx, SINK_WRONG, SETTING_otlp_headers, "correct OtlpCaFile or OtlpHeaders", err.text);
	else
		tell(ctx, SINK_WARN, SETTING_otlp_url,
		     "start the collector, or correct OtlpUrl; records wait in the store", err.text);
	otlp_close(k);
}

const struct sink_ops sink_otlp = {
	.name = "otlp",
	.kinds = STORE_MASK(STORE_RECORD) | STORE_MASK(STORE_STEPS),
	.max_batch = OTLP_BATCH,
	.max_bytes = OTLP_BATCH_BYTES,
	.open = otlp_open,
	.deliver = otlp_deliver,
	.close = otlp_close,
	.secret = SINK_SETTING("OtlpHeaders", otlp_headers),
	.may_lack_secret = true,
	.trust = SINK_SETTING("OtlpCaFile", otlp_ca_file),
	.check = otlp_check,
};
