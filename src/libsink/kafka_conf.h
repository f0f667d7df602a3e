/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kafka_conf.h - KafkaConf: librdkafka's properties, one key=value per line. '#' starts a comment
 * only as the first character of a line, so that a password may have one; blanks around key and
 * value are dropped. What the file says cannot weaken the delivery guarantee: the keys that would
 * are refused by name.
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

/* The producer's: our defaults, above them the file, above it what a delivery report rests on. */
int kafka_conf_producer(const char *path, rd_kafka_conf_t *conf, struct errmsg *err);

#endif
