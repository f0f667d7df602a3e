/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_KAFKA_CHECK_H
#define CEEMS_KAFKA_CHECK_H

#include "src/libsink/sink.h"

/* Member `check` of struct sink_ops: checks that the brokers answer and have the topics. */
void kafka_check(const struct settings *s, sink_tell_fn *tell, void *ctx);

#endif
