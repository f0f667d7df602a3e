/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/factors/fetch.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/random.h>

#include "src/factors/error_words.h"
#include "src/libhttps/curl_compat.h"
#include "src/libhttps/https.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"

#define CONNECT_MS 10000L

struct fetch {
	const struct factors_conf *conf;
	CURL *easy;
	uint64_t deadline_ns; /* end of RetryLimit, CLOCK_MONOTONIC */
	char why[CURL_ERROR_SIZE];
	char words[ERROR_WORDS_SIZE]; /* of the server, about the error of the last try */
	struct https_body body;
	char answer[FETCH_ANSWER_MAX + 1];
};

int fetch_create(const struct factors_conf *conf, struct fetch **ret, struct errmsg *err)
{
	struct fetch *f = calloc(1, sizeof(*f));

	if (f)
		f->easy = curl_easy_init();
	if (!f || !f->easy) {
		free(f);
		return errmsg_set(err, -ENOMEM, "out of memory");
	}
	f->conf = conf;
	f->body = (struct https_body){ .text = f->answer, .size = sizeof(f->answer) };
	*ret = f;
	return 0;
}

void fetch_destroy(struct fetch *f)
{
	if (!f)
		return;
	curl_easy_cleanup(f->easy);
	explicit_bzero(f, sizeof(*f)); /* the answer may contain a token */
	free(f);
}

void fetch_begin(struct fetch *f)
{
	f->deadline_ns = clock_mono_ns() + f->conf->retry_limit_ns;
}

/* Returns the time left of RetryLimit. */
static uint64_t left_ns(const struct fetch *f)
{
	uint64_t now = clock_mono_ns();

	return now < f->deadline_ns ? f->deadline_ns - now : 0;
}

/* --- one try ------------------------------------------------------------------------------- */

struct outcome {
	int rc;
	bool may_retry;
	uint64_t wait_ns; /* the server asked for this wait; 0: it did not ask */
};

#define ENCODED_MIN 16 /* no word of a message is as long */

/* Hides texts that may be an encoded password, which a server may send back. */
static void hide_encoded(char *text)
{
	size_t len;

	for (; *text; text += len + !len) {
		len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=");
		if (len >= ENCODED_MIN)
			memset(text, '*', len);
	}
}

/* Keeps the server's words about an error, without the secrets of request R. */
static void keep_words(struct fetch *f, const struct fetch_request *r)
{
	const char *token = r->header ? strrchr(r->header, ' ') : NULL;
	const char *const secrets[] = { token ? token + 1 : r->user ? r->password : NULL, NULL };

	(void)error_words(f->answer, secrets, f->words);
	if (r->user)
		hide_encoded(f->words);
}

static void check_status(struct fetch *f, const char *name, struct outcome *o, struct errmsg *err)
{
	int64_t wait_s;
	char *target = NULL;
	long status = 0;

	(void)curl_easy_getinfo(f->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status == 200)
		return;
	o->may_retry = status == 408 || status == 429 || status >= 500;
	wait_s = curl_compat_retry_after(f->easy);
	/* RetryLimit is below a day anyway; a larger number could overflow */
	if (wait_s > 0)
		o->wait_ns = (uint64_t)(wait_s < 86400 ? wait_s : 86400) * NSEC_PER_SEC;
	if (status == 401 || status == 403) {
		o->rc = errmsg_set(err, -EACCES, "%s: the credentials are refused (HTTP %ld)", name, status);
	} else if (status >= 300 && status < 400) {
		(void)curl_easy_getinfo(f->easy, CURLINFO_REDIRECT_URL, &target);
		o->rc = errmsg_set(err, -EIO, "%s: redirects to %.*s (HTTP %ld); redirects are not followed",
				   name, target ? (int)strcspn(target, "?#") : 7, target ? target : "nowhere",
				   status);
	} else {
		o->rc = errmsg_set(err, -EIO, "%s: HTTP %ld", name, status);
	}
}

static struct curl_slist *make_headers(const struct fetch_request *r)
{
	struct curl_slist *headers = curl_slist_append(NULL, "Accept: application/json");
	struct curl_slist *more = headers && r->header ? curl_slist_append(headers, r->header) : headers;

	if (headers && !more)
		curl_slist_free_all(headers);
	return more;
}

static void wipe_headers(struct curl_slist *headers)
{
	struct curl_slist *h;

	for (h = headers; h; h = h->next)
		explicit_bzero(h->data, strlen(h->data));
	curl_slist_free_all(headers);
}

static void try_once(struct fetch *f, const struct fetch_request *r, const char *name, struct outcome *o,
		     struct errmsg *err)
{
	uint64_t left = left_ns(f);
	uint64_t limit_ns = left < f->conf->timeout_ns ? left : f->conf->timeout_ns;
	char url[1024];
	const struct https_options options = {
		.url = url,
		.ca_file = f->conf->ca_file,
		.proxy = f->conf->proxy,
		.connect_ms = CONNECT_MS,
		.total_ms = (long)(limit_ns / NSEC_PER_MSEC + 1),
	};
	struct curl_slist *headers = make_headers(r);
	CURLcode code;

	*o = (struct outcome){ 0 };
	f->words[0] = '\0';
	if (!headers || (size_t)snprintf(url, sizeof(url), "%s%s", r->base, r->path) >= sizeof(url)) {
		wipe_headers(headers);
		o->rc = errmsg_set(err, -ENOMEM, "%s: out of memory, or too long", name);
		return;
	}
	curl_easy_reset(f->easy);
	https_prepare(f->easy, &options, &f->body, f->why);
	(void)curl_easy_setopt(f->easy, CURLOPT_HTTPHEADER, headers);
	(void)curl_easy_setopt(f->easy, CURLOPT_USERAGENT, "slurm-ceems");
	if (r->user) {
		(void)curl_easy_setopt(f->easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		(void)curl_easy_setopt(f->easy, CURLOPT_USERNAME, r->user);
		(void)curl_easy_setopt(f->easy, CURLOPT_PASSWORD, r->password);
	}
	code = curl_easy_perform(f->easy);
	o->rc = https_result(code, name, f->why, &f->body, err);
	/* neither a bad certificate nor an overlong answer gets better by another try */
	o->may_retry = o->rc == -EIO || o->rc == -ETIMEDOUT;
	if (o->rc == 0)
		check_status(f, name, o, err);
	if (code == CURLE_OK && o->rc < 0)
		keep_words(f, r);
	curl_easy_reset(f->easy); /* drops libcurl's references to the headers and the password */
	wipe_headers(headers);
}

/* --- retries ------------------------------------------------------------------------------- */

/*
 * Returns a random time from half of NS to one and a half, so that a site's clusters do not retry
 * together.
 */
static uint64_t jittered(uint64_t ns)
{
	uint32_t r = UINT32_MAX / 2;

	(void)!getrandom(&r, sizeof(r), GRND_NONBLOCK);
	return ns / 2 + (uint64_t)((unsigned __int128)ns * r / UINT32_MAX);
}

static void sleep_ns(uint64_t ns)
{
	struct timespec ts = clock_ns_to_timespec(ns);

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
}

/* Sets ERR to WHY, what became of the further tries, and the server's words. Returns RC. */
static int _printf_(5, 6)
	fetch_fail(const struct fetch *f, struct errmsg *err, int rc, const char *why, const char *fmt, ...)
{
	char tries[128];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(tries, sizeof(tries), fmt, ap);
	va_end(ap);
	return errmsg_set(err, rc, "%s%s%s%s", why, tries, *f->words ? "; the answer says: " : "", f->words);
}

int fetch_get(struct fetch *f, const struct fetch_request *r, const char **ret_text, size_t *ret_len,
	      struct errmsg *err)
{
	uint64_t wait_ns = f->conf->retry_wait_ns;
	struct errmsg why = { 0 };
	struct outcome o;
	char name[256];
	uint64_t n, pause_ns;

	(void)snprintf(name, sizeof(name), "%s%.*s", r->base, (int)strcspn(r->path, "?"), r->path);
	for (n = 1;; n++) {
		try_once(f, r, name, &o, &why);
		if (o.rc == 0)
			break;
		pause_ns = jittered(wait_ns);
		if (pause_ns < o.wait_ns)
			pause_ns = o.wait_ns;
		if (!o.may_retry || f->conf->tries == 1)
			return fetch_fail(f, err, o.rc, why.text, "%s", "");
		if (n == f->conf->tries)
			return fetch_fail(f, err, o.rc, why.text, "; tried %llu times",
					  (unsigned long long)n);
		if (pause_ns >= left_ns(f))
			return fetch_fail(f, err, o.rc, why.text,
					  "; another try in %.1f s is beyond RetryLimit",
					  (double)pause_ns / (double)NSEC_PER_SEC);
		sleep_ns(pause_ns);
		wait_ns *= 2;
	}
	*ret_text = f->answer;
	*ret_len = f->body.len;
	return 0;
}

int fetch_file(struct fetch *f, const char *path, const char **ret_text, size_t *ret_len, struct errmsg *err)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	ssize_t n;

	fd = fileio_open_regular(path, &st, err);
	if (fd < 0)
		return fd;
	n = fileio_pread_all(fd, f->answer, sizeof(f->answer));
	if (n < 0)
		return errmsg_errno(err, (int)n, "%s", path);
	*ret_text = f->answer;
	*ret_len = (size_t)n;
	return 0;
}
