/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source.h - one interface for everything that yields energy. A source is opened once, read at
 * every tick, closed once. The sampler asks each source for what was used since the reading
 * before; wraps, resets and implausible jumps are the source's business and never leave it.
 */
#ifndef CEEMS_SOURCE_H
#define CEEMS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libmeter/domain.h"
#include "src/libutil/errmsg.h"

/*
 * Raw counters survive slurmd in the node ledger, so that the sampler goes on after a restart
 * where it stopped. NAME identifies the counter ("intel-rapl:0:1"), RAW is its last value.
 */
#define SOURCE_MAX_COUNTERS 64
struct source_counter {
	char name[48];
	uint64_t raw;
};
struct source_state {
	uint32_t ncounters;
	uint32_t pad;
	struct source_counter counter[SOURCE_MAX_COUNTERS];
};

/* For sources: the raw value kept as NAME, or NULL. Valid until the next put or drop. */
uint64_t *source_state_find(struct source_state *state, const char *name);
/* Sets or adds it; -ENOSPC: no room, -ENAMETOOLONG. */
int source_state_put(struct source_state *state, const char *name, uint64_t raw);
void source_state_drop(struct source_state *state, const char *name);

struct reading {
	uint64_t energy_uj[DOMAIN_N]; /* used since the reading before, or since the saved state */
	bool has[DOMAIN_N];	      /* false: this source does not know the domain */
	uint32_t rejected;	      /* counters whose step was implausible or unreadable */
	uint32_t wraps;
};

/* What a source may look at besides its own files. */
struct source_env {
	const char *sys_root;	   /* prefix of /sys and /proc */
	uint64_t model_idle_mw;	   /* 0: by CPU model */
	uint64_t model_max_mw;
};

struct source; /* opaque, one per open source */

struct source_ops {
	enum source_id id;
	const char *name;   /* "rapl", as in EnergySources */
	bool is_estimate;   /* always said beside the number */
	/*
	 * 0; -ENODEV: nothing of that kind here (info, not an error); else -errno. ERR says
	 * which file and why in either case.
	 */
	int (*open)(const struct source_env *env, struct source **ret, struct errmsg *err);
	/*
	 * Reads all counters. STATE is in and out: empty at first (the reading then only sets
	 * the base and yields 0), later what the last call left, perhaps in another process.
	 * DT_NS is the time since then; BUSY_PPM the node's CPU use in it. No allocation, no
	 * open(2). A failed counter keeps its old base and is counted in `rejected`; its energy
	 * comes with the next good reading. -EIO when no counter could be read.
	 */
	int (*read)(struct source *s, uint64_t dt_ns, uint32_t busy_ppm,
		    struct source_state *state, struct reading *ret);
	/*
	 * Optional, NULL: this source cannot know. Its idle power by domain, for sources that
	 * know it without watching the node idle (the model). Domains it does not have: 0.
	 */
	void (*idle_mw)(const struct source *s, uint64_t ret_mw[DOMAIN_N]);
	/* One line: "2 packages, 2 dram, 262143.3 J range"; an estimate says that it is one. */
	void (*describe)(const struct source *s, char *buf, size_t size);
	void (*close)(struct source *s);
};

extern const struct source_ops source_rapl;
extern const struct source_ops source_model;

/* In the order that `auto` tries: the first one that opens is used. */
extern const struct source_ops *const source_all[SOURCE_N];

#endif
