/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gather_files.c - the files of gather.def. A child process walks through the rows and sends what it finds
 * over a pipe. If it falls silent, it hangs on the file that it announced last: it is killed, and another
 * one goes on without this file.
 */
#define _GNU_SOURCE /* memmem, pipe2, tdestroy */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/cmd/cmd.h"
#include "src/cmd/gather/gather.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/util.h"

static const struct row {
	const char *folders, *files;
	unsigned int most, flags;
} rows[] = {
#define GATHER(folders, files, most, flags) { folders, files, most, flags },
#include "src/cmd/gather/gather.def"
#undef GATHER
};

#define ANSWER_NS (5 * NSEC_PER_SEC)
#define FILE_MAX 4194304 /* /proc/cpuinfo of 2,048 CPUs has 3 MB */
#define HUNG_MAX 16

enum frame_kind {
	FRAME_BEGIN, /* NAME will be read now */
	FRAME_FILE,
	FRAME_LINK, /* the data is the target */
};

struct frame {
	uint32_t kind; /* enum frame_kind */
	uint32_t name_len;
	uint32_t data_len;
};

/* --- names -------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Adds NAME to the TREE of names. Returns true if it is new there. */
static bool is_new(void **tree, const char *name)
{
	char *copy = strdup(name);
	char **found = copy ? tsearch(copy, tree, compare_names) : NULL;

	if (!found || *found != copy) {
		free(copy);
		return false;
	}
	return true;
}

/* --- the child ---------------------------------------------------------------------------- */

struct reader {
	const char *root; /* SysRoot, without a slash at its end */
	int out;
	bool is_second;
	char *const *hung; /* ended by NULL */
	void *sent;	   /* tree of names */
	char *buf;	   /* FILE_MAX bytes */
};

static void send_frame(struct reader *r, enum frame_kind kind, const char *name, const char *data, size_t len)
{
	struct frame f = { kind, (uint32_t)strlen(name), (uint32_t)len };

	if (fileio_write_full(r->out, &f, sizeof(f)) < 0 || fileio_write_full(r->out, name, f.name_len) < 0 ||
	    fileio_write_full(r->out, data, len) < 0)
		_exit(1);
}

/* Keeps only the lines that describe cgroup mounts: others name file servers. Returns the new length. */
static size_t keep_cgroup_lines(char *text, size_t len)
{
	size_t kept = 0, begin, end;

	for (begin = 0; begin < len; begin = end) {
		const char *newline = memchr(text + begin, '\n', len - begin);

		end = newline ? (size_t)(newline - text) + 1 : len;
		if (!memmem(text + begin, end - begin, " - cgroup", strlen(" - cgroup")))
			continue;
		memmove(text + kept, text + begin, end - begin);
		kept += end - begin;
	}
	return kept;
}

static void send_file(struct reader *r, const char *name, unsigned int flags)
{
	int fd = fileio_open_at_root(r->root, name);
	ssize_t len;

	if (fd < 0)
		return;
	len = fileio_pread_all(fd, r->buf, FILE_MAX);
	(void)close(fd);
	if (len > 0 && flags & GATHER_LINES)
		len = (ssize_t)keep_cgroup_lines(r->buf, (size_t)len);
	if (len >= 0)
		send_frame(r, FRAME_FILE, name, r->buf, (size_t)len);
}

/*
 * Follows the links in the path NAME, from its first part on, and sends each. On success NAME is the path
 * without links. False: a link leads out of the root or goes in circles.
 */
static bool resolve(struct reader *r, char name[PATH_MAX])
{
	char at[2 * PATH_MAX], target[PATH_MAX], next[2 * PATH_MAX];
	unsigned int hops = 0;
	size_t len = 0;

	while (name[len]) {
		ssize_t n;

		len += 1 + strcspn(name + len + 1, "/"); /* name[len] is a slash or the end */
		(void)snprintf(at, sizeof(at), "%s%.*s", r->root, (int)len, name);
		n = readlink(at, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = '\0';
		if (++hops > 40)
			return false;
		(void)snprintf(at, sizeof(at), "%.*s", (int)len, name);
		if (is_new(&r->sent, at))
			send_frame(r, FRAME_LINK, at, target, (size_t)n);
		if (target[0] == '/') {
			n = snprintf(next, sizeof(next), "%s%s", target, name + len);
		} else {
			char *slash = strrchr(at, '/');
			const char *t = target;

			*slash = '\0';
			while (!strncmp(t, "../", 3)) {
				slash = strrchr(at, '/');
				if (!slash)
					return false;
				*slash = '\0';
				t += 3;
			}
			n = snprintf(next, sizeof(next), "%s/%s%s", at, t, name + len);
		}
		if (n < 0 || n >= PATH_MAX)
			return false;
		memcpy(name, next, (size_t)n + 1);
		len = 0;
	}
	return true;
}

static bool is_hung(const struct reader *r, const char *name)
{
	size_t i;

	for (i = 0; r->hung[i]; i++)
		if (!strcmp(r->hung[i], name))
			return true;
	return false;
}

static void send_name(struct reader *r, const char *folder, const char *file, unsigned int flags)
{
	char name[PATH_MAX];

	if (snprintf(name, sizeof(name), "%s/%s", folder, file) >= (int)sizeof(name) || is_hung(r, name))
		return;
	send_frame(r, FRAME_BEGIN, name, "", 0);
	if (resolve(r, name) && !is_hung(r, name) && is_new(&r->sent, name))
		send_file(r, name, flags);
}

static bool is_wanted(const char *file, const char *patterns)
{
	char pattern[64];
	size_t len;

	for (; *patterns; patterns += len + (patterns[len] == ' ')) {
		len = strcspn(patterns, " ");
		(void)snprintf(pattern, sizeof(pattern), "%.*s", (int)len, patterns);
		if (len && fnmatch(pattern, file, FNM_PERIOD) == 0)
			return true;
	}
	return false;
}

static void send_folder(struct reader *r, const char *path, const struct row *row)
{
	struct dirent **entry;
	int n = scandir(path, &entry, NULL, alphasort);
	struct stat st;
	int i;

	for (i = 0; i < n; i++) {
		char file[PATH_MAX];

		(void)snprintf(file, sizeof(file), "%s/%s", path, entry[i]->d_name);
		if (is_wanted(entry[i]->d_name, row->files) && stat(file, &st) == 0 && !S_ISDIR(st.st_mode))
			send_name(r, path + strlen(r->root), entry[i]->d_name, row->flags);
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
}

static void send_row(struct reader *r, const struct row *row)
{
	char pattern[PATH_MAX];
	glob_t found;
	size_t i;

	(void)snprintf(pattern, sizeof(pattern), "%s%s", r->root, row->folders);
	if (glob(pattern, GLOB_ONLYDIR, NULL, &found) != 0)
		return;
	for (i = 0; i < found.gl_pathc && i < row->most; i++)
		send_folder(r, found.gl_pathv[i], row);
	globfree(&found);
}

static void read_all(struct reader *r)
{
	size_t i;

	r->buf = malloc(FILE_MAX);
	for (i = 0; r->buf && i < ARRAY_SIZE(rows); i++)
		if (!r->is_second || rows[i].flags & GATHER_TWICE)
			send_row(r, &rows[i]);
	_exit(r->buf ? 0 : 1);
}

/* --- the parent --------------------------------------------------------------------------- */

struct intake {
	struct gather *g;
	const char *pass;
	int in;
	void *added; /* tree of names that an earlier child has sent */
	char begun[PATH_MAX];
};

static int read_full(int fd, void *data, size_t len, uint64_t deadline_ns)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t done = 0;

	while (done < len) {
		uint64_t now_ns = clock_mono_ns();
		ssize_t n;

		if (now_ns >= deadline_ns ||
		    poll(&p, 1, (int)((deadline_ns - now_ns) / NSEC_PER_MSEC) + 1) == 0)
			return -ETIMEDOUT;
		n = read(fd, (char *)data + done, len - done);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return -ENODATA;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int take_frame(struct intake *in, struct errmsg *err)
{
	uint64_t deadline_ns = clock_mono_ns() + ANSWER_NS;
	_cleanup_free_ char *data = NULL;
	char name[2 * PATH_MAX];
	struct frame f;
	size_t used;
	int rc;

	rc = read_full(in->in, &f, sizeof(f), deadline_ns);
	if (rc < 0)
		return rc;
	used = (size_t)snprintf(name, sizeof(name), "%s", in->pass);
	data = calloc(1, (size_t)f.data_len + 1);
	if (!data || f.name_len >= PATH_MAX || f.data_len > FILE_MAX)
		return errmsg_errno(err, -ENOMEM, "%s", in->pass);
	rc = read_full(in->in, name + used, f.name_len, deadline_ns);
	if (rc == 0)
		rc = read_full(in->in, data, f.data_len, deadline_ns);
	if (rc < 0)
		return rc;
	name[used + f.name_len] = '\0';
	if (f.kind == FRAME_BEGIN) {
		(void)snprintf(in->begun, sizeof(in->begun), "%s", name + used);
		return 0;
	}
	if (!is_new(&in->added, name))
		return 0;
	if (f.kind == FRAME_LINK)
		return gather_add_link(in->g, name, data, err);
	return gather_add(in->g, name, data, f.data_len, err);
}

/* Starts a child that sends all rows but the files in HUNG. */
static int start_reader(const struct intake *in, bool is_second, char *const *hung, pid_t *ret_pid,
			int *ret_fd)
{
	const char *root = in->g->settings->sys_root;
	struct reader r = { .root = strcmp(root, "/") ? root : "", .is_second = is_second, .hung = hung };
	int fd[2];

	if (pipe2(fd, O_CLOEXEC) < 0)
		return -errno;
	*ret_pid = fork();
	if (*ret_pid == 0) {
		(void)signal(SIGPIPE, SIG_DFL);
		r.out = fd[1];
		read_all(&r);
	}
	(void)close(fd[1]);
	*ret_fd = fd[0];
	if (*ret_pid < 0) {
		(void)close(fd[0]);
		return -errno;
	}
	return 0;
}

/* Takes what a child sends. 0: it has sent all. -ETIMEDOUT: it hangs on in->begun. */
static int take_all(struct intake *in, struct errmsg *err)
{
	int rc = 0;

	while (rc == 0)
		rc = take_frame(in, err);
	return rc == -ENODATA ? 0 : rc;
}

int gather_files(struct gather *g, const char *pass, bool is_second, struct errmsg *err)
{
	char *hung[HUNG_MAX + 1] = { 0 };
	struct intake in = { .g = g, .pass = pass };
	size_t nhung = 0, i;
	pid_t pid = -1;
	int rc;

	do {
		rc = start_reader(&in, is_second, hung, &pid, &in.in);
		if (rc < 0)
			return errmsg_errno(err, rc, "%s", pass);
		rc = take_all(&in, err);
		(void)close(in.in);
		if (rc < 0) /* the kernel may hold a killed child, so it is not waited for */
			(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, rc < 0 ? WNOHANG : 0);
		if (rc == -ETIMEDOUT) {
			(void)cmd_error("%s does not answer and is left out", in.begun);
			hung[nhung++] = strdup(in.begun);
			g->hung++;
		}
	} while (rc == -ETIMEDOUT && nhung < HUNG_MAX);
	for (i = 0; i < nhung; i++)
		free(hung[i]);
	tdestroy(in.added, free);
	return rc == -ETIMEDOUT ? 0 : rc;
}
