/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * equivalent.h - expresses emissions as the distance that an average car drives for them. All
 * outputs of ceems use this comparison.
 */
#ifndef CEEMS_EQUIVALENT_H
#define CEEMS_EQUIVALENT_H

#include <stddef.h>
#include <stdint.h>

/*
 * "The average passenger vehicle emits about 400 grams of CO2 per mile": US EPA, Greenhouse Gas
 * Emissions from a Typical Passenger Vehicle, June 2023. Exhaust only; with the car's own life
 * cycle, the distance would be shorter.
 */
#define EQUIVALENT_LABEL "as driven by car"
#define EQUIVALENT_SOURCE "at 400 g/mile (US EPA, EPA-420-F-23-014)"

/* Converts nanograms of CO2e to micrometres driven, rounded to nearest. */
uint64_t equivalent_car_um(uint64_t co2e_ng);

#define EQUIVALENT_TEXT_MAX 24
/*
 * Writes the distance: "12.3 km", "4.20 m" or "0.080 m"; three digits, but no finer than
 * millimetres. Returns BUF.
 */
const char *equivalent_text(uint64_t co2e_ng, char *buf, size_t size);

#endif
