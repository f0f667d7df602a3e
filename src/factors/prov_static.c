/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prov_static.c - the installed yearly means (emission-factors.csv). There is nothing to ask and
 * nothing to write to the series: the chain uses yearly means by itself (factor_chain.h). In the
 * series they would look like current values of the grid.
 */
#include "src/factors/provider.h"

const struct provider provider_static = {
	.name = "static",
	.cite = "static",
	.zones = "",
};
