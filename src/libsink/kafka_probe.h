/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kafka_probe.h - asks a broker for its topics as the sink's producer would: with the TLS, the credentials
 * and all else of KafkaConf. Sends no record, makes no topic.
 */
#ifndef CEEMS_KAFKA_PROBE_H
#define CEEMS_KAFKA_PROBE_H

#include <stdint.h>

#include "src/libutil/errmsg.h"

struct kafka_probe {
	int brokers;
	int partitions;	      /* of the topic; 0: it is not there, or not for us to see */
	int start_partitions; /* of the start topic */
};

/*
 * START_TOPIC may be empty. -EINVAL: KafkaConf is not right; -EACCES: the broker's certificate, or it took
 * ours or the credentials for wrong; -EHOSTUNREACH: no answer, or none in time. ERR has the client's words.
 */
int kafka_probe(const char *conf_path, const char *topic, const char *start_topic,
		uint64_t timeout_ns, struct kafka_probe *ret, struct errmsg *err);

#endif
