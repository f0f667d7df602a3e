/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/outcome.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of a run or a part that is followed by another, only the hook knows how it ended. */
static bool goes_on(const struct record *r)
{
	return r->state && (!strcmp(r->state, "REQUEUED") || !strcmp(r->state, "RESIZING"));
}

int outcome_apply(const struct outcome *o, struct record *r)
{
	char *state;

	if (!o->known || !o->end || goes_on(r))
		return 0;
	state = strdup(o->state);
	if (!state)
		return -ENOMEM;
	free(r->state);
	r->state = state;
	r->end = o->end;
	/* a later one is of a run that slurmctld forgot, killed; an earlier one of a job's first size */
	if (o->start > r->start && r->start)
		r->start = o->start;
	r->exit_code = o->exit_code;
	r->exit_signal = o->exit_signal;
	r->derived_exit_code = o->derived_exit_code;
	return 0;
}
