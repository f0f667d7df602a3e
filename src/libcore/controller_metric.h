/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * controller_metric.h - the metrics of the controller's programs for Prometheus. The table
 * controller.def makes both the metrics and their description in doc/metrics.md.
 */
#ifndef CEEMS_CONTROLLER_METRIC_H
#define CEEMS_CONTROLLER_METRIC_H

#include "src/libutil/prom.h"

#define CONTROLLER_PROM "ceems_controller.prom"
#define FACTORS_PROM "ceems_factors.prom"

enum controller_metric {
#define CONTROLLER_METRIC(id, name, type, labels, units, help) CONTROLLER_##id,
#include "src/libcore/controller.def"
#undef CONTROLLER_METRIC
	CONTROLLER_N
};

extern const struct prom_family controller_metrics[CONTROLLER_N];

#endif
