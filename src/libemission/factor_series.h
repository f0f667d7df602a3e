/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * factor_series.h - carbon intensity of electricity over time, as `ceems factors update` writes it and
 * slurmd, slurmctld and the commands read it: one text file, one point per line,
 *
 *	from,until,gco2e_per_kwh,kind,scope,region,fetched,source
 *	2026-11-22T10:00:00Z,2026-11-22T10:15:00Z,32.5,average,direct,FR,2026-11-22T10:20:04Z,RTE eCO2mix
 *
 * Times are UTC, a point holds from `from` up to, not including, `until`. The first line is the one
 * above. A line that begins with '#' is a comment. The source is the rest of its line. Case does
 * not tell regions apart. Points of one region and kind never overlap. Average and marginal factors
 * answer different questions and never mix: only averages go into location-based emissions (GHG
 * Protocol, Scope 2 Guidance, 6.1).
 */
#ifndef CEEMS_FACTOR_SERIES_H
#define CEEMS_FACTOR_SERIES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "src/libemission/emission.h"
#include "src/libutil/errmsg.h"

#define FACTOR_SERIES_HEAD "from,until,gco2e_per_kwh,kind,scope,region,fetched,source"
/* Two weeks of 5-minute points of ten regions are half of it. */
#define FACTOR_SERIES_MAX_BYTES (8 * 1024 * 1024)

/* Seconds since the epoch, UTC. */
struct factor_point {
	uint64_t from_s, until_s;
	uint64_t fetched_s;
	/* kind is EMISSION_AVERAGE or EMISSION_MARGINAL, year 0 */
	struct emission_factor factor;
};

/* Sorted by region, kind, from_s. Zeroed memory is an empty one. */
struct factor_series {
	struct factor_point *point; /* owned */
	size_t n;
};

void factor_series_fini(struct factor_series *s);

/*
 * Parses TEXT[len]; NAME is the file's name for messages. -EINVAL names file, line and mistake: not
 * UTC, backwards, above any grid, overlapping points, or a kind that a series does not have.
 */
int factor_series_parse(const char *name, const char *text, size_t len,
			struct factor_series *ret, struct errmsg *err);
/* -ENOENT: no such file. Blocks for as long as the file system does: not for slurmd's threads. */
int factor_series_read(const char *path, struct factor_series *ret, struct errmsg *err);
/* Readers see the old file or the new one (0644), also after a power cut. */
int factor_series_write(const char *path, const struct factor_series *s, struct errmsg *err);

/*
 * Adds P. The point replaces what it overlaps of its region and kind, so that later corrections of
 * a provider count; overlapped points are cut or dropped. -EINVAL: it ends before it begins.
 */
int factor_series_add(struct factor_series *s, const struct factor_point *p,
		      struct errmsg *err);
/* Drops what ended before T_S. */
void factor_series_expire(struct factor_series *s, uint64_t t_s);

/* The last point of REGION and KIND that begins at T_S or before, whether or not it has ended. NULL: none. */
const struct factor_point *factor_series_at(const struct factor_series *s, const char *region,
					    enum emission_kind kind, uint64_t t_s);
/* The first one that begins after T_S. NULL: none. */
const struct factor_point *factor_series_after(const struct factor_series *s, const char *region,
					       enum emission_kind kind, uint64_t t_s);

/* P as a line of the file. */
void factor_point_print(FILE *out, const struct factor_point *p);
/* What is wrong with P, for people; NULL: nothing. */
const char *factor_point_flaw(const struct factor_point *p);
/* The order of a series. */
int factor_point_compare(const struct factor_point *a, const struct factor_point *b);

#endif
