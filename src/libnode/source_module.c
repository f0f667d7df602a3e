/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/source_module.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "src/libutil/module.h"

struct source_module {
	void *handle;
	const struct source_ops *ops;
};

static int find_ops(struct source_module *m, const char *path, enum source_id id,
		    struct errmsg *err)
{
	module_fn *get;
	int rc = module_open(path, SOURCE_MODULE_SYMBOL, &m->handle, &get, err);

	if (rc < 0)
		return rc;
	m->ops = ((source_module_fn *)get)(SOURCE_ABI);
	if (!m->ops)
		return errmsg_set(err, -EPROTO, "%s: is of another version of slurm-ceems", path);
	if (m->ops->id != id)
		return errmsg_set(err, -EPROTO, "%s: is the module of another source, %s", path,
				  source_name(m->ops->id));
	return 0;
}

int source_module_load(const char *dir, enum source_id id, struct source_module **ret,
		       struct errmsg *err)
{
	struct source_module *m;
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/ceems_source_%s.so", dir, source_name(id));
	int rc;

	if (n < 0 || (size_t)n >= sizeof(path))
		return errmsg_set(err, -ENAMETOOLONG, "%s: the path is too long", dir);
	m = calloc(1, sizeof(*m));
	if (!m)
		return errmsg_errno(err, -ENOMEM, "%s", path);
	rc = find_ops(m, path, id, err);
	if (rc < 0) {
		source_module_unload(m);
		return rc;
	}
	*ret = m;
	return 0;
}

void source_module_unload(struct source_module *m)
{
	if (!m)
		return;
	module_close(m->handle);
	free(m);
}

const struct source_ops *source_module_ops(const struct source_module *m)
{
	return m->ops;
}
