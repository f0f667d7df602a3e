/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * harvest_mon.h - puts the harvest programs into the kernel and pins them. Needs libbpf; what
 * can be done without it (reading, registering, unpinning) is in src/libmeter/harvest.h.
 */
#ifndef CEEMS_HARVEST_MON_H
#define CEEMS_HARVEST_MON_H

#include "src/libutil/errmsg.h"

/* -EOPNOTSUPP unless DIR or the folder it will be made in is on a bpf file system. */
int harvest_mon_check_dir(const char *dir, struct errmsg *err);

/*
 * Loads, attaches and pins all of harvest.h below DIR, in one rename. The caller holds
 * harvest_lock(). -EOPNOTSUPP: this kernel, or the rights we have, do not allow it.
 */
int harvest_mon_load(const char *dir, struct errmsg *err);

#endif
