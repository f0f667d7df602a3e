/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * worker.h - the plugin's threads: intake (queue -> disk), finaliser (PENDING -> RECORD) and one per
 * sink. They block all signals, share the spool by store.h, and are joined with a deadline.
 *
 * More than one, because each may have to wait for somebody else (disk, slurmctld's lock and
 * slurmdbd, a network), and none of them for the others'.
 */
#ifndef CEEMS_WORKER_H
#define CEEMS_WORKER_H

#include <stdbool.h>
#include <time.h>

#include "src/libcore/settings.h"
#include "src/libsink/feed.h"

struct worker;
struct steps;

struct worker_setup {
	const struct settings *settings; /* copied */
	const char *cluster;		 /* copied */
	const char *state_dir;		 /* copied; StateSaveLocation */
	struct steps *steps;		 /* taken over; NULL: records have no steps */
	time_t *steps_stop;		 /* what STEPS was created with */
	bool unmeasured;		 /* AcctGatherEnergyType=none */
};

/* Starts the intake, which starts the others when the spool can be opened. */
int worker_start(const struct worker_setup *setup, struct worker **ret, struct errmsg *err);

/* For the hook. Valid until worker_stop(). */
struct feed *worker_feed(struct worker *w);

/*
 * Everything that the hook has queued is on disk when it returns, if the disk takes it. False: a
 * thread did not end in time (a file system or slurmdbd hangs); the last one that does closes the
 * spool, for a backup controller, say. The caller must see to it that the code stays mapped.
 */
bool worker_stop(struct worker *w);

#endif
