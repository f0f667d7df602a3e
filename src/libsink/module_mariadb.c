/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/db_check.h"
#include "src/libsink/db_maintain.h"
#include "src/libsink/migrate.h"
#include "src/libsink/sink_module.h"

sink_module_fn ceems_sink;

const struct sink_module *ceems_sink(unsigned int abi, logger_sink_fn log)
{
	static const struct sink_db db = { .migrate = migrate_run,
					   .maintain = db_maintain_run,
					   .status = db_status };
	static const struct sink_module module = { .ops = &sink_mariadb,
						   .check = db_check,
						   .db = &db };

	logger_set_sink(log);
	return abi == SINK_ABI ? &module : NULL;
}
