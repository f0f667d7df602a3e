/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What providers of emission factors answer, validated and merged: the first byte says which of them. */
#include <errno.h>

#include "src/factors/validate.h"
#include "src/factors/merge.h"
#include "tests/fuzz/fuzz.h"

static const struct {
	const char *provider, *zone;
} who[] = {
	{ "rte", "FR" },
	{ "uk", "GB" },
	{ "uk", "13" },
	{ "energycharts", "de" },
	{ "electricitymaps", "DE" },
	{ "watttime", "CAISO_NORTH" },
	{ "file", "file" },
};

#define NOW_S 1795344000 /* the inputs' day */

/* What is written can be read, whoever said what. */
static void check_series(const struct factor_series *s)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		assert(!factor_point_flaw(&s->point[i]));
		assert(!i || factor_point_compare(&s->point[i - 1], &s->point[i]) < 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct factors_conf conf;
	struct factor_series s = { 0 };
	struct provider_ask ask = { .now_s = NOW_S };
	struct points p = { 0 };
	struct errmsg err = { 0 };
	size_t doubts = 0;
	size_t i, k;
	char *text;
	int rc;

	if (!size)
		return 0;
	i = data[0] % ARRAY_SIZE(who);
	ask.provider = provider_find(who[i].provider);
	ask.conf = provider_conf_of(ask.provider, &conf);
	(void)snprintf(ask.zone.zone, sizeof(ask.zone.zone), "%s", who[i].zone);
	(void)snprintf(ask.zone.region, sizeof(ask.zone.region), "XX");
	text = fuzz_text(data + 1, size - 1);
	rc = ask.provider->parse(&ask, text, size - 1, &p, &err);
	fuzz_check_error(rc, &err);
	assert(rc == 0 || rc == -EINVAL);
	if (rc == 0)
		rc = validate_points(&ask, &s, false, &p, &doubts, &err);
	fuzz_check_error(rc, &err);
	assert(rc < 0 || p.n + doubts);
	for (k = 0; rc == 0 && !ask.provider->is_ours && k < p.n; k++) {
		assert(p.point[k].factor.mg_per_kwh <= VALIDATE_MAX_MG_PER_KWH);
		assert(p.point[k].from_s <= NOW_S + VALIDATE_CLOCK_SKEW_S);
	}
	if (rc == 0)
		rc = merge_points(&s, "uk,rte", ask.provider, &p, &err);
	assert(rc == 0 || rc == -EINVAL);
	merge_neighbours(&s);
	check_series(&s);
	factor_series_fini(&s);
	points_fini(&p);
	free(text);
	return 0;
}
