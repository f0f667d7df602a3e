/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/report_text.h"

#include <stdarg.h>
#include <stdio.h>

#include "src/libcore/metric_text.h"

#define LABEL_WIDTH 18
#define VALUE_WIDTH 13

void report_put(struct report_text *t, const char *fmt, ...)
{
	size_t room = t->size - t->used;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->buf + t->used, room, fmt, ap);
	va_end(ap);
	if (n < 0) {
		t->buf[t->used] = '\0';
		return;
	}
	t->wanted += (size_t)n;
	t->used += (size_t)n < room ? (size_t)n : room - 1;
}

void report_row(struct report_text *t, const char *label, const char *value, const char *note)
{
	report_put(t, "  %-*s%*s%s%s\n", LABEL_WIDTH, label, VALUE_WIDTH, value, *note ? "  " : "", note);
}

void report_missing(struct report_text *t, const char *label, enum metric_reason reason)
{
	report_put(t, "  %-*s%*s (%s)\n", LABEL_WIDTH, label, VALUE_WIDTH, "n/a", metric_reason_text(reason));
}

void report_unasked(struct report_text *t, const char *label, const char *group)
{
	report_put(t, "  %-*s%*s (%s%s)\n", LABEL_WIDTH, label, VALUE_WIDTH, "n/a",
		   metric_reason_text(REASON_NOT_ASKED), group);
}

void report_metric(struct report_text *t, const struct values *f, enum metric m, const char *label,
		   const char *note)
{
	char value[METRIC_TEXT_MAX];

	if (!values_has(f, m)) {
		report_missing(t, label, (enum metric_reason)f->reason[m]);
		return;
	}
	report_row(t, label, metric_text(f, m, value, sizeof(value)), note);
}

static bool is_untried(const struct values *f, enum metric m)
{
	return f->reason[m] == REASON_NOT_ASKED || f->reason[m] == REASON_NOT_MEASURED;
}

bool report_is_asked(const struct report_input *in, enum perf_group group)
{
	return in->request && (in->request->groups & group);
}

void report_wanted(struct report_text *t, const struct report_input *in, enum perf_group group, enum metric m,
		   const char *label, const char *note)
{
	if (report_is_asked(in, group) || !is_untried(in->values, m))
		report_metric(t, in->values, m, label, note);
}

bool report_all_miss_alike(const struct values *f, const enum metric *m, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (values_has(f, m[i]) || f->reason[m[i]] != f->reason[m[0]])
			return false;
	return true;
}

bool report_is_tried(const struct values *f, const enum metric *m, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!is_untried(f, m[i]))
			return true;
	return false;
}

void report_note(const struct values *f, enum metric m, const char *what, char *note)
{
	char value[METRIC_TEXT_MAX];

	note[0] = '\0';
	if (values_has(f, m))
		(void)snprintf(note, REPORT_NOTE_MAX, "%s %s", metric_text(f, m, value, sizeof(value)), what);
}
