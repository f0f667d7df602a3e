/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spank_remote.h - the plugin in slurmstepd. Writes the user's request to the step's slot in the node ledger,
 * where acct_gather_energy/ceems in the same process finds it and counts. If that plugin is not in use, this
 * plugin counts itself. No function lets a step fail.
 */
#ifndef CEEMS_SPANK_REMOTE_H
#define CEEMS_SPANK_REMOTE_H

#include <slurm/spank.h>

/* Reads the settings, and writes the request to the ledger. ARGV: plugstack.conf's arguments. */
void spank_remote_begin(spank_t sp, int argc, char **argv);

/*
 * To be called for each task that was forked and is stopped before its exec. After the last, counting begins.
 */
void spank_remote_task_forked(spank_t sp);

void spank_remote_task_exited(spank_t sp);

void spank_remote_end(void);

#endif
