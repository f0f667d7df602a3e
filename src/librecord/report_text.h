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
/*
 * Writes a row that says that the value was not asked for. GROUP is the option's value, such as
 * "=io"; "": the default.
 */
void report_unasked(struct report_text *t, const char *label, const char *group);

/* The value, or why there is none. */
void report_metric(struct report_text *t, const struct values *f, enum metric m, const char *label,
		   const char *note);

bool report_is_asked(const struct report_input *in, enum perf_group group);

/* Writes a value's row, but nothing for a value that was not asked for. */
void report_wanted(struct report_text *t, const struct report_input *in, enum perf_group group,
		   enum metric m, const char *label, const char *note);

/* Returns true if all of them are missing for the same reason, so that one line is enough. */
bool report_all_miss_alike(const struct values *f, const enum metric *m, size_t n);

/* Writes "1,234 calls" to NOTE (REPORT_NOTE_MAX bytes); "" if M is unknown. */
void report_note(const struct values *f, enum metric m, const char *what, char *note);

/*
 * Returns true if one of the metrics is known, or missing for another reason than
 * REASON_NOT_MEASURED.
 */
bool report_is_tried(const struct values *f, const enum metric *m, size_t n);

/* --- report_detail.c ---------------------------------------------------------------------- */

/* I/O by file system: the MAX largest. */
void report_put_file_systems(struct report_text *t, const struct report_input *in, unsigned int max);
void report_put_network(struct report_text *t, const struct report_input *in);
void report_put_own_events(struct report_text *t, const struct report_input *in);

#endif
