/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_reader.h - a thread that reads a source, so that the screen answers keys while slurmctld or sstat is slow.
 */
#ifndef CEEMS_CMD_TOP_READER_H
#define CEEMS_CMD_TOP_READER_H

#include "src/cmd/top_source.h"

struct top_reader;

/* Borrows SOURCE, which only the thread uses from now on. Reads at once, then every INTERVAL_NS. -errno */
int top_reader_start(struct top_source *source, uint64_t interval_ns, struct top_reader **ret);

/* Waits for the thread to end, at most WAIT_NS. False: the thread is still asking, and SOURCE stays in its use. */
bool top_reader_stop(struct top_reader *r, uint64_t wait_ns);

/* Reads now: all rows, or the nodes of a job. */
void top_reader_ask(struct top_reader *r, uint32_t job_id);

/* Moves the newest frame to F, whose old rows are freed, or the newest error to ERR. False: there is nothing new. */
bool top_reader_take(struct top_reader *r, struct top_frame *f, struct errmsg *err);

#endif
