/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/cputime_procs.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "src/libmeter/activity/cgprocs.h"
#include "src/libutil/clock.h"
#include "src/libutil/procstat.h"
#include "src/libutil/util.h"

/* More than the default pid_max; a step with more processes is an error. */
#define MAX_PROCS 65536

struct proc {
	int pid;
	int parent;
	uint64_t start; /* start time, which reveals that another process reused the pid */
	uint64_t ticks; /* CPU time of the process and of children it waited for */
};

struct list {
	struct proc *proc; /* sorted by pid */
	size_t n, size;
};

/* The descendants of a process. The memory grows with the largest tree so far, and is kept. */
struct tree {
	struct cgprocs text;
	pid_t *pid;
	size_t n, size;
};

struct cputime_procs {
	int folder_fd;
	pid_t root; /* its descendants are summed; 0: the processes in the folder are */
	struct list now, before;
	uint64_t gone_ticks; /* CPU time of ended processes for which no process of the group waited */
	struct cgprocs procs;
	struct tree tree;
	uint64_t tick_ns;
};

/* --- the processes below one ---------------------------------------------------------------- */

static int proctree_add(void *ctx, pid_t pid)
{
	struct tree *t = ctx;

	if (t->n == MAX_PROCS)
		return 0;
	if (t->n == t->size) {
		size_t size = t->size ? 2 * t->size : 64;
		pid_t *grown = reallocarray(t->pid, size, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		t->pid = grown;
		t->size = size;
	}
	t->pid[t->n++] = pid;
	return 0;
}

/* Adds the children of all threads of PID. -ESRCH: PID is gone. */
static int add_children(struct tree *t, pid_t pid)
{
	char name[sizeof("/proc//task") + 3 * sizeof(pid)];
	const struct dirent *e;
	int rc = -ESRCH;
	DIR *tasks;

	(void)snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
	tasks = opendir(name);
	while (tasks && (e = readdir(tasks))) {
		char children[sizeof(e->d_name) + sizeof("/children")];

		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(children, sizeof(children), "%s/children", e->d_name);
		rc = cgprocs_each_in(&t->text, dirfd(tasks), children, proctree_add, t);
		if (rc == -ENOMEM)
			break;
	}
	if (tasks)
		(void)closedir(tasks);
	return rc;
}

/*
 * Calls FN for each descendant of ROOT, but not for ROOT. A process whose parent ends is no
 * descendant any more, unless an ancestor is its subreaper (PR_SET_CHILD_SUBREAPER). -ESRCH: ROOT
 * is gone; -EOPNOTSUPP: the kernel lacks CONFIG_PROC_CHILDREN; -ENOMEM; or the result of FN that
 * ended the walk.
 */
static int proctree_each(struct tree *t, pid_t root, cgprocs_fn *fn, void *ctx)
{
	size_t i;
	int rc;

	t->n = 0;
	rc = proctree_add(t, root);
	for (i = 0; rc == 0 && i < t->n; i++) {
		rc = add_children(t, t->pid[i]);
		if (rc < 0 && rc != -ENOMEM && i > 0)
			rc = 0; /* the process has just ended */
	}
	if (rc < 0)
		return rc == -ENOENT ? -EOPNOTSUPP : rc;
	for (i = 1; rc == 0 && i < t->n; i++)
		rc = fn(ctx, t->pid[i]);
	return rc;
}

/* --- what they used ------------------------------------------------------------------------- */

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
	cgprocs_fini(&p->tree.text);
	free(p->tree.pid);
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

/* A shell sort, since qsort() may allocate memory. Pids are nearly sorted. */
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

	return read_proc(pid, &proc) < 0 ? 0 /* it has just ended */ : cputime_procs_add(&p->now, &proc);
}

static bool is_same(const struct proc *a, const struct proc *b)
{
	return a && b && a->pid == b->pid && a->start == b->start;
}

/*
 * Returns true if a living process has or will get the time of ENDED, because it waits for it. Follows the
 * parents as they were last seen.
 */
static bool has_living_ancestor(const struct cputime_procs *p, const struct proc *ended)
{
	int parent = ended->parent;
	int i;

	for (i = 0; i < 64; i++) {
		const struct proc *was = cputime_procs_find(&p->before, parent);

		if (!was)
			return cputime_procs_find(&p->now, parent) !=
			       NULL; /* the parent is new, or not in the group */
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

		if (!is_same(was, cputime_procs_find(&p->now, was->pid)) && !has_living_ancestor(p, was))
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
