/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_sink_mariadb - records and rows per second from the store into a private, otherwise idle server on
 * this machine. For comparison in the same run: plain rows of 49 columns with 3 indexes, sent to that server
 * by array-bound inserts of 500. With CEEMS_MYSQL, a folder of contrib/mysql-tree, the server is MySQL.
 */
#define _GNU_SOURCE
#include "bench_sink.h"
#include "private_mariadbd.h"
#include "scratch.h"
#include "src/libsink/mariadb/mariadb_client.h"
#include "src/libsink/mariadb/migrate.h"

#define RECORDS bench_n(20000)
#define PLAIN_ROWS bench_n(60000)
#define PLAIN_COLUMNS 49
#define PLAIN_TEXTS 8
#define PLAIN_BATCH 500

static struct private_mariadbd server;

/* Microseconds of CPU that the server had so far. */
static double server_cpu_us(void)
{
	unsigned long long user = 0;
	unsigned long long sys = 0;
	char path[64];
	char text[1024];
	const char *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)server.pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	p = strrchr(text, ')');
	if (p)
		(void)sscanf(p, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &sys);
	return (double)(user + sys) * 1e6 / (double)sysconf(_SC_CLK_TCK);
}

/* A value for each column, the same in all rows but the key. */
static double bench_plain(struct bench *b)
{
	static char keys[PLAIN_BATCH][32];
	static const char *key_at[PLAIN_BATCH];
	static const char *text_at[PLAIN_BATCH];
	static unsigned long key_len[PLAIN_BATCH];
	static unsigned long text_len[PLAIN_BATCH];
	static uint64_t number[PLAIN_BATCH];
	MYSQL_BIND bind[PLAIN_COLUMNS] = { { 0 } };
	unsigned int size = PLAIN_BATCH;
	char sql[4096];
	uint64_t t;
	double cpu;
	MYSQL_STMT *stmt = NULL;
	MYSQL *m = NULL;
	size_t len;
	unsigned int i;
	unsigned int n;

	if (mariadb_client_open(b->settings.mariadb_defaults_file, "ceems", 60 * NSEC_PER_SEC, 0, 0, &m,
				&b->err) < 0)
		return 0;
	len = (size_t)snprintf(sql, sizeof(sql), "CREATE TABLE plain (c0 VARCHAR(64) PRIMARY KEY");
	for (i = 1; i < PLAIN_COLUMNS; i++)
		len += (size_t)snprintf(sql + len, sizeof(sql) - len, ", c%u %s", i,
					i < PLAIN_TEXTS ? "VARCHAR(64)" : "BIGINT UNSIGNED");
	(void)snprintf(sql + len, sizeof(sql) - len, ", KEY (c1), KEY (c2, c9), KEY (c10))");
	if (mariadb_client_query(m, sql, &b->err) < 0)
		goto out;
	len = (size_t)snprintf(sql, sizeof(sql), "INSERT INTO plain VALUES (?");
	for (i = 1; i < PLAIN_COLUMNS; i++)
		len += (size_t)snprintf(sql + len, sizeof(sql) - len, ",?");
	(void)snprintf(sql + len, sizeof(sql) - len, ")");
	stmt = mysql_stmt_init(m);
	if (mysql_stmt_prepare(stmt, sql, strlen(sql)))
		goto out;
	for (n = 0; n < PLAIN_BATCH; n++) {
		key_at[n] = keys[n];
		text_at[n] = "a name of usual size";
		text_len[n] = strlen(text_at[n]);
		number[n] = 123456789 + n;
	}
	for (i = 0; i < PLAIN_COLUMNS; i++) {
		bind[i].buffer_type = i < PLAIN_TEXTS ? MYSQL_TYPE_STRING : MYSQL_TYPE_LONGLONG;
		bind[i].buffer = i == 0 ? (void *)key_at : i < PLAIN_TEXTS ? (void *)text_at : number;
		bind[i].length = i == 0 ? key_len : text_len;
	}
	cpu = server_cpu_us();
	t = clock_mono_ns();
	for (i = 0; i < PLAIN_ROWS; i += PLAIN_BATCH) {
		for (n = 0; n < PLAIN_BATCH; n++)
			key_len[n] = (unsigned long)snprintf(keys[n], sizeof(keys[n]),
							     "cluster/%u,1700000000,0/0", i + n);
		(void)mysql_stmt_attr_set(stmt, STMT_ATTR_ARRAY_SIZE, &size);
		if (mysql_stmt_bind_param(stmt, bind) || mysql_stmt_execute(stmt))
			goto out;
	}
	t = clock_mono_ns() - t;
	row("plain rows of 49 columns", "%.0f rows/s, %.1f us of the server's CPU each",
	    (double)PLAIN_ROWS * 1e9 / (double)t, (server_cpu_us() - cpu) / (double)PLAIN_ROWS);
	(void)mysql_stmt_close(stmt);
	mariadb_client_close(m);
	return (double)PLAIN_ROWS * 1e9 / (double)t;
out:
	row("plain rows of 49 columns", "failed: %s", stmt ? mysql_stmt_error(stmt) : b->err.text);
	if (stmt)
		(void)mysql_stmt_close(stmt);
	mariadb_client_close(m);
	return 0;
}

static void bench(struct bench *b)
{
	static const unsigned int rows[SHAPE_N] = { [SHAPE_BARE] = 1, [SHAPE_USUAL] = 4, [SHAPE_FULL] = 4 };
	const char *name = mariadbd_is_mysql() ? "mysql" : "mariadb";
	/* MySQL has no arrays */
	double plain = mariadbd_is_mysql() ? 0 : bench_plain(b);
	struct bench_cost cost;
	char text[128];
	int shape;

	for (shape = 0; shape < SHAPE_N; shape++) {
		char what[64];
		double rate;
		double cpu;

		snprintf(what, sizeof(what), "sink %s, %s", name, shape_name[shape]);
		if (bench_fill(b, (enum shape)shape, RECORDS, RECORDS, 500, NULL) < 0) {
			row(what, "failed: %s", b->err.text);
			continue;
		}
		cpu = server_cpu_us();
		if (bench_drain(b, &sink_mariadb, &cost) < 0) {
			row(what, "failed: %s", b->err.text);
			continue;
		}
		rate = (double)cost.n * rows[shape] * 1e9 / (double)cost.ns;
		row(what,
		    "%.0f rows/s (x%.2f of plain), %.1f us of the server's CPU each; %s, %llu "
		    "refused, %llu retries",
		    rate, plain > 0 ? rate / plain : 0,
		    (server_cpu_us() - cpu) / (double)cost.n / rows[shape],
		    cost_text(&cost, text, sizeof(text)), (unsigned long long)cost.refused,
		    (unsigned long long)cost.retries);
	}
}

int main(void)
{
	struct db_options o = { .sql_dir = SQL_DIR };
	const char *why;
	struct bench b;
	char text[256];

	if (bench_begin(&b) < 0)
		return 1;
	why = mariadbd_install(&server, b.dir);
	if (why) {
		row("sink mariadb", "skipped: %s", why);
	} else if (!mariadbd_start(&server)) {
		row("sink mariadb", "failed: mariadbd does not start");
	} else {
		snprintf(b.settings.mariadb_defaults_file, sizeof(b.settings.mariadb_defaults_file), "%s",
			 scratch_path(b.dir, "my.cnf"));
		snprintf(b.settings.mariadb_database, sizeof(b.settings.mariadb_database), "ceems");
		snprintf(text, sizeof(text), "[client]\nuser=root\nsocket=%s\n", server.socket);
		scratch_write(b.settings.mariadb_defaults_file, text, strlen(text));
		if (migrate_run(&b.settings, &o, &b.err) < 0)
			row("sink mariadb", "failed: %s", b.err.text);
		else
			bench(&b);
	}
	mariadbd_stop(&server, SIGKILL);
	bench_end(&b);
	return 0;
}
