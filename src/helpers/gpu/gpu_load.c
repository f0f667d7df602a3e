/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "src/helpers/gpu/gpu.h"
#include "src/libutil/trust.h"

int gpu_load(const char *path, const struct gpu_symbol *symbols, size_t n, void *table, void **ret_dl,
	     struct errmsg *err)
{
	int rc = strchr(path, '/') ? trust_check(path, err) : 0;
	void *dl;
	size_t i;

	if (rc < 0 && rc != -ENOENT)
		return rc;
	/*
	 * Never unmapped: NVML of driver 580 loads libcuda, whose thread stays, and each time that NVML
	 * itself is unmapped an eventfd is left open.
	 */
	dl = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!dl)
		return errmsg_set(err, -ELIBACC, "%s", dlerror());
	for (i = 0; i < n; i++) {
		void *f = dlsym(dl, symbols[i].name);

		if (!f && !symbols[i].is_optional) {
			(void)dlclose(dl);
			return errmsg_set(err, -ENOSYS, "%s has no %s", path, symbols[i].name);
		}
		/* POSIX has pointers to functions and to objects convert, ISO C has not */
		memcpy((char *)table + symbols[i].offset, &f, sizeof(f));
	}
	*ret_dl = dl;
	return 0;
}
