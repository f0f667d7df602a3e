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

/* Reads a part of R's; how many of its steps it has, from step AT on. SIZE_MAX: it is wrong. */
static size_t read_part(const struct record_part *part, size_t i, const struct record *r, size_t at)
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
	rc = i ? record_from_steps_json(part->json, part->len, &back, job_key, &err) :
		 record_from_json(part->json, part->len, &back, &err);
	if (rc < 0) {
		diag("%s", err.text);
		return SIZE_MAX;
	}
	if (!strcmp(part->key, want) && (!i || !strcmp(job_key, key)) && !strcmp(back->cluster, r->cluster) &&
	    back->job_id == r->job_id && back->submit == r->submit && part->len == strlen(part->json) &&
	    (i || back->steps_total == r->nsteps) && back->nsteps <= r->nsteps - at)
		n = back->nsteps;
	for (s = 0; n != SIZE_MAX && s < n; s++)
		if (!is_step(&back->steps[s], &r->steps[at + s]))
			n = SIZE_MAX;
	record_destroy(back);
	return n;
}

static void check_parts(size_t nsteps, size_t max, size_t ret_range[2])
{
	struct record *r = job(nsteps);
	struct record_part *part = NULL;
	struct errmsg err = { 0 };
	uint64_t begin = clock_mono_ns();
	char says[32];
	size_t longest = 0;
	size_t at = 0;
	size_t n = 0;
	size_t i;
	int rc = record_to_parts(r, max, &part, &n, &err);

	diag("%zu steps, %zu bytes: %zu parts in %.1f ms", nsteps, max, n,
	     (double)(clock_mono_ns() - begin) / 1e6);
	ok(rc == 0, "%zu steps in parts of %zu bytes %s", nsteps, max, err.text);
	(void)snprintf(says, sizeof(says), "\"parts\":%zu,\"", n);
	for (i = 0; i < n; i++) {
		size_t got = read_part(&part[i], i, r, at);

		if (got == SIZE_MAX || !strstr(part[i].json, says))
			break;
		at += got;
		longest = part[i].len > longest ? part[i].len : longest;
	}
	ok(n && i == n && at == nsteps, "each says what it is and together they have all, in order");
	ok(longest <= max, "none is longer");
	ret_range[0] = n;
	ret_range[1] = longest;
	record_parts_destroy(part, n);
	record_destroy(r);
}

static void test_parts(void)
{
	struct record *r = job(1000);
	_cleanup_free_ char *json = NULL;
	struct record_part *part = NULL;
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

	is_int(record_to_parts(r, 100, &part, &n, &err), -EMSGSIZE, "too long without steps too");
	ok(!part, "gives nothing: %s", err.text);
	r->steps_known = false;
	is_int(record_to_parts(r, 20000, &part, &n, &err), 0, "steps that are not known");
	ok(n == 1 && strstr(part->json, ",\"steps_total\":null,") && strstr(part->json, ",\"steps\":null}"),
	   "are null");
	record_parts_destroy(part, n);
	record_destroy(r);
	record_parts_destroy(NULL, 0);
}

/* The record has hardly room for itself; each step has a part of its own; one step is too long. */
static void test_narrow(void)
{
	struct record *r = job(9);
	struct record_part *part = NULL;
	struct errmsg err = { 0 };
	struct record *none = job(0);
	_cleanup_free_ char *json = NULL;
	size_t len = 0;
	size_t got[2];
	size_t n = 0;

	require(record_to_json(none, &json, &len, NULL) == 0);
	check_parts(9, len + 1, got);
	ok(got[0] >= 2, "the record alone, its steps behind it: %zu parts", got[0]);
	record_destroy(none);
	memset(r->steps[4].name, 1, strlen(r->steps[4].name));
	free(r->steps[4].nodes);
	r->steps[4].nodes = calloc(1, 500);
	memset(r->steps[4].nodes, 1, 499);
	values_miss(&r->values, METRIC_ENERGY, REASON_NO_SENSOR);
	n = 0;
	is_int(record_to_parts(r, 1500, &part, &n, &err), -EMSGSIZE, "a step that is too long");
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

static void print_samples(void)
{
	struct record *r = job(40);
	struct record_part *part;
	size_t n;
	size_t i;

	if (record_to_parts(r, 6000, &part, &n, NULL) == 0) {
		for (i = 0; i < n; i++)
			puts(part[i].json);
		record_parts_destroy(part, n);
	}
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
