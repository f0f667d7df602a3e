/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * module.h - loads a part that is a shared object of its own, because it has code or libraries that
 * most processes should not map.
 */
#ifndef CEEMS_MODULE_H
#define CEEMS_MODULE_H

#include <stddef.h>

#include "src/libutil/errmsg.h"

typedef void module_fn(void); /* to be cast to the function's real type */

/*
 * Loads the shared object PATH and finds SYMBOL, the one function it exports. On 0, close
 * *ret_handle with module_close(). -ENOENT: the file is not built or not installed. -EPERM:
 * somebody else could have written the file. -ELIBACC: it cannot be loaded, mostly because a
 * library is missing. -EPROTO: it has no SYMBOL.
 */
int module_open(const char *path, const char *symbol, void **ret_handle, module_fn **ret_fn,
		struct errmsg *err) _must_check_;
/* Unloads the module; no code or data of it may be in use. NULL: no-op. */
void module_close(void *handle);

/*
 * Writes the path of file NAME, in the folder of the shared object that contains ADDRESS, to BUF.
 * -ENOENT: that folder is not known. -ENAMETOOLONG: the path does not fit.
 */
int module_path_beside(const void *address, const char *name, char *buf, size_t size) _must_check_;

/*
 * Keeps the shared object that contains ADDRESS mapped until the process ends; for a thread that
 * could not be joined and still runs its code. No effect if ADDRESS is in the main program.
 */
void module_pin(const void *address);

#endif
