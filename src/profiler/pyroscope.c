/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/profiler/pyroscope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/libhttps/https.h"
#include "src/libhttps/https_headers.h"
#include "src/libutil/clock.h"
#include "src/libutil/text.h"

#define CONNECT_MS 5000L
#define ANSWER_MAX 4096
#define WORDS_MAX 200 /* of the server's answer, in a message */

struct pyroscope {
	struct pyroscope_conf conf;
	size_t base; /* length of the URL without slashes at its end */
	CURL *easy;  /* reused, so that its connection stays open */
	char why[CURL_ERROR_SIZE];
	struct https_body body;
	char answer[ANSWER_MAX];
};

static int take_url(struct pyroscope *p, struct errmsg *err)
{
	const char *host = strstr(p->conf.url, "://");

	p->base = strlen(p->conf.url);
	while (p->base && p->conf.url[p->base - 1] == '/')
		p->base--;
	if (!host || p->base <= (size_t)(host + 3 - p->conf.url))
		return errmsg_set(err, -EINVAL, "ProfilePushUrl has no host");
	if (strpbrk(host + 3, "@?#"))
		return errmsg_set(
			err, -EINVAL,
			"ProfilePushUrl has a user or a query; secrets belong in ProfilePushHeaders");
	return 0;
}

int pyroscope_open(const struct pyroscope_conf *conf, struct pyroscope **ret, struct errmsg *err)
{
	struct pyroscope *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return errmsg_errno(err, -ENOMEM, "libcurl");
	p->conf = *conf;
	p->body = (struct https_body){ .text = p->answer, .size = sizeof(p->answer) };
	rc = take_url(p, err);
	if (rc == 0 && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
		p->easy = curl_easy_init();
	if (rc == 0 && !p->easy)
		rc = errmsg_errno(err, -ENOMEM, "libcurl");
	if (rc < 0) {
		pyroscope_close(p);
		return rc;
	}
	*ret = p;
	return 0;
}

void pyroscope_close(struct pyroscope *p)
{
	if (!p)
		return;
	curl_easy_cleanup(p->easy);
	free(p);
}

static enum pyroscope_verdict verdict_of(long status)
{
	switch (status) {
	case 400:
	case 413:
		return PYROSCOPE_REFUSED;
	case 422: /* Pyroscope also answers this to what it cannot store now, such as above a rate limit */
		return PYROSCOPE_UNSURE;
	default:
		/* URL or headers may be wrong, too: then the server takes the profile when they are right */
		return status >= 200 && status < 300 ? PYROSCOPE_TAKEN : PYROSCOPE_LATER;
	}
}

/* The headers are read each time, so that a new token needs no restart. */
static int make_headers(const struct pyroscope *p, struct curl_slist **ret, struct errmsg *err)
{
	struct curl_slist *list = curl_slist_append(NULL, "Content-Type: application/octet-stream");
	int rc = list && curl_slist_append(list, "Expect:") ? 0 : errmsg_errno(err, -ENOMEM, "libcurl");

	if (rc == 0 && *p->conf.headers)
		rc = https_headers_read(p->conf.headers, &list, err);
	if (rc < 0)
		curl_slist_free_all(list);
	else
		*ret = list;
	return rc;
}

static char *make_url(const struct pyroscope *p, const struct push_part *part)
{
	char *name = curl_easy_escape(p->easy, part->series, 0);
	const size_t size = p->base + (name ? strlen(name) : 0) + 128;
	char *url = name ? malloc(size) : NULL;

	if (url)
		(void)snprintf(url, size,
			       "%.*s/ingest?name=%s&from=%" PRIu64 "&until=%" PRIu64
			       "&format=pprof&spyName=ceems",
			       (int)p->base, p->conf.url, name, part->from_ns / NSEC_PER_SEC,
			       part->until_ns / NSEC_PER_SEC);
	curl_free(name);
	return url;
}

enum pyroscope_verdict pyroscope_send(struct pyroscope *p, const struct push_part *part, long timeout_ms,
				      struct errmsg *err)
{
	_cleanup_free_ char *url = make_url(p, part);
	const struct https_options o = { .url = url,
					 .name = p->conf.url,
					 .ca_file = p->conf.ca_file,
					 .proxy = "",
					 .connect_ms = CONNECT_MS,
					 .total_ms = timeout_ms,
					 .may_be_http = true };
	struct curl_slist *headers = NULL;
	enum pyroscope_verdict verdict;
	char words[WORDS_MAX];
	long status = 0;
	int rc = url ? make_headers(p, &headers, err) : errmsg_errno(err, -ENOMEM, "libcurl");

	if (rc < 0)
		return PYROSCOPE_LATER;
	rc = https_post(p->easy, &o, headers, part->data, part->len, &p->body, p->why, &status, err);
	curl_slist_free_all(headers);
	if (rc < 0)
		return PYROSCOPE_LATER;
	verdict = verdict_of(status);
	p->answer[strcspn(p->answer, "\r\n")] = '\0';
	(void)text_mask(p->answer, words, sizeof(words));
	if (verdict != PYROSCOPE_TAKEN)
		(void)errmsg_set(err, 0, "%s: HTTP %ld%s%s", p->conf.url, status, *words ? ": " : "", words);
	return verdict;
}
