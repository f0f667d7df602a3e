/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libprofile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/libprofile/profile_store.h"
#include "src/libutil/utf8.h"
#include "src/libutil/util.h"

struct profile_store {
	struct arena arena;
	size_t text_room, mapping_room, function_room, location_room, sample_room, comment_room;
	struct place_index texts, mappings, functions, locations, samples;
};

/* Makes room for one more element of SIZE bytes in ARRAY, which has N. */
static int make_room(void *array, size_t n, size_t size, size_t *room)
{
	const size_t wanted = *room ? *room * 2 : 16;
	void *more;

	if (n < *room)
		return 0;
	if (wanted >= PLACE_NONE)
		return -ENOMEM;
	more = reallocarray(*(void **)array, wanted, size);
	if (!more)
		return -ENOMEM;
	*(void **)array = more;
	*room = wanted;
	return 0;
}

/* --- texts ------------------------------------------------------------------------------------ */

struct text_key {
	const char *text;
	size_t len;
};

static bool is_same_text(const void *owner, uint32_t place, const void *key)
{
	const char *text = ((const struct profile *)owner)->text[place];
	const struct text_key *k = key;

	return !strncmp(text, k->text, k->len) && !text[k->len];
}

static int store_utf8(struct profile *p, const char *text, size_t len, const char **ret)
{
	struct profile_store *s = p->store;
	const struct text_key key = { text, len };
	const uint64_t hash = place_hash(0, text, len);
	const uint32_t found = place_find(&s->texts, hash, is_same_text, p, &key);
	char *copy;
	int rc;

	if (found != PLACE_NONE) {
		*ret = p->text[found];
		return 0;
	}
	rc = make_room(&p->text, p->ntexts, sizeof(*p->text), &s->text_room);
	if (rc < 0)
		return rc;
	copy = arena_take(&s->arena, len + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, len);
	rc = place_add(&s->texts, hash, (uint32_t)p->ntexts);
	if (rc < 0)
		return rc;
	p->text[p->ntexts++] = *ret = copy;
	return 0;
}

/*
 * Sets *RET to TEXT (NULL: "") as it is stored. *ESCAPED, which the caller frees, is its
 * memory if it is another text.
 */
static int stored_form(const char *text, char **escaped, struct text_key *ret)
{
	size_t len = text ? strnlen(text, PROFILE_TEXT_MAX) : 0;
	int rc;

	*ret = (struct text_key){ "", 0 };
	if (!len)
		return 0;
	/* a long text is cut between two characters: a part of a character is not valid UTF-8 */
	if (len == PROFILE_TEXT_MAX)
		while (len > PROFILE_TEXT_MAX - 4 && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--;
	rc = utf8_escape(text, len, escaped, &len);
	if (rc == 0)
		*ret = (struct text_key){ *escaped ? *escaped : text, len };
	return rc;
}

/* Sets *RET to P's copy of TEXT. Equal texts have one copy, so pointers can be compared. */
static int store_text(struct profile *p, const char *text, const char **ret)
{
	_cleanup_free_ char *escaped = NULL;
	struct text_key key;
	int rc = stored_form(text, &escaped, &key);

	return rc < 0 ? rc : store_utf8(p, key.text, key.len, ret);
}

/* Sets *RET to P's copy of TEXT. -ENOENT: it has none. */
static int find_text(const struct profile *p, const char *text, const char **ret)
{
	_cleanup_free_ char *escaped = NULL;
	struct text_key key;
	uint32_t found;
	int rc = stored_form(text, &escaped, &key);

	if (rc < 0)
		return rc;
	found = place_find(&p->store->texts, place_hash(0, key.text, key.len), is_same_text, p, &key);
	if (found == PLACE_NONE)
		return -ENOENT;
	*ret = p->text[found];
	return 0;
}

/* --- the profile ------------------------------------------------------------------------------- */

int profile_create(const struct profile_type *type, size_t n, struct profile **ret)
{
	struct profile *p;
	struct profile_type *copy;
	const char *nothing;
	size_t i;
	int rc = -ENOMEM;

	if (n == 0 || n > PROFILE_TYPES_MAX)
		return -EINVAL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->store = calloc(1, sizeof(*p->store));
	copy = p->store ? arena_take(&p->store->arena, n * sizeof(*copy)) : NULL;
	if (!copy)
		goto fail;
	p->type = copy;
	p->ntypes = n;
	rc = store_text(p, "", &nothing);
	for (i = 0; rc == 0 && i < n; i++) {
		rc = store_text(p, type[i].type, &copy[i].type);
		if (rc == 0)
			rc = store_text(p, type[i].unit, &copy[i].unit);
	}
	if (rc < 0)
		goto fail;
	*ret = p;
	return 0;
fail:
	profile_destroy(p);
	return rc;
}

void profile_destroy(struct profile *p)
{
	struct profile_store *s = p ? p->store : NULL;

	if (s) {
		free(p->mapping);
		free(p->function);
		free(p->location);
		free(p->sample);
		free(p->comment);
		free(p->text);
		place_fini(&s->texts);
		place_fini(&s->mappings);
		place_fini(&s->functions);
		place_fini(&s->locations);
		place_fini(&s->samples);
		arena_fini(&s->arena);
		free(s);
	}
	free(p);
}

int profile_set_period(struct profile *p, const char *type, const char *unit, int64_t period)
{
	struct profile_type t;
	int rc = store_text(p, type, &t.type);

	if (rc == 0)
		rc = store_text(p, unit, &t.unit);
	if (rc < 0)
		return rc;
	p->period_type = t;
	p->period = period;
	return 0;
}

int profile_add_comment(struct profile *p, const char *text)
{
	const char *stored;
	size_t i;
	int rc = store_text(p, text, &stored);

	for (i = 0; rc == 0 && i < p->ncomments; i++)
		if (p->comment[i] == stored)
			return 0;
	if (rc == 0)
		rc = make_room(&p->comment, p->ncomments, sizeof(*p->comment), &p->store->comment_room);
	if (rc < 0)
		return rc;
	p->comment[p->ncomments++] = stored;
	return 0;
}

/* --- mappings ---------------------------------------------------------------------------------- */

/*
 * Same file part: path, build id, offset and size. Without path and build id, the address must be
 * the same too.
 */
static bool is_same_mapping(const void *owner, uint32_t place, const void *key)
{
	const struct profile_mapping *a = &((const struct profile *)owner)->mapping[place], *b = key;

	return a->path == b->path && a->build_id == b->build_id && a->offset == b->offset &&
	       a->limit - a->start == b->limit - b->start &&
	       (a->start == b->start || *a->path || *a->build_id);
}

/* Returns the hash of what is_same_mapping() compares. */
static uint64_t mapping_hash(const struct profile_mapping *m)
{
	const uint64_t size = m->limit - m->start;
	uint64_t hash = place_hash(0, &m->path, sizeof(m->path));

	hash = place_hash(hash, &m->build_id, sizeof(m->build_id));
	hash = place_hash(hash, &m->offset, sizeof(m->offset));
	return place_hash(hash, &size, sizeof(size));
}

int profile_find_mapping(const struct profile *p, const struct profile_mapping *m, uint32_t *ret)
{
	struct profile_mapping key = *m;
	uint32_t found;
	int rc = find_text(p, m->path, &key.path);

	if (rc == 0)
		rc = find_text(p, m->build_id, &key.build_id);
	if (rc < 0)
		return rc;
	found = place_find(&p->store->mappings, mapping_hash(&key), is_same_mapping, p, &key);
	if (found == PLACE_NONE)
		return -ENOENT;
	*ret = found;
	return 0;
}

int profile_add_mapping(struct profile *p, const struct profile_mapping *m, uint32_t *ret)
{
	struct profile_mapping new = *m;
	uint64_t hash;
	uint32_t found;
	int rc;

	if (m->limit < m->start)
		return -EINVAL;
	rc = store_text(p, m->path, &new.path);
	if (rc == 0)
		rc = store_text(p, m->build_id, &new.build_id);
	if (rc < 0)
		return rc;
	hash = mapping_hash(&new);
	found = place_find(&p->store->mappings, hash, is_same_mapping, p, &new);
	if (found != PLACE_NONE) {
		struct profile_mapping *old = &p->mapping[found];

		old->has_functions |= new.has_functions;
		old->has_files |= new.has_files;
		old->has_lines |= new.has_lines;
		old->has_inlines |= new.has_inlines;
		*ret = found;
		return 0;
	}
	rc = make_room(&p->mapping, p->nmappings, sizeof(*p->mapping), &p->store->mapping_room);
	if (rc == 0)
		rc = place_add(&p->store->mappings, hash, (uint32_t)p->nmappings);
	if (rc < 0)
		return rc;
	p->mapping[p->nmappings] = new;
	*ret = (uint32_t)p->nmappings++;
	return 0;
}

uint64_t profile_rebase(const struct profile *p, uint32_t mapping, uint64_t start, uint64_t address)
{
	return mapping < p->nmappings ? address - start + p->mapping[mapping].start : address;
}

/* --- functions --------------------------------------------------------------------------------- */

static bool is_same_function(const void *owner, uint32_t place, const void *key)
{
	const struct profile_function *a = &((const struct profile *)owner)->function[place], *b = key;

	return a->name == b->name && a->system_name == b->system_name && a->file == b->file &&
	       a->start_line == b->start_line;
}

int profile_add_function(struct profile *p, const struct profile_function *f, uint32_t *ret)
{
	struct profile_function new = *f;
	uint64_t hash;
	uint32_t found;
	int rc = store_text(p, f->name, &new.name);

	if (rc == 0)
		rc = store_text(p, f->system_name, &new.system_name);
	if (rc == 0)
		rc = store_text(p, f->file, &new.file);
	if (rc < 0)
		return rc;
	hash = place_hash(0, &new.name, sizeof(new.name));
	hash = place_hash(hash, &new.system_name, sizeof(new.system_name));
	hash = place_hash(hash, &new.file, sizeof(new.file));
	hash = place_hash(hash, &new.start_line, sizeof(new.start_line));
	found = place_find(&p->store->functions, hash, is_same_function, p, &new);
	if (found == PLACE_NONE) {
		rc = make_room(&p->function, p->nfunctions, sizeof(*p->function), &p->store->function_room);
		if (rc == 0)
			rc = place_add(&p->store->functions, hash, (uint32_t)p->nfunctions);
		if (rc < 0)
			return rc;
		p->function[p->nfunctions] = new;
		found = (uint32_t)p->nfunctions++;
	}
	*ret = found;
	return 0;
}

/* --- locations --------------------------------------------------------------------------------- */

static bool is_same_location(const void *owner, uint32_t place, const void *key)
{
	const struct profile_location *a = &((const struct profile *)owner)->location[place], *b = key;
	size_t i;

	if (a->mapping != b->mapping || a->address != b->address || a->nlines != b->nlines)
		return false;
	for (i = 0; i < a->nlines; i++)
		if (a->line[i].function != b->line[i].function || a->line[i].line != b->line[i].line)
			return false;
	return true;
}

static uint64_t hash_location(const struct profile_location *l)
{
	uint64_t hash = place_hash(l->mapping, &l->address, sizeof(l->address));
	size_t i;

	for (i = 0; i < l->nlines; i++)
		hash = place_hash(hash + l->line[i].function, &l->line[i].line, sizeof(l->line[i].line));
	return hash;
}

static int check_lines(const struct profile *p, const struct profile_line *line, size_t n)
{
	size_t i;

	if (n > PROFILE_LINES_MAX)
		return -ERANGE;
	for (i = 0; i < n; i++)
		if (line[i].function >= p->nfunctions)
			return -EINVAL;
	return 0;
}

int profile_add_location(struct profile *p, const struct profile_location *l, uint32_t *ret)
{
	struct profile_location new = *l;
	uint64_t hash;
	uint32_t found;
	int rc;

	if (l->mapping != PROFILE_NONE && l->mapping >= p->nmappings)
		return -EINVAL;
	rc = check_lines(p, l->line, l->nlines);
	if (rc < 0)
		return rc;
	hash = hash_location(l);
	found = place_find(&p->store->locations, hash, is_same_location, p, l);
	if (found == PLACE_NONE) {
		new.line = arena_copy(&p->store->arena, l->line, l->nlines * sizeof(*l->line));
		rc = new.line ? make_room(&p->location, p->nlocations, sizeof(*p->location),
					  &p->store->location_room) :
				-ENOMEM;
		if (rc == 0)
			rc = place_add(&p->store->locations, hash, (uint32_t)p->nlocations);
		if (rc < 0)
			return rc;
		p->location[p->nlocations] = new;
		found = (uint32_t)p->nlocations++;
	}
	*ret = found;
	return 0;
}

int profile_set_lines(struct profile *p, uint32_t location, const struct profile_line *line, size_t n)
{
	const struct profile_line *copy;
	int rc = check_lines(p, line, n);

	if (rc < 0)
		return rc;
	copy = arena_copy(&p->store->arena, line, n * sizeof(*line));
	if (!copy)
		return -ENOMEM;
	/* The index still has the location with its former lines, and does not find it any more. */
	p->location[location].line = copy;
	p->location[location].nlines = n;
	return 0;
}

/* --- samples ----------------------------------------------------------------------------------- */

static bool is_same_label(const struct profile_label *a, const struct profile_label *b)
{
	return a->key == b->key && a->text == b->text && a->number == b->number && a->unit == b->unit;
}

static bool is_same_sample(const void *owner, uint32_t place, const void *key)
{
	const struct profile_sample *a = &((const struct profile *)owner)->sample[place], *b = key;
	size_t i;

	if (a->depth != b->depth || a->nlabels != b->nlabels)
		return false;
	if (a->depth && memcmp(a->location, b->location, a->depth * sizeof(*a->location)) != 0)
		return false;
	for (i = 0; i < a->nlabels; i++)
		if (!is_same_label(&a->label[i], &b->label[i]))
			return false;
	return true;
}

static uint64_t hash_sample(const struct profile_sample *s)
{
	uint64_t hash = place_hash(0, s->location, s->depth * sizeof(*s->location));
	size_t i;

	for (i = 0; i < s->nlabels; i++) {
		hash = place_hash(hash, &s->label[i].key, sizeof(s->label[i].key));
		hash = place_hash(hash, &s->label[i].text, sizeof(s->label[i].text));
		hash = place_hash(hash, &s->label[i].number, sizeof(s->label[i].number));
	}
	return hash;
}

static int store_labels(struct profile *p, const struct profile_label *from, size_t n,
			struct profile_label *to)
{
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < n; i++) {
		to[i] = (struct profile_label){ .number = from[i].text ? 0 : from[i].number };
		rc = store_text(p, from[i].key, &to[i].key);
		if (rc == 0 && from[i].text)
			rc = store_text(p, from[i].text, &to[i].text);
		else if (rc == 0)
			rc = store_text(p, from[i].unit, &to[i].unit);
	}
	return rc;
}

/* Returns a + b, or INT64_MAX if the sum overflows. */
static int64_t sum(int64_t a, int64_t b)
{
	int64_t both;

	return __builtin_add_overflow(a, b, &both) ? INT64_MAX : both;
}

static int check_sample(const struct profile *p, const struct profile_sample *s)
{
	size_t i;

	if (s->depth > PROFILE_DEPTH_MAX || s->nlabels > PROFILE_LABELS_MAX)
		return -ERANGE;
	for (i = 0; i < s->depth; i++)
		if (s->location[i] >= p->nlocations)
			return -EINVAL;
	for (i = 0; i < p->ntypes; i++)
		if (s->value[i] < 0)
			return -EINVAL;
	return 0;
}

/* Adds a copy of KEY, whose labels are P's copies already. */
static int new_sample(struct profile *p, const struct profile_sample *key, uint64_t hash)
{
	struct arena *arena = &p->store->arena;
	struct profile_sample new = *key;
	int rc;

	new.location = arena_copy(arena, key->location, key->depth * sizeof(*key->location));
	new.label = arena_copy(arena, key->label, key->nlabels * sizeof(*key->label));
	new.value = arena_copy(arena, key->value, p->ntypes * sizeof(*key->value));
	if (!new.location || !new.label || !new.value)
		return -ENOMEM;
	rc = make_room(&p->sample, p->nsamples, sizeof(*p->sample), &p->store->sample_room);
	if (rc == 0)
		rc = place_add(&p->store->samples, hash, (uint32_t)p->nsamples);
	if (rc == 0)
		p->sample[p->nsamples++] = new;
	return rc;
}

int profile_add_sample(struct profile *p, const struct profile_sample *s)
{
	struct profile_label label[PROFILE_LABELS_MAX];
	struct profile_sample key = *s;
	uint64_t hash;
	uint32_t found;
	size_t i;
	int rc = check_sample(p, s);

	if (rc == 0)
		rc = store_labels(p, s->label, s->nlabels, label);
	if (rc < 0)
		return rc;
	key.label = label;
	hash = hash_sample(&key);
	found = place_find(&p->store->samples, hash, is_same_sample, p, &key);
	if (found == PLACE_NONE)
		return new_sample(p, &key, hash);
	for (i = 0; i < p->ntypes; i++)
		p->sample[found].value[i] = sum(p->sample[found].value[i], s->value[i]);
	return 0;
}

/* --- reading ----------------------------------------------------------------------------------- */

const struct profile_label *profile_label(const struct profile_sample *s, const char *key)
{
	size_t i;

	for (i = 0; i < s->nlabels; i++)
		if (!strcmp(s->label[i].key, key))
			return &s->label[i];
	return NULL;
}

uint32_t profile_text(const struct profile *p, const char *text)
{
	const struct text_key key = { text, strlen(text) };

	return place_find(&p->store->texts, place_hash(0, key.text, key.len), is_same_text, p, &key);
}

int profile_find_type(const struct profile *p, const char *type, const char *unit)
{
	size_t i;

	for (i = 0; i < p->ntypes; i++)
		if (!strcmp(p->type[i].type, type) && !strcmp(p->type[i].unit, unit))
			return (int)i;
	return -1;
}

bool profile_is_kernel(const struct profile *p, uint32_t location)
{
	const uint32_t mapping = p->location[location].mapping;

	return mapping != PROFILE_NONE && !strcmp(p->mapping[mapping].path, PROFILE_KERNEL);
}
