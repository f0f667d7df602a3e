/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kafka_conf.h - reads KafkaConf: properties of librdkafka, one key=value per line. '#' begins a comment only
 * at the begin of a line, so that a password may contain '#'. Blanks around key and value are ignored. A key
 * by which records could be lost is an error.
 */
#ifndef CEEMS_KAFKA_CONF_H
#define CEEMS_KAFKA_CONF_H

#include <stdbool.h>

#include <librdkafka/rdkafka.h>

#include "src/libutil/errmsg.h"

/*
 * Fills CONF from the file PATH. -EINVAL: a line is wrong; ERR has file, line and key, but never the value of
 * a secret. -EACCES: the file has a secret and everybody may read it.
 */
int kafka_conf_read(const char *path, rd_kafka_conf_t *conf, struct errmsg *err);

/*
 * Fills CONF for the sink's producer. The file PATH may change our defaults. It may not change the
 * properties that delivery reports depend on. Returns what kafka_conf_read() returns.
 */
int kafka_conf_producer(const char *path, rd_kafka_conf_t *conf, struct errmsg *err);

/*
 * librdkafka before 2.6.1 sends the client's nonce twice in its last SCRAM message, which Kafka 4.0 and
 * later refuse like a wrong password (confluentinc/librdkafka#4895). VERSION is of rd_kafka_version(),
 * MECHANISM the property sasl.mechanisms.
 */
bool kafka_conf_scram_fails(int version, const char *mechanism);

/* The cause, to add to the text of a refused login; "" if RK's library and mechanism are not those above. */
const char *kafka_conf_scram_cause(rd_kafka_t *rk);

#endif
