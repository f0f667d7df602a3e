/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* explicit_bzero */
#include "src/libsink/mariadb/mariadb_client.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <mysqld_error.h>

#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"
#include "src/libutil/trust.h"
#include "src/libutil/util.h"

#define DEFAULTS_MAX (64u << 10)
/* The longest wait for a connection; statements may take longer. */
#define CONNECT_SECONDS_MAX 30u

/* From this version (3.4) on, libmariadb checks certificates only if told to. */
#define CLIENT_LOOKS_IF_TOLD 30400ul

/* As mysql_get_server_version() has them. */
#define MARIADB_OLDEST 100300ul
#define MYSQL_OLDEST 80017ul

/*
 * Returns what follows KEY and blanks at the begin of LINE. For '-', LINE may have '_'.
 * NULL: LINE has another key.
 */
static const char *after_key(const char *line, const char *key)
{
	for (; *key; key++, line++)
		if (*line != *key && !(*key == '-' && *line == '_'))
			return NULL;
	return line + strspn(line, " \t");
}

/*
 * Returns what follows '=' in the last line with KEY. Only lines in the groups that a client reads count,
 * unless ANY_GROUP. NULL: there is no such line.
 */
static const char *find_value(const char *text, const char *key, bool any_group)
{
	const char *last = NULL;
	bool reads = any_group;
	const char *p;
	const char *v;

	for (p = text; p; p = strchr(p, '\n'), p = p ? p + 1 : NULL) {
		p += strspn(p, " \t");
		if (*p == '[' && !any_group)
			reads = !strncmp(p, "[client]", 8) || !strncmp(p, "[client-server]", 15) ||
				!strncmp(p, "[client-mariadb]", 16);
		v = reads ? after_key(p, key) : NULL;
		if (v && *v == '=')
			last = v + 1;
	}
	return last;
}

/*
 * Refuses options that load code or write files, and other option files, which nobody looks at. 0, or -EINVAL
 * with the line.
 */
static int check_options(const char *path, const char *text, struct errmsg *err)
{
	static const struct {
		const char *key, *why;
	} refused[] = {
		{ "plugin-dir", "a data file must not load code" },
		{ "default-auth", "a data file must not load code" },
		{ "connection", "a data file must not load code" },
		{ "debug", "a data file must not name a file to write" },
		{ "!include", "the options of the other file would not be checked; write them here" },
	};
	unsigned int line = 1;
	const char *p, *end;
	size_t i;

	for (p = text; p; p = strchr(p, '\n'), p = p ? p + 1 : NULL, line++) {
		p += strspn(p, " \t");
		for (i = 0; i < ARRAY_SIZE(refused); i++) {
			end = after_key(p, refused[i].key);
			if (end && (*p == '!' || !*end || strchr("=\r\n", *end)))
				return errmsg_set(err, -EINVAL, "%s:%u: %s cannot be set: %s", path, line,
						  refused[i].key, refused[i].why);
		}
	}
	return 0;
}

/* Reads the option file. The text may have a password, so the caller must clear it before freeing it. */
static int read_defaults(const char *defaults_file, char **ret, size_t *ret_len, struct errmsg *err)
{
	struct stat st;
	int rc;

	if (!defaults_file || !*defaults_file)
		return errmsg_set(err, -EINVAL, "MariadbDefaultsFile is not set");
	rc = fileio_read_checked(defaults_file, DEFAULTS_MAX, trust_is_own, &st, ret, ret_len, err);
	if (rc < 0)
		return rc;
	/* "password" without a value asks for one */
	if (find_value(*ret, "password", /* any_group= */ true))
		rc = trust_is_secret(defaults_file, &st, err);
	if (rc == 0)
		rc = check_options(defaults_file, *ret, err);
	if (rc < 0) {
		explicit_bzero(*ret, *ret_len);
		free(*ret);
	}
	return rc;
}

int mariadb_client_check(const char *defaults_file, struct errmsg *err)
{
	char *text;
	size_t len;
	int rc = read_defaults(defaults_file, &text, &len, err);

	if (rc < 0)
		return rc;
	explicit_bzero(text, len);
	free(text);
	return 0;
}

/*
 * Returns true if HOST (LEN bytes) is this machine. For it, libmariadb 3.4 does not
 * check the certificate's name.
 */
static bool is_here(const char *host, size_t len)
{
	static const char *const names[] = { "localhost", "127.0.0.1", "::1" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == len && !memcmp(host, names[i], len))
			return true;
	return false;
}

/* Returns true if TEXT, an option file, names no other machine. A file that it includes still may. */
static bool is_local(const char *text)
{
	const char *host = find_value(text, "host", /* any_group= */ false);

	if (!host)
		return true;
	host += strspn(host, " \t\"'");
	return is_here(host, strcspn(host, " \t\r\n\"'"));
}

/*
 * If DEFAULTS_FILE names a CA, tells libmariadb to check the server's certificate and the name in it. By
 * default, 3.3 does not check the name, and 3.4 as Debian builds it checks neither. For a connection on this
 * machine, 3.3 is not told, because it cannot check the name for a socket.
 */
static int ask_ca(MYSQL *m, const char *defaults_file, struct errmsg *err)
{
	static const char *const keys[] = { "ssl-ca", "ssl-capath", "tls-ca", "tls-capath" };
	bool names_ca = false;
	my_bool on = 1;
	char *text;
	size_t len;
	size_t i;
	int rc = read_defaults(defaults_file, &text, &len, err);

	if (rc < 0)
		return rc;
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		names_ca = names_ca || find_value(text, keys[i], /* any_group= */ false);
	if (names_ca && (mysql_get_client_version() >= CLIENT_LOOKS_IF_TOLD || !is_local(text)))
		(void)mysql_options(m, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &on);
	explicit_bzero(text, len);
	free(text);
	return 0;
}

/*
 * Refuses a connection if a CA is named but the server's certificate was not checked against it. ask_ca()
 * cannot prevent this: the option file or a file that it includes may turn the check off, or an included file
 * may name another machine. Without a CA, libmariadb 3.4 accepts a server with a self-signed certificate only
 * if it proves that it knows the password. But it accepts any certificate of an unknown CA. Such a connection
 * is refused, too.
 */
static int check_certificate(MYSQL *m, struct errmsg *err)
{
	const char *path = NULL;
	const char *host = NULL;
	const char *ca = NULL;
	my_bool asked = 0;

	(void)mysql_get_option(m, MYSQL_OPT_SSL_CA, &ca);
	(void)mysql_get_option(m, MYSQL_OPT_SSL_CAPATH, &path);
	(void)mysql_get_option(m, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &asked);
	(void)mariadb_get_infov(m, MARIADB_CONNECTION_HOST, &host);
	if ((ca || path) && !asked &&
	    (mysql_get_client_version() >= CLIENT_LOOKS_IF_TOLD || (host && !is_here(host, strlen(host)))))
		return errmsg_set(err, -EACCES,
				  "the server's certificate was not compared with %s: "
				  "ssl-verify-server-cert=1 must be where this is set",
				  ca ? ca : path);
#ifdef MARIADB_TLS_VERIFY_TRUST
	const char *prints = NULL;
	const char *print = NULL;
	unsigned int status = 0;

	(void)mysql_get_option(m, MARIADB_OPT_TLS_PEER_FP, &print);
	(void)mysql_get_option(m, MARIADB_OPT_TLS_PEER_FP_LIST, &prints);
	if (asked && !print && !prints && mariadb_get_infov(m, MARIADB_TLS_VERIFY_STATUS, &status) == 0 &&
	    status & ~(unsigned int)MARIADB_TLS_VERIFY_TRUST)
		return errmsg_set(err, -EACCES,
				  "the server's certificate is of a CA that is not known "
				  "here: name it (ssl-ca), or the certificate's fingerprint (tls-fp)");
#endif
	return 0;
}

/* Calls mysql_init() and restores SIGPIPE, which its first call sets to be ignored in the whole process. */
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
	rc = row && row[0] ? parse_u64(row[0], ret) : errmsg_set(err, -ENOENT, "no row from: %s", sql);
	mysql_free_result(res);
	return rc;
}

int mariadb_client_schema(MYSQL *m, uint64_t *ret, struct errmsg *err)
{
	int rc = mariadb_client_number(m, "SELECT COALESCE(MAX(version), 0) FROM schema_version", ret, err);

	if (rc < 0 && mysql_errno(m) == ER_NO_SUCH_TABLE) {
		*ret = 0;
		return 0;
	}
	return rc;
}

int mariadb_client_lock_schema(MYSQL *m, struct errmsg *err)
{
	uint64_t got = 0;
	int rc = mariadb_client_number(m, "SELECT GET_LOCK(CONCAT('ceems migrate ', DATABASE()), 10)", &got,
				       err);

	return rc == 0 && !got ? errmsg_set(err, -EBUSY, "another maintenance or migration is at work") : rc;
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

	m = init_quietly();
	if (!m)
		return errmsg_set(err, -ENOMEM, "out of memory");
	rc = ask_ca(m, defaults_file, err);
	if (rc < 0) {
		mysql_close(m);
		return rc;
	}
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
	else
		rc = check_certificate(m, err);
	/*
	 * The option file may have set another character set. The server stops waiting for a lock a little
	 * before the client stops waiting for the server.
	 */
	(void)snprintf(sql, sizeof(sql),
		       "SET NAMES utf8mb4, SESSION sql_mode = 'STRICT_ALL_TABLES,"
		       "NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', lock_wait_timeout = %u, "
		       "innodb_lock_wait_timeout = %u",
		       seconds - seconds / 4, seconds - seconds / 4);
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

bool mariadb_client_is_mariadb(MYSQL *m)
{
	return mariadb_connection(m);
}

int mariadb_client_server(MYSQL *m, char buf[MARIADB_CLIENT_SERVER_MAX], struct errmsg *err)
{
	unsigned long version = mysql_get_server_version(m);
	bool is_mariadb = mariadb_client_is_mariadb(m);

	(void)snprintf(buf, MARIADB_CLIENT_SERVER_MAX, "%s %lu.%lu.%lu", is_mariadb ? "MariaDB" : "MySQL",
		       version / 10000, version / 100 % 100, version % 100);
	if (version < (is_mariadb ? MARIADB_OLDEST : MYSQL_OLDEST))
		return errmsg_set(err, -EPROTO, "%s is too old: MariaDB 10.3 or MySQL 8.0.17 is needed", buf);
	return 0;
}
