/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/items.h"

#include <ctype.h>
#include <string.h>

bool items_next(const char **list, char *item, size_t size)
{
	const char *p = *list;
	size_t len;

	while (*p == ',' || isspace((unsigned char)*p))
		p++;
	if (!*p)
		return false;
	len = strcspn(p, ",");
	*list = p + len;
	while (len && isspace((unsigned char)p[len - 1]))
		len--;
	if (len >= size)
		len = size - 1;
	memcpy(item, p, len);
	item[len] = '\0';
	return true;
}
