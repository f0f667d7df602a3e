/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "src/librecord/record_field.h"
#include "src/libutil/util.h"

struct record *record_create(void)
{
	struct record *r = calloc(1, sizeof(*r));

	if (r)
		values_init(&r->values);
	return r;
}

static void fields_free(const struct record_field *f, void *object)
{
	for (; f->path; f++)
		if (f->kind == FIELD_TEXT)
			free(*(char **)((char *)object + f->offset));
}

void record_steps_destroy(struct record_step *s, size_t n)
{
	size_t i;

	for (i = 0; s && i < n; i++)
		fields_free(record_step_fields, &s[i]);
	free(s);
}

void record_destroy(struct record *r)
{
	if (!r)
		return;
	fields_free(record_job_fields, r);
	record_steps_destroy(r->steps, r->nsteps);
	free(r);
}

/* Returns whether the member at P, of one of the kinds below, is unknown. */
static bool field_is_unknown(const struct record_field *f, const void *p)
{
	switch (f->kind) {
	case FIELD_TEXT:
		return !*(char *const *)p;
	case FIELD_U32:
		return !*(const uint32_t *)p;
	case FIELD_TIME:
		return !*(const uint64_t *)p;
	case FIELD_MAYBE:
	case FIELD_MINUTES:
		return !((const struct maybe_u64 *)p)->known;
	default:
		return false;
	}
}

void record_fill_in(struct record *r, struct record *row)
{
	const struct record_field *f;

	for (f = record_job_fields; f->path; f++) {
		char *to = (char *)r + f->offset;
		char *from = (char *)row + f->offset;

		if (!(f->flags & FIELD_OF_SLURMDBD) || !field_is_unknown(f, to))
			continue;
		memcpy(to, from, f->size);
		if (f->kind == FIELD_TEXT)
			*(char **)from = NULL;
	}
}
