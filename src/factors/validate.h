/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * validate.h - checks whether the points of an answer are plausible. Points that cannot be true are skipped,
 * with the reason. Doubtful points are left out until a person accepts them.
 */
#ifndef CEEMS_FACTORS_VALIDATE_H
#define CEEMS_FACTORS_VALIDATE_H

#include "src/factors/provider.h"
#include "src/libutil/must_check.h"

/*
 * No grid is above this. Grids of lignite only are near 1,300 g/kWh, old diesel generators at
 * 1,500.
 */
#define VALIDATE_MAX_MG_PER_KWH UINT64_C(2000000)
#define VALIDATE_TIMES 10 /* a value is doubtful beyond this multiple of the last value */
/*
 * When values are compared, smaller ones count as this one: a grid of water and wind may have 3
 * g/kWh now and 40 after sunset.
 */
#define VALIDATE_FLOOR_MG_PER_KWH UINT64_C(10000)
#define VALIDATE_CLOCK_SKEW_S 300
#define VALIDATE_LENGTH_MAX_S 86400

/*
 * Checks the points P against KNOWN, the present series, sorts them, and removes those that must not be
 * stored. Calls points_skip() for a point with a length or time that cannot be, or a value above any grid's;
 * for points that overlap; and for points of the same time with different values, unless one is a forecast or
 * an estimate, which the other one replaces. -EINVAL: no point is left, and ERR says why; -ENOMEM.
 * Returns 0 otherwise. *RET_DOUBTS is how many points were left out because they are over
 * VALIDATE_TIMES, or under 1/VALIDATE_TIMES, of the provider's last value; ERR then describes the
 * first. With ACCEPT such points are kept.
 */
int validate_points(const struct provider_ask *ask, const struct factor_series *known, bool accept,
		    struct points *p, size_t *ret_doubts, struct errmsg *err) _must_check_;

/* Whether point P comes from provider O. */
bool validate_has_provider(const struct factor_point *p, const struct provider *o);

#endif
