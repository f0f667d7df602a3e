/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For the preprocessor alone: the rows of metrics.def as metric_rows.awk reads them, each after "@@". */
#define METRIC(...) @@ __VA_ARGS__
#include "src/libcore/metrics.def"
#define CONTROLLER_METRIC(id, name, type, labels, units, help) @@ controller, name, type, labels, help
#include "src/libcore/controller.def"
