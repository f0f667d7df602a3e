/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/source_module.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "src/libutil/trust.h"

struct source_module {
	void *handle;
	const struct source_ops *ops;
};

/* What dlerror() says begins with the path; the library's own words are what helps. */
static const char *load_error(const char *path)
{
	const char *text = dlerror();
	size_t len = strlen(path);

	if (!text)
		return "cannot be loaded";
	return strncmp(text, path, len) || strncmp(text + len, ": ", 2) ? text : text + len + 2;
}

static int find_ops(struct source_module *m, const char *path, enum source_id id,
		    struct errmsg *err)
{
	source_module_fn *get;

	/* ISO C has no such cast, POSIX promises that it works. */
	*(void **)&get = dlsym(m->handle, SOURCE_MODULE_SYMBOL);
	if (!get)
		return errmsg_set(err, -EPROTO, "%s: is no module: no %s in it", path,
				  SOURCE_MODULE_SYMBOL);
	m->ops = get(SOURCE_ABI);
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
	if (access(path, F_OK) < 0)
		return errno == ENOENT ? errmsg_set(err, -ENOENT, "%s: is not built or not installed",
						    path) :
					 errmsg_errno(err, -errno, "%s", path);
	rc = trust_check(path, err);
	if (rc < 0)
		return rc;
	m = calloc(1, sizeof(*m));
	if (!m)
		return errmsg_errno(err, -ENOMEM, "%s", path);
	/* LOCAL: its library's names are not for slurmd. NOW: what is missing shows here. */
	m->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	rc = m->handle ? find_ops(m, path, id, err) :
			 errmsg_set(err, -ELIBACC, "%s: %s", path, load_error(path));
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
	if (m->handle)
		(void)dlclose(m->handle);
	free(m);
}

const struct source_ops *source_module_ops(const struct source_module *m)
{
	return m->ops;
}
