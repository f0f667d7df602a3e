/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top.h - the values that `ceems top` shows at one instant. A source reads them (top_source.h), and top_draw.h makes lines
 * of them.
 */
#ifndef CEEMS_CMD_TOP_H
#define CEEMS_CMD_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOP_TEXT_MAX 64

enum top_value {
	TOP_POWER,    /* W */
	TOP_IDLE,     /* share of it that is idle power */
	TOP_CPU,      /* CPUs busy */
	TOP_MEMORY,   /* bytes */
	TOP_GPU,      /* GPUs busy */
	TOP_READ,     /* bytes per second, as the next three */
	TOP_WRITE,
	TOP_RECEIVED, /* TCP */
	TOP_SENT,
	TOP_ENERGY,   /* J so far */
	TOP_CO2E,     /* g so far */
	TOP_N
};

/*
 * A row: a job; with --node, a step; or a node of one job. Texts may be empty, and are as users
 * wrote them.
 */
struct top_row {
	uint32_t job_id;
	char id[TOP_TEXT_MAX], name[TOP_TEXT_MAX], user[TOP_TEXT_MAX], account[TOP_TEXT_MAX];
	char partition[TOP_TEXT_MAX], nodes[TOP_TEXT_MAX];
	/* 0: not known */
	uint64_t nnodes, cpus, gpus, memory, elapsed_s;
	double value[TOP_N]; /* NAN: not known */
};

struct top_frame {
	struct top_row *row; /* owned */
	size_t n, room;
	uint64_t t;	      /* seconds since the epoch */
	char what[96];	      /* "jobs of user1" */
	const char *id_title; /* title of the column of ids; NULL: job ids */
	char source[96];      /* "sstat" */
	char note[160];	      /* what fell short; empty: nothing */
};
void top_frame_free(struct top_frame *f);

/* Adds a row without values, owned by F; NULL: out of memory. */
struct top_row *top_frame_add(struct top_frame *f);

/* The sum of VALUE over the rows that have it; for TOP_IDLE, the share. NAN: no row has it. */
double top_frame_sum(const struct top_frame *f, enum top_value value);

/* One JSON object, malloc'ed; NULL: out of memory. */
char *top_frame_json(const struct top_frame *f);

#endif
