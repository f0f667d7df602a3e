/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/outcome.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool outcome_is_of_another(const struct outcome *o, const struct record *r)
{
	/* before the submit time: that of a resized job's first part */
	return o->known && r->start && o->start >= r->submit && o->start != r->start;
}

int outcome_apply(const struct outcome *o, struct record *r)
{
	char *state;

	/* of a part of a job's life only the hook knows how it ended */
	if (!o->known || !o->end || outcome_is_of_another(o, r) ||
	    (r->state && !strcmp(r->state, "RESIZING")))
		return 0;
	state = strdup(o->state);
	if (!state)
		return -ENOMEM;
	free(r->state);
	r->state = state;
	r->end = o->end;
	r->exit_code = o->exit_code;
	r->exit_signal = o->exit_signal;
	r->derived_exit_code = o->derived_exit_code;
	return 0;
}
