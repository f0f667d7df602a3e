/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prov_file.c - the site's own points, in the format of the series (factor_series.h): from the
 * site's meter, its utility, or a provider that we do not support. Regions, kinds and scopes are
 * taken from the file.
 */
#include <errno.h>
#include <string.h>

#include "src/factors/provider.h"
#include "src/libutil/trust.h"

static int prov_file_ready(const struct provider_conf *conf, struct errmsg *err)
{
	return *conf->file ? trust_check(conf->file, err) : errmsg_set(err, -EINVAL, "File is not set");
}

static int prov_file_fetch(struct fetch *f, const struct provider_ask *ask, const char **ret_text,
			   size_t *ret_len, struct errmsg *err)
{
	int rc = prov_file_ready(ask->conf, err);

	return rc < 0 ? rc : fetch_file(f, ask->conf->file, ret_text, ret_len, err);
}

static void skip_line(void *ctx, const char *text)
{
	points_skip(ctx, "%s", text);
}

static int prov_file_parse(const struct provider_ask *ask, const char *text, size_t len, struct points *ret,
			   struct errmsg *err)
{
	struct factor_series s = { 0 };
	size_t i;
	int rc = factor_series_parse_all(*ask->conf->file ? ask->conf->file : "file", text, len, skip_line,
					 ret, &s, err);

	for (i = 0; rc == 0 && i < s.n; i++) {
		const struct factor_point *p = &s.point[i];
		struct factor_point *to;

		rc = provider_push(ret, ask, p->from_s, p->until_s, p->factor.mg_per_kwh, "", err);
		if (rc < 0)
			break;
		to = &ret->point[ret->n - 1];
		to->fetched_s = p->fetched_s;
		to->factor = p->factor;
		(void)snprintf(to->factor.source, sizeof(to->factor.source), "%s: %.50s", provider_file.cite,
			       p->factor.source);
	}
	factor_series_fini(&s);
	return rc < 0 ? rc : points_check(ret, err);
}

const struct provider provider_file = {
	.name = "file",
	.cite = "file",
	.is_ours = true,
	.zones = "file",
	.keys = { PROVIDER_KEY("File", kvconf_path, file, "",
			       "file: path of the site's own values, in the format of the series.") },
	.ready = prov_file_ready,
	.fetch = prov_file_fetch,
	.parse = prov_file_parse,
};
