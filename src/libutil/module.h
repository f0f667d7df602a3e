/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * module.h - a part that is a shared object of its own, because it needs a library that not everybody
 * shall map: a source of energy, a sink of records.
 */
#ifndef CEEMS_MODULE_H
#define CEEMS_MODULE_H

#include <stddef.h>

#include "src/libutil/errmsg.h"

typedef void module_fn(void); /* to be cast to what it is */

/*
 * Loads PATH and finds SYMBOL, the one function that it exports. 0; -ENOENT: it is not there (not built, or
 * not installed); -EPERM: somebody else could have written it, and it would run as we do; -ELIBACC: it
 * cannot be loaded, mostly for want of its library; -EPROTO: it has no SYMBOL.
 */
int module_open(const char *path, const char *symbol, void **ret_handle, module_fn **ret_fn,
		struct errmsg *err);
/* Nothing of it may be in use; it is unmapped, unless it was linked to stay. NULL: no-op. */
void module_close(void *handle);

/*
 * The path of the file NAME beside the shared object in which ADDRESS lies. -ENOENT: nobody knows where that
 * is; -ENAMETOOLONG.
 */
int module_path_beside(const void *address, const char *name, char *buf, size_t size);

/*
 * The shared object in which ADDRESS lies stays mapped until the process ends: for code that a thread
 * which had to be left behind goes on running. A program stays anyway.
 */
void module_pin(const void *address);

#endif
