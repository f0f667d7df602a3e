/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * factor_series.h - emission factors over time, in one text file. `ceems factors update` writes it;
 * slurmd, slurmctld and the commands read it. It has one point per line:
 *
 *	from,until,gco2e_per_kwh,kind,scope,region,fetched,source
 *	2026-11-22T10:00:00Z,2026-11-22T10:15:00Z,32.5,average,direct,FR,2026-11-22T10:20:04Z,RTE
 * eCO2mix
 *
 * The first line is the line of names above. Times are UTC; a point holds from `from` up to, but
 * not including, `until`. A line that begins with '#' is a comment. The source is the rest of its
 * line. The case of a region does not matter. Points of one region and kind never overlap. Average
 * and marginal factors never mix: only average ones give location-based emissions (GHG Protocol,
 * Scope 2 Guidance, 6.1).
 */
#ifndef CEEMS_FACTOR_SERIES_H
#define CEEMS_FACTOR_SERIES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "src/libemission/emission.h"
#include "src/libutil/errmsg.h"

#define FACTOR_SERIES_HEAD "from,until,gco2e_per_kwh,kind,scope,region,fetched,source"
/* Two weeks of 5-minute points of ten regions take half of this. */
#define FACTOR_SERIES_MAX_BYTES (8 * 1024 * 1024)

/* One point of the series. Times are seconds since the epoch. */
struct factor_point {
	uint64_t from_s, until_s;
	uint64_t fetched_s;
	/* kind is EMISSION_AVERAGE or EMISSION_MARGINAL; year is 0 */
	struct emission_factor factor;
};

/* Sorted by region, kind and from_s. All zero is an empty series. */
struct factor_series {
	struct factor_point *point; /* owned */
	size_t n;
};

void factor_series_fini(struct factor_series *s);

/*
 * Parses TEXT[len]; NAME is the file's name, for messages. Free RET with factor_series_fini().
 * -EINVAL: ERR names line and mistake: a time not in UTC, a point that ends before it begins, a
 * factor too large, overlapping points, or a kind that a series cannot have. -ENOMEM.
 */
int factor_series_parse(const char *name, const char *text, size_t len, struct factor_series *ret,
			struct errmsg *err) _must_check_;
/*
 * factor_series_parse() for points that will be settled: points may overlap, and a line that is wrong is
 * left out and told to ON_ERROR.
 */
int factor_series_parse_all(const char *name, const char *text, size_t len,
			    void (*on_error)(void *ctx, const char *text), void *ctx,
			    struct factor_series *ret, struct errmsg *err);
/*
 * factor_series_parse() for the file PATH. -ENOENT: no such file. It may block as long as the file
 * system does, so threads of slurmd must not call it.
 */
int factor_series_read(const char *path, struct factor_series *ret, struct errmsg *err) _must_check_;
/*
 * Writes S to PATH (0644). Readers see the old file or the new one, even after a power cut. -EFBIG:
 * more than FACTOR_SERIES_MAX_BYTES.
 */
int factor_series_write(const char *path, const struct factor_series *s, struct errmsg *err);

/*
 * Adds P. P replaces what it overlaps in its region and kind, so that a provider's corrections
 * count; overlapped points are cut or dropped. -EINVAL: P is not valid, see factor_point_flaw();
 * -ENOMEM.
 */
int factor_series_add(struct factor_series *s, const struct factor_point *p, struct errmsg *err);
/* Drops the points that ended before T_S. */
void factor_series_expire(struct factor_series *s, uint64_t t_s);

/*
 * Finds the last point of REGION and KIND that begins at T_S or before, even if it has ended. NULL:
 * none.
 */
const struct factor_point *factor_series_at(const struct factor_series *s, const char *region,
					    enum emission_kind kind, uint64_t t_s);
/* Finds the first point of REGION and KIND that begins after T_S. NULL: none. */
const struct factor_point *factor_series_after(const struct factor_series *s, const char *region,
					       enum emission_kind kind, uint64_t t_s);

/* Writes P as a line of the file. */
void factor_point_print(FILE *out, const struct factor_point *p);
/* Returns what is wrong with P, for people; NULL: nothing. */
const char *factor_point_flaw(const struct factor_point *p);
/* Compares two points in the order of a series, as for qsort(). */
int factor_point_compare(const struct factor_point *a, const struct factor_point *b);

#endif
