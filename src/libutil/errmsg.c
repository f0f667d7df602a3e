/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/errmsg.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

/* Paths and job names end in log files: no byte of theirs may start a new line there. */
static void mask_control_bytes(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			*s = '?';
}

int errmsg_set(struct errmsg *err, int rc, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return rc;
	va_start(ap, fmt);
	(void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	mask_control_bytes(err->text);
	return rc;
}

int errmsg_errno(struct errmsg *err, int rc, const char *fmt, ...)
{
	va_list ap;
	size_t used;

	if (!err)
		return rc;
	va_start(ap, fmt);
	(void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	used = strlen(err->text);
	(void)snprintf(err->text + used, sizeof(err->text) - used, ": %s", strerror(-rc));
	mask_control_bytes(err->text);
	return rc;
}
