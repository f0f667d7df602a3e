/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * intake.h - the thread of the plugin: moves job ends from the hook's queue to the inbox. If the disk fails
 * or hangs, job ends wait in the queue. If the queue is full, it keeps only the key of a job, and the
 * recorder reads the job from slurmdbd.
 */
#ifndef CEEMS_JOBCOMP_INTAKE_H
#define CEEMS_JOBCOMP_INTAKE_H

#include "jobcomp/hook_time.h"
#include "src/libstore/feed.h"
#include "src/libstore/job_facts.h"
#include "src/libutil/must_check.h"

struct intake;

/*
 * Starts the thread. DIR is InboxDir; the thread makes it if it is missing, and logs and repeats what fails
 * there. HOOK is borrowed until intake_stop(), and for ever if that returns false. -ENOMEM, or no thread
 * could be started.
 */
int intake_start(const char *dir, const struct cluster_facts *site, const struct hook_time *hook,
		 struct intake **ret, struct errmsg *err) _must_check_;
/*
 * Writes what is queued, ends the thread and frees IN. False: the disk hangs, and the
 * thread goes on and keeps IN.
 */
bool intake_stop(struct intake *in);

/* Returns the queue, into which the hook puts job ends. It belongs to IN. */
struct feed *intake_feed(struct intake *in);

#endif
