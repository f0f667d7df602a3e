/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sinks.h - the sinks that this build has. Inline: who asks links the libraries of all of them, and nobody else
 * is to.
 */
#ifndef CEEMS_SINKS_H
#define CEEMS_SINKS_H

#include <string.h>

#include "ceems_config.h"
#include "src/libsink/sink.h"
#include "src/libutil/util.h"

/* NULL: there is none of that name here. */
static inline const struct sink_ops *sink_find(const char *name)
{
	static const struct sink_ops *const sinks[] = {
		&sink_file,
#ifdef HAVE_KAFKA
		&sink_kafka,
#endif
#ifdef HAVE_MARIADB
		&sink_mariadb,
#endif
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sinks); i++)
		if (!strcmp(sinks[i]->name, name))
			return sinks[i];
	return NULL;
}

#endif
