/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/perf_request.h"

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
	struct perf_request before, w;
	size_t i;

	memset(&before, 0x5a, sizeof(before));
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct errmsg err = { 0 };

		w = before;
		is_int(perf_request_parse(t[i].text, &w, &err), -EINVAL, t[i].text);
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
		{ "", PERF_GROUP_HW | PERF_GROUP_SW, 0, NULL },
		{ " , ,", PERF_GROUP_HW | PERF_GROUP_SW, 0, NULL },
		{ "hw", PERF_GROUP_HW | PERF_GROUP_SW, 0, NULL },
		{ "sw", PERF_GROUP_SW, 0, NULL },
		{ " IO , Net,", PERF_GROUP_IO | PERF_GROUP_NET, 0, NULL },
		{ "io,io", PERF_GROUP_IO, 0, NULL },
		{ "sched,hw", PERF_GROUP_SCHED | PERF_GROUP_HW | PERF_GROUP_SW, 0, NULL },
		{ "events:perf::cycles", PERF_GROUP_EVENTS, 1, "perf::cycles" },
		{ "hw,Events: a ,skx::INST_RETIRED:ANY_P:c=1:u",
		  PERF_GROUP_HW | PERF_GROUP_SW | PERF_GROUP_EVENTS, 2, "skx::INST_RETIRED:ANY_P:c=1:u" },
		{ "events:io,net", PERF_GROUP_EVENTS, 2, "net" }, /* all after it are events */
		{ "events:" EIGHT, PERF_GROUP_EVENTS, 8, "h" },
		{ "events:" SIXTY "aaa", PERF_GROUP_EVENTS, 1, SIXTY "aaa" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct perf_request w = { 0 };

		is_int(perf_request_parse(t[i].text, &w, NULL), 0, t[i].text);
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
