/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * validate.h - can an answer be true? One that is broken is refused as a whole, with the reason. Of one
 * that is merely hard to believe, the points in doubt are left out.
 */
#ifndef CEEMS_FACTORS_VALIDATE_H
#define CEEMS_FACTORS_VALIDATE_H

#include "src/factors/provider.h"

/* The dirtiest grids, of lignite only, are near 1,300 g/kWh; old diesel generators at 1,500. */
#define VALIDATE_MAX_MG_PER_KWH UINT64_C(2000000)
#define VALIDATE_TIMES 10
/* Below it ten times is nothing: a grid of water and wind has 3 g/kWh now and 40 after sunset. */
#define VALIDATE_FLOOR_MG_PER_KWH UINT64_C(10000)
#define VALIDATE_CLOCK_SKEW_S 300
#define VALIDATE_LENGTH_MAX_S 86400

/*
 * Leaves in P what may go into KNOWN, the series as it is. -EINVAL: no value, times that go
 * backwards or lie in the future, a value above any grid's. 0 with *ret_doubts: that many points
 * were left out, as they are more than VALIDATE_TIMES what the provider said last, or less than that
 * part of it; ERR has the first. ACCEPT: they are believed.
 */
int validate_points(const struct provider_ask *ask, const struct factor_series *known, bool accept,
		    struct points *p, size_t *ret_doubts, struct errmsg *err);

/* Is P of the provider O? */
bool validate_has_provider(const struct factor_point *p, const struct provider *o);

#endif
