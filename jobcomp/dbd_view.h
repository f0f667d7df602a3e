/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dbd_view.h - when what slurmdbd shows of a job is its last word on it. It has one row per job and
 * submit time, and that is what sacct shows for ever; but it is told late when it was down, and of a job
 * that a killed slurmctld forgot, and ran or ended once more, it is told twice.
 */
#ifndef CEEMS_DBD_VIEW_H
#define CEEMS_DBD_VIEW_H

#include <stdbool.h>
#include <stdint.h>

struct dbd_view {
	uint64_t told_end;  /* as the hook was told; 0: unknown */
	bool all_told;	    /* slurmctld has done with the job, and slurmdbd has all of it (dbd_told.h) */
	bool is_saved;	    /* what it is still to be told waits on disk (dbd_saved.h) */
	uint64_t end;	    /* of the row; 0: it has none */
	bool lacks_start;   /* it was told the end only, and has no more than that of the job */
	bool has_open_step;
	bool lacks_usage;   /* of a step */
	bool has_older_step; /* than the job's start: of a run before, under the same row */
};

enum dbd_word {
	DBD_NOT_YET, /* the job or a step is to end there */
	DBD_UNSURE,  /* it has ended there, but more may come, or its steps be of before */
	DBD_LAST,
};

enum dbd_word dbd_view_word(const struct dbd_view *v);

/* DBD_UNSURE, or it would be if not all was told. */
bool dbd_view_is_doubtful(const struct dbd_view *v);

#endif
