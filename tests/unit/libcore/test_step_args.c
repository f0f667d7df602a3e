/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/step_args.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tap.h"

/* Text and length of a message. */
#define MESSAGE(text) text, sizeof(text)

static void test_refused(void)
{
	static const struct {
		const char *name;
		const char *text;
		size_t len;
		const char *want;
	} t[] = {
		{ "nothing", "", 0, "argument uid= is missing" },
		{ "one is missing", MESSAGE("uid=1\0groups=2\0dir=/\0bytes=3"), "argument file= is missing" },
		{ "unknown", MESSAGE("uid=1\0group=2"), "unknown argument 'group=2'" },
		{ "without a value", MESSAGE("uid"), "unknown argument 'uid'" },
		{ "an empty one", MESSAGE("uid=1\0"), "unknown argument ''" },
		{ "by place, as before", MESSAGE("1\0002\0/\0f\0003"), "unknown argument '1'" },
		{ "of ceems-profile", MESSAGE("uid=1\0hz=99"), "unknown argument 'hz=99'" },
		{ "twice", MESSAGE("uid=1\0groups=2\0uid=1"), "argument uid= is given twice" },
		{ "cut", "uid=1\0groups=2", 13, "the last argument is cut" },
	};
	char *value[STEP_ARGS_TRACE];
	char text[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct errmsg err = { 0 };

		memcpy(text, t[i].text, t[i].len);
		is_int(step_args_parse(text, t[i].len, STEP_ARGS_TRACE, value, &err), -EINVAL, t[i].name);
		is_str(err.text, t[i].want, "  says which");
	}
}

/* What one side makes, in the reverse order, the other side takes. */
static void test_both_sides(void)
{
	static const char *const odd[] = { "", "=", "a=b", "uid=7", "/with a blank", "a\nb" };
	char *made[STEP_ARGS_PROFILE], *turned[STEP_ARGS_PROFILE];
	char *value[STEP_ARGS_PROFILE];
	char *sent = NULL, *got = NULL;
	struct errmsg err = { 0 };
	size_t len = 0;
	unsigned int a;
	int end[2];

	for (a = 0; a < STEP_ARGS_PROFILE; a++)
		step_arg_set(made, (enum step_arg)a, "%s%u", odd[a % ARRAY_SIZE(odd)], a);
	for (a = 0; a < STEP_ARGS_PROFILE; a++)
		turned[a] = made[STEP_ARGS_PROFILE - 1 - a];
	is_int(step_args_join(turned, STEP_ARGS_PROFILE, &sent, &len), 0, "one message has all");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, end) < 0 || send(end[0], sent, len, 0) != (ssize_t)len ||
	    send(end[0], "next", 4, 0) != 4)
		exit(99);
	is_int(step_args_receive(end[1], STEP_ARGS_PROFILE, &got, value, &err), 0,
	       "all arguments, in another order");
	for (a = 0; a < STEP_ARGS_PROFILE; a++) {
		char want[32];

		(void)snprintf(want, sizeof(want), "%s%u", odd[a % ARRAY_SIZE(odd)], a);
		is_str(value[a], want, "  its value is kept");
	}
	free(got);
	is_int(recv(end[1], sent, len, 0), 4, "  the next message is left");
	(void)close(end[0]);
	is_int(step_args_receive(end[1], STEP_ARGS_PROFILE, &got, value, &err), -EPROTO, "no message");
	(void)close(end[1]);
	free(sent);
	for (a = 0; a < STEP_ARGS_PROFILE; a++)
		free(made[a]);
}

/* The tasks of a large node; more than fits is refused by the sender. */
static void test_long(void)
{
	static char tasks[STEP_ARGS_MAX + 1];
	char *arg[1] = { tasks }, *text = NULL;
	size_t len = 0;

	memset(tasks, 'x', sizeof(tasks) - 1);
	is_int(step_args_join(arg, 1, &text, &len), -E2BIG, "one byte too many");
	tasks[sizeof(tasks) - 2] = '\0';
	is_int(step_args_join(arg, 1, &text, &len), 0, "as many as may be");
	is_u64(len, STEP_ARGS_MAX, "  with the NUL");
	free(text);
}

int main(void)
{
	test_refused();
	test_both_sides();
	test_long();
	return done_testing();
}
