/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/forbid.h"

#include <errno.h>
#include <string.h>

#include "tap.h"

#define PERF                                                                                 \
	(PERF_GROUP_HW | PERF_GROUP_SW | PERF_GROUP_IO | PERF_GROUP_NET | PERF_GROUP_SCHED | \
	 PERF_GROUP_EVENTS)
#define ALL (PERF | FORBID_PROFILE | FORBID_TRACE)

static void test_refused(void)
{
	static const struct {
		const char *text, *says;
	} t[] = {
		{ "debug", "'debug' is not partition:NAME:OPTIONS or account:NAME:OPTIONS (OPTIONS such as "
			   "io+trace)" },
		{ "partition:debug", "'partition:debug' is not" },
		{ "partition::all", "'partition::all' is not" },
		{ "partition:debug:", "'partition:debug:' is not" },
		{ "qos:high:all", "'qos' is neither partition nor account" },
		{ ":debug:all", "'' is neither" },
		{ "partition:debug:bpf",
		  "'bpf' is not hw, sw, io, net, sched, events, perf, profile, trace or all" },
		{ "partition:debug:io+", "'' is not hw" },
		{ "partition:debug:io trace", "'io trace' is not hw" },
		{ "partition:debug:all,account:guests:alll", "'alll'" },
		{ "partition:debug:events:cycles", "'cycles'" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct errmsg err = { 0 };
		uint32_t mask = 0x5a;

		is_int(forbid_find(t[i].text, "other", "other", &mask, &err), -EINVAL, t[i].text);
		ok(strstr(err.text, t[i].says) != NULL, "  says why: %s", err.text);
		is_u64(mask, 0x5a, "  and writes nothing");
	}
}

static void test_found(void)
{
	static const char setting[] =
		"partition:debug:profile, Account:guests:io+trace,account:guests:NET,partition:a:b:hw,";
	static const struct {
		const char *setting, *partition, *account;
		uint32_t mask;
	} t[] = {
		{ "", NULL, NULL, 0 },
		{ setting, "batch", "physics", 0 },
		{ setting, "batch", "", 0 },
		{ setting, "debug", "physics", FORBID_PROFILE },
		{ setting, "batch", "guests", PERF_GROUP_IO | PERF_GROUP_NET | FORBID_TRACE },
		{ setting, "debug", "Guests",
		  PERF_GROUP_IO | PERF_GROUP_NET | FORBID_TRACE | FORBID_PROFILE },
		{ setting, "guests", "debug", 0 },
		{ setting, "debug2", "guest", 0 },
		{ setting, "a:b", "", PERF_GROUP_HW },
		/* not known: as if it were each of them */
		{ setting, NULL, "physics", FORBID_PROFILE | PERF_GROUP_HW },
		{ setting, "batch", NULL, PERF_GROUP_IO | PERF_GROUP_NET | FORBID_TRACE },
		{ "account:guests:all", "batch", "guests", ALL },
		{ "account:guests:perf", "batch", "guests", PERF },
		{ "account:guests:hw+sw+io+net+sched+events", "batch", "guests", PERF },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct errmsg err = { 0 };
		uint32_t mask = 0x5a;

		is_int(forbid_find(t[i].setting, t[i].partition, t[i].account, &mask, &err), 0, t[i].setting);
		is_u64(mask, t[i].mask, t[i].partition ? t[i].partition : "(not known)");
	}
}

static void test_partitions(void)
{
	const char *setting = "account:partition:all, Partition:a:b:io+trace,partition:gpu:all";
	char name[4];

	is_int(forbid_next_partition(&setting, name, sizeof(name)), 1, "the first rule about a partition");
	is_str(name, "a:b", "and its name");
	is_int(forbid_next_partition(&setting, name, sizeof(name)), 1, "the second one");
	is_str(name, "gpu", "and its name");
	is_int(forbid_next_partition(&setting, name, sizeof(name)), 0, "there is no third one");
}

static void test_request(void)
{
	struct perf_request r;
	char text[FORBID_TEXT_MAX];

	require(perf_request_parse("hw,io,events:a,b", &r, NULL) == 0);
	forbid_request(PERF_GROUP_IO | FORBID_TRACE, &r);
	is_u64(r.groups, PERF_GROUP_HW | PERF_GROUP_SW | PERF_GROUP_EVENTS, "a group is taken out");
	is_u64(r.nevents, 2, "events stay");
	forbid_request(ALL, &r);
	is_u64(r.groups, 0, "all groups are taken out");
	is_u64(r.nevents, 0, "with the events");

	forbid_text(0, text);
	is_str(text, "", "text of an empty mask");
	forbid_text(FORBID_TRACE, text);
	is_str(text, "--ceems-trace", "text of one option");
	forbid_text(PERF_GROUP_IO | PERF_GROUP_NET | FORBID_PROFILE, text);
	is_str(text, "--ceems-perf=io,net --ceems-profile", "groups are one option");
	forbid_text(ALL, text);
	is_str(text, "--ceems-perf=hw,sw,io,net,sched,events --ceems-profile --ceems-trace",
	       "text of all options");
}

int main(void)
{
	test_refused();
	test_found();
	test_partitions();
	test_request();
	return done_testing();
}
