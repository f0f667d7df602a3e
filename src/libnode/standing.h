/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * standing.h - compares each part of the node with what must be: a part whose sensor is lost, silent or
 * stands still is in doubt (doubt.h). This is the only place that decides it.
 *
 * A counter stands still if it showed no energy for STANDING_NS, or STANDING_PACES times the longest pause
 * that it made before, and meanwhile the part must have used some:
 *
 *	CPU, DRAM	CPUs of its socket worked for STANDING_BUSY_NS, or a sibling used STANDING_UJ. Package
 *			C-states and self-refresh draw watts, so an idle part that is healthy moves.
 *	GPU		it drew STANDING_GPU_MW or was busy for that time. A GPU that sleeps does not.
 *	whole node	its parts used STANDING_UJ, or CPUs worked
 *	BMC, site's meter	the parts, or STANDING_NODE_MW, used STANDING_SLOW_UJ and two of the
 *			counter's steps: such counters may count in kWh
 *
 * A step may end before that. If a counter moved several times, and now shows nothing for STANDING_END_NS
 * or STANDING_END_PACES of its pauses although it must, or cannot be read for so long, then a step that
 * ends lacks what it used since. So the part is in doubt for steps that end, but not for those that go on.
 *
 * A power reading stands still if it did not change although the node was nearly idle for
 * STANDING_SWING_NS, and busy for as long. A part in doubt stays in doubt until its sensor moves, over
 * restarts of slurmd, too. A source may say itself that it cannot tell all (struct part).
 */
#ifndef CEEMS_STANDING_H
#define CEEMS_STANDING_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libcore/doubt.h"
#include "src/libmeter/sensor/source.h"
#include "src/libutil/logger.h"

#define STANDING_NS UINT64_C(10000000000)
#define STANDING_PACES 3
#define STANDING_PACE_MAX_NS UINT64_C(60000000000)
#define STANDING_TICKS 3
#define STANDING_END_NS UINT64_C(1000000000)
#define STANDING_END_GPU_NS UINT64_C(3000000000) /* only at times is it known whether a GPU works */
#define STANDING_END_PACES 5
#define STANDING_END_MOVES 3 /* until then a counter's pauses are not known */
#define STANDING_BUSY_NS UINT64_C(1000000000)
#define STANDING_BUSY_SHARE 20 /* less than this part of one CPU is noise */
/* At most a watt for the longest STANDING_NS: any part that is switched on draws more. */
#define STANDING_UJ UINT64_C(20000000)
/* What a GPU draws that is awake; one in runtime sleep draws less, or shows what it drew before. */
#define STANDING_GPU_MW UINT64_C(30000)
#define STANDING_GPU_BUSY_PPM UINT64_C(50000)
#define STANDING_NODE_MW UINT64_C(30000)
#define STANDING_SLOW_NS UINT64_C(60000000000)
#define STANDING_SLOW_UJ UINT64_C(400000000000) /* 0.1 kWh */
#define STANDING_SWING_NS UINT64_C(60000000000)
#define STANDING_IDLE_PPM UINT64_C(200000)
#define STANDING_LOAD_PPM UINT64_C(700000)
/* A part is lost if it could not be read for so long. */
#define STANDING_LOST_NS UINT64_C(15000000000)

/* What is remembered of a part. */
struct standing_part {
	uint8_t domain, unit, source;
	uint8_t scope; /* enum part_scope */
	bool is_seen;  /* in this tick */
	bool has_counted;
	uint8_t moves;	   /* that were seen, at most STANDING_END_MOVES */
	uint8_t doubt;	   /* enum doubt */
	uint8_t end_doubt; /* the same for steps that end now; they lack what was used for end_ns */
	uint64_t end_ns;
	uint32_t ticks;	    /* since it moved, in which something spoke against it */
	uint64_t still_ns;  /* since it moved, while it could be read; of a GPU, while it worked */
	uint64_t pace_ns;   /* the longest still_ns after which it moved */
	uint64_t bad_ns;    /* since it could be read */
	uint64_t busy_ns;   /* since it moved: the time that its CPUs worked, .. */
	uint64_t others_uj; /* .. and the energy of its siblings or, of the whole node, of all parts */
	uint64_t told_ns;   /* the time of the last reading of the GPU's power */
	uint64_t shown;	    /* of a power sensor, with the time since then that the node was idle or busy */
	uint64_t idle_ns, load_ns;
	struct logger_trouble trouble;
};

/* Zeroed: no part is known. */
struct standing {
	uint32_t n;
	struct standing_part part[PARTS_MAX];
};

struct standing_tick {
	uint64_t now_ns, dt_ns;
	uint64_t busy_ns; /* CPU time of all processes in the tick, and that of each socket */
	const uint64_t *socket_ns;
	const uint32_t *socket_cpus; /* 0: the socket has no CPUs, see part.h */
	uint32_t cpus;
	const struct gpu_reading *gpu;
	size_t ngpus;
	const uint64_t *lag_ns; /* by enum source_id: the age that its values may have */
	/* What the sources in use show. A part of an earlier tick that is not here could not be read. */
	const struct part *part;
	size_t nparts;
};

/* Takes over what an earlier slurmd knew of a part, unless the part is known. */
void standing_restore(struct standing *s, const struct part *part, bool has_counted, enum doubt doubt);
/* Forgets the parts of a source that is not in use any more. */
void standing_forget(struct standing *s, enum source_id source);

void standing_assess(struct standing *s, const struct standing_tick *t);

/* Returns what is in doubt of a part. */
enum doubt standing_doubt(const struct standing *s, enum domain d, unsigned int unit, enum source_id source,
			  enum part_scope scope);
/* Sets doubt, end_doubt and end_lack_ns of PART, by its sensor and by that of the whole node. */
void standing_mark(const struct standing *s, struct part *part);

#endif
