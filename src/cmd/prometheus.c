/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/prometheus.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_CURL
#include "src/libhttps/https.h"

#define ANSWER_MAX (32 << 20) /* most bytes of an answer; one about 5,000 jobs has 5 MB */

struct prometheus {
	CURL *easy;
	char url[PATH_MAX]; /* address for queries */
	char ca_file[PATH_MAX];
	char why[CURL_ERROR_SIZE];
	struct https_body body;
};

int prometheus_create(const char *url, const char *ca_file, struct prometheus **ret, struct errmsg *err)
{
	struct prometheus *p = calloc(1, sizeof(*p));
	size_t len = strlen(url);

	while (len && url[len - 1] == '/')
		len--;
	if (!p)
		return errmsg_errno(err, -ENOMEM, "%s", url);
	if ((size_t)snprintf(p->url, sizeof(p->url), "%.*s/api/v1/query", (int)len, url) >= sizeof(p->url) ||
	    (size_t)snprintf(p->ca_file, sizeof(p->ca_file), "%s", ca_file) >= sizeof(p->ca_file)) {
		free(p);
		return errmsg_errno(err, -ENAMETOOLONG, "%s", url);
	}
	p->body.size = ANSWER_MAX;
	p->body.text = malloc(p->body.size);
	p->easy = curl_easy_init();
	if (!p->body.text || !p->easy) {
		prometheus_destroy(p);
		return errmsg_errno(err, -ENOMEM, "%s", url);
	}
	*ret = p;
	return 0;
}

void prometheus_destroy(struct prometheus *p)
{
	if (!p)
		return;
	curl_easy_cleanup(p->easy);
	free(p->body.text);
	free(p);
}

static int prometheus_post(struct prometheus *p, const char *promql, struct errmsg *err)
{
	const struct https_options o = {
		.url = p->url,
		.ca_file = p->ca_file,
		.proxy = "",
		.connect_ms = 5000,
		.total_ms = 30000,
		.may_be_http = true,
	};
	char *quoted = curl_easy_escape(p->easy, promql, 0);
	size_t size = quoted ? strlen(quoted) + sizeof("query=") : 0;
	char *form = size ? malloc(size) : NULL;
	CURLcode code;

	if (form)
		(void)snprintf(form, size, "query=%s", quoted);
	curl_free(quoted);
	if (!form)
		return errmsg_errno(err, -ENOMEM, "%s", p->url);
	curl_easy_reset(p->easy);
	https_prepare(p->easy, &o, &p->body, p->why);
	(void)curl_easy_setopt(p->easy, CURLOPT_POSTFIELDS, form);
	(void)curl_easy_setopt(p->easy, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
	code = curl_easy_perform(p->easy);
	free(form);
	return https_result(code, p->url, p->why, &p->body, err);
}

int prometheus_query(struct prometheus *p, const char *promql, json_t **ret, struct errmsg *err)
{
	int rc = prometheus_post(p, promql, err);

	if (rc < 0)
		return rc;
	rc = prometheus_answer(p->body.text, p->body.len, ret, err);
	return rc == -EIO ? errmsg_set(err, rc, "%s: the answer is not one of Prometheus", p->url) : rc;
}

#else

int prometheus_create(const char *url, const char *ca_file, struct prometheus **ret, struct errmsg *err)
{
	(void)ca_file;
	(void)ret;
	return errmsg_set(err, -ENOTSUP, "%s: built without libcurl", url);
}

void prometheus_destroy(struct prometheus *p)
{
	(void)p;
}

int prometheus_query(struct prometheus *p, const char *promql, json_t **ret, struct errmsg *err)
{
	(void)p;
	(void)promql;
	(void)ret;
	return errmsg_set(err, -ENOTSUP, "built without libcurl");
}
#endif
