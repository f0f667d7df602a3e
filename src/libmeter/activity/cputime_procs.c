/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/cputime_procs.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "src/libmeter/activity/cgprocs.h"
#include "src/libmeter/activity/proctree.h"
#include "src/libutil/clock.h"
#include "src/libutil/procstat.h"
#include "src/libutil/util.h"

/* Above the default pid_max: more is not a step but a mistake. */
#define MAX_PROCS 65536

struct proc {
	int pid;
	int parent;
	uint64_t start; /* tells a reused pid */
	uint64_t ticks; /* its own time and that of the children it waited for */
};

struct list {
	struct proc *proc; /* by pid */
	size_t n, size;
};

struct cputime_procs {
	int folder_fd;
	pid_t root; /* 0: the folder's */
	struct list now, before;
	uint64_t gone_ticks; /* of those that ended and that nobody in the group waited
				for */
	struct cgprocs procs;
	struct proctree tree;
	uint64_t tick_ns;
};

int cputime_procs_create(int folder_fd, pid_t root, struct cputime_procs **ret)
{
	struct cputime_procs *p = calloc(1, sizeof(*p));
	long hz = sysconf(_SC_CLK_TCK);

	if (!p)
		return -ENOMEM;
	p->folder_fd = folder_fd;
	p->root = root;
	p->tick_ns = NSEC_PER_SEC / (hz > 0 ? (uint64_t)hz : 100);
	*ret = p;
	return 0;
}

void cputime_procs_destroy(struct cputime_procs *p)
{
	if (!p)
		return;
	free(p->now.proc);
	free(p->before.proc);
	cgprocs_fini(&p->procs);
	proctree_fini(&p->tree);
	free(p);
}

static int cputime_procs_add(struct list *l, const struct proc *proc)
{
	if (l->n == MAX_PROCS)
		return 0;
	if (l->n == l->size) {
		size_t size = l->size ? 2 * l->size : 64;
		struct proc *grown = reallocarray(l->proc, size, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		l->proc = grown;
		l->size = size;
	}
	l->proc[l->n++] = *proc;
	return 0;
}

/* qsort() may allocate; pids come nearly sorted, which suits this. */
static void sort(struct list *l)
{
	size_t gap, i, j;

	for (gap = l->n / 2; gap; gap /= 2) {
		for (i = gap; i < l->n; i++) {
			struct proc proc = l->proc[i];

			for (j = i; j >= gap && l->proc[j - gap].pid > proc.pid; j -= gap)
				l->proc[j] = l->proc[j - gap];
			l->proc[j] = proc;
		}
	}
}

static const struct proc *cputime_procs_find(const struct list *l, int pid)
{
	size_t low = 0;
	size_t high = l->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (l->proc[mid].pid == pid)
			return &l->proc[mid];
		if (l->proc[mid].pid < pid)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

static int read_proc(int pid, struct proc *ret)
{
	struct procstat s;
	int rc = procstat_read(pid, &s);

	if (rc == 0)
		*ret = (struct proc){ pid, s.ppid, s.start_ticks, s.cpu_ticks };
	return rc;
}

static int add_proc(void *ctx, pid_t pid)
{
	struct cputime_procs *p = ctx;
	struct proc proc;

	return read_proc(pid, &proc) < 0 ? 0 /* ended meanwhile */ : cputime_procs_add(&p->now, &proc);
}

static bool is_same(const struct proc *a, const struct proc *b)
{
	return a && b && a->pid == b->pid && a->start == b->start;
}

/* Will what ENDED used show up in a living one's children time? By whom it was last seen
 * under. */
static bool has_living_ancestor(const struct cputime_procs *p, const struct proc *ended)
{
	int parent = ended->parent;
	int i;

	for (i = 0; i < 64; i++) {
		const struct proc *was = cputime_procs_find(&p->before, parent);

		if (!was)
			return cputime_procs_find(&p->now, parent) !=
			       NULL; /* came since, or is outside */
		if (is_same(was, cputime_procs_find(&p->now, parent)))
			return true;
		parent = was->parent;
	}
	return false;
}

int cputime_procs_read(struct cputime_procs *p, uint64_t *ret_busy_ns)
{
	struct list old;
	uint64_t ticks;
	size_t i;
	int rc;

	p->now.n = 0;
	rc = p->root ? proctree_each(&p->tree, p->root, add_proc, p) :
		       cgprocs_each(&p->procs, p->folder_fd, add_proc, p);
	if (rc < 0)
		return rc;
	sort(&p->now);
	for (i = 0; i < p->before.n; i++) {
		const struct proc *was = &p->before.proc[i];

		if (!is_same(was, cputime_procs_find(&p->now, was->pid)) &&
		    !has_living_ancestor(p, was))
			p->gone_ticks += was->ticks;
	}
	ticks = p->gone_ticks;
	for (i = 0; i < p->now.n; i++)
		ticks += p->now.proc[i].ticks;
	old = p->before;
	p->before = p->now;
	p->now = old;
	*ret_busy_ns = ticks * p->tick_ns;
	return 0;
}
