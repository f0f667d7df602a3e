/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sink_module.h - a sink that needs a library of its own (librdkafka, libmariadb) is a module,
 * SinkDir/ceems_sink_NAME.so: slurmctld and `ceems` map those libraries only where Sinks names it.
 */
#ifndef CEEMS_SINK_MODULE_H
#define CEEMS_SINK_MODULE_H

#include "src/libsink/sink.h"
#include "src/libutil/logger.h"

struct db_maintain_options;
struct migrate_options;

/* What `ceems check` is told of where records go; a warning: records wait in the spool meanwhile. */
enum sink_state {
	SINK_GOOD,
	SINK_WARN,
	SINK_WRONG,
};
/* HINT: what to type; NULL with SINK_GOOD. */
typedef void sink_tell_fn(void *ctx, enum sink_state state, const char *hint, const char *text);

/* For `ceems db`. */
struct sink_db {
	int (*migrate)(const struct settings *s, const struct migrate_options *options,
		       struct errmsg *err);
	int (*maintain)(const struct settings *s, const struct db_maintain_options *options,
			struct errmsg *err);
	/* Lines for who looks after it. DEFAULTS_FILE: NULL for MariadbDefaultsFile. */
	int (*status)(const struct settings *s, const char *defaults_file,
		      void (*report)(void *ctx, const char *line), void *ctx, struct errmsg *err);
};

struct sink_module {
	const struct sink_ops *ops;
	/* Asks the other side, as the sink would; its configuration file is there. */
	void (*check)(const struct settings *s, sink_tell_fn *tell, void *ctx);
	const struct sink_db *db; /* NULL: it is no database */
};

/*
 * A module exports this one function; NULL: the module is of another SINK_ABI, which goes up with every
 * change of what this header and sink.h lay out. LOG: where its lines go, as its logger.c is a copy; NULL:
 * nowhere any more.
 */
#define SINK_ABI (1u << 24 | (unsigned int)sizeof(struct settings))
#define SINK_MODULE_SYMBOL "ceems_sink"
typedef const struct sink_module *sink_module_fn(unsigned int abi, logger_sink_fn log);
__attribute__((visibility("default"))) sink_module_fn ceems_sink;

/*
 * The module of the sink NAME, which is not "file". 0, or what module_open() says, with the reason. It
 * stays mapped until sink_modules_unmap().
 */
int sink_module_load(const struct settings *s, const char *name, const struct sink_module **ret,
		     struct errmsg *err);

/*
 * The operations of the sink NAME, whether its module is there or not: open() loads it, so that a missing
 * one is like a sink that is down. NULL: there is none of that name.
 */
const struct sink_ops *sink_find(const char *name);

/*
 * Every module that was loaded is let go of; none of their sinks may be open, and no thread that used one
 * be there. What a module's library left running keeps itself mapped. For a plugin's end: slurmctld loads
 * its plugins anew when it takes control again, and 22.05 relies on where they were (doc/versions.md).
 */
void sink_modules_unmap(void);

/* What to type to have the module of NAME. */
const char *sink_module_hint(const char *name);

#endif
