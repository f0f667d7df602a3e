/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top.h - a frame: the values that `ceems top` shows at one time. A source fills it (top_source.h), and
 * top_draw.h makes the lines of the screen from it.
 */
#ifndef CEEMS_CMD_TOP_H
#define CEEMS_CMD_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOP_TEXT_MAX 64

/*
 * The values that are read anew for each frame, TOP_POWER and so on, in the units that
 * their names in JSON tell.
 */
enum top_value {
#define COLUMN(id, ...)
#define VALUE(id, ...) TOP_##id,
#include "src/cmd/top/top_column.def"
	TOP_N
};

/* A row is a job, with --node a step, or a node of one job. Texts may be empty, and are not masked. */
struct top_row {
	uint32_t job_id;
	char id[TOP_TEXT_MAX], name[TOP_TEXT_MAX], user[TOP_TEXT_MAX], account[TOP_TEXT_MAX];
	char partition[TOP_TEXT_MAX], nodes[TOP_TEXT_MAX];
	/* These are 0 if not known. */
	uint64_t nnodes, cpus, gpus, memory, elapsed_s;
	double value[TOP_N]; /* NAN: not known */
};

struct top_frame {
	struct top_row *row; /* owned */
	size_t n, room;
	uint64_t t;	      /* seconds since the epoch */
	char what[96];	      /* what the rows are, such as "jobs of user1" */
	const char *id_title; /* title of the column of ids; NULL: they are job ids */
	char source[96];      /* where the values come from, such as "sstat" */
	char note[160];	      /* what is missing and why; empty: nothing */
};
void top_frame_free(struct top_frame *f);

/* Adds an empty row, which belongs to F and may move when another is added. NULL: out of memory. */
struct top_row *top_frame_add(struct top_frame *f);

/*
 * Returns the sum of VALUE over all rows, or for a part of the power the share of the total power.
 * NAN: no row has the value.
 */
double top_frame_sum(const struct top_frame *f, enum top_value value);

/* Returns the frame as one JSON object, which the caller frees. NULL: out of memory. */
char *top_frame_json(const struct top_frame *f);

#endif
