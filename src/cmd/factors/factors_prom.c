/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * factors_prom.c - writes ceems_factors.prom: when factors were last updated, and up to which time they are
 * known.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/cmd/factors/factors.h"
#include "src/libcore/controller_metric.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"

/*
 * Writes the end of the last point of each region and kind; the series is sorted by region, kind
 * and time.
 */
static void factors_put_until(struct prom *p, const struct factor_series *s)
{
	char region[2 * FACTORS_REGION_SIZE];
	size_t i;

	for (i = 0; i < s->n; i++) {
		const struct factor_point *f = &s->point[i];
		const struct factor_point *next = i + 1 < s->n ? f + 1 : NULL;

		if (next && next->factor.kind == f->factor.kind &&
		    !strcmp(next->factor.region, f->factor.region))
			continue;
		prom_escape(f->factor.region, region, sizeof(region));
		prom_put(p, &controller_metrics[CONTROLLER_FACTORS_UNTIL], f->until_s,
			 ",region=\"%s\",kind=\"%s\"", region, emission_kind_name(f->factor.kind));
	}
}

static int factors_prom_format(const struct factors *f, const char *host, int failed, char **ret,
			       size_t *ret_len)
{
	struct factor_series series = { 0 };
	struct prom p = { 0 };

	p.out = open_memstream(ret, ret_len);
	if (!p.out)
		return -ENOMEM;
	prom_escape(host, p.host, sizeof(p.host));
	prom_put(&p, &controller_metrics[CONTROLLER_FACTORS_RUN], clock_wall_ns() / NSEC_PER_SEC, "%s", "");
	if (failed >= 0)
		prom_put(&p, &controller_metrics[CONTROLLER_FACTORS_FAILED], (uint64_t)failed, "%s", "");
	if (factor_series_read(f->series_path, &series, NULL) == 0)
		factors_put_until(&p, &series);
	factor_series_fini(&series);
	return fclose(p.out) == 0 ? 0 : -ENOMEM;
}

int factors_prom_write(const struct factors *f, int failed, struct errmsg *err)
{
	/* the settings with %n replaced by this host */
	_cleanup_free_ struct settings *here = malloc(sizeof(*here));
	_cleanup_free_ char *text = NULL;
	char host[256], path[PATH_MAX];
	size_t len = 0;
	int rc;

	if (!*f->settings.textfile_dir)
		return 0;
	if (!here)
		return errmsg_errno(err, -ENOMEM, FACTORS_PROM);
	*here = f->settings;
	cmd_node_name(host, sizeof(host));
	rc = settings_for_node(here, host, err);
	if (rc < 0)
		return rc;
	if ((size_t)snprintf(path, sizeof(path), "%s/" FACTORS_PROM, here->textfile_dir) >= sizeof(path))
		return errmsg_errno(err, -ENAMETOOLONG, "%s", here->textfile_dir);
	rc = factors_prom_format(f, host, failed, &text, &len);
	return rc < 0 ? errmsg_errno(err, rc, FACTORS_PROM) : fileio_write_atomic(path, text, len, 0644, err);
}
