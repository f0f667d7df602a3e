/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/nodecpu.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/libmeter/activity/cputime.h"
#include "src/libutil/fileio.h"
#include "src/libutil/logger.h"
#include "src/libutil/pages.h"
#include "src/libutil/util.h"

struct nodecpu {
	int proc_stat_fd;
	uint32_t count;
	struct topology *topology;
	uint64_t *cpu_ns; /* CPU time of each of topology->ncpus CPUs */
};

int nodecpu_open_proc(const char *sys_root, const char *path)
{
	int fd = fileio_open_at_root(sys_root, path);

	return fd == -ENOENT ? fileio_open_at_root("/", path) : fd;
}

static int setup(struct nodecpu *n, const char *sys_root, struct errmsg *err)
{
	uint64_t busy_ns;
	int rc;

	n->proc_stat_fd = nodecpu_open_proc(sys_root, "/proc/stat");
	if (n->proc_stat_fd < 0)
		return errmsg_errno(err, n->proc_stat_fd, "/proc/stat");
	rc = cputime_node(n->proc_stat_fd, &busy_ns, &n->count);
	if (rc < 0)
		return errmsg_errno(err, rc, "/proc/stat");
	rc = topology_read(sys_root, n->count, &n->topology);
	if (rc < 0)
		return errmsg_errno(err, rc, "topology");
	if (n->topology->npackages > SOCKETS_MAX)
		logger_info("this node has %" PRIu32
			    " sockets, more than %d: the energy of processors and memory "
			    "is split as if it were one socket",
			    n->topology->npackages, SOCKETS_MAX);
	n->cpu_ns = pages_alloc(n->topology->ncpus * sizeof(*n->cpu_ns));
	return n->cpu_ns ? 0 : errmsg_errno(err, -ENOMEM, "processors");
}

int nodecpu_open(const char *sys_root, struct nodecpu **ret, struct errmsg *err)
{
	struct nodecpu *n = calloc(1, sizeof(*n));
	int rc;

	if (!n)
		return errmsg_errno(err, -ENOMEM, "processors");
	n->proc_stat_fd = -1;
	rc = setup(n, sys_root, err);
	if (rc < 0) {
		nodecpu_close(n);
		return rc;
	}
	*ret = n;
	return 0;
}

void nodecpu_close(struct nodecpu *n)
{
	if (!n)
		return;
	if (n->proc_stat_fd >= 0)
		(void)close(n->proc_stat_fd);
	if (n->topology)
		pages_free(n->cpu_ns, n->topology->ncpus * sizeof(*n->cpu_ns));
	free(n->topology);
	free(n);
}

uint32_t nodecpu_count(const struct nodecpu *n)
{
	return n->count;
}

const struct topology *nodecpu_topology(const struct nodecpu *n)
{
	return n->topology;
}

int nodecpu_read(struct nodecpu *n, uint64_t *ret_busy_ns, uint64_t ret_socket_ns[SOCKETS_MAX])
{
	uint32_t cpus;
	uint32_t i;
	int rc = cputime_cpus(n->proc_stat_fd, n->cpu_ns, n->topology->ncpus, ret_busy_ns, &cpus);

	if (rc < 0)
		return rc;
	memset(ret_socket_ns, 0, SOCKETS_MAX * sizeof(*ret_socket_ns));
	for (i = 0; i < n->topology->ncpus; i++)
		ret_socket_ns[n->topology->cpu_socket[i]] += n->cpu_ns[i];
	return 0;
}

const uint64_t *nodecpu_cpu_ns(const struct nodecpu *n)
{
	return n->cpu_ns;
}
