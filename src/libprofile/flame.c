/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libprofile/flame.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/libprofile/profile_store.h"
#include "src/libutil/text.h"
#include "src/libutil/util.h"

#define NAME_MAX_BYTES 1024u /* longer names, as of C++ templates, are cut */

struct flame_store {
	struct arena arena;
	struct place_index names, frames;
	size_t name_room, frame_room;
};

/* --- which samples ------------------------------------------------------------------------------ */

/* Returns whether label KEY of S has the text WANTED. NULL: any text, or none. */
static bool has_text(const struct profile_sample *s, const char *key, const char *wanted)
{
	const struct profile_label *label = wanted ? profile_label(s, key) : NULL;

	return !wanted || (label && label->text && !strcmp(label->text, wanted));
}

static bool is_taken(const struct profile_sample *s, const struct flame_filter *filter)
{
	const struct profile_label *task = filter->has_task ? profile_label(s, PROFILE_LABEL_TASK) : NULL;

	if (filter->has_task && (!task || task->text || task->number != filter->task))
		return false;
	return has_text(s, PROFILE_LABEL_NODE, filter->node) &&
	       has_text(s, PROFILE_LABEL_THREAD, filter->thread) &&
	       has_text(s, PROFILE_LABEL_PROCESS, filter->process);
}

void flame_filter(struct profile *p, const struct flame_filter *filter)
{
	size_t i, n = 0;

	for (i = 0; i < p->nsamples; i++) {
		struct profile_sample s = p->sample[i];

		if (!is_taken(&s, filter))
			continue;
		while (filter->hides_kernel && s.depth && profile_is_kernel(p, s.location[0])) {
			s.location++;
			s.depth--;
		}
		p->sample[n++] = s;
	}
	p->nsamples = n;
}

/* --- the tree ----------------------------------------------------------------------------------- */

struct flame *flame_create(void)
{
	struct flame *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->store = calloc(1, sizeof(*f->store));
	f->frame = calloc(1, sizeof(*f->frame)); /* the root */
	if (!f->store || !f->frame) {
		flame_destroy(f);
		return NULL;
	}
	f->nframes = f->store->frame_room = 1;
	return f;
}

void flame_destroy(struct flame *f)
{
	if (!f)
		return;
	if (f->store) {
		place_fini(&f->store->names);
		place_fini(&f->store->frames);
		arena_fini(&f->store->arena);
	}
	free(f->store);
	free(f->frame);
	free(f->name);
	free(f);
}

/*
 * Makes room for one more element of SIZE bytes in ARRAY, which has N. -EFBIG: FLAME_FRAMES_MAX are
 * reached.
 */
static int flame_room(void *array, size_t n, size_t size, size_t *room)
{
	const size_t wanted = *room ? *room * 2 : 64;
	void *more;

	if (n < *room)
		return 0;
	if (n >= FLAME_FRAMES_MAX)
		return -EFBIG;
	more = reallocarray(*(void **)array, wanted, size);
	if (!more)
		return -ENOMEM;
	*(void **)array = more;
	*room = wanted;
	return 0;
}

static bool is_same_name(const void *owner, uint32_t place, const void *key)
{
	const struct flame_name *a = &((const struct flame *)owner)->name[place], *b = key;

	return a->kind == b->kind && !strcmp(a->text, b->text);
}

static int add_name(struct flame *f, const char *text, enum flame_kind kind, uint32_t *ret)
{
	char masked[NAME_MAX_BYTES];
	struct flame_name new = { .text = text_mask(text, masked, sizeof(masked)), .kind = kind };
	const uint64_t hash = place_hash(kind, masked, strlen(masked));
	const uint32_t found = place_find(&f->store->names, hash, is_same_name, f, &new);
	int rc;

	if (found != PLACE_NONE) {
		*ret = found;
		return 0;
	}
	new.text = arena_copy(&f->store->arena, masked, strlen(masked) + 1);
	rc = new.text ? flame_room(&f->name, f->nnames, sizeof(*f->name), &f->store->name_room) : -ENOMEM;
	if (rc == 0)
		rc = place_add(&f->store->names, hash, (uint32_t)f->nnames);
	if (rc < 0)
		return rc;
	f->name[f->nnames] = new;
	*ret = (uint32_t)f->nnames++;
	return 0;
}

static bool is_same_frame(const void *owner, uint32_t place, const void *key)
{
	const struct flame_frame *a = &((const struct flame *)owner)->frame[place], *b = key;

	return a->parent == b->parent && a->name == b->name;
}

/* Replaces the frame *AT by its child with the name NAME, which is added if it does not exist. */
static int enter_frame(struct flame *f, uint32_t name, uint32_t *at)
{
	const struct flame_frame new = { .name = name, .parent = *at };
	const uint64_t hash = place_hash(name, at, sizeof(*at));
	const uint32_t found = place_find(&f->store->frames, hash, is_same_frame, f, &new);
	int rc;

	if (found != PLACE_NONE) {
		*at = found;
		return 0;
	}
	rc = flame_room(&f->frame, f->nframes, sizeof(*f->frame), &f->store->frame_room);
	if (rc == 0)
		rc = place_add(&f->store->frames, hash, (uint32_t)f->nframes);
	if (rc < 0)
		return rc;
	f->frame[f->nframes] = new;
	*at = (uint32_t)f->nframes++;
	return 0;
}

/* --- profiles ----------------------------------------------------------------------------------- */

/*
 * Writes the name of an unknown function to BUF: its file's name, such as "[libc.so.6]", or
 * "[unknown]".
 */
static void name_file(const struct profile *p, const struct profile_location *l, char *buf, size_t size)
{
	const char *path = l->mapping == PROFILE_NONE ? "" : p->mapping[l->mapping].path;
	const char *slash = strrchr(path, '/');

	(void)snprintf(buf, size, "[%s]", slash ? slash + 1 : *path ? path : "unknown");
}

/*
 * Sets RET to the names of the functions at location L, the outermost first: one per line, or one
 * if it has no lines.
 */
static int name_location(struct flame *f, const struct profile *p, const struct profile_location *l,
			 bool is_kernel, uint32_t *ret)
{
	char file[NAME_MAX_BYTES];
	size_t i;
	int rc = 0;

	if (!l->nlines) {
		name_file(p, l, file, sizeof(file));
		return add_name(f, file, is_kernel ? FLAME_KERNEL : FLAME_UNKNOWN, ret);
	}
	for (i = 0; rc == 0 && i < l->nlines; i++) {
		const char *name = p->function[l->line[i].function].name;

		rc = add_name(f, *name ? name : "[unknown]",
			      is_kernel ? FLAME_KERNEL :
			      *name	? FLAME_USER :
					  FLAME_UNKNOWN,
			      &ret[l->nlines - 1 - i]);
	}
	return rc;
}

/*
 * Names by location: those of location i are name[first[i]] to name[first[i + 1] - 1], the
 * outermost first.
 */
struct location_names {
	uint32_t *name, *first; /* FIRST has one element more than there are locations */
};

static int name_all(struct flame *f, const struct profile *p, struct location_names *ret)
{
	size_t i, n = 0;
	int rc = 0;

	for (i = 0; i < p->nlocations; i++)
		n += p->location[i].nlines ? p->location[i].nlines : 1;
	if (n >= PLACE_NONE)
		return -EFBIG;
	ret->name = calloc(n + 1, sizeof(*ret->name));
	ret->first = calloc(p->nlocations + 1, sizeof(*ret->first));
	if (!ret->name || !ret->first)
		return -ENOMEM;
	for (i = 0, n = 0; rc == 0 && i < p->nlocations; i++) {
		ret->first[i] = (uint32_t)n;
		rc = name_location(f, p, &p->location[i], profile_is_kernel(p, (uint32_t)i), &ret->name[n]);
		n += p->location[i].nlines ? p->location[i].nlines : 1;
	}
	ret->first[p->nlocations] = (uint32_t)n;
	return rc;
}

/* Adds VALUE to the sum for how the stack of S ended: whole, cut or failed. */
static void count_end(struct flame *f, const struct profile_sample *s, double value, enum flame_side side)
{
	const struct profile_label *end = profile_label(s, PROFILE_LABEL_STACK);

	if (!end || !end->text)
		f->whole[side] += value;
	else if (!strcmp(end->text, PROFILE_STACK_CUT))
		f->cut[side] += value;
	else
		f->failed[side] += value;
}

static int add_stack(struct flame *f, const struct profile_sample *s, const struct location_names *names,
		     double value, enum flame_side side)
{
	const struct profile_label *process = profile_label(s, PROFILE_LABEL_PROCESS);
	uint32_t at = FLAME_ROOT, name, k;
	size_t i;
	int rc = 0;

	if (process && process->text) {
		rc = add_name(f, process->text, FLAME_PROCESS, &name);
		if (rc == 0)
			rc = enter_frame(f, name, &at);
	}
	for (i = s->depth; rc == 0 && i-- > 0;)
		for (k = names->first[s->location[i]]; rc == 0 && k < names->first[s->location[i] + 1]; k++)
			rc = enter_frame(f, names->name[k], &at);
	if (rc == 0)
		f->frame[at].self[side] += value;
	return rc;
}

int flame_add(struct flame *f, const struct profile *p, size_t type, double scale, enum flame_side side)
{
	struct location_names names = { 0 };
	const int count = profile_find_type(p, "samples", "count");
	size_t i;
	int rc = name_all(f, p, &names);

	for (i = 0; rc == 0 && i < p->nsamples; i++) {
		const double value = (double)p->sample[i].value[type] * scale;

		if (!(value > 0))
			continue;
		f->samples[side] += count < 0 ? 1 : (uint64_t)p->sample[i].value[count];
		count_end(f, &p->sample[i], value, side);
		rc = add_stack(f, &p->sample[i], &names, value, side);
	}
	free(names.name);
	free(names.first);
	return rc;
}

/* --- sums --------------------------------------------------------------------------------------- */

/*
 * Returns whether frame AT has a caller of the same name. That caller's total contains AT's total
 * already.
 */
static bool is_recursive(const struct flame *f, uint32_t at)
{
	uint32_t up;

	for (up = f->frame[at].parent; up != FLAME_ROOT; up = f->frame[up].parent)
		if (f->frame[up].name == f->frame[at].name)
			return true;
	return false;
}

static void sum_side(struct flame *f, enum flame_side side)
{
	size_t i;

	for (i = 0; i < f->nframes; i++)
		f->frame[i].total[side] = f->frame[i].self[side];
	/* children come after their parents, so this adds each child before its parent is added */
	for (i = f->nframes; i-- > 1;)
		f->frame[f->frame[i].parent].total[side] += f->frame[i].total[side];
}

struct frame_order {
	const char *name;
	uint32_t frame, parent;
	enum flame_kind kind;
};

/* Orders frames by parent, then by name. */
static int compare_order(const void *a, const void *b)
{
	const struct frame_order *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (strcmp(x->name, y->name) != 0)
		return strcmp(x->name, y->name);
	return (x->kind > y->kind) - (x->kind < y->kind);
}

/* Links the children of each frame in the order of their names. */
static int link_children(struct flame *f)
{
	_cleanup_free_ struct frame_order *order = calloc(f->nframes, sizeof(*order));
	size_t i;

	if (!order)
		return -ENOMEM;
	for (i = 1; i < f->nframes; i++) {
		const struct flame_name *name = &f->name[f->frame[i].name];

		order[i - 1] = (struct frame_order){ name->text, (uint32_t)i, f->frame[i].parent,
						     name->kind };
	}
	qsort(order, f->nframes - 1, sizeof(*order), compare_order);
	for (i = f->nframes - 1; i-- > 0;) {
		struct flame_frame *parent = &f->frame[order[i].parent];

		f->frame[order[i].frame].next = parent->child;
		parent->child = order[i].frame;
	}
	return 0;
}

int flame_finish(struct flame *f)
{
	size_t i, side;

	sum_side(f, FLAME_THIS);
	sum_side(f, FLAME_OTHER);
	for (i = 1; i < f->nframes; i++) {
		const struct flame_frame *frame = &f->frame[i];
		const bool recursive = is_recursive(f, (uint32_t)i);

		for (side = 0; side < FLAME_SIDES; side++) {
			f->name[frame->name].self[side] += frame->self[side];
			f->name[frame->name].total[side] += recursive ? 0 : frame->total[side];
		}
	}
	return link_children(f);
}

double flame_share(const struct flame *f, const double value[FLAME_SIDES], enum flame_side side)
{
	const double all = f->frame[FLAME_ROOT].total[side];

	return all > 0 ? value[side] / all : 0;
}

struct top_order {
	double key, total;
	uint32_t name;
};

static int compare_top(const void *a, const void *b)
{
	const struct top_order *x = a, *y = b;

	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

int flame_top(const struct flame *f, bool is_difference, uint32_t **ret)
{
	_cleanup_free_ struct top_order *order = calloc(f->nnames + 1, sizeof(*order));
	uint32_t *top = calloc(f->nnames + 1, sizeof(*top));
	size_t i;

	if (!order || !top) {
		free(top);
		return -ENOMEM;
	}
	for (i = 0; i < f->nnames; i++) {
		const struct flame_name *n = &f->name[i];
		const double here = flame_share(f, n->self, FLAME_THIS),
			     there = flame_share(f, n->self, FLAME_OTHER);

		order[i] = (struct top_order){ is_difference ? fabs(here - there) : here,
					       n->total[FLAME_THIS], (uint32_t)i };
	}
	qsort(order, f->nnames, sizeof(*order), compare_top);
	for (i = 0; i < f->nnames; i++)
		top[i] = order[i].name;
	*ret = top;
	return 0;
}
