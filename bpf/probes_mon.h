/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probes_mon.h - loads the programs that this kernel supports, and pins them. This needs libbpf.
 * Functions that do not (attaching, registering, reading, unpinning) are in
 * src/libmeter/activity/probes.h.
 */
#ifndef CEEMS_PROBES_MON_H
#define CEEMS_PROBES_MON_H

#include "src/libutil/errmsg.h"

/*
 * Returns -EOPNOTSUPP unless DIR, or the folder in which it will be made, is on a bpf file system.
 */
int probes_mon_check_dir(const char *dir, struct errmsg *err);

/*
 * Loads the group tasks, and the other groups if this kernel supports them. Pins all below DIR in
 * one rename. Attaches nothing. The caller holds probes_lock(). -EOPNOTSUPP: this kernel, or our
 * rights, do not allow even the group tasks.
 */
int probes_mon_load(const char *dir, struct errmsg *err);

#endif
