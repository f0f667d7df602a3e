/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/sensor/topology.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"
#include "src/libutil/util.h"

#define CPU_FOLDER "/sys/devices/system/cpu"
/* The most CPUs that Linux supports (NR_CPUS of x86-64 with MAXSMP); larger numbers are ignored. */
#define CPUS_MAX 8192
#define UNKNOWN UINT64_MAX

struct packages {
	uint64_t id[SOCKETS_MAX]; /* ids of packages, in ascending order */
	unsigned int n;
};

static int package_of(const char *sys_root, uint32_t cpu, uint64_t *ret)
{
	_cleanup_close_ int fd = -1;
	char path[96];

	(void)snprintf(path, sizeof(path), CPU_FOLDER "/cpu%u/topology/physical_package_id", cpu);
	fd = fileio_open_at_root(sys_root, path);
	/* the file has "-1", which is no uint64_t, if the firmware does not give the package */
	return fd < 0 ? fd : fileio_pread_u64(fd, ret);
}

/* Parses the number in the name of a folder such as "cpu12". False: the folder is for something else. */
static bool cpu_number(const char *name, uint32_t *ret)
{
	uint64_t n;

	if (strncmp(name, "cpu", 3) || parse_u64(name + 3, &n) < 0 || n >= CPUS_MAX)
		return false;
	*ret = (uint32_t)n;
	return true;
}

static uint32_t count_cpus(const char *sys_root, uint32_t at_least)
{
	char path[PATH_MAX];
	uint32_t cpu;
	struct dirent *e;
	DIR *d;

	if (snprintf(path, sizeof(path), "%s" CPU_FOLDER, sys_root) >= (int)sizeof(path))
		return at_least;
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (cpu_number(e->d_name, &cpu) && cpu >= at_least)
			at_least = cpu + 1;
	if (d)
		(void)closedir(d);
	return at_least;
}

/* Adds a package id in ascending order; the lowest SOCKETS_MAX are kept. */
static void add_package(struct packages *p, uint64_t id)
{
	unsigned int at = 0;

	while (at < p->n && p->id[at] < id)
		at++;
	if (at == SOCKETS_MAX || (at < p->n && p->id[at] == id))
		return;
	if (p->n < SOCKETS_MAX)
		p->n++;
	memmove(&p->id[at + 1], &p->id[at], (p->n - at - 1) * sizeof(p->id[0]));
	p->id[at] = id;
}

/*
 * Returns the unit of package ID: the ID itself if all ids are valid units, else its index in the sorted ids.
 */
static unsigned int unit_of(const struct packages *p, uint64_t id, bool are_units)
{
	unsigned int at = 0;

	if (are_units)
		return (unsigned int)id;
	while (at < p->n && p->id[at] < id)
		at++;
	return at < SOCKETS_MAX ? at : SOCKETS_MAX - 1;
}

int topology_read(const char *sys_root, uint32_t ncpus, struct topology **ret)
{
	uint32_t n = count_cpus(sys_root, ncpus);
	struct packages packages = { .n = 0 };
	_cleanup_free_ uint64_t *id = calloc(n + 1, sizeof(*id));
	struct topology *t = calloc(1, sizeof(*t) + n);
	bool are_units = true;
	uint32_t i;

	if (!t || !id) {
		free(t);
		return -ENOMEM;
	}
	t->ncpus = n;
	for (i = 0; i < n; i++) {
		if (package_of(sys_root, i, &id[i]) < 0 || id[i] == UNKNOWN) {
			id[i] = UNKNOWN;
			continue;
		}
		add_package(&packages, id[i]);
		are_units = are_units && id[i] < SOCKETS_MAX;
	}
	for (i = 0; i < n; i++) {
		if (id[i] != UNKNOWN)
			t->cpu_socket[i] = (uint8_t)unit_of(&packages, id[i], are_units);
		else if (packages.n)
			continue; /* the CPU is offline, or there is no CPU with this number */
		t->socket_cpus[t->cpu_socket[i]]++;
	}
	*ret = t;
	return 0;
}
