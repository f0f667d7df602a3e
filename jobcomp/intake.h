/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * intake.h - the thread that puts what the hook queued on disk, and does nothing else: until then
 * a job's end is in memory only, and slurmctld may be killed or (from 23.11 on, at `scontrol
 * reconfigure`) replaced without a word at any time. So no query or network delays it. While the
 * spool takes none they go to the refuge; only when that takes none either do they wait in memory.
 */
#ifndef CEEMS_INTAKE_H
#define CEEMS_INTAKE_H

#include "jobcomp/refuge.h"
#include "jobcomp/store.h"
#include "src/libsink/feed.h"

struct intake {
	struct feed *feed;   /* borrowed, as all below */
	struct store *store;
	const char *cluster;
	const char *spool_dir;
	const char *state_dir; /* StateSaveLocation; NULL: no refuge */
	/* Called once, under the store's lock, when the spool could be opened. */
	void (*on_open)(void *arg);
	void *arg;
	/* its own */
	struct refuge refuge;
	bool to_refuge; /* what is written now goes there */
};

/* Runs until the store is stopped and the feed is empty, or cannot be emptied. */
void intake_run(struct intake *in);

#endif
