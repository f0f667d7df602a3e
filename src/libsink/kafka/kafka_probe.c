/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/kafka/kafka_probe.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "src/libsink/kafka/kafka_conf.h"
#include "src/libutil/clock.h"

struct said {
	bool was_refused;
	bool scram_fails; /* refused, and the client is one that Kafka 4 refuses by SCRAM */
	char text[384];
};

static void on_error(rd_kafka_t *rk, int code, const char *reason, void *arg)
{
	const char *cause = code == RD_KAFKA_RESP_ERR__AUTHENTICATION ? kafka_conf_scram_cause(rk) : "";
	struct said *said = arg;

	said->scram_fails |= *cause != '\0';
	said->was_refused |= code == RD_KAFKA_RESP_ERR__AUTHENTICATION || code == RD_KAFKA_RESP_ERR__SSL;
	/*
	 * "all brokers are down" comes last in a series of errors; keep an earlier one, which has the cause
	 */
	if (code != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || !said->text[0])
		(void)snprintf(said->text, sizeof(said->text), "%s%s", reason, cause);
}

static int client(const char *conf_path, struct said *said, rd_kafka_t **ret, struct errmsg *err)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char reason[256] = "";
	int rc;

	if (!conf)
		return errmsg_set(err, -ENOMEM, "out of memory");
	rc = kafka_conf_producer(conf_path, conf, err);
	rd_kafka_conf_set_opaque(conf, said);
	rd_kafka_conf_set_error_cb(conf, on_error);
	if (rc == 0)
		*ret = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof(reason));
	if (rc == 0 && *ret)
		return 0;
	rd_kafka_conf_destroy(conf);
	return rc < 0 ? rc : errmsg_set(err, -EINVAL, "%s: %s", conf_path, reason);
}

static int partitions(const rd_kafka_metadata_t *m, const char *topic)
{
	int i;

	for (i = 0; i < m->topic_cnt; i++)
		if (!strcmp(m->topics[i].topic, topic) && !m->topics[i].err)
			return m->topics[i].partition_cnt;
	return 0;
}

int kafka_probe(const char *conf_path, const char *topic, const char *start_topic, uint64_t timeout_ns,
		struct kafka_probe *ret, struct errmsg *err)
{
	uint64_t deadline_ns = clock_mono_ns() + timeout_ns;
	const rd_kafka_metadata_t *m = NULL;
	struct said said = { 0 };
	rd_kafka_resp_err_t e;
	rd_kafka_t *rk = NULL;
	int rc = client(conf_path, &said, &rk, err);

	if (rc < 0)
		return rc;
	/* ask for all topics: a broker may create a topic that is asked for by name */
	do {
		e = rd_kafka_metadata(rk, /* all_topics= */ 1, NULL, &m, 500);
		(void)rd_kafka_poll(rk, 0);
	} while (e && !said.was_refused && clock_mono_ns() < deadline_ns);
	if (e) {
		rc = said.scram_fails ? -EPROTONOSUPPORT : said.was_refused ? -EACCES : -EHOSTUNREACH;
		rc = errmsg_set(err, rc, "%s", said.text[0] ? said.text : rd_kafka_err2str(e));
	} else {
		*ret = (struct kafka_probe){ m->broker_cnt, partitions(m, topic),
					     partitions(m, start_topic) };
		rd_kafka_metadata_destroy(m);
	}
	rd_kafka_destroy(rk);
	return rc;
}
