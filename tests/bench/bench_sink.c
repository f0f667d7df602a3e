/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bench_sink.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <sys/resource.h>

#include "scratch.h"
#include "src/librecord/record.h"
#include "src/libsink/deliver.h"
#include "src/libstore/store.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "usual_values.h"

#define STEPS 3
#define TIMEOUT_NS (10 * NSEC_PER_SEC)
#define DRAIN_MAX_NS (60 * NSEC_PER_SEC)

const char *const shape_name[SHAPE_N] = { "no steps", "3 usual steps", "3 full steps" };

int bench_begin(struct bench *b)
{
	const char *where = getenv("CEEMS_BENCH_DIR");

	memset(b, 0, sizeof(*b));
	logger_set_sink(logger_sink_stderr);
	snprintf(b->dir, sizeof(b->dir), "%.80s/ceems-bench.XXXXXX", where ? where : "/var/tmp");
	if (!mkdtemp(b->dir)) {
		perror(b->dir);
		return -errno;
	}
	snprintf(b->store, sizeof(b->store), "%s/store", b->dir);
	return 0;
}

void bench_end(struct bench *b)
{
	scratch_clear(b->dir);
	(void)rmdir(b->dir);
}

void row(const char *what, const char *format, ...)
{
	va_list ap;

	printf("%-44s ", what);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

const char *cost_text(const struct bench_cost *c, char *text, size_t size)
{
	double s = (double)c->ns / 1e9;

	if (!c->n || !c->ns)
		snprintf(text, size, "nothing moved");
	else
		snprintf(text, size, "%.0f records/s, %.0f MB/s, %.1f us of CPU each", (double)c->n / s,
			 (double)c->bytes / s / 1e6, (double)c->cpu_ns / 1e3 / (double)c->n);
	return text;
}

uint64_t bench_cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NSEC_PER_SEC +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

uint64_t bench_rss_kb(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f && fscanf(f, "%*u %lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * ((uint64_t)sysconf(_SC_PAGESIZE) / 1024);
}

static void set_values(struct values *f, enum shape shape, uint64_t job_id)
{
	unsigned int m;

	values_init(f);
	metric_foreach(m)
		if (shape == SHAPE_FULL || is_usual((enum metric)m))
			values_set(f, (enum metric)m, UINT64_C(123456789) * (m + 1) + job_id);
}

static int make_record(enum shape shape, uint32_t job_id, char *key, char **ret_json, size_t *ret_len,
		       struct errmsg *err)
{
	struct record *r = record_create();
	size_t s;
	int rc;

	r->cluster = strdup("bench");
	r->job_id = job_id;
	r->submit = 1700000000 + job_id;
	r->start = r->submit + 10;
	r->end = r->start + 3600;
	r->state = strdup("COMPLETED");
	r->job_name = strdup("a job of the benchmark");
	r->user_name = strdup("alice");
	r->account = strdup("physics");
	r->partition = strdup("standard");
	r->work_dir = strdup("/home/alice/work/of/the/benchmark");
	r->nodes = strdup("node[0001-0004]");
	r->tres_alloc = strdup("billing=64,cpu=64,energy=7200,mem=256G,node=4");
	r->total_cpus = 64;
	r->total_nodes = 4;
	r->energy.total_j = (struct maybe_u64){ 7200 + job_id, true };
	set_values(&r->values, shape, job_id);
	r->steps_known = shape != SHAPE_BARE;
	if (r->steps_known) {
		r->steps = calloc(STEPS, sizeof(*r->steps));
		r->nsteps = STEPS;
	}
	for (s = 0; s < r->nsteps; s++) {
		r->steps[s].step_id = (uint32_t)s;
		r->steps[s].name = strdup("solver");
		set_values(&r->steps[s].values, shape, job_id + s);
	}
	rc = record_key(r, key, RECORD_KEY_MAX);
	if (rc == 0)
		rc = record_to_json(r, ret_json, ret_len, err);
	record_destroy(r);
	return rc;
}

int bench_make(struct bench *b, enum shape shape, uint64_t n, struct bench_record **ret)
{
	struct bench_record *made = calloc(n, sizeof(*made));
	uint64_t i;
	int rc = made ? 0 : -ENOMEM;

	for (i = 0; rc == 0 && i < n; i++)
		rc = make_record(shape, (uint32_t)(i + 1 + shape * n), made[i].key, &made[i].json,
				 &made[i].len, &b->err);
	if (rc == 0)
		*ret = made;
	else
		bench_unmake(made, n);
	return rc;
}

void bench_unmake(struct bench_record *made, uint64_t n)
{
	uint64_t i;

	for (i = 0; made && i < n; i++)
		free(made[i].json);
	free(made);
}

static int store_batch(struct store *s, const struct bench_record *made, uint64_t from, uint64_t n,
		       uint64_t distinct, struct bench_cost *c, struct errmsg *err)
{
	int rc = store_begin(s, err);
	uint64_t i;

	if (rc < 0)
		return rc;
	for (i = from; rc == 0 && i < from + n; i++) {
		const struct bench_record *m = &made[i % distinct];

		rc = store_record_append(s, STORE_RECORD, m->key, m->json, m->len, /* ended= */ 0, NULL, err);
		c->bytes += m->len;
	}
	if (rc == 0)
		return store_commit(s, err);
	store_rollback(s);
	return rc;
}

static int fill(struct bench *b, struct store *s, const struct bench_record *made, uint64_t n,
		uint64_t distinct, unsigned int batch, struct bench_cost *c)
{
	uint64_t cpu = bench_cpu_ns();
	uint64_t t = clock_mono_ns();
	int rc = 0;

	for (c->n = 0; rc == 0 && c->n < n; c->n += batch)
		rc = store_batch(s, made, c->n, n - c->n < batch ? n - c->n : batch, distinct, c, &b->err);
	c->n = n;
	c->ns = clock_mono_ns() - t;
	c->cpu_ns = bench_cpu_ns() - cpu;
	return rc;
}

static int open_store(struct bench *b, struct store **ret)
{
	struct store_options o = { .dir = b->store };

	return store_open(&o, ret, &b->err);
}

int bench_fill(struct bench *b, enum shape shape, uint64_t n, uint64_t distinct, unsigned int batch,
	       struct bench_cost *ret)
{
	struct bench_record *made = NULL;
	struct bench_cost cost = { 0 };
	struct store *s = NULL;
	int rc;

	scratch_clear(b->store);
	b->bytes = 0;
	rc = bench_make(b, shape, distinct, &made);
	if (rc == 0)
		rc = open_store(b, &s);
	if (rc == 0)
		rc = fill(b, s, made, n, distinct, batch, &cost);
	b->bytes = cost.bytes;
	store_close(s);
	bench_unmake(made, distinct);
	if (rc == 0 && ret)
		*ret = cost;
	return rc;
}

static void drain(const struct bench *b, struct deliver *d, struct bench_cost *c)
{
	struct deliver_stats st;
	struct deliver_stats first;
	uint64_t rss;
	uint64_t cpu;
	uint64_t t;
	int got;

	(void)deliver_run(d, clock_mono_ns(), TIMEOUT_NS); /* connects */
	deliver_get_stats(d, &first);
	rss = bench_rss_kb();
	cpu = bench_cpu_ns();
	t = clock_mono_ns();
	do {
		uint64_t now_kb;

		got = deliver_run(d, clock_mono_ns(), TIMEOUT_NS);
		deliver_get_stats(d, &st);
		now_kb = bench_rss_kb();
		if (now_kb > rss + c->rss_kb)
			c->rss_kb = now_kb - rss;
	} while ((got || st.is_down) && clock_mono_ns() < t + DRAIN_MAX_NS);
	c->ns = clock_mono_ns() - t;
	c->cpu_ns = bench_cpu_ns() - cpu;
	c->n = st.acked - first.acked;
	c->bytes = st.acked ? (uint64_t)((double)b->bytes * (double)c->n / (double)st.acked) : 0;
	c->refused = st.refused;
	c->retries = st.retries;
}

int bench_drain(struct bench *b, const struct sink_ops *ops, struct bench_cost *ret)
{
	struct deliver *d = NULL;
	struct store *s = NULL;
	int rc;

	memset(ret, 0, sizeof(*ret));
	rc = open_store(b, &s);
	if (rc == 0)
		rc = deliver_create(s, b->store, ops, &b->settings, &d, &b->err);
	if (rc == 0)
		drain(b, d, ret);
	deliver_destroy(d);
	store_close(s);
	return rc;
}
