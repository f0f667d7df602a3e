/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prov_static.c - the yearly means that are installed (emission-factors.csv). They are the end of the
 * chain by themselves (factor_chain.h), as what they are. In the series they would be taken for
 * what the grid does now; so there is nothing to ask and nothing to write.
 */
#include "src/factors/provider.h"

const struct provider provider_static = {
	.name = "static",
	.cite = "static",
	.zones = "",
};
