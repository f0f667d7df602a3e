/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_sink.h - what the benchmarks of the sinks share: records of three sizes, a store full of
 * them, and the time it takes to empty it into a sink.
 */
#ifndef CEEMS_BENCH_SINK_H
#define CEEMS_BENCH_SINK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench_size.h"
#include "src/libcore/settings.h"
#include "src/librecord/record.h"
#include "src/libsink/sink.h"
#include "src/libutil/errmsg.h"

enum shape {
	SHAPE_BARE,  /* no steps: the job's own values */
	SHAPE_USUAL, /* three steps, with what every job has */
	SHAPE_FULL,  /* three steps with every value known */
	SHAPE_N
};
extern const char *const shape_name[SHAPE_N];

/* A scratch folder in CEEMS_BENCH_DIR (default /var/tmp: on a disk), emptied by bench_end(). */
struct bench {
	char dir[PATH_MAX - 64];
	char store[PATH_MAX];
	uint64_t bytes; /* of the records that bench_fill() put there */
	struct settings settings;
	struct errmsg err;
};
int bench_begin(struct bench *b);
void bench_end(struct bench *b);

struct bench_record {
	char key[RECORD_KEY_MAX];
	char *json;
	size_t len;
};

/* N records of SHAPE, all of other jobs. */
int bench_make(struct bench *b, enum shape shape, uint64_t n, struct bench_record **ret);
void bench_unmake(struct bench_record *made, uint64_t n);

/* One line of the table. */
void row(const char *what, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What moving N records of BYTES in all took. */
struct bench_cost {
	uint64_t n, bytes;
	uint64_t ns;	 /* wall clock */
	uint64_t cpu_ns; /* of this process, all threads */
	uint64_t rss_kb; /* largest growth of the resident memory meanwhile */
	uint64_t refused, retries;
};

/* "N records/s, N MB/s, N us of CPU each" into TEXT. */
const char *cost_text(const struct bench_cost *c, char *text, size_t size);

/*
 * A fresh store with N records of SHAPE, BATCH in a transaction; only DISTINCT of them differ, since
 * making one takes longer than moving it. *RET, if not NULL: what appending took.
 */
int bench_fill(struct bench *b, enum shape shape, uint64_t n, uint64_t distinct, unsigned int batch,
	       struct bench_cost *ret);

/* Empties it into the sink; the first batch, which connects, is not measured. */
int bench_drain(struct bench *b, const struct sink_ops *ops, struct bench_cost *ret);

/* Those of getrusage(), and /proc/self/statm. */
uint64_t bench_cpu_ns(void);
uint64_t bench_rss_kb(void);

#endif
