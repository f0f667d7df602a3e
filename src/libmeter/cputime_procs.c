/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* getdents64() */
#include "src/libmeter/cputime_procs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/procstat.h"
#include "src/libutil/util.h"

/* A step's folder has task folders, and those what a container runtime makes. */
#define MAX_DEPTH 8
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
	struct list now, before;
	uint64_t gone_ticks; /* of those that ended and that nobody in the group waited
				for */
	char *pids;	     /* text of cgroup.procs */
	size_t pids_size;
	uint64_t tick_ns;
};

int cputime_procs_create(int folder_fd, struct cputime_procs **ret)
{
	struct cputime_procs *p = calloc(1, sizeof(*p));
	long hz = sysconf(_SC_CLK_TCK);

	if (!p)
		return -ENOMEM;
	p->folder_fd = folder_fd;
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
	free(p->pids);
	free(p);
}

static int add(struct list *l, const struct proc *proc)
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

static const struct proc *find(const struct list *l, int pid)
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

/* Whole text of FOLDER's cgroup.procs into p->pids. */
static int read_pids(struct cputime_procs *p, int folder_fd)
{
	_cleanup_close_ int fd = openat(folder_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	for (;;) {
		size_t size = p->pids_size ? 2 * p->pids_size : 4096;
		char *grown;

		n = p->pids_size ? fileio_pread_all(fd, p->pids, p->pids_size) : -EFBIG;
		if (n != -EFBIG)
			break;
		if (size > MAX_PROCS * 16)
			return -EFBIG;
		grown = realloc(p->pids, size);
		if (!grown)
			return -ENOMEM;
		p->pids = grown;
		p->pids_size = size;
	}
	return n < 0 ? (int)n : 0;
}

static int scan(struct cputime_procs *p, int folder_fd, int depth);

/* opendir() allocates at every call; this does not. */
static int scan_children(struct cputime_procs *p, int folder_fd, int depth)
{
	char buf[2048] __attribute__((aligned(__alignof__(struct dirent64))));
	ssize_t n;

	if (lseek(folder_fd, 0, SEEK_SET) < 0)
		return -errno;
	while ((n = getdents64(folder_fd, buf, sizeof(buf))) > 0) {
		ssize_t at = 0;

		while (at < n) {
			const struct dirent64 *e = (const void *)(buf + at);
			_cleanup_close_ int fd = -1;

			at += e->d_reclen;
			if (e->d_type != DT_DIR || e->d_name[0] == '.')
				continue;
			fd = openat(folder_fd, e->d_name,
				    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (fd >= 0 && scan(p, fd, depth + 1) == -ENOMEM)
				return -ENOMEM; /* else gone meanwhile */
		}
	}
	return n < 0 ? -errno : 0;
}

static int scan(struct cputime_procs *p, int folder_fd, int depth)
{
	const char *s;
	char *end;
	int rc;

	rc = read_pids(p, folder_fd);
	if (rc < 0 && rc != -EOPNOTSUPP) /* a threaded v2 folder lists no processes */
		return rc;
	for (s = rc < 0 ? "" : p->pids;; s = end) {
		long pid = strtol(s, &end, 10);
		struct proc proc;

		if (end == s)
			break;
		if (pid <= 0) /* of another pid namespace */
			continue;
		if (read_proc((int)pid, &proc) < 0)
			continue; /* ended meanwhile */
		rc = add(&p->now, &proc);
		if (rc < 0)
			return rc;
	}
	return depth < MAX_DEPTH ? scan_children(p, folder_fd, depth) : 0;
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
		const struct proc *was = find(&p->before, parent);

		if (!was)
			return find(&p->now, parent) !=
			       NULL; /* came since, or is outside */
		if (is_same(was, find(&p->now, parent)))
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
	rc = scan(p, p->folder_fd, 0);
	if (rc < 0)
		return rc;
	sort(&p->now);
	for (i = 0; i < p->before.n; i++) {
		const struct proc *was = &p->before.proc[i];

		if (!is_same(was, find(&p->now, was->pid)) &&
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
