/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/mariadb/db_factor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/libemission/emission.h"

struct fill {
	MYSQL *m;
	size_t changed;
};

static int add(void *ctx, const struct emission_factor *f, const char *iso3, struct errmsg *err)
{
	struct fill *fill = ctx;
	char source[2 * sizeof(f->source) + 1];
	char region[2 * sizeof(f->region) + 1];
	char sql[640];

	(void)iso3;
	(void)mysql_real_escape_string(fill->m, source, f->source, strlen(f->source));
	(void)mysql_real_escape_string(fill->m, region, f->region, strlen(f->region));
	(void)snprintf(sql, sizeof(sql),
		       "INSERT INTO emission_factor (kind, region, year, g_per_kwh, source) VALUES "
		       "('%s', '%s', %u, %" PRIu64 ".%03" PRIu64 ", '%s') ON DUPLICATE KEY UPDATE "
		       "g_per_kwh = VALUES(g_per_kwh), source = VALUES(source)",
		       emission_kind_name(f->kind), region, f->year, f->mg_per_kwh / 1000,
		       f->mg_per_kwh % 1000, source);
	if (mysql_query(fill->m, sql))
		return errmsg_set(err, -EIO, "emission_factor: %s (%u)", mysql_error(fill->m),
				  mysql_errno(fill->m));
	/* 0 rows: unchanged; 1: a new row; 2: a changed row */
	fill->changed += mysql_affected_rows(fill->m) > 0;
	return 0;
}

int db_factor_fill(MYSQL *m, const char *path, size_t *ret_changed, struct errmsg *err)
{
	struct fill fill = { .m = m };
	struct emission_factor world;
	int rc = mariadb_client_query(m, "START TRANSACTION", err);

	emission_world(&world);
	if (rc == 0)
		rc = add(&fill, &world, "", err);
	if (rc == 0)
		rc = emission_foreach(path, add, &fill, err);
	if (rc == 0)
		rc = mariadb_client_query(m, "COMMIT", err);
	else
		(void)mariadb_client_query(m, "ROLLBACK", NULL);
	if (rc == 0)
		*ret_changed = fill.changed;
	return rc;
}
