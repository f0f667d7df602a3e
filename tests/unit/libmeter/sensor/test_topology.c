/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets of a node's processors, from trees of /sys/devices/system/cpu. */
#include "src/libmeter/sensor/topology.h"

#include <inttypes.h>
#include <stdbool.h>

#include "rnd.h"
#include "scratch.h"
#include "src/libutil/util.h"
#include "tap.h"

#define CPUS 8
#define NONE "none" /* no folder at all */

/* clang-format off */
static const struct {
	const char *name;
	const char *package[CPUS]; /* what physical_package_id says; NULL: no such file */
	uint32_t ncpus;		   /* as /proc/stat has it */
	uint32_t socket_cpus[SOCKETS_MAX];
	uint8_t cpu_socket[CPUS];
} trees[] = {
	{ "no tree: one socket", { NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE }, 3, { 3 },
	  { 0 } },
	{ "processors that do not say", { NULL, NULL, NULL, NULL, NONE, NONE, NONE, NONE }, 4,
	  { 4 }, { 0 } },
	{ "-1 is no package", { "-1\n", "-1\n", "x", "", NONE, NONE, NONE, NONE }, 4, { 4 }, { 0 } },
	{ "one socket", { "0\n", "0\n", NONE, NONE, NONE, NONE, NONE, NONE }, 2, { 2 }, { 0 } },
	{ "two sockets in blocks", { "0\n", "0\n", "1\n", "1\n", NONE, NONE, NONE, NONE }, 4,
	  { 2, 2 }, { 0, 0, 1, 1 } },
	{ "in turn, one processor offline", { "0\n", "1\n", NULL, "1\n", NONE, NONE, NONE, NONE }, 3,
	  { 1, 2 }, { 0, 1, 0, 1 } },
	{ "numbers with a hole", { "0\n", "0\n", "2\n", NONE, NONE, NONE, NONE, NONE }, 3,
	  { 2, 1 }, { 0, 0, 1 } },
	{ "a partition that begins at 8", { "8\n", "9\n", "10\n", "11\n", NONE, NONE, NONE, NONE }, 4,
	  { 1, 1, 1, 1 }, { 0, 1, 2, 3 } },
	{ "offsets in a firmware table",
	  { "5204\n", "36\n", "5204\n", "36\n", NONE, NONE, NONE, NONE }, 4, { 2, 2 },
	  { 1, 0, 1, 0 } },
	{ "in descending order",
	  { "8\n", "7\n", "6\n", "5\n", "4\n", "3\n", "2\n", "1\n" }, 8,
	  { 1, 1, 1, 1, 1, 1, 1, 1 }, { 7, 6, 5, 4, 3, 2, 1, 0 } },
};
/* clang-format on */

static void make_tree(const char *top, const char *const package[CPUS])
{
	char path[256];
	unsigned int i;

	for (i = 0; i < CPUS; i++) {
		if (package[i] && !strcmp(package[i], NONE))
			continue;
		snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpu%u/topology", top, i);
		(void)fileio_mkdir_p(path, 0755, NULL);
		if (package[i])
			(void)scratch_write(scratch_path(path, "physical_package_id"), package[i],
					    strlen(package[i]));
	}
	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpufreq", top);
	(void)fileio_mkdir_p(path, 0755, NULL); /* a neighbour that is none */
}

/* Each package has the socket of its CPUs. */
static void test_packages(const struct topology *t, const char *const package[CPUS])
{
	bool pass = true;
	uint64_t id;
	uint32_t i;

	for (i = 0; i < CPUS; i++)
		if (package[i] && sscanf(package[i], "%" SCNu64, &id) == 1 && *package[i] != '-')
			pass = pass && topology_socket(t, id) == t->cpu_socket[i];
	ok(pass, "  sockets by package");
	is_u64(topology_socket(t, 4711), SOCKET_UNKNOWN, "  a package without CPUs");
}

/*
 * Random ids of one CPU each. Sockets are numbered from 0 without gaps, in the order of the ids; with more
 * than SOCKETS_MAX, all are one and no package has a socket.
 */
static void test_random(const char *top)
{
	unsigned int round, wrong = 0;

	rng = 4711;
	for (round = 0; round < 60; round++) {
		uint32_t n = 1 + (uint32_t)rnd(2 * SOCKETS_MAX), i;
		uint64_t id[2 * SOCKETS_MAX], next = rnd(3) * 8;
		struct topology *t = NULL;
		char path[256], text[32];

		for (i = 0; i < n; i++, next += 1 + rnd(4) * rnd(100)) {
			id[i] = next;
			(void)snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpu%u/topology", top,
				       i);
			(void)fileio_mkdir_p(path, 0755, NULL);
			(void)snprintf(text, sizeof(text), "%" PRIu64 "\n", next);
			(void)scratch_write(scratch_path(path, "physical_package_id"), text, strlen(text));
		}
		if (topology_read(top, 1, &t) < 0)
			break;
		for (i = 0; i < n; i++) {
			uint32_t want = n > SOCKETS_MAX ? SOCKET_UNKNOWN : i;

			wrong += topology_socket(t, id[i]) != want || t->cpu_package[i] != id[i] ||
				 t->cpu_socket[i] != want % SOCKETS_MAX;
		}
		wrong += t->npackages != n || (n > SOCKETS_MAX && t->socket_cpus[0] != n);
		free(t);
		scratch_clear(top);
	}
	ok(round == 60 && !wrong, "random packages, up to %d", 2 * SOCKETS_MAX);
}

int main(void)
{
	char top[] = SCRATCH_TEMPLATE;
	size_t i;

	if (!mkdtemp(top))
		return 99;
	for (i = 0; i < ARRAY_SIZE(trees); i++) {
		struct topology *t = NULL;

		make_tree(top, trees[i].package);
		is_int(topology_read(top, trees[i].ncpus, &t), 0, trees[i].name);
		ok(!memcmp(t->socket_cpus, trees[i].socket_cpus, sizeof(t->socket_cpus)),
		   "  processors by socket: %u %u %u", t->socket_cpus[0], t->socket_cpus[1],
		   t->socket_cpus[2]);
		ok(!memcmp(t->cpu_socket, trees[i].cpu_socket, t->ncpus), "  sockets by processor");
		test_packages(t, trees[i].package);
		free(t);
		scratch_clear(top);
	}
	test_random(top);
	rmdir(top);
	return done_testing();
}
