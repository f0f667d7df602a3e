/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* dladdr() */
#include "src/libutil/module.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/libutil/trust.h"

/* dlerror() without the path in front, which the caller prints already. */
static const char *load_error(const char *path)
{
	const char *text = dlerror();
	size_t len = strlen(path);

	if (!text)
		return "cannot be loaded";
	return strncmp(text, path, len) || strncmp(text + len, ": ", 2) ? text : text + len + 2;
}

int module_open(const char *path, const char *symbol, void **ret_handle, module_fn **ret_fn,
		struct errmsg *err)
{
	module_fn *fn;
	void *handle;
	int rc;

	if (access(path, F_OK) < 0)
		return errno == ENOENT ? errmsg_set(err, -ENOENT, "%s: is not built or not installed", path) :
					 errmsg_errno(err, -errno, "%s", path);
	rc = trust_check(path, err);
	if (rc < 0)
		return rc;
	/*
	 * RTLD_LOCAL: keeps the names of the module's libraries away from the daemon. RTLD_NOW: a
	 * missing symbol fails here.
	 */
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return errmsg_set(err, -ELIBACC, "%s: %s", path, load_error(path));
	/* ISO C forbids this cast; POSIX guarantees that it works. */
	*(void **)&fn = dlsym(handle, symbol);
	if (!fn) {
		module_close(handle);
		return errmsg_set(err, -EPROTO, "%s: is not a module of ceems: it has no symbol %s", path,
				  symbol);
	}
	*ret_handle = handle;
	*ret_fn = fn;
	return 0;
}

void module_close(void *handle)
{
	if (handle)
		(void)dlclose(handle);
}

int module_path_beside(const void *address, const char *name, char *buf, size_t size)
{
	const char *slash;
	Dl_info in;
	int n;

	if (!dladdr(address, &in) || !in.dli_fname)
		return -ENOENT;
	slash = strrchr(in.dli_fname, '/');
	if (!slash)
		return -ENOENT;
	n = snprintf(buf, size, "%.*s/%s", (int)(slash - in.dli_fname), in.dli_fname, name);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

void module_pin(const void *address)
{
	Dl_info in;

	/* RTLD_LAZY: jobcomp_ceems may use symbols that this process does not define */
	if (dladdr(address, &in) && in.dli_fname)
		(void)dlopen(in.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
