/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/perfwish.h"

#include <errno.h>
#include <string.h>

#include "tap.h"

#define EIGHT "a,b,c,d,e,f,g,h"
#define SIXTY "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void test_refused(void)
{
	static const struct {
		const char *text, *says;
	} t[] = {
		{ "flops", "'flops'; known are hw" },
		{ "hw,,,flops", "'flops'" },
		{ "hw io", "'hw io'" },
		{ "h", "'h'" },
		{ "hww", "'hww'" },
		{ "(null)", "'(null)'" },
		{ "events", "'events'" },
		{ "events:", "without a name" },
		{ "EVENTS: , ,", "without a name" },
		{ "io,events:a b", "'a b'" },
		{ "events:a/b", "'a/b'" },
		{ "events:../x", "'../x'" },
		{ "events:a\nb", "'a?b'" },
		{ "events:" EIGHT ",i", "more than 8" },
		{ "events:" SIXTY "aaaa", "too long" },
		{ SIXTY SIXTY SIXTY, "unknown group" },
	};
	struct perfwish before, w;
	size_t i;

	memset(&before, 0x5a, sizeof(before));
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct errmsg err = { 0 };

		w = before;
		is_int(perfwish_parse(t[i].text, &w, &err), -EINVAL, t[i].text);
		ok(strstr(err.text, t[i].says) != NULL, "  says why: %s", err.text);
		ok(memcmp(&w, &before, sizeof(w)) == 0, "  and writes nothing");
	}
}

static void test_taken(void)
{
	static const struct {
		const char *text;
		uint32_t groups, nevents;
		const char *last;
	} t[] = {
		{ "", WISH_HW | WISH_SW, 0, NULL },
		{ " , ,", WISH_HW | WISH_SW, 0, NULL },
		{ "hw", WISH_HW | WISH_SW, 0, NULL },
		{ "sw", WISH_SW, 0, NULL },
		{ " IO , Net,", WISH_IO | WISH_NET, 0, NULL },
		{ "io,io", WISH_IO, 0, NULL },
		{ "sched,hw", WISH_SCHED | WISH_HW | WISH_SW, 0, NULL },
		{ "events:perf::cycles", WISH_EVENTS, 1, "perf::cycles" },
		{ "hw,Events: a ,skx::INST_RETIRED:ANY_P:c=1:u",
		  WISH_HW | WISH_SW | WISH_EVENTS, 2, "skx::INST_RETIRED:ANY_P:c=1:u" },
		{ "events:io,net", WISH_EVENTS, 2, "net" }, /* all after it are events */
		{ "events:" EIGHT, WISH_EVENTS, 8, "h" },
		{ "events:" SIXTY "aaa", WISH_EVENTS, 1, SIXTY "aaa" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct perfwish w = { 0 };

		is_int(perfwish_parse(t[i].text, &w, NULL), 0, t[i].text);
		is_u64(w.groups, t[i].groups, "  groups");
		is_u64(w.nevents, t[i].nevents, "  events");
		if (t[i].last && w.nevents)
			is_str(w.event[w.nevents - 1], t[i].last, "  the last one");
	}
}

int main(void)
{
	test_refused();
	test_taken();
	return done_testing();
}
