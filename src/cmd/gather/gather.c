/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/gather/gather.h"

#include <errno.h>
#include <stdio.h>

#include "src/cmd/gather/gather_mask.h"

/* Adds a file with TEXT, or a link to TARGET. */
static int add_entry(struct gather *g, const char *name, const char *text, size_t len, const char *target,
		     struct errmsg *err)
{
	char path[512];
	int rc = -ENAMETOOLONG;

	if ((size_t)snprintf(path, sizeof(path), GATHER_TOP "/%s", name) < sizeof(path))
		rc = target ? gather_tar_link(g->tar, path, target) :
			      gather_tar_file(g->tar, path, text, len);
	if (rc < 0)
		return rc == -ENAMETOOLONG ? 0 : errmsg_errno(err, rc, "%s", name);
	g->files++;
	return 0;
}

int gather_add(struct gather *g, const char *name, char *data, size_t len, struct errmsg *err)
{
	gather_mask(data, len, g->host);
	return add_entry(g, name, data, len, NULL, err);
}

int gather_add_link(struct gather *g, const char *name, const char *target, struct errmsg *err)
{
	return add_entry(g, name, NULL, 0, target, err);
}
