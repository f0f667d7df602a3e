/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_merge.c - adds one profile to another, or what it has gained since a time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/libprofile/profile.h"
#include "src/libutil/util.h"

/* Indexes in INTO, by the index in FROM. */
struct merge_places {
	uint32_t *mapping, *function, *location;
	int type[PROFILE_TYPES_MAX]; /* the other way: index in FROM by index in INTO; -1: none */
};

static int merge_location(struct profile *into, const struct profile *from, const struct merge_places *at,
			  uint32_t n)
{
	struct profile_location l = from->location[n];
	struct profile_line line[PROFILE_LINES_MAX];
	size_t i;

	for (i = 0; i < l.nlines; i++)
		line[i] = (struct profile_line){ at->function[l.line[i].function], l.line[i].line };
	l.line = line;
	if (l.mapping != PROFILE_NONE) {
		const uint64_t start = from->mapping[l.mapping].start;

		l.mapping = at->mapping[l.mapping];
		l.address = profile_rebase(into, l.mapping, start, l.address);
	}
	return profile_add_location(into, &l, &at->location[n]);
}

static int merge_sample(struct profile *into, const struct merge_places *at,
			const struct profile_sample *from)
{
	uint32_t location[PROFILE_DEPTH_MAX];
	int64_t value[PROFILE_TYPES_MAX];
	struct profile_sample s = *from;
	size_t i;

	for (i = 0; i < from->depth; i++)
		location[i] = at->location[from->location[i]];
	for (i = 0; i < into->ntypes; i++)
		value[i] = at->type[i] < 0 ? 0 : from->value[at->type[i]];
	s.location = location;
	s.value = value;
	return profile_add_sample(into, &s);
}

static int merge_all(struct profile *into, const struct profile *from, struct merge_places *at)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < from->nmappings; i++)
		rc = profile_add_mapping(into, &from->mapping[i], &at->mapping[i]);
	for (i = 0; rc == 0 && i < from->nfunctions; i++)
		rc = profile_add_function(into, &from->function[i], &at->function[i]);
	for (i = 0; rc == 0 && i < from->nlocations; i++)
		rc = merge_location(into, from, at, i);
	for (i = 0; i < into->ntypes; i++)
		at->type[i] = profile_find_type(from, into->type[i].type, into->type[i].unit);
	for (i = 0; rc == 0 && i < from->nsamples; i++)
		rc = merge_sample(into, at, &from->sample[i]);
	for (i = 0; rc == 0 && i < from->ncomments; i++)
		rc = profile_add_comment(into, from->comment[i]);
	return rc;
}

/* Returns the end of P in ns since 1970; 0: not known, or it overflows. */
static int64_t end_of(const struct profile *p)
{
	int64_t end;

	return p->time_ns <= 0 || __builtin_add_overflow(p->time_ns, p->duration_ns, &end) ? 0 : end;
}

static void merge_time(struct profile *into, const struct profile *from)
{
	const int64_t end = end_of(into) > end_of(from) ? end_of(into) : end_of(from);

	if (from->time_ns > 0 && (into->time_ns <= 0 || from->time_ns < into->time_ns))
		into->time_ns = from->time_ns;
	into->duration_ns = end > into->time_ns && into->time_ns > 0 ? end - into->time_ns : 0;
}

int profile_merge(struct profile *into, const struct profile *from)
{
	_cleanup_free_ uint32_t *mapping = calloc(from->nmappings + 1, sizeof(*mapping));
	_cleanup_free_ uint32_t *function = calloc(from->nfunctions + 1, sizeof(*function));
	_cleanup_free_ uint32_t *location = calloc(from->nlocations + 1, sizeof(*location));
	struct merge_places at = { .mapping = mapping, .function = function, .location = location };
	int rc;

	if (!mapping || !function || !location)
		return -ENOMEM;
	rc = merge_all(into, from, &at);
	if (rc < 0)
		return rc;
	merge_time(into, from);
	if (!into->period_type.type && from->period_type.type)
		return profile_set_period(into, from->period_type.type, from->period_type.unit, from->period);
	return 0;
}

/* --- since a time ------------------------------------------------------------------------------ */

/* Adds location N of FROM with its mapping and functions, each unless it was added before. */
static int merge_used_location(struct profile *into, const struct profile *from,
			       const struct merge_places *at, uint32_t n)
{
	const struct profile_location *l = &from->location[n];
	uint32_t f;
	size_t i;
	int rc = 0;

	if (at->location[n] != PROFILE_NONE)
		return 0;
	if (l->mapping != PROFILE_NONE && at->mapping[l->mapping] == PROFILE_NONE)
		rc = profile_add_mapping(into, &from->mapping[l->mapping], &at->mapping[l->mapping]);
	for (i = 0; rc == 0 && i < l->nlines; i++) {
		f = l->line[i].function;
		if (at->function[f] == PROFILE_NONE)
			rc = profile_add_function(into, &from->function[f], &at->function[f]);
	}
	return rc < 0 ? rc : merge_location(into, from, at, n);
}

/* SEEN are the values of S at the earlier time; NULL: S is new. */
static int merge_sample_since(struct profile *into, const struct profile *from, const struct merge_places *at,
			      const struct profile_sample *s, const int64_t *seen)
{
	int64_t more[PROFILE_TYPES_MAX];
	struct profile_sample part = { .location = s->location, .depth = s->depth, .value = more };
	bool has_more = false;
	size_t i;
	int rc = 0;

	for (i = 0; i < into->ntypes; i++) {
		more[i] = s->value[i] - (seen ? seen[i] : 0);
		has_more |= more[i] > 0;
	}
	if (!has_more)
		return 0;
	for (i = 0; rc == 0 && i < s->depth; i++)
		rc = merge_used_location(into, from, at, s->location[i]);
	return rc < 0 ? rc : merge_sample(into, at, &part);
}

int profile_merge_since(struct profile *into, const struct profile *from, const int64_t *seen, size_t nseen)
{
	_cleanup_free_ uint32_t *mapping = calloc(from->nmappings + 1, sizeof(*mapping));
	_cleanup_free_ uint32_t *function = calloc(from->nfunctions + 1, sizeof(*function));
	_cleanup_free_ uint32_t *location = calloc(from->nlocations + 1, sizeof(*location));
	struct merge_places at = { .mapping = mapping, .function = function, .location = location };
	size_t i;
	int rc = 0;

	if (!mapping || !function || !location)
		return -ENOMEM;
	/* all bytes of PROFILE_NONE are equal */
	memset(mapping, 0xff, from->nmappings * sizeof(*mapping));
	memset(function, 0xff, from->nfunctions * sizeof(*function));
	memset(location, 0xff, from->nlocations * sizeof(*location));
	for (i = 0; i < into->ntypes; i++)
		at.type[i] = (int)i;
	for (i = 0; rc == 0 && i < from->nsamples; i++)
		rc = merge_sample_since(into, from, &at, &from->sample[i],
					i < nseen ? seen + i * from->ntypes : NULL);
	return rc;
}
