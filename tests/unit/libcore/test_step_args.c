/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/step_args.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

static void test_refused(void)
{
	static const struct {
		const char *name;
		const char *argv[8];
		const char *want;
	} t[] = {
		{ "nothing", { NULL }, "argument uid= is missing" },
		{ "one is missing",
		  { "uid=1", "groups=2", "dir=/", "bytes=3" },
		  "argument file= is missing" },
		{ "unknown", { "uid=1", "group=2" }, "unknown argument 'group=2'" },
		{ "without a value", { "uid" }, "unknown argument 'uid'" },
		{ "by place, as before", { "1", "2", "/", "f", "3" }, "unknown argument '1'" },
		{ "of ceems-profile", { "uid=1", "hz=99" }, "unknown argument 'hz=99'" },
		{ "twice", { "uid=1", "groups=2", "uid=1" }, "argument uid= is given twice" },
	};
	char *value[STEP_ARGS_TRACE];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct errmsg err = { 0 };

		is_int(step_args_parse((char *const *)t[i].argv, STEP_ARGS_TRACE, value, &err), -EINVAL,
		       t[i].name);
		is_str(err.text, t[i].want, "  says which");
	}
}

/* What one side makes, in the reverse order, the other side takes. */
static void test_both_sides(void)
{
	static const char *const odd[] = { "", "=", "a=b", "uid=7", "/with a blank", "a\nb" };
	char *made[STEP_ARGS_PROFILE], *argv[STEP_ARGS_PROFILE + 1] = { NULL };
	char *value[STEP_ARGS_PROFILE];
	struct errmsg err = { 0 };
	unsigned int a;

	for (a = 0; a < STEP_ARGS_PROFILE; a++)
		step_arg_set(made, (enum step_arg)a, "%s%u", odd[a % ARRAY_SIZE(odd)], a);
	for (a = 0; a < STEP_ARGS_PROFILE; a++)
		argv[a] = made[STEP_ARGS_PROFILE - 1 - a];
	is_int(step_args_parse(argv, STEP_ARGS_PROFILE, value, &err), 0, "all arguments, in another order");
	for (a = 0; a < STEP_ARGS_PROFILE; a++) {
		char want[32];

		(void)snprintf(want, sizeof(want), "%s%u", odd[a % ARRAY_SIZE(odd)], a);
		is_str(value[a], want, "  its value is kept");
	}
	for (a = 0; a < STEP_ARGS_PROFILE; a++)
		free(made[a]);
}

int main(void)
{
	test_refused();
	test_both_sides();
	return done_testing();
}
