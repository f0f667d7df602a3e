/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_sinks.c - the controller's half of `ceems check`: the spool and where records go. A sink that
 * is down is a warning: records wait in the spool.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/cmd/check.h"
#include "src/cmd/check_spool.h"
#include "src/libsink/sink_module.h"

struct teller {
	struct check *c;
	const char *sink;
};

static void tell(void *ctx, enum sink_state state, const char *hint, const char *text)
{
	const struct teller *t = ctx;

	switch (state) {
	case SINK_GOOD:
		check_ok(t->c, t->sink, "%s", text);
		break;
	case SINK_WARN:
		check_warn(t->c, t->sink, hint, "%s", text);
		break;
	case SINK_WRONG:
		check_error(t->c, t->sink, hint, "%s", text);
		break;
	}
}

/* The module asks the other side: it has the library. */
static void check_module(struct check *c, const char *sink)
{
	const struct sink_module *m;
	struct errmsg err = { 0 };

	if (sink_module_load(&c->settings, sink, &m, &err) < 0)
		check_error(c, sink, sink_module_hint(sink), "%s; its records wait in the spool", err.text);
	else
		m->check(&c->settings, tell, &(struct teller){ c, sink });
}

static void check_kafka(struct check *c)
{
	const char *path = c->settings.kafka_conf;

	if (!*path)
		check_error(c, "kafka", "KafkaConf=<file>", "Sinks has kafka, KafkaConf is empty");
	else if (check_secret_file(c, "KafkaConf", path))
		check_module(c, "kafka");
}

static void check_mariadb(struct check *c)
{
	const char *path = c->settings.mariadb_defaults_file;

	if (!*path)
		check_error(c, "mariadb", "MariadbDefaultsFile=<file>",
			    "Sinks has mariadb, MariadbDefaultsFile is empty");
	else if (check_secret_file(c, "mariadb", path))
		check_module(c, "mariadb");
	if (c->settings.mariadb_retention_ns &&
	    c->settings.correction_wait_ns > c->settings.mariadb_retention_ns)
		check_error(c, "mariadb", "CorrectionWait less than MariadbRetention",
			    "a correction may come after its job was archived: the sums would have the "
			    "job twice");
}

void check_sinks(struct check *c)
{
	const char *list = c->settings.sinks;
	char folder[PATH_MAX];
	char item[64];
	char *slash;

	if (!check_is_controller(c)) {
		check_note(c, "Sinks", "the spool and where records go are the controller's: ceems check there");
		return;
	}
	check_spool(c);
	while (settings_next_item(&list, item, sizeof(item))) {
		if (!strcasecmp(item, "kafka"))
			check_kafka(c);
		else if (!strcasecmp(item, "mariadb"))
			check_mariadb(c);
		else if (!strcasecmp(item, "file")) {
			(void)snprintf(folder, sizeof(folder), "%s", c->settings.record_file);
			slash = strrchr(folder, '/');
			if (slash && slash != folder)
				*slash = '\0';
			if (check_slurm_user_writes(c, "RecordFile", folder, /* makes= */ false))
				check_folder(c, "RecordFile", folder, /* may_come= */ false);
		}
	}
}
