/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report_text.h - writes rows of the report: a label, a value, a note. Private to report*.c.
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
	size_t used;   /* bytes in BUF, without the NUL */
	size_t wanted; /* bytes that the whole text needs */
};

/* Appends text; what does not fit is cut, but counted in WANTED. */
void report_put(struct report_text *t, const char *fmt, ...) _printf_(2, 3);

/* Writes one row; NOTE may be "". */
void report_row(struct report_text *t, const char *label, const char *value, const char *note);
/* Writes a row with "n/a" and the reason. */
void report_missing(struct report_text *t, const char *label, enum metric_reason reason);
/*
 * Writes a row that says that the value was not asked for. GROUP is the option's value that asks
 * for it, such as "=io"; "" for the default groups.
 */
void report_unasked(struct report_text *t, const char *label, const char *group);

/* Writes the value of M, or why it is missing. */
void report_metric(struct report_text *t, const struct values *f, enum metric m, const char *label,
		   const char *note);

/* Whether the user asked for GROUP with --ceems-perf. */
bool report_is_asked(const struct report_input *in, enum perf_group group);

/* Like report_metric(), but writes nothing for a value that was not asked for and not measured. */
void report_wanted(struct report_text *t, const struct report_input *in, enum perf_group group, enum metric m,
		   const char *label, const char *note);

/* Whether all N metrics are missing for the same reason, so that one row is enough. */
bool report_all_miss_alike(const struct values *f, const enum metric *m, size_t n);

/* Writes "1,234 calls" to NOTE (REPORT_NOTE_MAX bytes); "" if M is unknown. */
void report_note(const struct values *f, enum metric m, const char *what, char *note);

/*
 * Whether one of the N metrics is known, or missing for another reason than not asked or not
 * measured.
 */
bool report_is_tried(const struct values *f, const enum metric *m, size_t n);

/* --- report_detail.c ---------------------------------------------------------------------- */

/* Writes the MAX file systems with most bytes, and the sum of the others in one row. */
void report_put_file_systems(struct report_text *t, const struct report_input *in, unsigned int max);
void report_put_network(struct report_text *t, const struct report_input *in);
void report_put_own_events(struct report_text *t, const struct report_input *in);

#endif
