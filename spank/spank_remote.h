/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spank_remote.h - the plugin in slurmstepd. Writes the user's request into the step's slot of the
 * node ledger. acct_gather_energy/ceems, in the same process, finds the request there and counts.
 * Where that plugin is not in use the counting is done from here. Nothing here ever fails a step.
 */
#ifndef CEEMS_SPANK_REMOTE_H
#define CEEMS_SPANK_REMOTE_H

#include <slurm/spank.h>

/* ARGV: plugstack.conf's arguments; conf=PATH names ceems.conf. */
void spank_remote_begin(spank_t sp, int argc, char **argv);

/* A child that is stopped before its exec. */
void spank_remote_task_forked(spank_t sp);

void spank_remote_task_exited(spank_t sp);

void spank_remote_end(void);

#endif
