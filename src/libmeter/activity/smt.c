/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/smt.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "src/libmeter/activity/cpuset.h"
#include "src/libutil/fileio.h"
#include "src/libutil/muldiv.h"
#include "src/libutil/util.h"

/* 1 - r / 2: by so much the weight of a cycle is lower if the sibling is busy all the time (smt.h) */
#define LOSS (SMT_ONE - SMT_ONE * 115 / 200)
/* The most threads per core (POWER). */
#define MAX_THREADS 8

struct cpu {
	uint32_t sibling[MAX_THREADS - 1];
	uint32_t nsiblings;
	uint32_t worth;
	uint64_t busy_ns;  /* CPU time since boot, when the window began */
	uint64_t delta_ns; /* CPU time in the last window */
};

struct smt {
	uint64_t began_ns; /* 0: no window yet */
	uint32_t ncpus;
	struct cpu cpu[];
};

static void read_siblings(const char *sys_root, uint32_t cpu, uint32_t ncpus, uint32_t *list, struct cpu *ret)
{
	_cleanup_close_ int fd = -1;
	char path[96];
	char buf[4096];
	size_t n, i;

	(void)snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list",
		       cpu);
	fd = fileio_open_at_root(sys_root, path);
	if (fd < 0 || fileio_pread_all(fd, buf, sizeof(buf)) < 0 || cpuset_parse(buf, ncpus, list, &n) < 0 ||
	    n > MAX_THREADS)
		return;
	for (i = 0; i < n && ret->nsiblings < MAX_THREADS - 1; i++)
		if (list[i] != cpu)
			ret->sibling[ret->nsiblings++] = list[i];
}

int smt_open(const char *sys_root, uint32_t ncpus, struct smt **ret)
{
	struct smt *s = calloc(1, sizeof(*s) + ncpus * sizeof(s->cpu[0]));
	_cleanup_free_ uint32_t *list = calloc(ncpus + 1, sizeof(*list));
	uint32_t i;

	if (!s || !list) {
		free(s);
		return -ENOMEM;
	}
	s->ncpus = ncpus;
	for (i = 0; i < ncpus; i++) {
		s->cpu[i].worth = SMT_ONE;
		read_siblings(sys_root, i, ncpus, list, &s->cpu[i]);
	}
	*ret = s;
	return 0;
}

void smt_close(struct smt *s)
{
	free(s);
}

/*
 * Returns the weight of a cycle on CPU. With more than two threads per core, siblings are assumed to
 * run one after the other.
 */
static uint32_t worth_of(const struct smt *s, const struct cpu *cpu, uint64_t window_ns)
{
	uint64_t busy_ns = 0;
	uint32_t i;

	for (i = 0; i < cpu->nsiblings; i++)
		busy_ns += s->cpu[cpu->sibling[i]].delta_ns;
	if (busy_ns > window_ns)
		busy_ns = window_ns;
	return SMT_ONE - (uint32_t)muldiv(busy_ns, LOSS, window_ns);
}

void smt_update(struct smt *s, const uint64_t *cpu_ns, uint64_t now_ns)
{
	uint64_t window_ns = now_ns - s->began_ns;
	bool is_first = !s->began_ns || now_ns < s->began_ns;
	uint32_t i;

	if (!is_first && window_ns < SMT_WINDOW_NS)
		return;
	for (i = 0; i < s->ncpus; i++) {
		struct cpu *cpu = &s->cpu[i];

		cpu->delta_ns = cpu_ns[i] > cpu->busy_ns ? cpu_ns[i] - cpu->busy_ns : 0;
		cpu->busy_ns = cpu_ns[i];
	}
	for (i = 0; i < s->ncpus && !is_first; i++)
		s->cpu[i].worth = worth_of(s, &s->cpu[i], window_ns);
	s->began_ns = now_ns;
}

bool smt_is_there(const struct smt *s)
{
	uint32_t i;

	for (i = 0; i < s->ncpus; i++)
		if (s->cpu[i].nsiblings)
			return true;
	return false;
}

uint32_t smt_worth(const struct smt *s, uint32_t cpu)
{
	return s->cpu[cpu].worth;
}
