/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metric_text.h - writes values for people: "12.3 J", "1.50 MiB", "1,234", "n/a (no PMU)".
 */
#ifndef CEEMS_METRIC_TEXT_H
#define CEEMS_METRIC_TEXT_H

#include <stddef.h>

#include "src/libcore/metric.h"

#define METRIC_TEXT_MAX 48

/*
 * Writes the value of M in F, or "n/a" and the reason, into BUF; METRIC_TEXT_MAX bytes are enough.
 * Returns BUF.
 */
const char *metric_text(const struct values *f, enum metric m, char *buf, size_t size);

/*
 * Writes VALUE, rounded to three digits or more; counts below a million are exact. The unit is
 * scaled: energy from uJ to kWh, time from ns to hours. Returns BUF.
 */
const char *metric_text_value(enum metric_unit unit, uint64_t value, char *buf, size_t size);

/* Writes energy in kWh only: "1.50 kWh", "0.000042 kWh", "<0.000001 kWh". Returns BUF. */
const char *metric_text_kwh(uint64_t energy_uj, char *buf, size_t size);

/* Writes energy in uWh, mWh, Wh, kWh or MWh: "1.92 Wh", "12.3 kWh". Returns BUF. */
const char *metric_text_wh(uint64_t energy_uj, char *buf, size_t size);

/*
 * Writes the energy sources of F, separated by commas: "rapl,nvml". ESTIMATE is appended to the
 * model's name: "" in records, " (estimate)" for people. Empty: unknown. Returns BUF.
 */
#define METRIC_SOURCES_MAX 128
const char *metric_text_sources(const struct values *f, const char *estimate, char *buf, size_t size);

/*
 * Writes the kinds of emission factors used for F, with their shares of the energy: "85 % fresh, 15
 * % yearly mean". Empty: unknown. Returns BUF.
 */
#define METRIC_FACTORS_MAX 64
const char *metric_text_factors(const struct values *f, char *buf, size_t size);

/*
 * Returns how most of the dynamic energy of F was split: "counters" or "cpu-time". Static energy is
 * always split by allocation.
 */
const char *metric_text_method(const struct values *f);

#endif
