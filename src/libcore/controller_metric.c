/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/controller_metric.h"

const struct prom_family controller_metrics[CONTROLLER_N] = {
#define CONTROLLER_METRIC(id, name, type, labels, units, help) \
	[CONTROLLER_##id] = { name, type, help, units },
#include "src/libcore/controller.def"
#undef CONTROLLER_METRIC
};
