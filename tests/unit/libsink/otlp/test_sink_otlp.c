/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sink otlp against a fake collector, whose answers the test sets. */
#define _GNU_SOURCE /* memmem */
#include <errno.h>
#include <stdatomic.h>

#include "http_stub.h"
#include "otlp_records.h"
#include "scratch.h"
#include "src/libsink/sink.h"
#include "src/libutil/clock.h"

#define JOBS 5

static struct errmsg err;
static struct settings settings;
static char dir[] = SCRATCH_TEMPLATE;

/* --- the collector ------------------------------------------------------------------------------------ */

static struct {
	_Atomic int status;  /* of what is not bad */
	_Atomic int bad_job; /* a request with this job gets 400; 0: none */
	_Atomic int requests;
	_Atomic int last_jobs;	 /* of the last request; -1: it could not be read */
	_Atomic bool is_partial; /* answers that it rejected 2 spans */
	_Atomic bool has_token;	 /* the last request had Authorization */
	_Atomic bool asks_to_wait;
} collector;

/* How many jobs are in the request, and whether one of them is the bad one. */
static int look_at(const char *body, size_t len, bool *ret_bad)
{
	Otlp__Request *r = otlp_read(body, len);
	int jobs = r ? 0 : -1;
	size_t i;

	*ret_bad = false;
	for (i = 0; r && i < r->n_resource_spans; i++, jobs++) {
		const Otlp__Span *s = r->resource_spans[i]->scope_spans[0]->spans[0];

		*ret_bad |= otlp_find(s->attributes, s->n_attributes, "slurm.job.id")->int_value ==
			    collector.bad_job;
	}
	if (r)
		otlp__request__free_unpacked(r, NULL);
	return jobs;
}

static void http_stub_answer(int fd, const char *head, const char *body, size_t len)
{
	static const char partial[] = "\x0a\x08\x08\x02\x12\x04"
				      "full";
	char text[512];
	bool is_bad;
	int status, n;

	collector.has_token = strstr(head, "\r\nAuthorization: Bearer hunter2\r\n") != NULL;
	if (!strstr(head, "POST /v1/traces HTTP/1.1\r\n") ||
	    !strstr(head, "Content-Type: application/x-protobuf\r\n") ||
	    !strstr(head, "Content-Encoding: gzip\r\n"))
		diag("%s", head);
	collector.last_jobs = look_at(body, len, &is_bad);
	collector.requests++;
	status = is_bad ? 400 : collector.status;
	n = snprintf(text, sizeof(text), "HTTP/1.1 %d X\r\nContent-Length: %zu\r\n%s\r\n", status,
		     collector.is_partial ? sizeof(partial) - 1 : 0,
		     collector.asks_to_wait ? "Retry-After: 2\r\n" : "");
	if (collector.is_partial) {
		memcpy(text + n, partial, sizeof(partial) - 1);
		n += (int)sizeof(partial) - 1;
	}
	(void)!write(fd, text, (size_t)n);
}

static bool start_collector(void)
{
	const unsigned int port = http_stub_start();

	(void)snprintf(settings.otlp_url, sizeof(settings.otlp_url), "http://127.0.0.1:%u", port);
	return port;
}

/* --- delivery ----------------------------------------------------------------------------------------- */

static struct otlp_record record[JOBS];
static struct sink_item item[JOBS];
static enum sink_result result[JOBS];

static int send_all(struct sink *k)
{
	collector.requests = 0;
	err.text[0] = '\0';
	return sink_otlp.deliver(k, item, JOBS, result, 5 * NSEC_PER_SEC, &err);
}

static const char *results(void)
{
	static char text[JOBS + 1];
	size_t i;

	for (i = 0; i < JOBS; i++)
		text[i] = "rsAX"[result[i]];
	return text;
}

static void test_open(void)
{
	static const struct {
		const char *url;
		int rc;
	} rows[] = {
		{ "", -EINVAL },
		{ "http://", -EINVAL },
		{ "http:///v1/traces", -EINVAL },
		{ "https://u:p@host/", -EINVAL },
		{ "http://host", 0 },
		{ "https://host:4318/otlp/v1/traces?a=@", 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct settings s = { 0 };
		struct sink *k = NULL;

		(void)snprintf(s.otlp_url, sizeof(s.otlp_url), "%s", rows[i].url);
		is_int(sink_otlp.open(&s, &k, &err), rows[i].rc, *rows[i].url ? rows[i].url : "no address");
		sink_otlp.close(k);
	}
}

static void test_verdicts(struct sink *k)
{
	size_t i;

	collector.status = 200;
	is_int(send_all(k), 0, "a collector that takes all");
	is_str(results(), "AAAAA", "has all");
	ok(collector.requests == 1 && collector.last_jobs == JOBS, "by one request");
	ok(!collector.has_token, "without headers of ours");

	collector.bad_job = 3;
	is_int(send_all(k), 0, "one that does not accept a record");
	is_str(results(), "AAXAA", "has the others");
	is_int(collector.requests, 1 + JOBS, "  each was sent alone then");
	ok(strstr(sink_why(&item[2]), "HTTP 400") != NULL, "  %s", sink_why(&item[2]));
	collector.bad_job = 1;
	is_int(send_all(k), 0, "the first");
	is_str(results(), "XAAAA", "is settled too");
	collector.bad_job = 0;

	collector.status = 401;
	is_int(send_all(k), 0, "a collector that refuses every request");
	is_str(results(), "XXXXX", "has refused all, which deliver.c takes for an outage");
	is_int(collector.requests, 1, "  by one request");

	collector.status = 503;
	is_int(send_all(k), -EAGAIN, "one that is busy");
	is_str(results(), "rrrrr", "gets all again");
	ok(strstr(err.text, "HTTP 503") != NULL, "  %s", err.text);
	collector.status = 200;
	is_int(send_all(k), 0, "when it is back");

	collector.is_partial = true;
	is_int(send_all(k), 0, "one that took a part of a request");
	is_str(results(), "AAAAA", "gets nothing twice");
	ok(item[0].is_partial && !item[1].is_partial, "  said once: %s", sink_why(&item[0]));
	collector.is_partial = false;
	is_int(send_all(k), 0, "then all");
	ok(!item[0].is_partial, "  and it is over");

	item[1].json_len--;
	is_int(send_all(k), 0, "a record that is none");
	is_str(results(), "AXAAA", "is refused");
	ok(collector.requests == 1 && collector.last_jobs == JOBS - 1, "  and not sent");
	item[1].json_len++;
	for (i = 0; i < JOBS; i++) {
		free(item[i].why);
		item[i].why = NULL;
	}
	is_int(sink_otlp.deliver(k, item, 0, result, NSEC_PER_SEC, &err), 0, "nothing to deliver");
}

static void test_retry_after(struct sink *k)
{
	uint64_t start_ns = clock_mono_ns();
	struct timespec nap = { .tv_nsec = 20000000 };

	collector.status = 429;
	collector.asks_to_wait = true;
	is_int(send_all(k), -EAGAIN, "one that asks to wait");
	collector.asks_to_wait = false;
	collector.status = 200;
	is_int(send_all(k), -EAGAIN, "is not asked again at once");
	is_int(collector.requests, 0, "  by no request");
	ok(strstr(err.text, "asked to wait") != NULL, "  %s", err.text);
	while (send_all(k) < 0 && clock_mono_ns() - start_ns < 20 * NSEC_PER_SEC)
		(void)nanosleep(&nap, NULL);
	ok(clock_mono_ns() - start_ns >= 2 * NSEC_PER_SEC, "but after its time");
	is_str(results(), "AAAAA", "has all");
}

static void test_headers(struct sink *k)
{
	const char *path = scratch_path(dir, "headers");

	(void)snprintf(settings.otlp_headers, sizeof(settings.otlp_headers), "%s", path);
	is_int(send_all(k), -EAGAIN, "a file of headers that is not there");
	scratch_write(path, "Authorization: Bearer hunter2\n", 30);
	is_int(send_all(k), 0, "comes");
	ok(collector.has_token, "and is sent");
	chmod(path, 0644);
	is_int(send_all(k), -EAGAIN, "not when others can read it");
	ok(!strstr(err.text, "hunter2"), "  %s", err.text);
	unlink(path);
	settings.otlp_headers[0] = '\0';
}

static void test_away(void)
{
	struct sink *k = NULL;

	(void)snprintf(settings.otlp_url, sizeof(settings.otlp_url), "http://127.0.0.1:1");
	is_int(sink_otlp.open(&settings, &k, &err), 0, "no collector is needed to begin");
	is_int(send_all(k), -EAGAIN, "nobody answers");
	is_str(results(), "rrrrr", "all records wait");
	ok(strstr(err.text, "127.0.0.1:1/v1/traces") != NULL, "  %s", err.text);
	sink_otlp.close(k);
	sink_otlp.close(NULL);
}

int main(void)
{
	struct sink *k = NULL;
	uint32_t i;

	if (!mkdtemp(dir) || !start_collector())
		return 99;
	for (i = 0; i < JOBS; i++) {
		otlp_write(otlp_record(i + 1, 2), &record[i]);
		item[i] = otlp_item(&record[i]);
	}
	test_open();
	is_int(sink_otlp.open(&settings, &k, &err), 0, "opened");
	test_verdicts(k);
	test_retry_after(k);
	test_headers(k);
	sink_otlp.close(k);
	test_away();
	for (i = 0; i < JOBS; i++) {
		free(record[i].json);
		free(item[i].why);
	}
	rmdir(dir);
	return done_testing();
}
