/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/sensor/source.h"

const struct source_ops *const source_builtin[] = {
#define SOURCE(id, name, ...) [SOURCE_##id] = &source_##name,
#include "src/libcore/sources.def"
#undef SOURCE
};
const size_t source_nbuiltin = SOURCE_N;
