/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source_module.h - a source that is a shared object of its own, because it needs a library that
 * only slurmd and `ceems check` shall map.
 */
#ifndef CEEMS_SOURCE_MODULE_H
#define CEEMS_SOURCE_MODULE_H

#include "src/libmeter/sensor/source.h"
#include "src/libutil/errmsg.h"

struct source_module;

/*
 * DIR/ceems_source_<name>.so of source ID. 0; -ENOENT: it is not there (not built, or in another
 * folder); -EPERM: somebody else could have written it, and it would be run as root; -ELIBACC: it
 * cannot be loaded, mostly for want of its library; -EPROTO: it is not a module of that source for
 * this plugin.
 */
int source_module_load(const char *dir, enum source_id id, struct source_module **ret,
		       struct errmsg *err);
/* After the source that its operations opened is closed: they are unmapped. NULL: no-op. */
void source_module_unload(struct source_module *m);

/* Lives until it is unloaded. */
const struct source_ops *source_module_ops(const struct source_module *m);

#endif
