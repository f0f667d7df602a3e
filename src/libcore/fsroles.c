/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/fsroles.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

static const struct {
	const char *name;
	enum metric read, write;
} roles[FSROLE_N] = {
	[FSROLE_HOME] = { "home", METRIC_HOME_READ_BYTES, METRIC_HOME_WRITE_BYTES },
	[FSROLE_PROJECT] = { "project", METRIC_PROJECT_READ_BYTES, METRIC_PROJECT_WRITE_BYTES },
	[FSROLE_SCRATCH] = { "scratch", METRIC_SCRATCH_READ_BYTES, METRIC_SCRATCH_WRITE_BYTES },
	[FSROLE_LOCAL] = { "local", METRIC_LOCAL_READ_BYTES, METRIC_LOCAL_WRITE_BYTES },
};

const char *fsrole_name(enum fsrole role)
{
	return role < FSROLE_N ? roles[role].name : "none";
}

enum metric fsrole_read_metric(enum fsrole role)
{
	return roles[role].read;
}

enum metric fsrole_write_metric(enum fsrole role)
{
	return roles[role].write;
}

/* Whether PATH has the form in which the kernel shows mount points: no "//", "/." or "/..". */
static bool is_plain(const char *path)
{
	const char *p;
	size_t len;

	for (p = path; *p == '/'; p += len) {
		p++;
		len = strcspn(p, "/");
		if (!len || (len == 1 && *p == '.') || (len == 2 && !memcmp(p, "..", 2)))
			return false;
	}
	return !*p;
}

int fsroles_next(const char **setting, enum fsrole *ret, char path[FSROLE_PATH_MAX], struct errmsg *err)
{
	const char *p = *setting;
	size_t len, name_len;
	unsigned int role;

	while (*p == ',' || isspace((unsigned char)*p))
		p++;
	if (!*p)
		return 0;
	name_len = strcspn(p, ":,");
	for (role = 0; role < FSROLE_N; role++)
		if (strlen(roles[role].name) == name_len && !memcmp(roles[role].name, p, name_len))
			break;
	if (role == FSROLE_N)
		return errmsg_set(err, -EINVAL, "'%.*s' is not home, project, scratch or local",
				  (int)(name_len < 64 ? name_len : 64), p);
	p += name_len;
	if (*p == ':')
		p++;
	len = strcspn(p, ",");
	*setting = p + len;
	while (len && isspace((unsigned char)p[len - 1]))
		len--;
	if (!len || *p != '/')
		return errmsg_set(err, -EINVAL, "%s: '%.*s' is not an absolute path", roles[role].name,
				  (int)(len < 64 ? len : 64), p);
	while (len && p[len - 1] == '/')
		len--;
	if (len >= FSROLE_PATH_MAX)
		return errmsg_set(err, -EINVAL, "%s: the path is longer than %d bytes", roles[role].name,
				  FSROLE_PATH_MAX - 1);
	memcpy(path, p, len);
	path[len] = '\0';
	if (!is_plain(path))
		return errmsg_set(err, -EINVAL, "%s: '%s' cannot be a mount point", roles[role].name, path);
	*ret = (enum fsrole)role;
	return 1;
}

int fsroles_check(const char *setting, struct errmsg *err)
{
	char path[FSROLE_PATH_MAX], other[FSROLE_PATH_MAX];
	enum fsrole role, other_role;
	const char *at, *rest = setting;
	int rc;

	while ((rc = fsroles_next(&rest, &role, path, err)) > 0)
		for (at = setting; at < rest && fsroles_next(&at, &other_role, other, NULL) > 0 && at < rest;)
			if (!strcmp(path, other))
				return errmsg_set(err, -EINVAL, "'%s' has two roles", *path ? path : "/");
	return rc;
}

enum fsrole fsroles_find(const char *setting, const char *mount)
{
	enum fsrole role, found = FSROLE_N;
	char path[FSROLE_PATH_MAX];
	size_t len, longest = 0;

	while (fsroles_next(&setting, &role, path, NULL) > 0) {
		len = strlen(path);
		if (strncmp(mount, path, len) || (mount[len] && mount[len] != '/'))
			continue;
		if (found == FSROLE_N || len > longest) {
			found = role;
			longest = len;
		}
	}
	return found;
}
