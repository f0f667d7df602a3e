/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/kafka_check.h"
#include "src/libsink/sink_module.h"

sink_module_fn ceems_sink;

const struct sink_module *ceems_sink(unsigned int abi, logger_sink_fn log)
{
	static const struct sink_module module = { .ops = &sink_kafka, .check = kafka_check };

	logger_set_sink(log);
	return abi == SINK_ABI ? &module : NULL;
}
