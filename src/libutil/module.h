/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * module.h - loads a part that is a shared object of its own. Such a part has code or libraries
 * that most processes shall not map.
 */
#ifndef CEEMS_MODULE_H
#define CEEMS_MODULE_H

#include <stddef.h>

#include "src/libutil/errmsg.h"

typedef void module_fn(void); /* to be cast to what it is */

/*
 * Loads PATH and finds SYMBOL, the one function that the module exports. Returns 0; -ENOENT: the
 * file is missing (not built, or not installed); -EPERM: somebody else could have written the file;
 * -ELIBACC: the file cannot be loaded, mostly since its library is missing; -EPROTO: it has no
 * SYMBOL.
 */
int module_open(const char *path, const char *symbol, void **ret_handle, module_fn **ret_fn,
		struct errmsg *err);
/* Nothing of it may be in use; it is unmapped, unless it was linked to stay. NULL: no-op. */
void module_close(void *handle);

/*
 * The path of the file NAME beside the shared object in which ADDRESS lies. -ENOENT: the place of
 * that object is not known. -ENAMETOOLONG.
 */
int module_path_beside(const void *address, const char *name, char *buf, size_t size);

/*
 * Keeps the shared object in which ADDRESS lies mapped until the process ends. A thread that was
 * left behind still runs its code. A program stays anyway.
 */
void module_pin(const void *address);

#endif
