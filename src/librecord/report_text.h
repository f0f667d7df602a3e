/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report_text.h - rows of the report: a label, a value, a note. Private to report*.c.
 */
#ifndef CEEMS_REPORT_TEXT_H
#define CEEMS_REPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "src/librecord/report.h"
#include "src/libutil/util.h"

#define REPORT_NOTE_MAX 80

struct report_text {
	char *buf;
	size_t size;
	size_t used;   /* of it, without the NUL */
	size_t wanted; /* what all of the text takes */
};

void report_put(struct report_text *t, const char *fmt, ...) _printf_(2, 3);

/* NOTE may be empty. */
void report_row(struct report_text *t, const char *label, const char *value, const char *note);
void report_missing(struct report_text *t, const char *label, enum metric_reason reason);
/* GROUP: "=io", or empty for the default one. */
void report_unasked(struct report_text *t, const char *label, const char *group);

/* The value, or why there is none. */
void report_metric(struct report_text *t, const struct values *f, enum metric m, const char *label,
		   const char *note);

bool report_is_asked(const struct report_input *in, enum perf_group group);

/* The same, but nothing at all for a value that nobody asked for: neither GROUP nor otherwise. */
void report_wanted(struct report_text *t, const struct report_input *in, enum perf_group group,
		   enum metric m, const char *label, const char *note);

/* All of them are missing for one reason: one line does. */
bool report_all_miss_alike(const struct values *f, const enum metric *m, size_t n);

/* "1,234 calls" into NOTE (REPORT_NOTE_MAX); empty when M is not known. */
void report_note(const struct values *f, enum metric m, const char *what, char *note);

/* Whether one of the metrics is known, or is missing for another reason than that nobody tried. */
bool report_is_tried(const struct values *f, const enum metric *m, size_t n);

/* --- report_detail.c ---------------------------------------------------------------------- */

/* I/O by file system: the MAX largest. */
void report_put_file_systems(struct report_text *t, const struct report_input *in, unsigned int max);
void report_put_network(struct report_text *t, const struct report_input *in);
void report_put_own_events(struct report_text *t, const struct report_input *in);

#endif
