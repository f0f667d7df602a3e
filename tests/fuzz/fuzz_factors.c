/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The series of emission factors: what is read is in order, and the same when it was written. */
#include <errno.h>

#include "src/libemission/factor_series.h"
#include "src/libutil/util.h"
#include "tests/fuzz/fuzz.h"

static void check_order(const struct factor_series *s)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		assert(!factor_point_flaw(&s->point[i]));
	for (i = 1; i < s->n; i++)
		assert(factor_point_compare(&s->point[i - 1], &s->point[i]) < 0);
}

static void check_written(const struct factor_series *s)
{
	_cleanup_(factor_series_fini) struct factor_series again = { 0 };
	_cleanup_free_ char *text = NULL;
	struct errmsg err = { 0 };
	size_t len;
	size_t i;
	FILE *f = open_memstream(&text, &len);

	assert(f);
	(void)fputs(FACTOR_SERIES_HEAD "\n", f);
	for (i = 0; i < s->n; i++)
		factor_point_print(f, &s->point[i]);
	assert(!fclose(f));
	assert(factor_series_parse("again", text, len, &again, &err) == 0);
	assert(again.n == s->n);
	for (i = 0; i < s->n; i++)
		assert(!memcmp(&s->point[i], &again.point[i], sizeof(again.point[i])));
}

/* Each point added to an empty series, later ones over earlier ones: never an overlap. */
static void check_added(const struct factor_series *s)
{
	_cleanup_(factor_series_fini) struct factor_series sum = { 0 };
	struct errmsg err = { 0 };
	size_t i;

	for (i = 0; i < s->n; i++) {
		struct factor_point p = s->point[i];

		p.from_s -= p.from_s % 3600;
		p.until_s += p.until_s < p.from_s + 7200 ? 5400 : 0;
		if (!factor_point_flaw(&p))
			assert(factor_series_add(&sum, &p, &err) == 0);
	}
	check_order(&sum);
	check_written(&sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(factor_series_fini) struct factor_series s = { 0 };
	struct errmsg err = { 0 };
	int rc = factor_series_parse("series", (const char *)data, size, &s, &err);

	fuzz_check_error(rc, &err);
	assert(rc == 0 || rc == -EINVAL);
	if (rc < 0)
		return 0;
	check_order(&s);
	check_written(&s);
	check_added(&s);
	return 0;
}
