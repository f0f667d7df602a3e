/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A job's record: what was read is written in a form that reads as the same, and in parts; and the
 * input as a text comes back from a record byte by byte.
 */
#include "src/librecord/record.h"
#include "tests/fuzz/fuzz.h"

static void check_text(const char *text)
{
	struct record *r = record_create();
	struct record *back = NULL;
	struct errmsg err = { 0 };
	char *json = NULL;
	size_t len;

	assert(r && (r->cluster = strdup("c")) && (r->comment = strdup(text)));
	r->job_id = 1;
	assert(record_to_json(r, &json, &len, &err) == 0);
	assert(record_from_json(json, len, &back, &err) == 0);
	assert(!strcmp(back->comment ? back->comment : "", text));
	free(json);
	record_destroy(back);
	record_destroy(r);
}

struct parts {
	size_t max;
	size_t steps;
};

static int check_part(void *ctx, size_t part, const char *key, const char *json, size_t len,
		      struct errmsg *err)
{
	struct parts *p = ctx;
	char job_key[RECORD_KEY_MAX];
	struct record *back = NULL;

	assert(*key && len <= p->max);
	assert((part ? record_from_steps_json(json, len, &back, job_key, err) :
		       record_from_json(json, len, &back, err)) == 0);
	p->steps += back->nsteps;
	record_destroy(back);
	return 0;
}

/* All steps are in the parts, whatever they are. */
static void check_parts(const struct record *r, size_t len)
{
	struct parts p = { .max = len * 2 / 3 };
	struct errmsg err = { 0 };

	if (record_write_parts(r, p.max, check_part, &p, &err) == 0)
		assert(p.steps == (r->steps_known ? r->nsteps : 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *json = fuzz_text(data, size); /* a copy, so that ASan sees a byte read too many */
	struct errmsg err = { 0 };
	struct record *r = NULL;
	struct record *again = NULL;
	char *first = NULL;
	char *second = NULL;
	size_t len;
	int rc;

	rc = record_from_json(json, size, &r, &err);
	fuzz_check_error(rc, &err);
	if (rc == 0 && record_to_json(r, &first, &len, &err) == 0) {
		assert(record_from_json(first, len, &again, &err) == 0);
		assert(record_to_json(again, &second, &len, &err) == 0);
		assert(!strcmp(first, second));
		check_parts(r, len);
	}
	check_text(json);
	free(first);
	free(second);
	record_destroy(r);
	record_destroy(again);
	free(json);
	return 0;
}
