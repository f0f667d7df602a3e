/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * equivalent.h - emissions as something familiar: the distance that an average car drives for them.
 * One value, of one source, for all that we print.
 */
#ifndef CEEMS_EQUIVALENT_H
#define CEEMS_EQUIVALENT_H

#include <stddef.h>
#include <stdint.h>

/*
 * "The average passenger vehicle emits about 400 grams of CO2 per mile": US EPA, Greenhouse Gas
 * Emissions from a Typical Passenger Vehicle, June 2023. Of the exhaust only: a car's own life cycle
 * would make the way shorter.
 */
#define EQUIVALENT_LABEL "as driven by car"
#define EQUIVALENT_SOURCE "at 400 g/mile (US EPA, EPA-420-F-23-014)"

/* Micrometres for CO2E_NG, rounded to nearest. */
uint64_t equivalent_car_um(uint64_t co2e_ng);

#define EQUIVALENT_TEXT_MAX 24
/* "12.3 km", "4.20 m", "0.080 m": three digits, a millimetre at the finest. Returns BUF. */
const char *equivalent_text(uint64_t co2e_ng, char *buf, size_t size);

#endif
