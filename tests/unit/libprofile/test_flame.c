/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles as a tree of functions: sums, recursion, inlined functions, filters, two
 * profiles beside each other.
 */
#include <errno.h>
#include <stdlib.h>

#include "src/libprofile/flame.h"
#include "tap.h"

static const struct profile_type types[] = { { "samples", "count" }, { "cpu", "nanoseconds" } };

static uint32_t add_place(struct profile *p, const char *path, const char *const *name, size_t n,
			  uint64_t address)
{
	struct profile_line line[4] = { 0 };
	struct profile_location l = { .line = line, .nlines = n, .address = address };
	uint32_t place = 0;
	size_t i;

	if (profile_add_mapping(p, &(struct profile_mapping){ path, "", .limit = 4096 }, &l.mapping) < 0)
		diag("no mapping");
	for (i = 0; i < n; i++)
		if (profile_add_function(p, &(struct profile_function){ name[i], "", "", 0 },
					 &line[i].function) < 0)
			diag("no function");
	if (profile_add_location(p, &l, &place) < 0)
		diag("no location");
	return place;
}

static void add_stack(struct profile *p, const uint32_t *location, size_t depth, int64_t count, int64_t task,
		      const char *end)
{
	int64_t value[] = { count, count * 100 };
	const struct profile_label label[] = { { PROFILE_LABEL_TASK, .number = task },
					       { PROFILE_LABEL_PROCESS, .text = "app" },
					       { PROFILE_LABEL_STACK, .text = end } };

	if (profile_add_sample(p, &(struct profile_sample){ location, depth, value, label, end ? 3 : 2 }) < 0)
		diag("no sample");
}

/* main 1, main>f>f 2 (recursion), main>g+h (h inlined into g) 3 of task 1, main>f>kernel 4, nothing 5 */
static struct profile *make_profile(void)
{
	static const char *const main_name[] = { "main" }, *const f_name[] = { "f" },
				 *const inlined[] = { "h", "g" }, *const kernel_name[] = { "copy" };
	struct profile *p = NULL;
	uint32_t main_at, f, g, k, unknown;

	if (profile_create(types, 2, &p) < 0)
		return NULL;
	main_at = add_place(p, "/bin/a", main_name, 1, 1);
	f = add_place(p, "/bin/a", f_name, 1, 2);
	g = add_place(p, "/bin/a", inlined, 2, 3);
	k = add_place(p, PROFILE_KERNEL, kernel_name, 1, 4);
	unknown = add_place(p, "/lib/x.so", NULL, 0, 5);
	add_stack(p, (uint32_t[]){ main_at }, 1, 1, 0, NULL);
	add_stack(p, (uint32_t[]){ f, f, main_at }, 3, 2, 0, NULL);
	add_stack(p, (uint32_t[]){ g, main_at }, 2, 3, 1, PROFILE_STACK_CUT);
	add_stack(p, (uint32_t[]){ k, f, main_at }, 3, 4, 0, NULL);
	add_stack(p, (uint32_t[]){ unknown }, 1, 5, 0, PROFILE_STACK_FAILED);
	return p;
}

static const struct flame_name *find_name(const struct flame *f, const char *text)
{
	size_t i;

	for (i = 0; i < f->nnames; i++)
		if (!strcmp(f->name[i].text, text))
			return &f->name[i];
	return NULL;
}

static bool has_values(const struct flame *f, const char *text, double self, double total)
{
	const struct flame_name *n = find_name(f, text);

	if (n && n->self[FLAME_THIS] == self && n->total[FLAME_THIS] == total)
		return true;
	diag("%s: %g and %g", text, n ? n->self[FLAME_THIS] : -1, n ? n->total[FLAME_THIS] : -1);
	return false;
}

static struct flame *make_flame(const struct flame_filter *filter)
{
	struct profile *p = make_profile();
	struct flame *f = flame_create();

	flame_filter(p, filter);
	is_int(flame_add(f, p, 1, 1, FLAME_THIS), 0, "a profile");
	is_int(flame_finish(f), 0, "sums");
	profile_destroy(p);
	return f;
}

static void test_sums(void)
{
	struct flame *f = make_flame(&(struct flame_filter){ 0 });
	uint32_t *top = NULL;

	ok(has_values(f, "app", 0, 1500), "the process has all");
	ok(has_values(f, "main", 100, 1000), "main");
	ok(has_values(f, "f", 200, 600), "a recursive function counts once");
	ok(has_values(f, "g", 0, 300) && has_values(f, "h", 300, 300),
	   "an inlined function below the one that has it");
	ok(has_values(f, "copy", 400, 400) && find_name(f, "copy")->kind == FLAME_KERNEL,
	   "a function of the kernel");
	ok(has_values(f, "[x.so]", 500, 500) && find_name(f, "[x.so]")->kind == FLAME_UNKNOWN,
	   "no symbol: the name of the file");
	ok(f->whole[0] == 700 && f->cut[0] == 300 && f->failed[0] == 500, "how the stacks ended");
	is_u64(f->samples[0], 15, "samples");
	is_int(flame_top(f, false, &top), 0, "sorted by size");
	is_str(f->name[top[0]].text, "[x.so]", "the largest first");
	is_str(f->name[top[1]].text, "copy", "then the next");
	free(top);
	flame_destroy(f);
	flame_destroy(NULL);
}

static void test_filter(void)
{
	struct flame *f = make_flame(&(struct flame_filter){ .has_task = true, .task = 1 });

	ok(has_values(f, "app", 0, 300), "the samples of one task only");
	flame_destroy(f);
	f = make_flame(&(struct flame_filter){ .hides_kernel = true });
	ok(has_values(f, "f", 600, 600), "what the kernel does is its caller's");
	flame_destroy(f);
	f = make_flame(&(struct flame_filter){ .node = "n1" });
	ok(f->nnames >= 1 && f->frame[FLAME_ROOT].total[0] == 0, "no label: not of that node");
	ok(flame_share(f, f->whole, FLAME_THIS) == 0, "a share of nothing");
	flame_destroy(f);
}

static void test_two(void)
{
	struct profile *p = make_profile(), *q = make_profile();
	struct flame *f = flame_create();
	uint32_t *top = NULL;

	flame_filter(q, &(struct flame_filter){ .has_task = true, .task = 1 });
	is_int(flame_add(f, p, 1, 0.5, FLAME_THIS), 0, "one");
	is_int(flame_add(f, q, 1, 2, FLAME_OTHER), 0, "another");
	is_int(flame_finish(f), 0, "sums");
	ok(f->frame[FLAME_ROOT].total[FLAME_THIS] == 750 && f->frame[FLAME_ROOT].total[FLAME_OTHER] == 600,
	   "each scaled");
	is_int(flame_top(f, true, &top), 0, "sorted by change");
	is_str(f->name[top[0]].text, "h", "the largest change first");
	free(top);
	flame_destroy(f);
	profile_destroy(p);
	profile_destroy(q);
}

static void test_hostile(void)
{
	struct profile *p = NULL;
	struct flame *f = flame_create();
	char name[3000];
	const char *names[] = { name };
	uint32_t place, deep[PROFILE_DEPTH_MAX];
	size_t i;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	name[0] = '\n';
	is_int(profile_create(types, 2, &p), 0, "create");
	place = add_place(p, "/bin/a", names, 1, 1);
	for (i = 0; i < PROFILE_DEPTH_MAX; i++)
		deep[i] = place;
	add_stack(p, deep, PROFILE_DEPTH_MAX, INT64_MAX / 200, 0, NULL);
	is_int(flame_add(f, p, 0, 1, FLAME_THIS), 0, "a deep stack of a long name");
	is_int(flame_finish(f), 0, "sums");
	is_u64(f->nframes, PROFILE_DEPTH_MAX + 2, "the tree is as deep as the stack");
	ok(strlen(f->name[0].text) < 1024 && f->name[0].text[0] == '?', "its name is masked and cut");
	flame_destroy(f);
	profile_destroy(p);
}

int main(void)
{
	test_sums();
	test_filter();
	test_two();
	test_hostile();
	return done_testing();
}
