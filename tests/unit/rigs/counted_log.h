/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counted_log.h - for logger_set_sink() in a test: how many lines of a level came, and the last one.
 */
#ifndef CEEMS_COUNTED_LOG_H
#define CEEMS_COUNTED_LOG_H

#include <stdio.h>

#include "src/libutil/logger.h"

static int errors, infos;
static char last_line[1024]; /* debug lines apart */

static void count_log(enum logger_level level, const char *line)
{
	errors += level == LOGGER_ERROR;
	infos += level == LOGGER_INFO;
	if (level != LOGGER_DEBUG)
		(void)snprintf(last_line, sizeof(last_line), "%s", line);
}

static void forget_log(void)
{
	errors = infos = 0;
	last_line[0] = '\0';
}

#endif
