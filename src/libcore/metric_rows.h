/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Input for metric_rows.awk, through the C preprocessor only: each row of units.def, metrics.def
 * and controller.def, behind "@@".
 */
/* clang-format off */
#define UNIT(id, ...) @@ unit, id, __VA_ARGS__
#include "src/libcore/units.def"
#define METRIC(...) @@ __VA_ARGS__
#include "src/libcore/metrics.def"
#define CONTROLLER_METRIC(id, name, type, labels, units, help) @@ controller, name, type, labels, help
#include "src/libcore/controller.def"
/* clang-format on */
