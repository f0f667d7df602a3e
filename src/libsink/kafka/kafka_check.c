/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/kafka/kafka_check.h"

#include <errno.h>
#include <string.h>

#include "src/libsink/kafka/kafka_probe.h"
#include "src/libutil/clock.h"

#define TIMEOUT_NS (3 * NSEC_PER_SEC)
#define SCRAM_HINT                                                                                     \
	"with brokers of Kafka 4.0 or later, log in by PLAIN over TLS or by a client certificate, or " \
	"install librdkafka 2.6.1 or later; with older brokers, correct sasl.username and sasl.password"

static void check_topics(const struct settings *s, const struct kafka_probe *k, sink_tell_fn *tell, void *ctx)
{
	const char *start = s->kafka_start_topic;
	struct errmsg text;

	if (k->partitions) {
		(void)errmsg_set(&text, 0, "%d brokers, topic %s has %d partitions", k->brokers,
				 s->kafka_topic, k->partitions);
		tell(ctx, SINK_GOOD, SETTING_N, NULL, text.text);
	} else {
		(void)errmsg_set(&text, 0,
				 "the brokers answer, but topic %s does not exist, or this client may "
				 "not use it; records wait unless brokers create topics",
				 s->kafka_topic);
		tell(ctx, SINK_WARN, SETTING_kafka_topic,
		     "create the topic KafkaTopic, or let the client write to it: contrib/kafka/README.md",
		     text.text);
	}
	if (*start && !k->start_partitions) {
		(void)errmsg_set(&text, 0,
				 "topic %s does not exist, or this client may not use it: records of job "
				 "starts are dropped",
				 start);
		tell(ctx, SINK_WARN, SETTING_kafka_start_topic,
		     "create the topic KafkaStartTopic, or set KafkaStartTopic= to nothing", text.text);
	}
}

void kafka_check(const struct settings *s, sink_tell_fn *tell, void *ctx)
{
	struct errmsg err = { 0 };
	struct kafka_probe k;
	struct errmsg text;
	int rc;

	rc = kafka_probe(s->kafka_conf, s->kafka_topic, s->kafka_start_topic, TIMEOUT_NS, &k, &err);
	if (rc == -EACCES && !strncmp(err.text, s->kafka_conf, strlen(s->kafka_conf)))
		rc = -EINVAL; /* our own reader refused the file */
	switch (rc) {
	case 0:
		check_topics(s, &k, tell, ctx);
		break;
	case -EHOSTUNREACH:
		(void)errmsg_set(&text, 0, "no bootstrap server answers: %s", err.text);
		tell(ctx, SINK_WARN, SETTING_kafka_conf,
		     strstr(err.text, "Failed to resolve") ?
			     "correct bootstrap.servers in KafkaConf" :
			     "start the broker, or correct bootstrap.servers in KafkaConf; records wait "
			     "in the store",
		     text.text);
		break;
	case -EACCES:
	case -EPROTONOSUPPORT:
		(void)errmsg_set(&text, 0, "the broker and the client do not accept each other: %s",
				 err.text);
		tell(ctx, SINK_WRONG, SETTING_kafka_conf,
		     rc == -EACCES ? "correct the properties ssl.* and sasl.* in KafkaConf" : SCRAM_HINT,
		     text.text);
		break;
	default:
		tell(ctx, SINK_WRONG, SETTING_kafka_conf, "correct KafkaConf", err.text);
		break;
	}
}
