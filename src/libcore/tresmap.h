/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tresmap.h - reads usage in slurmdbd's form, "1=250,2=4096,1001=17": TRES by their number in that
 * database. The map says which number belongs to which metric.
 */
#ifndef CEEMS_TRESMAP_H
#define CEEMS_TRESMAP_H

#include "src/libcore/metric.h"
#include "src/libutil/must_check.h"

#define TRESMAP_CPU UINT32_C(1) /* slurmdb.h: TRES_CPU ...; the same in every database */
#define TRESMAP_MEM UINT32_C(2)
#define TRESMAP_ENERGY UINT32_C(3)

struct tresmap {
	uint32_t id[METRIC_N]; /* 0: this database has no such TRES */
};

/* Resets the map; it then knows energy only. */
void tresmap_init(struct tresmap *map);

/* Learns one row of the database's TRES table. NAME may be NULL. TRES of others are ignored. */
void tresmap_learn(struct tresmap *map, uint32_t id, const char *type, const char *name);

/*
 * Reads the metric values of a step's usage into VALUES. SIDE_IN is sacct's TRESUsageIn. A FOLD_MAX
 * metric is the largest value of any node, from MAX; any other metric is Slurm's sum over nodes,
 * from TOT. MAX and TOT may be NULL. A metric that is missing there, or has one of Slurm's values
 * for unknown (NO_VAL64 and others), stays as it is.
 */
void tresmap_read(const struct tresmap *map, const char *tot, const char *max, enum metric_side side,
		  struct values *values);

/*
 * tresmap_read() for usage as sacct and sstat print it with --noconvert, by name:
 * "cpu=00:00:10,energy=5,mem=4096". METRIC_CPU_TIME is our TRES, or else Slurm's cpu.
 */
void tresmap_read_named(const char *tot, const char *max, enum metric_side side, struct values *values);

/*
 * Finds the value of NAME in such a text (may be NULL); for "cpu" in nanoseconds. -ENODATA: not
 * there, or unknown.
 */
int tresmap_named_value(const char *usage, const char *name, uint64_t *ret) _must_check_;

/* Finds the value of TRES number ID in USAGE (may be NULL). -ENODATA: not there, or unknown. */
int tresmap_value(const char *usage, uint32_t id, uint64_t *ret) _must_check_;

/* Returns the CPUs in an allocation such as "1=4,2=100M" (may be NULL); 0: unknown. */
uint32_t tresmap_cpus(const char *tres);

/*
 * Returns the largest value of M on any node of a step on NNODES nodes, and the rank of that node.
 * M is METRIC_CPU_TIME, METRIC_ENERGY or METRIC_MEMORY_PEAK. MAX and MAX_NODEID are sacct's
 * TRESUsageInMax and TRESUsageInMaxNode; either may be NULL. Our TRES are written once per node, so
 * Slurm's maximum over tasks is the maximum over nodes. -ENODATA: the step has one node, MAX lacks
 * the metric, or not all nodes know the value.
 */
int tresmap_max(const struct tresmap *map, enum metric m, const char *max, const char *max_nodeid,
		const struct values *values, uint32_t nnodes, uint64_t *ret_max,
		uint32_t *ret_nodeid) _must_check_;

#endif
