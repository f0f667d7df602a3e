/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "src/librecord/record_field.h"

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
