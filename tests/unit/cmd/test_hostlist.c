/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/hostlist.h"

#include <stdio.h>
#include <string.h>

#include "src/libutil/util.h"

#include "tap.h"

static const struct {
	const char *list;
	const char *name; /* NULL: the list has no more names */
	uint64_t n;
} cases[] = {
	{ "", NULL, 0 },
	{ "n1", "n1", 0 },
	{ "n1", NULL, 1 },
	{ "n[1-3]", "n3", 2 },
	{ "n[1-3]", NULL, 3 },
	{ "n[08-11]", "n08", 0 },
	{ "n[08-11]", "n10", 2 },
	{ "a,n[1,3-4]-ib,z", "n4-ib", 3 },
	{ "a,n[1,3-4]-ib,z", "z", 4 },
	{ "r[1-2]n[1-3]", "r1n3", 2 },
	{ "r[1-2]n[1-3]", "r2n1", 3 },
	{ "r[1-2]n[1-3],x", "x", 6 },
	{ "n[", NULL, 0 },
	{ "n[]", NULL, 0 },
	{ "n[3-1]", NULL, 0 },
	{ "n[x]", NULL, 0 },
	{ "n[1-99999999999999999999]", NULL, 0 },
	{ "n[1-90000]m[1-90000]", NULL, 0 },
	{ "n[0000000000000000000000001]", NULL, 0 },
	{ ",,n1", "n1", 0 },
};

int main(void)
{
	uint64_t at = 0;
	char name[16];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		bool has = hostlist_nth(cases[i].list, cases[i].n, name, sizeof(name));

		if (!cases[i].name) {
			ok(!has, "'%s' has no name %d", cases[i].list, (int)cases[i].n);
			continue;
		}
		ok(has && !strcmp(name, cases[i].name), "'%s' %d: %s", cases[i].list, (int)cases[i].n, name);
		ok(hostlist_find(cases[i].list, cases[i].name, &at) && at == cases[i].n, "  and back");
	}
	ok(hostlist_find("N[1-4]", "n2", &at) && at == 1, "in upper or lower case");
	ok(!hostlist_find("n[1-4]", "n5", &at), "a name that is not there");
	ok(!hostlist_nth("a-name-that-is-too-long-for-it", 0, name, sizeof(name)),
	   "a buffer that is too small");
	return done_testing();
}
