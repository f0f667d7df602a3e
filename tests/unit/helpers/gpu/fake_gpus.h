/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_gpus.h - GPUs of a stand-in library, and a source that reads them. A test writes the lines of
 * its file (tests/fake/fake_gpu.h) and reads until they have been seen: the source reads through a
 * helper process.
 */
#ifndef CEEMS_FAKE_GPUS_H
#define CEEMS_FAKE_GPUS_H

#include <errno.h>
#include <time.h>

#include "scratch.h"
#include "src/libmeter/sensor/source.h"
#include "src/libutil/clock.h"
#include "tap.h"

#define FAKE_DEADLINE_NS (60 * NSEC_PER_SEC)

struct fake_node {
	char dir[sizeof(SCRATCH_TEMPLATE)];
	char file[64];
	const struct source_ops *ops;
	struct source_env env;
	struct source *source;
	struct source_state state;
	struct errmsg err;
	struct reading r;      /* the last one */
	uint64_t uj[GPUS_MAX]; /* of all readings */
	uint64_t rejected;
	uint64_t wraps;
};

static inline void fake_node_init(struct fake_node *n, const struct source_ops *ops)
{
	memset(n, 0, sizeof(*n));
	strcpy(n->dir, SCRATCH_TEMPLATE);
	if (!mkdtemp(n->dir))
		exit(99);
	(void)snprintf(n->file, sizeof(n->file), "%s/gpus", n->dir);
	(void)setenv("CEEMS_FAKE_GPUS", n->file, 1);
	n->ops = ops;
	n->env.sys_root = n->dir;
	n->env.helper_dir = HELPER_DIR;
}

static inline int fake_node_open(struct fake_node *n)
{
	n->err.text[0] = '\0';
	return n->ops->open(&n->env, &n->source, &n->err);
}

static inline void fake_node_close(struct fake_node *n)
{
	n->ops->close(n->source);
	n->source = NULL;
}

static inline void fake_node_fini(struct fake_node *n)
{
	fake_node_close(n);
	scratch_clear(n->dir);
	(void)rmdir(n->dir);
}

/* In one rename, so that the library never sees a part. */
static inline void fake_node_write(struct fake_node *n, const char *lines)
{
	if (fileio_write_atomic(n->file, lines, strlen(lines), 0600, NULL) < 0)
		exit(99);
}

static inline void fake_node_add(struct fake_node *n)
{
	uint32_t i;

	n->rejected += n->r.rejected;
	n->wraps += n->r.wraps;
	for (i = 0; i < n->r.nparts; i++)
		n->uj[n->r.part[i].unit] += n->r.part[i].energy_uj;
}

/*
 * Reads until all GPUs but those in the bits of BUT show what was in the file when this was called.
 * The last read's result, -ETIME if they never do.
 */
static inline int fake_node_read_but(struct fake_node *n, uint64_t but)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	uint64_t start_ns = clock_mono_ns();
	bool is_seen;
	uint32_t i;
	int rc;

	do {
		rc = n->ops->read(n->source, NSEC_PER_SEC, 0, &n->state, &n->r);
		if (rc == 0)
			fake_node_add(n);
		is_seen = rc == 0 && n->r.nparts;
		for (i = 0; is_seen && i < n->r.nparts; i++)
			if (!(but >> n->r.part[i].unit & 1) && n->r.part[i].until_ns < start_ns)
				is_seen = false;
		if (is_seen)
			return 0;
		(void)nanosleep(&pause, NULL);
	} while (clock_mono_ns() - start_ns < FAKE_DEADLINE_NS);
	return rc < 0 ? rc : -ETIME;
}

static inline int fake_node_read(struct fake_node *n)
{
	return fake_node_read_but(n, 0);
}

/* 100 W over SPAN_NS are 1 uJ in 10 ns, and what was left of one before. */
static inline bool fake_is_100_w(uint64_t uj, uint64_t span_ns)
{
	return uj == span_ns / 10 || uj == span_ns / 10 + 1;
}

#endif
