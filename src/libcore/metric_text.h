/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metric_text.h - a value as people read it: "12.3 J", "1.50 MiB", "1,234", "n/a (no PMU)".
 */
#ifndef CEEMS_METRIC_TEXT_H
#define CEEMS_METRIC_TEXT_H

#include <stddef.h>

#include "src/libcore/metric.h"

#define METRIC_TEXT_MAX 48

/* Writes value M of F into BUF (METRIC_TEXT_MAX bytes do) and returns BUF. */
const char *metric_text(const struct values *f, enum metric m, char *buf, size_t size);

/*
 * A bare value, rounded to three digits and more; below a million, counts are exact. Energy goes
 * from uJ to kJ and on to kWh, time from microseconds to hours.
 */
const char *metric_text_value(enum metric_unit unit, uint64_t value, char *buf, size_t size);

/* Energy in kWh and in nothing else: "1.50 kWh", "0.000042 kWh", "<0.000001 kWh". Returns BUF. */
const char *metric_text_kwh(uint64_t energy_uj, char *buf, size_t size);

/* Energy in mWh, Wh, kWh or MWh: "1.92 Wh", "12.3 kWh". Returns BUF. */
const char *metric_text_wh(uint64_t energy_uj, char *buf, size_t size);

/*
 * The sources of the energy of F, by comma: "rapl,nvml", as in a record. With ESTIMATE, for people,
 * an estimate is marked: "rapl,model (estimate)". Empty: not known. Returns BUF.
 */
#define METRIC_SOURCES_MAX 128
const char *metric_text_sources(const struct values *f, const char *estimate, char *buf,
				size_t size);

/*
 * The kinds of emission factors behind the emissions of F, each with its share of the energy: "85 % fresh,
 * 15 % yearly mean". Empty: not known. Returns BUF.
 */
#define METRIC_FACTORS_MAX 64
const char *metric_text_factors(const struct values *f, char *buf, size_t size);

/*
 * How most of the dynamic energy of F was split: "counters" or "cpu-time"; the static part always
 * goes by allocation.
 */
const char *metric_text_method(const struct values *f);

#endif
