/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kafka_probe.h - asks the brokers for their topics, with the same settings of KafkaConf as the sink. Sends
 * no record and makes no topic.
 */
#ifndef CEEMS_KAFKA_PROBE_H
#define CEEMS_KAFKA_PROBE_H

#include <stdint.h>

#include "src/libutil/errmsg.h"

struct kafka_probe {
	int brokers;
	int partitions;	      /* partitions of the topic; 0: it does not exist, or we may not see it */
	int start_partitions; /* partitions of the topic for job starts; 0: the same */
};

/*
 * Connects with the file CONF_PATH and fills RET. START_TOPIC may be empty. -EINVAL: the file is wrong.
 * -EACCES: the broker's certificate is wrong, or the broker refused our certificate or credentials.
 * -EPROTONOSUPPORT: it refused credentials that this librdkafka cannot prove to Kafka 4.0 or later
 * (kafka_conf_scram_fails()). -EHOSTUNREACH: no answer in TIMEOUT_NS. ERR has the client's message.
 */
int kafka_probe(const char *conf_path, const char *topic, const char *start_topic, uint64_t timeout_ns,
		struct kafka_probe *ret, struct errmsg *err) _must_check_;

#endif
