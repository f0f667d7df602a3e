/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Jobs of many steps: one record, or parts of it. With an argument it prints the parts of one, for
 * test_record_schema.
 */
#include "src/librecord/record.h"

#include <errno.h>
#include <stdlib.h>

#include "src/libutil/clock.h"
#include "src/libutil/util.h"

#include "tap.h"

static struct record *job(size_t nsteps)
{
	struct record *r = record_create();
	char nodes[64];
	char name[24];
	size_t i;

	r->cluster = strdup("hpc \xff");
	r->job_id = 7;
	r->submit = 1700000000;
	values_set(&r->values, METRIC_ENERGY, UINT64_C(5000000));
	r->steps_known = true;
	r->nsteps = nsteps;
	r->steps = calloc(nsteps + 1, sizeof(*r->steps));
	for (i = 0; i < nsteps; i++) {
		struct record_step *s = &r->steps[i];

		s->step_id = (uint32_t)i;
		(void)snprintf(name, sizeof(name), i % 3 ? "step %zu" : "\xfe%zu", i);
		s->name = strdup(name);
		(void)snprintf(nodes, sizeof(nodes), "node[%04zu-%04zu]", i, i + 8999);
		s->nodes = strdup(nodes);
		values_init(&s->values);
		values_set(&s->values, METRIC_ENERGY, i * 1000001);
		if (i % 2)
			values_set(&s->values, METRIC_IO_READ_BYTES, i);
	}
	return r;
}

static bool is_step(const struct record_step *got, const struct record_step *want)
{
	return got->step_id == want->step_id && !strcmp(got->name, want->name) &&
	       !strcmp(got->nodes, want->nodes) &&
	       got->values.value[METRIC_ENERGY] == want->values.value[METRIC_ENERGY] &&
	       values_has(&got->values, METRIC_IO_READ_BYTES) ==
		       values_has(&want->values, METRIC_IO_READ_BYTES);
}

/* What the parts of a record were so far. */
struct parts {
	const struct record *r;
	size_t n;
	size_t at; /* steps */
	size_t longest;
	unsigned long said; /* what "parts" is in all of them */
	bool is_wrong;
	char first[1 << 16]; /* the beginning of part 0 */
};

/* Reads a part of R's; how many of its steps it has, from step AT on. SIZE_MAX: it is wrong. */
static size_t read_part(const char *part_key, const char *json, size_t len, size_t i, const struct record *r,
			size_t at)
{
	struct record *back = NULL;
	struct errmsg err = { 0 };
	char key[RECORD_KEY_MAX];
	char want[RECORD_KEY_MAX + 24];
	char job_key[RECORD_KEY_MAX];
	size_t n = SIZE_MAX;
	size_t s;
	int rc;

	require(record_key(r, key, sizeof(key)) == 0);
	(void)snprintf(want, sizeof(want), i ? "%s#%zu" : "%s", key, i);
	rc = i ? record_from_steps_json(json, len, &back, job_key, &err) :
		 record_from_json(json, len, &back, &err);
	if (rc < 0) {
		diag("%s", err.text);
		return SIZE_MAX;
	}
	if (!strcmp(part_key, want) && (!i || !strcmp(job_key, key)) && !strcmp(back->cluster, r->cluster) &&
	    back->job_id == r->job_id && back->submit == r->submit && len == strlen(json) &&
	    (i || back->steps_total == r->nsteps) && back->nsteps <= r->nsteps - at)
		n = back->nsteps;
	for (s = 0; n != SIZE_MAX && s < n; s++)
		if (!is_step(&back->steps[s], &r->steps[at + s]))
			n = SIZE_MAX;
	record_destroy(back);
	return n;
}

static int take_part(void *ctx, size_t part, const char *key, const char *json, size_t len,
		     struct errmsg *err)
{
	struct parts *p = ctx;
	const char *says = strstr(json, "\"parts\":");
	size_t got = read_part(key, json, len, part, p->r, p->at);
	unsigned long said = says ? strtoul(says + strlen("\"parts\":"), NULL, 10) : 0;

	(void)err;
	if (!part)
		(void)snprintf(p->first, sizeof(p->first), "%s", json);
	p->is_wrong |= part != p->n++ || got == SIZE_MAX || !said || (part && said != p->said);
	p->said = said;
	p->at += got;
	p->longest = len > p->longest ? len : p->longest;
	return 0;
}

static int parts_of(const struct record *r, size_t max, struct parts *ret, struct errmsg *err)
{
	*ret = (struct parts){ .r = r };
	return record_write_parts(r, max, take_part, ret, err);
}

static int refuse_part(void *ctx, size_t part, const char *key, const char *json, size_t len,
		       struct errmsg *err)
{
	size_t *n = ctx;

	(void)part;
	(void)key;
	(void)json;
	(void)len;
	return ++*n == 2 ? errmsg_set(err, -ENOSPC, "no room") : 0;
}

static void check_parts(size_t nsteps, size_t max, size_t ret_range[2])
{
	static struct parts p;
	struct record *r = job(nsteps);
	struct errmsg err = { 0 };
	uint64_t begin = clock_mono_ns();
	int rc = parts_of(r, max, &p, &err);

	diag("%zu steps, %zu bytes: %zu parts in %.1f ms", nsteps, max, p.n,
	     (double)(clock_mono_ns() - begin) / 1e6);
	ok(rc == 0, "%zu steps in parts of %zu bytes %s", nsteps, max, err.text);
	ok(p.n && !p.is_wrong && p.said == p.n && p.at == nsteps,
	   "each says what it is and together they have all, in order");
	ok(p.longest <= max, "none is longer");
	ret_range[0] = p.n;
	ret_range[1] = p.longest;
	record_destroy(r);
}

static void test_parts(void)
{
	static struct parts p;
	struct record *r = job(1000);
	_cleanup_free_ char *json = NULL;
	struct errmsg err = { 0 };
	size_t got[2];
	size_t len = 0;
	size_t n = 0;

	is_int(record_to_json(r, &json, &len, &err), 0, "whole");
	check_parts(1000, len, got);
	ok(got[0] == 1 && got[1] == len, "what just fits is one part");
	check_parts(1000, len - 1, got);
	is_u64(got[0], 2, "a byte less: two");
	check_parts(1000, 20000, got);
	ok(got[0] > 8 && got[1] > 19000, "and they are full");
	check_parts(0, 20000, got);
	is_u64(got[0], 1, "no steps: one part");
	check_parts(100000, 900 << 10, got);
	ok(got[0] > 18, "100,000 steps: %zu", got[0]);

	is_int(parts_of(r, 100, &p, &err), -EMSGSIZE, "too long without steps too");
	ok(!p.n, "gives nothing: %s", err.text);
	is_int(record_write_parts(r, 20000, refuse_part, &n, &err), -ENOSPC, "a part that is not taken");
	ok(n == 2 && !strcmp(err.text, "no room"), "is the last, and says why");
	r->steps_known = false;
	is_int(parts_of(r, 20000, &p, &err), 0, "steps that are not known");
	ok(p.n == 1 && strstr(p.first, ",\"steps_total\":null,") && strstr(p.first, ",\"steps\":null}"),
	   "are null");
	record_destroy(r);
}

/* The record has hardly room for itself; each step has a part of its own; one step is too long. */
static void test_narrow(void)
{
	static struct parts p;
	struct record *r = job(9);
	struct errmsg err = { 0 };
	struct record *none = job(0);
	_cleanup_free_ char *json = NULL;
	size_t len = 0;
	size_t got[2];

	require(record_to_json(none, &json, &len, NULL) == 0);
	check_parts(9, len + 1, got);
	ok(got[0] >= 2, "the record alone, its steps behind it: %zu parts", got[0]);
	record_destroy(none);
	memset(r->steps[4].name, 1, strlen(r->steps[4].name));
	free(r->steps[4].nodes);
	r->steps[4].nodes = calloc(1, 500);
	memset(r->steps[4].nodes, 1, 499);
	values_miss(&r->values, METRIC_ENERGY, REASON_NO_SENSOR);
	is_int(parts_of(r, 1500, &p, &err), -EMSGSIZE, "a step that is too long");
	record_destroy(r);
}

static void test_broken_parts(void)
{
	static const char *const broken[] = {
		"",
		"{}",
		"{\"schema\":\"ceems.job.v1\",\"cluster\":\"c\",\"jobid\":1}",
		"{\"schema\":\"ceems.steps.v1\",\"cluster\":\"c\",\"jobid\":1,\"steps\":[]}",
		"{\"schema\":\"ceems.steps.v1\",\"job_key\":7,\"cluster\":\"c\",\"jobid\":1}",
		"{\"schema\":\"ceems.steps.v1\",\"job_key\":\"k\",\"jobid\":1,\"steps\":[]}",
		("{\"schema\":\"ceems.steps.v1\",\"job_key\":\"k\",\"cluster\":\"c\",\"jobid\":1,"
		 "\"steps\":[7]}"),
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(broken); i++) {
		char key[RECORD_KEY_MAX];
		struct record *r = NULL;
		struct errmsg err = { 0 };

		ok(record_from_steps_json(broken[i], strlen(broken[i]), &r, key, &err) == -EINVAL && !r,
		   "refused: %s", err.text);
	}
}

static int print_part(void *ctx, size_t part, const char *key, const char *json, size_t len,
		      struct errmsg *err)
{
	(void)ctx;
	(void)part;
	(void)key;
	(void)len;
	(void)err;
	puts(json);
	return 0;
}

static void print_samples(void)
{
	struct record *r = job(40);

	require(record_write_parts(r, 6000, print_part, NULL, NULL) == 0);
	record_destroy(r);
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) {
		print_samples();
		return 0;
	}
	test_parts();
	test_narrow();
	test_broken_parts();
	return done_testing();
}
