/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* explicit_bzero */
#include "src/libsink/mariadb_client.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include <mysqld_error.h>

#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"

#define DEFAULTS_MAX (64u << 10)
/* However long statements may take: a server that does not answer is not waited for that long. */
#define CONNECT_SECONDS_MAX 30u

/* "password" at the start of a line, with a value; "password" alone asks for one. */
static bool has_password(const char *text)
{
	const char *p = text;

	for (; p; p = strchr(p, '\n'), p = p ? p + 1 : NULL) {
		p += strspn(p, " \t");
		if (!strncmp(p, "password", 8) && p[8 + strspn(p + 8, " \t")] == '=')
			return true;
	}
	return false;
}

int mariadb_client_check(const char *defaults_file, struct errmsg *err)
{
	_cleanup_free_ char *text = NULL;
	struct stat st;
	size_t len;
	int rc;

	if (!defaults_file || !*defaults_file)
		return errmsg_set(err, -EINVAL, "MariadbDefaultsFile is not set");
	rc = fileio_read_alloc(defaults_file, DEFAULTS_MAX, &text, &len, err);
	if (rc < 0)
		return rc;
	if (has_password(text) && stat(defaults_file, &st) == 0 && st.st_mode & S_IROTH)
		rc = errmsg_set(err, -EACCES, "%s holds a password and everybody may read it; "
				"chmod 0600", defaults_file);
	explicit_bzero(text, len);
	return rc;
}

/* The library's first use sets SIGPIPE to be ignored, which is not its host's wish. */
static MYSQL *init_quietly(void)
{
	struct sigaction old;
	bool known = sigaction(SIGPIPE, NULL, &old) == 0;
	MYSQL *m = mysql_init(NULL);

	if (known)
		(void)sigaction(SIGPIPE, &old, NULL);
	return m;
}

static int session_error(MYSQL *m, const char *what, struct errmsg *err)
{
	return errmsg_set(err, -EIO, "%s: %s (%u)", what, mysql_error(m), mysql_errno(m));
}

int mariadb_client_query(MYSQL *m, const char *sql, struct errmsg *err)
{
	MYSQL_RES *res;

	if (mysql_query(m, sql))
		return session_error(m, "server says", err);
	do {
		res = mysql_store_result(m);
		if (res)
			mysql_free_result(res);
		else if (mysql_errno(m))
			return session_error(m, "server says", err);
	} while (mysql_next_result(m) == 0);
	return mysql_errno(m) ? session_error(m, "server says", err) : 0;
}

int mariadb_client_number(MYSQL *m, const char *sql, uint64_t *ret, struct errmsg *err)
{
	MYSQL_RES *res;
	MYSQL_ROW row;
	int rc;

	if (mysql_query(m, sql))
		return session_error(m, "server says", err);
	res = mysql_store_result(m);
	if (!res)
		return session_error(m, "server says", err);
	row = mysql_fetch_row(res);
	rc = row && row[0] ? parse_u64(row[0], ret) :
			     errmsg_set(err, -ENOENT, "no row from: %s", sql);
	mysql_free_result(res);
	return rc;
}

int mariadb_client_schema(MYSQL *m, uint64_t *ret, struct errmsg *err)
{
	int rc = mariadb_client_number(m, "SELECT COALESCE(MAX(version), 0) FROM schema_version",
				       ret, err);

	if (rc < 0 && mysql_errno(m) == ER_NO_SUCH_TABLE) {
		*ret = 0;
		return 0;
	}
	return rc;
}

int mariadb_client_open(const char *defaults_file, const char *database, uint64_t timeout_ns,
			unsigned int options, unsigned long flags, MYSQL **ret, struct errmsg *err)
{
	unsigned int seconds = (unsigned int)((timeout_ns + NSEC_PER_SEC - 1) / NSEC_PER_SEC);
	unsigned int to_connect;
	unsigned int off = 0;
	char sql[256];
	MYSQL *m;
	int rc;

	rc = mariadb_client_check(defaults_file, err);
	if (rc < 0)
		return rc;
	m = init_quietly();
	if (!m)
		return errmsg_set(err, -ENOMEM, "out of memory");
	if (!seconds)
		seconds = 1;
	to_connect = seconds < CONNECT_SECONDS_MAX ? seconds : CONNECT_SECONDS_MAX;
	(void)mysql_options(m, MYSQL_READ_DEFAULT_FILE, defaults_file);
	(void)mysql_options(m, MYSQL_OPT_CONNECT_TIMEOUT, &to_connect);
	(void)mysql_options(m, MYSQL_OPT_READ_TIMEOUT, &seconds);
	(void)mysql_options(m, MYSQL_OPT_WRITE_TIMEOUT, &seconds);
	(void)mysql_options(m, MYSQL_OPT_LOCAL_INFILE, &off);
	(void)mysql_options(m, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	if (options & MARIADB_CLIENT_ASYNC)
		(void)mysql_options(m, MYSQL_OPT_NONBLOCK, NULL);
	if (!mysql_real_connect(m, NULL, NULL, NULL, database, 0, NULL, flags))
		rc = session_error(m, "cannot connect", err);
	/* locks: an answer a little before the reader gives up, and no wait that outlives it */
	(void)snprintf(sql, sizeof(sql), "SET SESSION sql_mode = 'STRICT_ALL_TABLES,"
		       "NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', lock_wait_timeout = %u, "
		       "innodb_lock_wait_timeout = %u", seconds - seconds / 4,
		       seconds - seconds / 4);
	if (rc == 0)
		rc = mariadb_client_query(m, sql, err);
	if (rc < 0) {
		mysql_close(m);
		return rc;
	}
	*ret = m;
	return 0;
}

void mariadb_client_close(MYSQL *m)
{
	if (m)
		mysql_close(m);
}
