/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * intake.h - the one thread of the plugin: takes what the hook queued and appends it to the inbox. While the disk
 * takes nothing, entries wait in the queue. Of an entry that the queue has no room for it keeps the key.
 */
#ifndef CEEMS_JOBCOMP_INTAKE_H
#define CEEMS_JOBCOMP_INTAKE_H

#include "jobcomp/hook_time.h"
#include "src/libstore/feed.h"
#include "src/libstore/job_facts.h"

struct intake;

/*
 * DIR is InboxDir; a missing one is made. Trouble with it is the thread's, which tries again. HOOK is borrowed, also by
 * a thread that is left behind.
 */
int intake_start(const char *dir, const struct job_site *site, const struct hook_time *hook, struct intake **ret,
		 struct errmsg *err);
/*
 * Writes what is queued and ends the thread. False: the disk hangs; the thread, and what it uses, are left behind.
 */
bool intake_stop(struct intake *in);

/* For the hook: the queue. */
struct feed *intake_feed(struct intake *in);

#endif
