/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/profile_request.h"

#include <errno.h>
#include <string.h>

#include "src/libutil/util.h"
#include "tap.h"

static void test_refused(void)
{
	/* clang-format off */
	static const char *const t[] = {
		"0", "1000", "99999999999999999999", "-1", "+1", "1.5", "99hz", " 99", "99 ",
		"99,", ",99,,", "soon", "users", "99,99", "user,kernel", "both,both",
		"offcpu,offcpu", "maps,maps", "cycles,cycles", "cycle", "off", "user,offcpu,both",
		"(null)", "99\n",
	};
	/* clang-format on */
	struct profile_request before, w;
	size_t i;

	memset(&before, 0x5a, sizeof(before));
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct errmsg err = { 0 };

		w = before;
		is_int(profile_request_parse(t[i], &w, &err), -EINVAL, t[i]);
		ok(err.text[0] == '\'', "  says why: %s", err.text);
		ok(memcmp(&w, &before, sizeof(w)) == 0, "  and writes nothing");
	}
}

static void test_taken(void)
{
	static const struct {
		const char *text;
		uint32_t hz, stacks;
	} t[] = {
		{ "", 99, PROFILE_REQUEST_USER },
		{ "1", 1, PROFILE_REQUEST_USER },
		{ "999", 999, PROFILE_REQUEST_USER },
		{ "user", 99, PROFILE_REQUEST_USER },
		{ "KERNEL", 99, PROFILE_REQUEST_KERNEL },
		{ "49,both", 49, PROFILE_REQUEST_USER | PROFILE_REQUEST_KERNEL },
		{ "offcpu", 99, PROFILE_REQUEST_USER | PROFILE_REQUEST_OFFCPU },
		{ "offcpu,kernel,9", 9, PROFILE_REQUEST_KERNEL | PROFILE_REQUEST_OFFCPU },
		{ "maps", 99, PROFILE_REQUEST_USER | PROFILE_REQUEST_MAPS },
		{ "offcpu,maps,both", 99,
		  PROFILE_REQUEST_USER | PROFILE_REQUEST_KERNEL | PROFILE_REQUEST_OFFCPU |
			  PROFILE_REQUEST_MAPS },
		{ "cycles", 99, PROFILE_REQUEST_USER | PROFILE_REQUEST_CYCLES },
		{ "999,kernel,offcpu,cycles", 999,
		  PROFILE_REQUEST_KERNEL | PROFILE_REQUEST_OFFCPU | PROFILE_REQUEST_CYCLES },
		{ "Both,49", 49, PROFILE_REQUEST_USER | PROFILE_REQUEST_KERNEL },
	};
	struct profile_request w;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		is_int(profile_request_parse(t[i].text, &w, NULL), 0, t[i].text);
		is_u64(w.hz, t[i].hz, "  its rate");
		is_u64(w.stacks, t[i].stacks, "  and its stacks");
	}
	is_str(profile_request_stacks_name(PROFILE_REQUEST_USER | PROFILE_REQUEST_KERNEL), "both", "a name");
	is_str(profile_request_stacks_name(PROFILE_REQUEST_USER | PROFILE_REQUEST_OFFCPU), "user,offcpu",
	       "one with waits");
	is_str(profile_request_stacks_name(PROFILE_REQUEST_USER | PROFILE_REQUEST_MAPS), "user",
	       "one with maps");
	is_str(profile_request_stacks_name(PROFILE_REQUEST_USER | PROFILE_REQUEST_CYCLES), "user",
	       "one with cycles");
	is_str(profile_request_stacks_name(0), "none", "nothing was asked for");
}

int main(void)
{
	test_refused();
	test_taken();
	return done_testing();
}
