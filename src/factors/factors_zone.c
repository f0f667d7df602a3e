/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "src/factors/factors_conf.h"

static int take_name(const char **p, char *buf, size_t size)
{
	size_t len = strspn(*p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");

	if (!len || len >= size)
		return -EINVAL;
	memcpy(buf, *p, len);
	buf[len] = '\0';
	*p += len;
	return 0;
}

int factors_zone_next(const char **list, struct factors_zone *ret, struct errmsg *err)
{
	struct factors_zone z = { 0 };
	const char *p = *list + strspn(*list, " \t");
	const char *item = p;
	int rc;

	if (!*p)
		return 0;
	rc = take_name(&p, z.zone, sizeof(z.zone));
	if (rc == 0 && *p == ':') {
		p++;
		rc = take_name(&p, z.region, sizeof(z.region));
	}
	p += strspn(p, " \t");
	if (rc < 0 || (*p && *p != ','))
		return errmsg_set(err, -EINVAL, "'%.*s' is not ZONE or ZONE:REGION", (int)strcspn(item, ","),
				  item);
	*list = *p ? p + 1 : p;
	*ret = z;
	return 1;
}

int factors_conf_zones(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	struct factors_zone z;
	const char *list = value;
	int rc;

	do
		rc = factors_zone_next(&list, &z, err);
	while (rc > 0);
	return rc < 0 ? rc : kvconf_text(value, field, key, err);
}
