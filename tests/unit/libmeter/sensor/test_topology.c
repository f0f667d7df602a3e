/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets of a node's processors, from trees of /sys/devices/system/cpu. */
#include "src/libmeter/sensor/topology.h"

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
	{ "numbers with a hole are kept", { "0\n", "0\n", "2\n", NONE, NONE, NONE, NONE, NONE }, 3,
	  { 2, 0, 1 }, { 0, 0, 2 } },
	{ "numbers that are no units are ranked",
	  { "5204\n", "36\n", "5204\n", "36\n", NONE, NONE, NONE, NONE }, 4, { 2, 2 },
	  { 1, 0, 1, 0 } },
	{ "more sockets than units: the last one takes them",
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
		free(t);
		scratch_clear(top);
	}
	rmdir(top);
	return done_testing();
}
