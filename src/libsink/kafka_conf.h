/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kafka_conf.h - KafkaConf: librdkafka's properties, one key=value per line. '#' starts a comment
 * only as the first character of a line, so that a password may contain '#'. Blanks around key and
 * value are dropped. Keys that would weaken the delivery guarantee are refused by name.
 */
#ifndef CEEMS_KAFKA_CONF_H
#define CEEMS_KAFKA_CONF_H

#include <librdkafka/rdkafka.h>

#include "src/libutil/errmsg.h"

/*
 * Fills CONF from PATH. -EINVAL names file, line and key, never the value of a secret; -EACCES: the
 * file holds a secret and everybody may read it.
 */
int kafka_conf_read(const char *path, rd_kafka_conf_t *conf, struct errmsg *err);

/*
 * Fills CONF for the producer: first our defaults, then the file, and last the keys on which delivery reports
 * depend. A later value replaces an earlier one.
 */
int kafka_conf_producer(const char *path, rd_kafka_conf_t *conf, struct errmsg *err);

#endif
