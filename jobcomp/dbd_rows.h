/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dbd_rows.h - the jobs that wait for slurmdbd's rows: their steps, their script, and what slurmctld forgot.
 * slurmctld's own messages with them are on their way when a job is over, and nothing tells when they are
 * there, so slurmdbd is asked again until the rows say that they are complete, or slurmctld that
 * nothing more comes (dbd_told.h), or time is up. What it has then is what the record gets.
 */
#ifndef CEEMS_DBD_ROWS_H
#define CEEMS_DBD_ROWS_H

#include "jobcomp/dbd_pace.h"
#include "jobcomp/finish.h"
#include "jobcomp/waitlist.h"
#include "src/libcore/settings.h"

struct dbd_rows {
	struct waitlist *waiting; /* borrowed, as all in this block; its WAIT_STEPS */
	const struct settings *settings;
	const struct finish *finish;
	struct dbd_pace *pace;
	uint64_t opened_wall_ns;
	uint64_t told_ns; /* DBD_TOLD_NS; a test has less time */
};

/*
 * W's end is known: it waits for its rows, or, where it needs none, to be written. LATE: it did not end in
 * time, and its rows are not complete either, so they are not waited for any longer than that.
 */
void dbd_rows_enter(const struct dbd_rows *d, struct waiting *w, uint64_t now, bool late);

/*
 * Asks for those that are due, as far as the pace allows; who has all that it can get waits to be written.
 * With one question at most, so that ends are looked at in between, and not with a lock of ours held, as
 * slurmctld is asked, too (finality.h).
 */
void dbd_rows_ask(const struct dbd_rows *d, uint64_t now);

/* When that has something to do; UINT64_MAX: nobody waits. */
uint64_t dbd_rows_next(const struct dbd_rows *d);

#endif
