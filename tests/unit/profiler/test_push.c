/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of a profile, from the sampler of a step to a server with Pyroscope's API. */
#define _GNU_SOURCE /* memmem, memfd_create */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "http_stub.h"
#include "scratch.h"
#include "src/profiler/profile_push.h"
#include "src/profiler/push_queue.h"
#include "src/profiler/pyroscope.h"
#include "src/libprofile/profile_pprof.h"
#include "src/libutil/clock.h"
#include "tap.h"

#define SERIES "7{cluster=c,node=n1,step=batch,user=u}"

static struct errmsg err;
static char dir[] = SCRATCH_TEMPLATE;

/* --- the server ----------------------------------------------------------------------------------------- */

static struct {
	_Atomic int status;
	_Atomic int requests;
	_Atomic bool has_token;
	char line[1024]; /* of the last request */
	char body[65536];
	size_t len;
} server;

static void http_stub_answer(int fd, const char *head, const char *body, size_t len)
{
	char text[256];
	int n;

	(void)snprintf(server.line, sizeof(server.line), "%.*s", (int)strcspn(head, "\r"), head);
	server.has_token = strstr(head, "\r\nX-Scope-OrgID: hpc\r\n") != NULL;
	server.len = len < sizeof(server.body) ? len : 0;
	memcpy(server.body, body, server.len);
	server.requests++;
	n = snprintf(text, sizeof(text), "HTTP/1.1 %d X\r\nContent-Length: 8\r\n\r\nbecause\n",
		     server.status);
	(void)!write(fd, text, (size_t)n);
}

/*
 * --- series ----------------------------------------------------------------------------------------------
 */

static void test_series(void)
{
	char text[PUSH_SERIES_MAX], long_name[PUSH_SERIES_MAX + 1];

	ok(push_series("7", "c", "n1", "batch", "u", text), "a series");
	is_str(text, SERIES, "has the job as name, and four labels");
	ok(push_series("7", "a,b}=c {", "n\n1", "0", "u\xc3\xa9", text), "texts with other characters");
	is_str(text, "7{cluster=a_b__c__,node=n_1,step=0,user=u__}", "cannot end the labels or the name");
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	ok(!push_series("7", long_name, "n1", "0", "u", text), "one that is too long");
}

/*
 * --- the queue -------------------------------------------------------------------------------------------
 */

static struct push_queue *open_queue(uint64_t max)
{
	struct push_queue *q = NULL;

	is_int(push_queue_open(scratch_path(dir, "q"), max, &q, &err), 0, "a queue");
	return q;
}

static int put(struct push_queue *q, size_t len)
{
	static const char data[16384];
	const struct push_part part = {
		.series = SERIES, .from_ns = 5, .until_ns = 6, .data = data, .len = len
	};

	return push_queue_put(q, &part, &err);
}

static void test_queue(void)
{
	struct push_queue *q = open_queue(16384);
	char(*name)[PUSH_NAME_MAX] = NULL;
	struct push_part part;
	char *buf;

	is_int(push_queue_list(q, 9, &name), 0, "it is empty");
	free(name);
	is_int(put(q, 1000), 0, "a part");
	is_int(put(q, 2000), 0, "a second");
	is_int(put(q, 3000), 0, "a third");
	ok(put(q, 5000) == -ENOSPC, "one that is too much: %s", err.text);
	is_int(put(q, 4000), 0, "and one that fits");
	is_int(put(q, 1), -ENOSPC, "then it is full");
	is_int((int)push_queue_take_dropped(q), 2, "what was dropped is counted");
	is_int((int)push_queue_take_dropped(q), 0, "  once");
	is_int(push_queue_list(q, 2, &name), 2, "no more are listed than asked for");
	is_int(push_queue_read(q, name[0], &part, &buf, &err), 0, "the oldest");
	ok(part.len == 1000 && part.from_ns == 5 && part.until_ns == 6, "has its bytes and times");
	is_str(part.series, SERIES, "and its series");
	free(buf);
	push_queue_remove(q, name[0]);
	is_int(push_queue_read(q, name[0], &part, &buf, &err), -ENOENT, "it is gone");
	is_int(push_queue_read(q, name[1], &part, &buf, &err), 0, "the second is there");
	ok(part.len == 2000, "  with its bytes");
	free(buf);
	free(name);
	push_queue_close(q);
	q = open_queue(16384);
	is_int(push_queue_list(q, 9, &name), 3, "after a restart the others are there");
	free(name);
	push_queue_close(q);
}

/* What a keeper leaves that is killed while it writes. */
static void test_begun_part(void)
{
	struct push_queue *q = open_queue(16384);
	const char *path = scratch_path(dir, "q/00000000000000000001-1-0.part.tmp");
	char data[8000] = "";

	ok(scratch_write(path, data, sizeof(data)), "a part that was only begun");
	is_int(put(q, 10), 0, "another one is added");
	ok(access(path, F_OK) < 0 && errno == ENOENT, "  the one that was begun is removed");
	push_queue_close(q);
}

static void test_bad_queues(void)
{
	static const char *const bad[] = { "", "no newline", "one 5\nx", "two five 6\nx", "nothing 5 6\n" };
	const char *path = scratch_path(dir, "q/00000000000000000001-1-0.part");
	struct push_queue *q = open_queue(1 << 20), *other = NULL;
	struct push_part part;
	size_t i;
	char *buf;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		scratch_write(path, bad[i], strlen(bad[i]));
		ok(push_queue_read(q, strrchr(path, '/') + 1, &part, &buf, &err) == -EINVAL, "damaged: '%s'",
		   bad[i]);
	}
	push_queue_close(q);
	scratch_clear(scratch_path(dir, "q"));
	(void)chmod(scratch_path(dir, "q"), 0777);
	is_int(push_queue_open(scratch_path(dir, "q"), 1, &other, &err), -EPERM,
	       "a folder that others can write in");
	(void)chmod(scratch_path(dir, "q"), 0700);
	ok(push_queue_open("/proc/nowhere", 1, &other, &err) == -ENOENT, "one that cannot be: %s", err.text);
	push_queue_close(NULL);
}

/*
 * --- parts -----------------------------------------------------------------------------------------------
 */

static int keeper_fd;
static int keeper_rc;

static void *run_keeper(void *arg)
{
	const struct profile_push_setup setup = {
		.dir = scratch_path(dir, "q"),
		.max = 1 << 20,
		.job_id = "7",
		.cluster = "c",
		.node = "n1",
		.step = "batch",
		.uid = 0,
	};

	struct errmsg keeper_err;

	keeper_rc = profile_push_keep(&setup, keeper_fd, &keeper_err);
	close(keeper_fd);
	return arg;
}

/* Adds COUNT samples of the function NAME, with labels of a process. */
static void sample(struct profile *p, const char *name, int64_t count, int64_t pid)
{
	const struct profile_function f = { .name = name, .system_name = "", .file = "" };
	const struct profile_mapping m = { .path = name, .build_id = "", .start = 4096, .limit = 8192 };
	struct profile_line line = { 0 };
	struct profile_location l = { .address = 5000, .line = &line, .nlines = 1 };
	const struct profile_label label[] = { { .key = PROFILE_LABEL_JOB, .text = "7" },
					       { .key = PROFILE_LABEL_PID, .number = pid, .unit = "" } };
	int64_t value[] = { count, count * 1000 };
	uint32_t at;
	const struct profile_sample s = { &at, 1, value, label, 2 };

	if (profile_add_function(p, &f, &line.function) < 0 || profile_add_mapping(p, &m, &l.mapping) < 0 ||
	    profile_add_location(p, &l, &at) < 0 || profile_add_sample(p, &s) < 0)
		exit(99);
}

/* Returns "NAME COUNT NS LABELS ..." of the profile in DATA[len]. */
static const char *words_of(const void *data, size_t len)
{
	static char text[512];
	int fd = memfd_create("part", MFD_CLOEXEC);
	struct profile *p = NULL;
	size_t used = 0, i;

	text[0] = '\0';
	if (write(fd, data, len) != (ssize_t)len || lseek(fd, 0, SEEK_SET) < 0 ||
	    profile_read(fd, "part", &p, &err) < 0)
		return err.text;
	close(fd);
	for (i = 0; i < p->nsamples; i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s%s %" PRId64 " %" PRId64 " %zu", i ? ", " : "",
			p->function[p->location[p->sample[i].location[0]].line[0].function].name,
			p->sample[i].value[0], p->sample[i].value[1], p->sample[i].nlabels);
	(void)snprintf(text + used, sizeof(text) - used,
		       "; %zu functions, %zu mappings, period %" PRId64 ", %" PRId64 "+%" PRId64,
		       p->nfunctions, p->nmappings, p->period, p->time_ns, p->duration_ns);
	profile_destroy(p);
	return text;
}

static void test_parts(void)
{
	static const struct profile_type types[] = { { "samples", "count" }, { "cpu", "nanoseconds" } };
	static const char *const parts[] = {
		"a 3 3000 0, b 1 1000 0; 2 functions, 2 mappings, period 1000, 100+50",
		"b 5 5000 0, c 2 2000 0; 2 functions, 2 mappings, period 1000, 150+30",
	};
	char(*name)[PUSH_NAME_MAX] = NULL;
	struct profile_push push = { .from_ns = 100 };
	struct profile *p = NULL;
	struct push_queue *q;
	struct push_part part;
	pthread_t thread;
	int end[2], n;
	char *buf;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, end) < 0 || profile_create(types, 2, &p) < 0 ||
	    profile_set_period(p, "cpu", "nanoseconds", 1000) < 0)
		exit(99);
	keeper_fd = end[0];
	push.fd = end[1];
	(void)pthread_create(&thread, NULL, run_keeper, NULL);
	sample(p, "a", 1, 1);
	sample(p, "a", 2, 2);
	sample(p, "b", 1, 1);
	is_int(profile_push_part(&push, p, 150), 0, "a part");
	sample(p, "b", 5, 1);
	sample(p, "c", 2, 3);
	is_int(profile_push_part(&push, p, 180), 0, "a second");
	is_int(profile_push_part(&push, p, 190), 0, "one without a sample");
	close(end[1]);
	(void)pthread_join(thread, NULL);
	is_int(keeper_rc, 0, "the keeper ends well");
	q = open_queue(1 << 20);
	is_int(push_queue_list(q, 9, &name), 2, "the queue has those with samples");
	for (n = 0; n < 2; n++) {
		ok(push_queue_read(q, name[n], &part, &buf, &err) == 0, "part %d", n + 1);
		is_str(words_of(part.data, part.len), parts[n],
		       "has what was sampled in its time, without labels");
		is_str(part.series, "7{cluster=c,node=n1,step=batch,user=root}", "  as the job's");
		free(buf);
		push_queue_remove(q, name[n]);
	}
	free(name);
	push_queue_close(q);
	is_int(profile_push_part(&push, p, 200), 0,
	       "nothing new is not sent, so a keeper that is gone is not noticed");
	sample(p, "a", 1, 1);
	ok(profile_push_part(&push, p, 210) < 0, "but the next part fails");
	profile_push_fini(&push);
	profile_destroy(p);
}

/* Instead of the keeper: is killed when it has the head of a part. */
static void *run_short_keeper(void *arg)
{
	uint64_t head[3];

	(void)arg;
	(void)!recv(keeper_fd, head, sizeof(head), MSG_WAITALL);
	close(keeper_fd);
	return NULL;
}

static void test_killed_keeper(void)
{
	static const struct profile_type types[] = { { "samples", "count" }, { "cpu", "nanoseconds" } };
	const int size = 4096; /* far smaller than the part */
	struct profile_push push = { .from_ns = 100 };
	struct profile *p = NULL;
	pthread_t thread;
	char name[32];
	int end[2], i;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, end) < 0 || profile_create(types, 2, &p) < 0)
		exit(99);
	keeper_fd = end[0];
	push.fd = end[1];
	(void)setsockopt(end[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	srandom(1);
	for (i = 0; i < 5000; i++) {
		(void)snprintf(name, sizeof(name), "%lx%lx", random(), random());
		sample(p, name, 1, 1);
	}
	(void)pthread_create(&thread, NULL, run_short_keeper, NULL);
	is_int(profile_push_part(&push, p, 200), -EPIPE,
	       "a keeper that is killed amid a part is an error, not a signal");
	(void)pthread_join(thread, NULL);
	close(end[1]);
	profile_push_fini(&push);
	profile_destroy(p);
}

/*
 * --- requests --------------------------------------------------------------------------------------------
 */

static void test_requests(unsigned int port)
{
	static const struct {
		int status;
		enum pyroscope_verdict verdict;
	} rows[] = {
		{ 204, PYROSCOPE_TAKEN },  { 301, PYROSCOPE_LATER }, { 400, PYROSCOPE_REFUSED },
		{ 401, PYROSCOPE_LATER },  { 404, PYROSCOPE_LATER }, { 413, PYROSCOPE_REFUSED },
		{ 422, PYROSCOPE_UNSURE }, { 429, PYROSCOPE_LATER }, { 503, PYROSCOPE_LATER },
	};
	const struct push_part part = { .series = SERIES,
					.from_ns = UINT64_C(1700000000900000000),
					.until_ns = UINT64_C(1700000030100000000),
					.data = "PPROF",
					.len = 5 };
	char url[64], headers[PATH_MAX];
	struct pyroscope_conf conf = { .url = url, .headers = "", .ca_file = "" };
	struct pyroscope *p = NULL;
	size_t i;

	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/pyro/", port);
	(void)snprintf(headers, sizeof(headers), "%s", scratch_path(dir, "headers"));
	is_int(pyroscope_open(&conf, &p, &err), 0, "a server");
	server.status = 200;
	is_int(pyroscope_send(p, &part, 5000, &err), PYROSCOPE_TAKEN, "takes a part");
	is_str(server.line,
	       "POST /pyro/ingest?name=7%7Bcluster%3Dc%2Cnode%3Dn1%2Cstep%3Dbatch%2Cuser%3Du%7D&"
	       "from=1700000000&until=1700000030"
	       "&format=pprof&spyName=ceems HTTP/1.1",
	       "by POST /ingest with name, from, until and format");
	ok(server.len == 5 && !memcmp(server.body, "PPROF", 5), "the body is the profile");
	ok(!server.has_token, "without headers of the site");
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		server.status = rows[i].status;
		ok(pyroscope_send(p, &part, 5000, &err) == rows[i].verdict, "HTTP %d", rows[i].status);
	}
	ok(strstr(err.text, "HTTP 503: because") != NULL, "  %s", err.text);
	server.status = 200;
	conf.headers = headers;
	pyroscope_close(p);
	is_int(pyroscope_open(&conf, &p, &err), 0, "with headers");
	ok(pyroscope_send(p, &part, 5000, &err) == PYROSCOPE_LATER, "whose file is missing: %s", err.text);
	scratch_write(headers, "X-Scope-OrgID: hpc\n", 19);
	is_int(pyroscope_send(p, &part, 5000, &err), PYROSCOPE_TAKEN, "and works once it is there");
	ok(server.has_token, "the headers are sent");
	(void)chmod(headers, 0644);
	is_int(pyroscope_send(p, &part, 5000, &err), PYROSCOPE_LATER, "not when others can read them");
	ok(!strstr(err.text, "hpc"), "  %s", err.text);
	(void)unlink(headers);
	pyroscope_close(p);
	conf.headers = "";
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:1");
	is_int(pyroscope_open(&conf, &p, &err), 0, "a server that is away");
	ok(pyroscope_send(p, &part, 5000, &err) == PYROSCOPE_LATER, "gets it later: %s", err.text);
	pyroscope_close(p);
	pyroscope_close(NULL);
}

static void test_urls(void)
{
	static const char *const bad[] = {
		"", "http://", "https:///", "https://u:p@host", "http://host/?a=b", "http://host#x"
	};
	struct pyroscope_conf conf = { .headers = "", .ca_file = "" };
	struct pyroscope *p = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		conf.url = bad[i];
		ok(pyroscope_open(&conf, &p, &err) == -EINVAL, "'%s': %s", bad[i], err.text);
	}
}

int main(void)
{
	const unsigned int port = http_stub_start();

	if (!mkdtemp(dir) || !port)
		return 99;
	test_series();
	test_queue();
	test_begun_part();
	test_bad_queues();
	test_parts();
	test_killed_keeper();
	test_requests(port);
	test_urls();
	scratch_clear(dir);
	(void)rmdir(dir);
	return done_testing();
}
