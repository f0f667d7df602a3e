/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_sinks.c - the controller's half of `ceems check`: the spool and where records go. A sink that
 * is down is a warning: records wait in the spool.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "ceems_config.h"
#include "src/cmd/check.h"
#include "src/cmd/check_spool.h"
#ifdef HAVE_MARIADB
#include "src/libsink/db_partition.h"
#include "src/libsink/mariadb_client.h"
#endif
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"

#define CONNECT_TIMEOUT_MS 2000

static int connect_to(const struct addrinfo *ai)
{
	_cleanup_close_ int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
					ai->ai_protocol);
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int error = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, ai->ai_addr, ai->ai_addrlen) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	if (poll(&p, 1, CONNECT_TIMEOUT_MS) == 0)
		return -ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return -errno;
	return -error;
}

/* "host:port"; without a port PORT. Answers only whether somebody listens there. */
static int knock(char *host, const char *port, struct errmsg *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	char *colon = strrchr(host, ':');
	struct addrinfo *list;
	struct addrinfo *ai;
	int rc;

	if (colon && strchr(host, ':') == colon) {
		*colon = '\0';
		port = colon + 1;
	}
	rc = getaddrinfo(host, port, &hints, &list);
	if (rc)
		return errmsg_set(err, -EHOSTUNREACH, "%s: %s", host, gai_strerror(rc));
	rc = -EHOSTUNREACH;
	for (ai = list; ai && rc < 0; ai = ai->ai_next)
		rc = connect_to(ai);
	freeaddrinfo(list);
	return rc < 0 ? errmsg_errno(err, rc, "%s port %s", host, port) : 0;
}

/* In librdkafka's file of key=value lines; the last one wins, as there. */
static bool find_brokers(const char *path, char *ret, size_t size)
{
	_cleanup_free_ char *text = NULL;
	bool found = false;
	char *save = NULL;
	char *line;
	size_t len;

	if (fileio_read_alloc(path, 1u << 20, &text, &len, NULL) < 0)
		return false;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *value = strchr(line, '=');

		line += strspn(line, " \t");
		if (!value || (strncmp(line, "bootstrap.servers", 17) &&
			       strncmp(line, "metadata.broker.list", 20)))
			continue;
		value++;
		value += strspn(value, " \t");
		value[strcspn(value, "# \t\r")] = '\0';
		(void)snprintf(ret, size, "%s", value);
		found = true;
	}
	return found;
}

static void check_kafka(struct check *c)
{
	const char *path = c->settings.kafka_conf;
	struct errmsg err = { 0 };
	char brokers[1024];
	const char *list = brokers;
	char broker[300];
	unsigned int up = 0;
	unsigned int all = 0;

	if (!*path) {
		check_error(c, "kafka", "KafkaConf=<file>", "Sinks has kafka, KafkaConf is empty");
		return;
	}
	if (!check_secret_file(c, "KafkaConf", path))
		return;
	if (!find_brokers(path, brokers, sizeof(brokers))) {
		check_error(c, "kafka", "bootstrap.servers=<host:port,...>",
			    "%s names no bootstrap.servers", path);
		return;
	}
	while (settings_next_item(&list, broker, sizeof(broker))) {
		all++;
		up += knock(broker, "9092", &err) == 0;
	}
	if (up)
		check_ok(c, "kafka", "%u of %u bootstrap servers can be reached, topic %s", up,
			 all, c->settings.kafka_topic);
	else
		check_warn(c, "kafka", "records wait in the spool until it is up",
			   "no bootstrap server can be reached: %s", err.text);
}

#ifdef HAVE_MARIADB
/* Months come by `ceems db maintain`: how many are ahead says when it last ran. */
static void check_partitions(struct check *c, MYSQL *m)
{
	_cleanup_free_ struct db_partition *p = NULL;
	uint32_t month = db_partition_month_of(clock_wall_ns() / NSEC_PER_SEC);
	struct errmsg err = { 0 };
	size_t n = 0;

	if (db_partition_list(m, "job", &p, &n, &err) < 0)
		check_warn(c, "mariadb", "look at its rights", "cannot see partitions: %s", err.text);
	else if (!n || p[n - 1].month < month + 1)
		check_error(c, "mariadb", "ceems db maintain, and enable ceems-db-maintain.timer",
			    "job has no partition for the next month: jobs pile up in one");
	else if (p[n - 1].month + 2 <= month + DB_PARTITION_AHEAD)
		check_warn(c, "mariadb", "systemctl enable --now ceems-db-maintain.timer",
			   "`ceems db maintain` has not run for two months: nothing is archived");
}

/* The writer needs to add and correct rows; slurmctld's machine should not hold a key to more. */
static void check_rights(struct check *c, MYSQL *m)
{
	static const char *const wide[] = { "ALL PRIVILEGES", "DELETE", "DROP", "ALTER", "SUPER",
					    "FILE", "CREATE USER", "GRANT OPTION" };
	MYSQL_RES *res = NULL;
	MYSQL_ROW row;
	size_t i;

	if (mysql_query(m, "SHOW GRANTS") || !(res = mysql_store_result(m)))
		return;
	while ((row = mysql_fetch_row(res))) {
		for (i = 0; row[0] && i < ARRAY_SIZE(wide); i++) {
			if (!strstr(row[0], wide[i]))
				continue;
			check_warn(c, "mariadb", "sql/grants.sql.example has what it needs",
				   "the writer may %s: more than SELECT, INSERT, UPDATE", wide[i]);
			mysql_free_result(res);
			return;
		}
	}
	mysql_free_result(res);
}
#endif

static void check_database(struct check *c)
{
#ifdef HAVE_MARIADB
	const char *database = c->settings.mariadb_database;
	struct errmsg err = { 0 };
	uint64_t schema = 0;
	MYSQL *m = NULL;
	int rc;

	rc = mariadb_client_open(c->settings.mariadb_defaults_file, database,
				 CONNECT_TIMEOUT_MS * NSEC_PER_MSEC, 0, 0, &m, &err);
	if (rc == 0)
		rc = mariadb_client_schema(m, &schema, &err);
	if (rc < 0)
		check_warn(c, "mariadb", "records wait in the spool until it is up", "%s",
			   err.text);
	else if (schema < MARIADB_SCHEMA)
		check_error(c, "mariadb", "ceems db migrate",
			    "database %s has schema %llu, %u is needed", database,
			    (unsigned long long)schema, MARIADB_SCHEMA);
	else {
		check_ok(c, "mariadb", "database %s, schema %llu", database,
			 (unsigned long long)schema);
		check_partitions(c, m);
		check_rights(c, m);
	}
	mariadb_client_close(m);
#else
	check_note(c, "mariadb", "this command was built without MariaDB");
#endif
}

static void check_mariadb(struct check *c)
{
	const char *path = c->settings.mariadb_defaults_file;

	if (!*path)
		check_error(c, "mariadb", "MariadbDefaultsFile=<file>",
			    "Sinks has mariadb, MariadbDefaultsFile is empty");
	else if (check_secret_file(c, "mariadb", path))
		check_database(c);
}

void check_sinks(struct check *c)
{
	const char *list = c->settings.sinks;
	char folder[PATH_MAX];
	char item[64];
	char *slash;

	check_spool(c);
	while (settings_next_item(&list, item, sizeof(item))) {
		if (!strcasecmp(item, "kafka"))
			check_kafka(c);
		else if (!strcasecmp(item, "mariadb"))
			check_mariadb(c);
		else if (!strcasecmp(item, "file")) {
			(void)snprintf(folder, sizeof(folder), "%s", c->settings.record_file);
			slash = strrchr(folder, '/');
			if (slash && slash != folder)
				*slash = '\0';
			check_folder(c, "RecordFile", folder, /* may_come= */ true);
		}
	}
}
