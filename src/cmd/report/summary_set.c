/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/report/summary_set.h"

#include <stdlib.h>
#include <string.h>

void summary_set_fini(struct summary_set *set)
{
	size_t i;

	for (i = 0; i < set->n; i++) {
		if (set->summary[i])
			summary_fini(set->summary[i]);
		free(set->summary[i]);
		free(set->name[i]);
	}
	free(set->summary);
	free(set->name);
	*set = (struct summary_set){ 0 };
}

/* Makes room for one element at AT, with neither summary nor name. False: out of memory. */
static bool set_insert(struct summary_set *set, size_t at)
{
	struct summary **more = realloc(set->summary, (set->n + 1) * sizeof(*more));
	char **names;

	if (!more)
		return false;
	set->summary = more;
	names = realloc(set->name, (set->n + 1) * sizeof(*names));
	if (!names)
		return false;
	set->name = names;
	memmove(&set->summary[at + 1], &set->summary[at], (set->n - at) * sizeof(struct summary *));
	memmove(&set->name[at + 1], &set->name[at], (set->n - at) * sizeof(char *));
	set->summary[at] = NULL;
	set->name[at] = NULL;
	set->n++;
	return true;
}

struct summary *summary_set_get(struct summary_set *set, const char *name, const struct summary *like,
				enum jobs_group_by by)
{
	size_t low = 0;
	size_t high = set->n;
	struct summary *s;
	char *copy;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int cmp = strcmp(set->name[middle], name);

		if (!cmp)
			return set->summary[middle];
		if (cmp < 0)
			low = middle + 1;
		else
			high = middle;
	}
	s = malloc(sizeof(*s));
	copy = strdup(name);
	if (!s || !copy || !set_insert(set, low)) {
		free(s);
		free(copy);
		return NULL;
	}
	summary_init(s, &like->period, by, like->now);
	set->summary[low] = s;
	set->name[low] = copy;
	return s;
}
