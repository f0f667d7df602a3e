/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * summary_words.h - writes the sentences of a report, which are the same in text and HTML. Each function
 * returns BUF, which has SUMMARY_WORDS_MAX bytes. Names in a sentence are not masked.
 */
#ifndef CEEMS_CMD_SUMMARY_WORDS_H
#define CEEMS_CMD_SUMMARY_WORDS_H

#include "src/cmd/report/summary.h"
#include "src/libutil/must_check.h"

#define SUMMARY_WORDS_MAX 1024

/* Writes the title: "November 2026", or while the month lasts, "November 2026, so far". */
const char *summary_title(const struct summary *s, char *buf);
/*
 * Writes the first sentence: "1,234 jobs used 345 kWh, 12 % more than in October 2026, and
 * caused 120 kg of CO2e, ..."
 */
const char *summary_lead(const struct summary *s, char *buf);
/* Writes what was wasted: "23 % of it (80 kWh) was wasted. The largest cause: jobs that failed (40 kWh)." */
const char *summary_waste_lead(const struct summary *s, char *buf);

/*
 * Writes "Place 3 of 41 users by energy, and place 7 of 41 by the part of it that was
 * wasted."; "" without --rank.
 */
const char *summary_place_words(const struct summary *s, char *buf);

/* Writes note I, from 0, on how the values were found or what is missing. NULL: there is no note I. */
#define SUMMARY_NOTES 10
const char *summary_note(const struct summary *s, unsigned int i, char *buf) _must_check_;

/* Write a value, such as "1,234", "345 kWh", "120 kg" and "23 %", or "n/a". BUF has SCREEN_TEXT_MAX bytes. */
const char *summary_count(uint64_t n, char *buf);
const char *summary_energy(bool known, double uj, char *buf);
const char *summary_co2e(bool known, double ng, char *buf);
const char *summary_part(double part, double whole, char *buf);

#endif
