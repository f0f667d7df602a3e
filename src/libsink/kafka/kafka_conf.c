/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/kafka/kafka_conf.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "src/libutil/fileio.h"
#include "src/libutil/kvconf.h"
#include "src/libutil/trust.h"
#include "src/libutil/util.h"

#define CONF_MAX (256u << 10)
#define BLANKS " \t\r"

/* Properties that KafkaConf may not change, because records could be lost or the recorder disturbed. */
static const struct {
	const char *key;
	const char *only; /* the only value that is accepted; NULL: no value is */
	const char *why;
} ours[] = {
	{ "enable.idempotence", "true", "without it a retry may store a record twice" },
	{ "acks", "all", "a record would count as stored before it is" },
	{ "request.required.acks", "-1", "a record would count as stored before it is" },
	{ "delivery.report.only.error", "false", "stored records would never be acknowledged" },
	{ "transactional.id", NULL, "the recorder does not use transactions" },
	{ "message.timeout.ms", NULL, "the recorder decides how long a record is tried" },
	{ "delivery.timeout.ms", NULL, "the recorder decides how long a record is tried" },
	{ "log.queue", "true", "the recorder's thread writes the log lines" },
	{ "plugin.library.paths", NULL, "a data file must not load code into the recorder" },
	{ "ssl.engine.location", NULL, "a data file must not load code into the recorder" },
	{ "ssl.engine.id", NULL, "a data file must not load code into the recorder" },
	{ "ssl.providers", NULL, "a data file must not load code into the recorder" },
	{ "sasl.kerberos.kinit.cmd", NULL, "a data file must not name a command" },
	{ "enable.background", NULL, "the recorder has no thread for it" },
};

/* Returns true if the value of KEY must not be logged. */
static bool is_secret(const char *key)
{
	static const char *const marks[] = { "password", "secret", "pem", "oauthbearer.config", "jaas" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(marks); i++)
		if (strstr(key, marks[i]))
			return true;
	return false;
}

static char *trim(char *s)
{
	size_t len;

	s += strspn(s, BLANKS);
	for (len = strlen(s); len && strchr(BLANKS, s[len - 1]); len--)
		s[len - 1] = '\0';
	return s;
}

/*
 * Returns true if KEY is put into the command line of kinit, which librdkafka lets a shell run, and VALUE has
 * a character that means something to a shell.
 */
static bool is_command(const char *key, const char *value)
{
	return (!strcmp(key, "sasl.kerberos.keytab") || !strcmp(key, "sasl.kerberos.principal") ||
		!strcmp(key, "sasl.kerberos.service.name")) &&
	       strpbrk(value, "`$;&|<>(){}[]*?!~#\\'\" \t");
}

static int check_ours(const char *path, unsigned int line, const char *key, const char *value,
		      struct errmsg *err)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ours); i++)
		if (!strcmp(key, ours[i].key) && (!ours[i].only || strcmp(value, ours[i].only)))
			return errmsg_set(err, -EINVAL, "%s:%u: %s cannot be set%s%s: %s", path, line, key,
					  ours[i].only ? ", it is " : "", ours[i].only ? ours[i].only : "",
					  ours[i].why);
	if (is_command(key, value))
		return errmsg_set(err, -EINVAL,
				  "%s:%u: %s has a character that a shell would not take as it is", path,
				  line, key);
	return 0;
}

/*
 * The properties that a site usually sets, to suggest one for a misspelt name. librdkafka
 * has no list with all names.
 */
static const struct kvconf_key usual[] = {
	{ .name = "bootstrap.servers" }, { .name = "security.protocol" },
	{ .name = "sasl.mechanism" },	 { .name = "sasl.mechanisms" },
	{ .name = "sasl.username" },	 { .name = "sasl.password" },
	{ .name = "ssl.ca.location" },	 { .name = "ssl.key.location" },
	{ .name = "ssl.key.password" },	 { .name = "ssl.certificate.location" },
	{ .name = "compression.codec" }, { .name = "client.id" },
	{ .name = "socket.timeout.ms" }, { .name = "linger.ms" },
};

/* Applies TEXT, one line without its newline, to CONF. */
static int read_line(const char *path, unsigned int line, char *text, rd_kafka_conf_t *conf, bool *has_secret,
		     struct errmsg *err)
{
	const char *meant;
	char reason[256];
	char *key = trim(text);
	char *value;
	int rc;

	if (!*key || *key == '#')
		return 0;
	value = strchr(key, '=');
	if (!value)
		return errmsg_set(err, -EINVAL, "%s:%u: not key=value", path, line);
	*value++ = '\0';
	key = trim(key);
	value = trim(value);
	rc = check_ours(path, line, key, value, err);
	if (rc < 0)
		return rc;
	switch (rd_kafka_conf_set(conf, key, value, reason, sizeof(reason))) {
	case RD_KAFKA_CONF_OK:
		*has_secret |= is_secret(key) && *value;
		return 0;
	case RD_KAFKA_CONF_UNKNOWN:
		meant = kvconf_nearest(usual, ARRAY_SIZE(usual), key);
		return errmsg_set(err, -EINVAL, "%s:%u: %s is not a property of librdkafka%s%s%s", path, line,
				  key, meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
	default:
		/* librdkafka's reason contains the value, so it is not shown for a secret */
		return errmsg_set(err, -EINVAL, "%s:%u: %s: %s", path, line, key,
				  is_secret(key) ? "value is not accepted" : reason);
	}
}

int kafka_conf_read(const char *path, rd_kafka_conf_t *conf, struct errmsg *err)
{
	_cleanup_free_ char *text = NULL;
	bool has_secret = false;
	unsigned int line = 0;
	struct stat st;
	size_t len;
	char *next;
	char *p;
	int rc;

	rc = fileio_read_checked(path, CONF_MAX, trust_is_own, &st, &text, &len, err);
	if (rc < 0)
		return rc;
	if (strlen(text) != len)
		rc = errmsg_set(err, -EINVAL, "%s: holds a NUL byte", path);
	for (p = text; rc == 0 && p; p = next) {
		next = strchr(p, '\n');
		if (next)
			*next++ = '\0';
		rc = read_line(path, ++line, p, conf, &has_secret, err);
	}
	if (rc == 0 && has_secret)
		rc = trust_is_secret(path, &st, err);
	explicit_bzero(text, len);
	return rc;
}

/* Defaults, which the administrator's file can change, and fixed values, which it cannot. */
static const struct property {
	const char *key, *value;
} defaults[] = {
	{ "client.id", "ceems" },
	{ "linger.ms", "5" },
	/* most of a record is field names; compressed, it costs the broker a fifth less work, or better */
	{ "compression.type", "lz4" },
	/* otherwise the last request of a batch would wait for answers to the earlier ones */
	{ "socket.nagle.disable", "true" },
	/*
	 * The hash of Java's clients, so that Kafka Streams, Connect and ksqlDB expect a key in the
	 * partition in which it is. librdkafka's default is another hash.
	 */
	{ "partitioner", "murmur2_random" },
	/* compare the certificate with the broker's name; before 2.0, librdkafka did not by default */
	{ "ssl.endpoint.identification.algorithm", "https" },
	/* report a missing topic after 1 s, before the time of a call to the sink is over */
	{ "topic.metadata.propagation.max.ms", "1000" },
}, fixed[] = {
	{ "enable.idempotence", "true" },
	{ "acks", "all" },
	/* otherwise the log callback runs in the client's threads, which may outlive the sink */
	{ "log.queue", "true" },
};

/* Without a way to get a token, librdkafka would wait for one without a word. */
static int check_token(const char *path, const rd_kafka_conf_t *conf, struct errmsg *err)
{
	bool has_oidc = true;
	char value[64] = "";
	size_t size = sizeof(value);

	if (rd_kafka_conf_get(conf, "sasl.mechanisms", value, &size) || strcasecmp(value, "OAUTHBEARER") != 0)
		return 0;
	size = sizeof(value);
	if (rd_kafka_conf_get(conf, "sasl.oauthbearer.method", value, &size))
		has_oidc = false;
	else if (!strcasecmp(value, "oidc"))
		return 0;
	return errmsg_set(err, -EINVAL, "%s: sasl.mechanism=OAUTHBEARER needs sasl.oauthbearer.method=oidc%s",
			  path, has_oidc ? "" : ", which this librdkafka is built without");
}

int kafka_conf_producer(const char *path, rd_kafka_conf_t *conf, struct errmsg *err)
{
	char reason[256];
	size_t i;
	int rc;

	/* ignore errors: without TLS, librdkafka lacks some properties */
	for (i = 0; i < ARRAY_SIZE(defaults); i++)
		(void)rd_kafka_conf_set(conf, defaults[i].key, defaults[i].value, reason, sizeof(reason));
	rc = kafka_conf_read(path, conf, err);
	if (rc == 0)
		rc = check_token(path, conf, err);
	for (i = 0; rc == 0 && i < ARRAY_SIZE(fixed); i++)
		if (rd_kafka_conf_set(conf, fixed[i].key, fixed[i].value, reason, sizeof(reason)))
			rc = errmsg_set(err, -EINVAL, "%s", reason);
	return rc;
}

#define SCRAM_MENDED 0x020601ff /* 2.6.1 */

bool kafka_conf_scram_fails(int version, const char *mechanism)
{
	return version < SCRAM_MENDED && !strncasecmp(mechanism, "SCRAM-", strlen("SCRAM-"));
}

const char *kafka_conf_scram_cause(rd_kafka_t *rk)
{
	static const char cause[] = "; librdkafka before 2.6.1 cannot log in by SCRAM at Kafka 4.0 or later, "
				    "even with the right password";
	char mechanism[64] = "";
	size_t size = sizeof(mechanism);

	if (rd_kafka_conf_get(rd_kafka_conf(rk), "sasl.mechanisms", mechanism, &size) != RD_KAFKA_CONF_OK)
		return "";
	return kafka_conf_scram_fails(rd_kafka_version(), mechanism) ? cause : "";
}
