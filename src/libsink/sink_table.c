/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "ceems_config.h"
#include "src/libsink/sink.h"

static const struct sink_ops *const sink_table[] = {
	&sink_file,
#ifdef HAVE_KAFKA
	&sink_kafka,
#endif
#ifdef HAVE_MARIADB
	&sink_mariadb,
#endif
#ifdef HAVE_OTLP
	&sink_otlp,
#endif
#ifdef HAVE_SINK_SQLITE
	&sink_sqlite,
#endif
};

const struct sink_ops *sink_find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sink_table); i++)
		if (!strcmp(sink_table[i]->name, name))
			return sink_table[i];
	return NULL;
}
