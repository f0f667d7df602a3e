/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_sinks.c - the controller's half of `ceems check`: the spool and where records go. A sink that
 * is down is a warning: records wait in the spool.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "ceems_config.h"
#include "src/cmd/check.h"
#include "src/cmd/check_spool.h"
#ifdef HAVE_KAFKA
#include "src/libsink/kafka_probe.h"
#endif
#ifdef HAVE_MARIADB
#include "src/libsink/db_partition.h"
#include "src/libsink/mariadb_client.h"
#endif
#include "src/libutil/clock.h"

#define CONNECT_TIMEOUT_NS (3 * NSEC_PER_SEC)

#ifdef HAVE_KAFKA
static void check_topics(struct check *c, const struct kafka_probe *k)
{
	const char *topic = c->settings.kafka_topic;
	const char *start = c->settings.kafka_start_topic;

	if (k->partitions)
		check_ok(c, "kafka", "%d brokers, topic %s has %d partitions", k->brokers, topic,
			 k->partitions);
	else
		check_warn(c, "kafka", "make it, or give the client its rights: contrib/kafka/README.md",
			   "the brokers answer, but topic %s is not there, or not for this client; "
			   "records wait unless brokers make topics", topic);
	if (*start && !k->start_partitions)
		check_warn(c, "kafka", "make it, or KafkaStartTopic=", "topic %s is not there, or not for "
			   "this client: starts are set aside as dead letters", start);
}
#endif

static void check_broker(struct check *c)
{
#ifdef HAVE_KAFKA
	const struct settings *s = &c->settings;
	struct errmsg err = { 0 };
	struct kafka_probe k;

	switch (kafka_probe(s->kafka_conf, s->kafka_topic, s->kafka_start_topic,
			    CONNECT_TIMEOUT_NS, &k, &err)) {
	case 0:
		check_topics(c, &k);
		break;
	case -EHOSTUNREACH:
		check_warn(c, "kafka", "records wait in the spool until it is up",
			   "no bootstrap server answers: %s", err.text);
		break;
	case -EACCES:
		check_error(c, "kafka", "the properties ssl.* and sasl.* in KafkaConf",
			    "no agreement with the broker: %s", err.text);
		break;
	default:
		check_error(c, "kafka", "put KafkaConf right", "%s", err.text);
		break;
	}
#else
	check_note(c, "kafka", "this command was built without Kafka");
#endif
}

static void check_kafka(struct check *c)
{
	const char *path = c->settings.kafka_conf;

	if (!*path)
		check_error(c, "kafka", "KafkaConf=<file>", "Sinks has kafka, KafkaConf is empty");
	else if (check_secret_file(c, "KafkaConf", path))
		check_broker(c);
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
				 CONNECT_TIMEOUT_NS, 0, 0, &m, &err);
	if (rc == 0)
		rc = mariadb_client_schema(m, &schema, &err);
	if (rc < 0 && (strstr(err.text, "Unknown database") || strstr(err.text, "to database")))
		check_error(c, "mariadb", "ceems db migrate --defaults-file <of who may create it>, and "
			    "sql/grants.sql.example", "%s", err.text);
	else if (rc < 0 && strstr(err.text, "denied"))
		check_error(c, "mariadb", "user and password in MariadbDefaultsFile, as sql/grants.sql.example "
			    "made them", "%s", err.text);
	else if (rc < 0)
		check_warn(c, "mariadb", "records wait in the spool until it is up", "%s",
			   err.text);
	else if (schema < MARIADB_SCHEMA)
		check_error(c, "mariadb", "ceems db migrate",
			    "database %s has schema %llu, %u is needed", database,
			    (unsigned long long)schema, MARIADB_SCHEMA);
	else {
		if (schema > MARIADB_SCHEMA)
			check_warn(c, "mariadb", "install the version that made the schema",
				   "database %s has schema %llu, this version fills %u: what is new "
				   "stays empty, and nothing is archived", database,
				   (unsigned long long)schema, MARIADB_SCHEMA);
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
	if (c->settings.mariadb_retention_ns &&
	    c->settings.correction_wait_ns > c->settings.mariadb_retention_ns)
		check_error(c, "mariadb", "CorrectionWait less than MariadbRetention",
			    "a correction may come after its job was archived: the sums would have the "
			    "job twice");
}

void check_sinks(struct check *c)
{
	const char *list = c->settings.sinks;
	char folder[PATH_MAX];
	char item[64];
	char *slash;

	if (!check_is_controller(c)) {
		check_note(c, "Sinks", "the spool and where records go are the controller's: ceems check there");
		return;
	}
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
			if (check_slurm_user_writes(c, "RecordFile", folder, /* makes= */ false))
				check_folder(c, "RecordFile", folder, /* may_come= */ false);
		}
	}
}
