/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_reader.h - reads a source in a thread, so that the screen reacts to keys while slurmctld or sstat is
 * slow.
 */
#ifndef CEEMS_CMD_TOP_READER_H
#define CEEMS_CMD_TOP_READER_H

#include "src/cmd/top/top_source.h"
#include "src/libutil/must_check.h"

struct top_reader;

/*
 * Starts a thread that reads SOURCE at once and then every INTERVAL_NS. Only the
 * thread may use SOURCE. -errno
 */
int top_reader_start(struct top_source *source, uint64_t interval_ns, struct top_reader **ret) _must_check_;

/*
 * Ends the thread, waiting at most WAIT_NS. False: it still waits for an answer, and
 * goes on using R and SOURCE.
 */
bool top_reader_stop(struct top_reader *r, uint64_t wait_ns);

/* Lets the thread read now and from now on: the nodes of job JOB_ID, or all rows if JOB_ID is 0. */
void top_reader_ask(struct top_reader *r, uint32_t job_id);

/*
 * Moves the newest frame to F, whose old rows are freed, or the newest error to ERR.
 * False: there is nothing new.
 */
bool top_reader_take(struct top_reader *r, struct top_frame *f, struct errmsg *err);

#endif
