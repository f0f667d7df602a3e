/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* struct dirent64 */
#include "src/libmeter/activity/cgprocs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/libutil/fileio.h"

/* The deepest level searched: task folders, and folders made by container runtimes. */
#define MAX_DEPTH 8
/* The longest list in bytes. It has more pids than a kernel allows by default. */
#define MAX_TEXT (1u << 20)

struct walk {
	struct cgprocs *p;
	cgprocs_fn *fn;
	void *ctx;
	int ended; /* the negative result of FN that ended the walk; 0: it goes on */
};

void cgprocs_fini(struct cgprocs *p)
{
	free(p->text);
	*p = (struct cgprocs){ 0 };
}

/* Reads all of file NAME in the folder into p->text. */
static int read_pids(struct cgprocs *p, int folder_fd, const char *name)
{
	_cleanup_close_ int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	for (;;) {
		size_t size = p->size ? 2 * p->size : 4096;
		char *grown;

		n = p->size ? fileio_pread_all(fd, p->text, p->size) : -EFBIG;
		if (n != -EFBIG)
			break;
		if (size > MAX_TEXT)
			return -EFBIG;
		grown = realloc(p->text, size);
		if (!grown)
			return -ENOMEM;
		p->text = grown;
		p->size = size;
	}
	return n < 0 ? (int)n : 0;
}

int cgprocs_each_in(struct cgprocs *p, int folder_fd, const char *name, cgprocs_fn *fn, void *ctx)
{
	int rc = read_pids(p, folder_fd, name);
	const char *s;
	char *end;

	for (s = rc < 0 ? "" : p->text; rc == 0; s = end) {
		long pid = strtol(s, &end, 10);

		if (end == s)
			break;
		if (pid > 0) /* 0: the process is in another pid namespace */
			rc = fn(ctx, (pid_t)pid);
	}
	return rc;
}

static int cgprocs_scan(struct walk *w, int folder_fd, int depth);

/* Walks through the folders in FOLDER_FD. Uses getdents64(2), because opendir() allocates memory. */
static int scan_children(struct walk *w, int folder_fd, int depth)
{
	char buf[2048] __attribute__((aligned(__alignof__(struct dirent64))));
	ssize_t n;

	if (lseek(folder_fd, 0, SEEK_SET) < 0)
		return -errno;
	/* glibc 2.30 has a function */
	while ((n = syscall(SYS_getdents64, folder_fd, buf, sizeof(buf))) > 0) {
		ssize_t at = 0;

		while (at < n) {
			const struct dirent64 *e = (const void *)(buf + at);
			_cleanup_close_ int fd = -1;

			at += e->d_reclen;
			if (e->d_type != DT_DIR || e->d_name[0] == '.')
				continue;
			fd = openat(folder_fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (fd >= 0 && (cgprocs_scan(w, fd, depth + 1) == -ENOMEM || w->ended))
				/* other errors: the folder was removed just now */
				return w->ended ? w->ended : -ENOMEM;
		}
	}
	return n < 0 ? -errno : 0;
}

static int cgprocs_call(void *ctx, pid_t pid)
{
	struct walk *w = ctx;

	w->ended = w->fn(w->ctx, pid);
	if (w->ended > 0)
		w->ended = 0;
	return w->ended;
}

static int cgprocs_scan(struct walk *w, int folder_fd, int depth)
{
	int rc = cgprocs_each_in(w->p, folder_fd, "cgroup.procs", cgprocs_call, w);

	if (rc < 0 && (rc != -EOPNOTSUPP || w->ended)) /* a threaded v2 folder lists no processes */
		return rc;
	return depth < MAX_DEPTH ? scan_children(w, folder_fd, depth) : 0;
}

int cgprocs_move(int folder_fd, pid_t pid)
{
	_cleanup_close_ int fd = openat(folder_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	char text[3 * sizeof(pid_t) + 2];
	int n = snprintf(text, sizeof(text), "%d", (int)pid);

	if (fd < 0)
		return -errno;
	return fileio_write_full(fd, text, (size_t)n);
}

int cgprocs_are_there(int folder_fd)
{
	_cleanup_close_ int fd = openat(folder_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
	char text[256];
	ssize_t n = fd < 0 ? -errno : fileio_pread_all(fd, text, sizeof(text));

	return n < 0 ? (int)n : !strstr(text, "populated 0");
}

int cgprocs_each(struct cgprocs *p, int folder_fd, cgprocs_fn *fn, void *ctx)
{
	struct walk w = { .p = p, .fn = fn, .ctx = ctx };

	return cgprocs_scan(&w, folder_fd, 0);
}
