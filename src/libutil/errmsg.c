/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/errmsg.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "src/libutil/text.h"

int errmsg_set(struct errmsg *err, int rc, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return rc;
	va_start(ap, fmt);
	(void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	(void)text_mask(err->text, err->text, sizeof(err->text));
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
	(void)text_mask(err->text, err->text, sizeof(err->text));
	return rc;
}
