/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * oldhelpers.h - reaps the helpers that slurmd started before it executed itself anew. `slurmd -D` of Slurm
 * 23.11 and later does so at a reconfigure, without unloading its plugins. The helpers then end, because
 * their stdin is closed. But slurmd keeps its pid, so they are still its children. Nobody would wait for
 * them, and each would be a zombie until slurmd ends. A slurmd in the background gets another pid, and init
 * reaps its old helpers.
 */
#ifndef CEEMS_OLDHELPERS_H
#define CEEMS_OLDHELPERS_H

#include <stddef.h>
#include <sys/types.h>

struct oldhelpers {
	pid_t *pid; /* children that have not been reaped yet */
	size_t n;
};

/*
 * Finds the children of this process that have the name of a program in HELPER_DIR, and reaps those that have
 * ended. Call it before the process starts helpers. *O is empty at first, and stays so on a kernel without
 * /proc/PID/task/TID/children.
 */
void oldhelpers_find(struct oldhelpers *o, const char *helper_dir);
/* Reaps those that have ended since. Never waits. */
void oldhelpers_reap(struct oldhelpers *o);
void oldhelpers_fini(struct oldhelpers *o);

#endif
