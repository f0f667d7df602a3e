/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * busy_node.h - two sockets with their memory as files, and steps whose cgroup is a real one:
 * tests/bench measures on it what a tick of the sampler costs, test_steady what a tick may not do.
 */
#ifndef CEEMS_BUSY_NODE_H
#define CEEMS_BUSY_NODE_H

#include "cgfolders.h"
#include "scratch.h"
#include "src/libcore/settings.h"
#include "src/libledger/ledger.h"
#include "src/libutil/clock.h"

#define BUSY_NODE_SOCKETS 2
#define BUSY_NODE_CPUS 4
#define BUSY_NODE_STEPS 64

struct busy_node {
	char top[64];
	struct folders cgroup;
	/* for busy_node_write() */
	uint64_t package_uj[BUSY_NODE_SOCKETS];
	uint64_t dram_uj[BUSY_NODE_SOCKETS];
	uint64_t busy_ticks; /* of each processor */
};

static inline void busy_node_put(const struct busy_node *n, const char *path, const char *text)
{
	if (!scratch_write(scratch_path(n->top, path), text, strlen(text)))
		diag("cannot write %s", path);
}

static inline void busy_node_folder(const struct busy_node *n, const char *path)
{
	(void)fileio_mkdir_p(scratch_path(n->top, path), 0755, NULL);
}

static inline void busy_node_put_uj(const struct busy_node *n, const char *zone, uint64_t uj)
{
	char path[96];
	char text[32];

	snprintf(path, sizeof(path), "sys/class/powercap/%s/energy_uj", zone);
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)uj);
	busy_node_put(n, path, text);
}

static inline void busy_node_write(const struct busy_node *n)
{
	char text[512];
	char zone[32];
	unsigned int i;
	int len;

	for (i = 0; i < BUSY_NODE_SOCKETS; i++) {
		snprintf(zone, sizeof(zone), "intel-rapl:%u", i);
		busy_node_put_uj(n, zone, n->package_uj[i]);
		snprintf(zone, sizeof(zone), "intel-rapl:%u:0", i);
		busy_node_put_uj(n, zone, n->dram_uj[i]);
	}
	len = snprintf(text, sizeof(text), "cpu  %llu 0 0 0 0 0 0 0 0 0\n",
		       (unsigned long long)n->busy_ticks * BUSY_NODE_CPUS);
	for (i = 0; i < BUSY_NODE_CPUS; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "cpu%u %llu 0 0 0 0 0 0 0 0 0\n", i,
				(unsigned long long)n->busy_ticks);
	busy_node_put(n, "proc/stat", text);
}

/* All counters go on by UJ, each processor by TICKS of the clock. */
static inline void busy_node_feed(struct busy_node *n, uint64_t uj, uint64_t ticks)
{
	unsigned int i;

	for (i = 0; i < BUSY_NODE_SOCKETS; i++) {
		n->package_uj[i] += uj;
		n->dram_uj[i] += uj;
	}
	n->busy_ticks += ticks;
	busy_node_write(n);
}

/* false: no folder for it. */
static inline bool busy_node_make(struct busy_node *n)
{
	char path[96];
	char text[32];
	unsigned int i;

	memset(n, 0, sizeof(*n));
	strcpy(n->top, SCRATCH_TEMPLATE);
	if (!mkdtemp(n->top))
		return false;
	folders_make(&n->cgroup);
	busy_node_folder(n, "proc");
	for (i = 0; i < BUSY_NODE_SOCKETS; i++) {
		snprintf(path, sizeof(path), "sys/class/powercap/intel-rapl:%u", i);
		busy_node_folder(n, path);
		snprintf(path, sizeof(path), "sys/class/powercap/intel-rapl:%u/name", i);
		snprintf(text, sizeof(text), "package-%u\n", i);
		busy_node_put(n, path, text);
		snprintf(path, sizeof(path), "sys/class/powercap/intel-rapl:%u/max_energy_range_uj", i);
		busy_node_put(n, path, "262143328850\n");
		snprintf(path, sizeof(path), "sys/class/powercap/intel-rapl:%u:0", i);
		busy_node_folder(n, path);
		snprintf(path, sizeof(path), "sys/class/powercap/intel-rapl:%u:0/name", i);
		busy_node_put(n, path, "dram\n");
		snprintf(path, sizeof(path), "sys/class/powercap/intel-rapl:%u:0/max_energy_range_uj", i);
		busy_node_put(n, path, "65712999613\n");
	}
	for (i = 0; i < BUSY_NODE_CPUS; i++) {
		snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/topology", i);
		busy_node_folder(n, path);
		snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/topology/physical_package_id", i);
		snprintf(text, sizeof(text), "%u\n", i * BUSY_NODE_SOCKETS / BUSY_NODE_CPUS);
		busy_node_put(n, path, text);
	}
	busy_node_feed(n, 123456789, 1000);
	return true;
}

static inline void busy_node_remove(struct busy_node *n)
{
	folders_remove(&n->cgroup);
	scratch_clear(n->top);
	(void)rmdir(n->top);
}

static inline void busy_node_settings(const struct busy_node *n, struct settings *ret)
{
	memset(ret, 0, sizeof(*ret));
	(void)kvconf_defaults(settings_keys, settings_nkeys, ret, NULL);
	ret->bpf_dir[0] = '\0';
	(void)snprintf(ret->sys_root, sizeof(ret->sys_root), "%s", n->top);
	(void)snprintf(ret->ledger_dir, sizeof(ret->ledger_dir), "%s", n->top);
}

/* Steps FROM .. TO-1, two of each job, one on each socket. 0 or -errno. */
static inline int busy_node_claim(const struct busy_node *n, struct ledger *l, unsigned int from,
				  unsigned int to)
{
	for (; from < to; from++) {
		struct ledger_identity id = {
			.job_id = 1 + from / 2,
			.step_id = from % 2,
			.het_comp = LEDGER_HET_NONE,
			.node_count = 1,
			.job_cpus = 2,
			.step_cpus = 1,
			.job_mem_mb = 200,
			.step_mem_mb = 100,
			.job_socket_cpus = { 1, 1 },
		};
		struct ledger_slot *s;
		unsigned int slot;
		int rc;

		id.step_socket_cpus[from % 2] = 1;
		rc = ledger_claim(l, &id, &slot);
		if (rc < 0)
			return rc;
		s = ledger_slot(l, slot);
		s->t_open_mono_ns -= NSEC_PER_SEC; /* new ones are not read */
		/* one with files: without them lists of processes are opened every few seconds */
		if (n->cgroup.top[HIER_CPUACCT][0])
			folders_step_path(HIER_CPUACCT, s->cgroup.cpuacct, sizeof(s->cgroup.cpuacct));
		else if (n->cgroup.top[HIER_V2][0])
			folders_step_path(HIER_V2, s->cgroup.v2, sizeof(s->cgroup.v2));
		atomic_store(&s->cgroup_known, 1);
	}
	return 0;
}

#endif
