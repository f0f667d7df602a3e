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
#define UNKNOWN TOPOLOGY_NO_PACKAGE

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

static int by_id(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Sorts the N ids and drops repeated and unknown ones. Returns how many are left. */
static uint32_t topology_sort(uint64_t *id, uint32_t n)
{
	uint32_t left = 0;
	uint32_t i;

	qsort(id, n, sizeof(*id), by_id);
	for (i = 0; i < n; i++)
		if (id[i] != UNKNOWN && (!left || id[i] != id[left - 1]))
			id[left++] = id[i];
	return left;
}

static struct topology *topology_alloc(uint32_t n)
{
	struct topology *t = calloc(1, sizeof(*t) + n * (sizeof(*t->cpu_package) + sizeof(*t->cpu_socket)));

	if (!t)
		return NULL;
	t->ncpus = n;
	t->cpu_package = (uint64_t *)(t + 1);
	t->cpu_socket = (uint8_t *)(t->cpu_package + n);
	return t;
}

int topology_read(const char *sys_root, uint32_t ncpus, struct topology **ret)
{
	uint32_t n = count_cpus(sys_root, ncpus);
	_cleanup_free_ uint64_t *id = calloc(n + 1, sizeof(*id));
	struct topology *t = topology_alloc(n);
	uint32_t i;

	if (!t || !id) {
		free(t);
		return -ENOMEM;
	}
	for (i = 0; i < n; i++)
		if (package_of(sys_root, i, &t->cpu_package[i]) < 0)
			t->cpu_package[i] = UNKNOWN;
	memcpy(id, t->cpu_package, n * sizeof(*id));
	t->npackages = topology_sort(id, n);
	for (i = 0; i < n; i++) {
		const uint64_t *at = bsearch(&t->cpu_package[i], id, t->npackages, sizeof(*id), by_id);

		if (at && t->npackages <= SOCKETS_MAX)
			t->cpu_socket[i] = (uint8_t)(at - id);
		else if (!at && t->npackages)
			continue; /* the CPU is offline, or there is no CPU with this number */
		t->socket_cpus[t->cpu_socket[i]]++;
	}
	*ret = t;
	return 0;
}

unsigned int topology_socket(const struct topology *t, uint64_t id)
{
	uint32_t i;

	if (!t->npackages && id == UNKNOWN)
		return 0;
	if (!t->npackages && id < SOCKETS_MAX)
		return (unsigned int)id;
	for (i = 0; i < t->ncpus && t->npackages <= SOCKETS_MAX; i++)
		if (id != UNKNOWN && t->cpu_package[i] == id)
			return t->cpu_socket[i];
	return SOCKET_UNKNOWN;
}
