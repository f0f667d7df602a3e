/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/migrate.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <mysqld_error.h>

#include "src/libemission/emission.h"
#include "src/libsink/db_factor.h"
#include "src/libsink/db_partition.h"
#include "src/libsink/db_report.h"
#include "src/libsink/mariadb_client.h"
#include "src/libutil/clock.h"
#include "src/libutil/crc32c.h"
#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"

#define FILE_MAX (1u << 20)
/* An ALTER TABLE on millions of rows takes its time. */
#define STATEMENT_TIMEOUT_NS (3600 * NSEC_PER_SEC)
#define LOCK_SECONDS "60"

struct migration {
	uint64_t version;
	char name[96];
	char *sql; /* owned */
	uint32_t crc;
};

struct plan {
	struct migration *m; /* ascending by version */
	size_t n;
};

static void plan_fini(struct plan *p)
{
	while (p->n)
		free(p->m[--p->n].sql);
	free(p->m);
	p->m = NULL;
}

/* "0001-init.sql": four digits, a dash, and letters, digits, '-' or '_' up to ".sql". */
static int parse_name(const char *name, uint64_t *ret)
{
	size_t len = strlen(name);
	size_t i;

	if (len >= sizeof(((struct migration *)0)->name) || strspn(name, "0123456789") != 4 ||
	    name[4] != '-')
		return -EINVAL;
	for (i = 5; i + 4 < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("-_", name[i]))
			return -EINVAL;
	return parse_u64_n(name, 4, ret);
}

static int plan_add(struct plan *p, const char *dir, const char *name, struct errmsg *err)
{
	char path[PATH_MAX];
	struct migration *m;
	uint64_t version;
	size_t len;
	int rc;
	int n;

	if (parse_name(name, &version) < 0 || !version)
		return errmsg_set(err, -EINVAL, "%s/%s: not named NNNN-what.sql", dir, name);
	n = snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return errmsg_set(err, -ENAMETOOLONG, "%s: path too long", dir);
	m = realloc(p->m, (p->n + 1) * sizeof(*m));
	if (!m)
		return errmsg_set(err, -ENOMEM, "out of memory");
	p->m = m;
	m = &p->m[p->n];
	*m = (struct migration){ .version = version };
	rc = fileio_read_alloc(path, FILE_MAX, &m->sql, &len, err);
	if (rc < 0)
		return rc;
	p->n++;
	(void)snprintf(m->name, sizeof(m->name), "%s", name);
	m->crc = crc32c(0, m->sql, len);
	if (strlen(m->sql) != len)
		return errmsg_set(err, -EINVAL, "%s: holds a NUL byte", path);
	return 0;
}

static int by_version(const void *a, const void *b)
{
	const struct migration *x = a;
	const struct migration *y = b;

	return (x->version > y->version) - (x->version < y->version);
}

static int plan_read(struct plan *p, const char *dir, struct errmsg *err)
{
	struct dirent *e;
	DIR *d = opendir(dir);
	size_t len;
	size_t i;
	int rc = 0;

	if (!d)
		return errmsg_errno(err, -errno, "%s: cannot list", dir);
	while (rc == 0 && (errno = 0, e = readdir(d))) {
		len = strlen(e->d_name);
		if (len > 4 && !strcmp(e->d_name + len - 4, ".sql"))
			rc = plan_add(p, dir, e->d_name, err);
	}
	if (rc == 0 && errno)
		rc = errmsg_errno(err, -errno, "%s: cannot list", dir);
	(void)closedir(d);
	if (rc < 0)
		return rc;
	if (!p->n)
		return errmsg_set(err, -ENOENT, "%s: no NNNN-what.sql in it", dir);
	qsort(p->m, p->n, sizeof(*p->m), by_version);
	for (i = 1; i < p->n; i++)
		if (p->m[i].version == p->m[i - 1].version)
			return errmsg_set(err, -EINVAL, "%s: %s and %s have the same number", dir,
					  p->m[i - 1].name, p->m[i].name);
	return 0;
}

/* --- the database ------------------------------------------------------------------------ */

struct run {
	MYSQL *m;
	const struct migrate_options *options;
	const char *database;
	bool is_new; /* dry run: there is no database to look into */
};

#define report(r, ...) db_report((r)->options->report, (r)->options->ctx, __VA_ARGS__)

static int use_database(struct run *r, struct errmsg *err)
{
	char sql[256];

	if (strchr(r->database, '`'))
		return errmsg_set(err, -EINVAL, "'%s' is no name for a database", r->database);
	if (mysql_select_db(r->m, r->database) == 0)
		return 0;
	if (mysql_errno(r->m) != ER_BAD_DB_ERROR)
		return errmsg_set(err, -EIO, "%s: %s", r->database, mysql_error(r->m));
	report(r, "%s database %s", r->options->dry_run ? "would create" : "creating", r->database);
	if (r->options->dry_run) {
		r->is_new = true;
		return 0;
	}
	(void)snprintf(sql, sizeof(sql), "CREATE DATABASE IF NOT EXISTS `%s` CHARACTER SET utf8mb4 "
		       "COLLATE utf8mb4_nopad_bin", r->database);
	if (mariadb_client_query(r->m, sql, err) < 0 || mysql_select_db(r->m, r->database))
		return errmsg_set(err, -EIO, "cannot create database %s: %s", r->database,
				  mysql_error(r->m));
	return 0;
}

static int lock_schema(struct run *r, struct errmsg *err)
{
	uint64_t got = 0;
	int rc = mariadb_client_number(r->m, "SELECT GET_LOCK(CONCAT('ceems migrate ', DATABASE())"
				       ", " LOCK_SECONDS ")", &got, err);

	if (rc < 0)
		return rc;
	if (!got)
		return errmsg_set(err, -EBUSY, "another migration of %s is at work", r->database);
	return mariadb_client_query(r->m,
				    "CREATE TABLE IF NOT EXISTS schema_version ("
				    "version INT UNSIGNED NOT NULL PRIMARY KEY,"
				    "name VARCHAR(128) NOT NULL,"
				    "checksum CHAR(8) NOT NULL COMMENT 'CRC-32C of the file',"
				    "applied_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP"
				    ") ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4",
				    err);
}

/* 1: applied as it is, 0: not applied, -EINVAL: applied in another form. */
static int is_applied(struct run *r, const struct migration *m, struct errmsg *err)
{
	struct errmsg why = { 0 };
	char sql[160];
	uint64_t crc = 0;
	int rc;

	if (r->is_new)
		return 0;
	(void)snprintf(sql, sizeof(sql), "SELECT CONV(checksum, 16, 10) FROM schema_version WHERE "
		       "version = %" PRIu64, m->version);
	rc = mariadb_client_number(r->m, sql, &crc, &why);
	if (rc == -ENOENT || (rc < 0 && mysql_errno(r->m) == ER_NO_SUCH_TABLE))
		return 0;
	if (rc < 0)
		return errmsg_set(err, rc, "%s", why.text);
	if (crc != m->crc)
		return errmsg_set(err, -EINVAL, "%s is not what was applied to %s as version %" PRIu64
				  ": a change needs a file of its own", m->name, r->database,
				  m->version);
	return 1;
}

static int apply(struct run *r, const struct migration *m, struct errmsg *err)
{
	struct errmsg why = { 0 };
	char sql[320];

	if (mariadb_client_query(r->m, m->sql, &why) < 0)
		return errmsg_set(err, -EIO, "%s: %s", m->name, why.text);
	(void)snprintf(sql, sizeof(sql), "INSERT INTO schema_version (version, name, checksum) VALUES "
		       "(%" PRIu64 ", '%s', '%08" PRIx32 "')", m->version, m->name, m->crc);
	return mariadb_client_query(r->m, sql, err);
}

static int migrate_all(struct run *r, const struct plan *p, struct errmsg *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < p->n; i++) {
		rc = is_applied(r, &p->m[i], err);
		if (rc < 0)
			return rc;
		if (rc) {
			report(r, "%s is applied", p->m[i].name);
			continue;
		}
		report(r, "%s %s", r->options->dry_run ? "would apply" : "applying", p->m[i].name);
		rc = r->options->dry_run ? 0 : apply(r, &p->m[i], err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* --- what is in no file ------------------------------------------------------------------ */

static int make_partitions(struct run *r, struct errmsg *err)
{
	static const char *const tables[] = { "job", "step" };
	const char *verb = r->options->dry_run ? "would make" : "made";
	size_t added;
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < ARRAY_SIZE(tables); i++) {
		rc = db_partition_ensure(r->m, tables[i], clock_wall_ns() / NSEC_PER_SEC,
					 r->options->dry_run, &added, err);
		if (rc == 0 && added)
			report(r, "%s %zu partitions of %s", verb, added, tables[i]);
	}
	return rc;
}

/* Jobs have their factor with them: a table that cannot be read spoils nothing. */
static void fill_factors(struct run *r, const char *path)
{
	struct errmsg why = { 0 };
	size_t changed = 0;

	if (db_factor_fill(r->m, path, &changed, &why) < 0)
		report(r, "no emission factors: %s", why.text);
	else if (changed)
		report(r, "%zu emission factors from %s", changed, path);
}

int migrate_run(const struct settings *s, const struct migrate_options *options,
		struct errmsg *err)
{
	struct run r = { .options = options, .database = s->mariadb_database };
	struct plan p = { 0 };
	int rc;

	rc = plan_read(&p, options->sql_dir ? options->sql_dir : CEEMS_SQL_DIR, err);
	if (rc == 0)
		rc = mariadb_client_open(options->defaults_file ? options->defaults_file :
								  s->mariadb_defaults_file,
					 NULL, STATEMENT_TIMEOUT_NS, 0, CLIENT_MULTI_STATEMENTS, &r.m,
					 err);
	if (rc == 0)
		rc = use_database(&r, err);
	if (rc == 0 && !options->dry_run)
		rc = lock_schema(&r, err);
	if (rc == 0)
		rc = migrate_all(&r, &p, err);
	if (rc == 0 && !r.is_new)
		rc = make_partitions(&r, err);
	if (rc == 0 && !options->dry_run)
		fill_factors(&r, s->emission_factor_file[0] ? s->emission_factor_file :
							       emission_default_file());
	mariadb_client_close(r.m);
	plan_fini(&p);
	return rc;
}
