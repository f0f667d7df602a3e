/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of CPUs, and the weight of a cycle beside a busy SMT sibling.
 */
#include "src/libmeter/activity/smt.h"

#include <errno.h>
#include <inttypes.h>

#include "paths_of.h"
#include "scratch.h"
#include "src/libmeter/activity/cpuset.h"
#include "src/libutil/fileio.h"
#include "src/libutil/util.h"
#include "tap.h"

#define MS UINT64_C(1000000)

static void test_lists(void)
{
	static const struct {
		const char *text;
		int rc;
		const char *want;
	} t[] = {
		{ "x", -EINVAL, "" },
		{ "1,", 0, "1" },
		{ ",1", -EINVAL, "" },
		{ "3-1", -EINVAL, "" },
		{ "1-", -EINVAL, "" },
		{ "-1", -EINVAL, "" },
		{ "1,1", -EINVAL, "" },
		{ "4,2", -EINVAL, "" },
		{ "0x3", -EINVAL, "" },
		{ "0-18446744073709551615,0", -EINVAL, "" },
		{ "99999999999999999999", -EINVAL, "" },
		{ "", 0, "" },
		{ "\n", 0, "" },
		{ "0\n", 0, "0" },
		{ "0-3,5,7\n", 0, "0 1 2 3 5 7" },
		{ "6-9,12", 0, "6 7" },
		{ "0-18446744073709551615", 0, "0 1 2 3 4 5 6 7" },
	};
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		uint32_t cpu[8];
		size_t n = 0;
		char got[64] = "";

		is_int(cpuset_parse(t[i].text, 8, cpu, &n), t[i].rc, t[i].text);
		for (k = 0; k < n; k++)
			sprintf(got + strlen(got), k ? " %u" : "%u", cpu[k]);
		is_str(got, t[i].want, "its CPUs below 8");
	}
	{
		uint32_t cpu;
		size_t n;

		is_int(cpuset_of_step(paths_of("", "", ""), 1, &cpu, &n), -ENOENT, "no step");
		is_int(cpuset_of_step(paths_of("/no/such/step_0", "/no/such/step_0", ""), 1, &cpu, &n),
		       -ENOENT, "no such step");
	}
}

static void put_siblings(const char *root, unsigned int cpu, const char *list)
{
	char dir[128];
	char path[192];

	(void)snprintf(dir, sizeof(dir), "%s/sys/devices/system/cpu/cpu%u/topology", root, cpu);
	(void)fileio_mkdir_p(dir, 0755, NULL);
	(void)snprintf(path, sizeof(path), "%s/thread_siblings_list", dir);
	scratch_write(path, list, strlen(list));
}

static bool is_near(uint32_t got, double want)
{
	if (got + 2 >= want * SMT_ONE && got <= want * SMT_ONE + 2)
		return true;
	diag("got %u of %u", got, SMT_ONE);
	return false;
}

static void test_worth(void)
{
	char root[] = SCRATCH_TEMPLATE;
	uint64_t ns[6] = { 0 };
	struct smt *s = NULL;
	unsigned int i;

	if (!mkdtemp(root))
		exit(99);
	/* 0 with 2, 1 with 3; 4 says nonsense, 5 nothing */
	put_siblings(root, 0, "0,2\n");
	put_siblings(root, 1, "1,3\n");
	put_siblings(root, 2, "0,2\n");
	put_siblings(root, 3, "1,3\n");
	put_siblings(root, 4, "4;5\n");
	is_int(smt_open(root, 6, &s), 0, "open");
	ok(is_near(smt_worth(s, 0), 1), "before anything is known, a cycle is a cycle");
	for (i = 0; i < 6; i++)
		ns[i] = 5000 * MS;
	smt_update(s, ns, 1000 * MS);
	ok(is_near(smt_worth(s, 0), 1), "what was before the first window does not count");
	ns[0] += 1000 * MS;
	ns[1] += 1000 * MS;
	ns[3] += 500 * MS;
	ns[4] += 1000 * MS;
	ns[5] += 1000 * MS;
	smt_update(s, ns, 2000 * MS);
	ok(is_near(smt_worth(s, 0), 1), "the sibling is idle");
	ok(is_near(smt_worth(s, 2), 0.575), "the sibling is busy all the time: r / 2");
	ok(is_near(smt_worth(s, 1), 1 - 0.425 / 2), "half of the time: half as much less");
	ok(is_near(smt_worth(s, 4), 1) && is_near(smt_worth(s, 5), 1), "no sibling that is known of");
	ns[2] += 1000 * MS;
	smt_update(s, ns, 2050 * MS);
	ok(is_near(smt_worth(s, 0), 1), "no window is shorter than 100 ms");
	smt_update(s, ns, 2200 * MS);
	ok(is_near(smt_worth(s, 0), 0.575), "more CPU time than there was: not below r / 2");
	ns[2] -= 3000 * MS;
	smt_update(s, ns, 2300 * MS);
	ok(is_near(smt_worth(s, 0), 1), "time that went back is none");
	smt_update(s, ns, 100 * MS);
	smt_update(s, ns, 300 * MS);
	ok(is_near(smt_worth(s, 0), 1), "so does the clock: it begins again");
	smt_close(s);
	scratch_clear(root);
	rmdir(root);
}

int main(void)
{
	test_lists();
	test_worth();
	smt_close(NULL);
	return done_testing();
}
