/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probes_mon.h - loads the programs of probes.h into the kernel and pins them, as far as this
 * kernel supports them. This module needs libbpf. src/libmeter/activity/probes.h has the functions that do
 * not (attaching, registering, reading, unpinning).
 */
#ifndef CEEMS_PROBES_MON_H
#define CEEMS_PROBES_MON_H

#include "src/libutil/errmsg.h"

/* -EOPNOTSUPP unless DIR or the folder it will be made in is on a bpf file system. */
int probes_mon_check_dir(const char *dir, struct errmsg *err);

/*
 * Loads the tasks group, and the other groups that this kernel supports, and pins them below DIR in
 * one rename. Attaches nothing. The caller holds probes_lock(). -EOPNOTSUPP: this kernel, or the
 * rights we have, do not allow even the tasks group.
 */
int probes_mon_load(const char *dir, struct errmsg *err);

#endif
