/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/cgmount.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "src/libutil/util.h"

/* Numbers of the file systems of cgroups, as in linux/magic.h. */
#define V1_MAGIC 0x27e0eb
#define V2_MAGIC 0x63677270

/*
 * Copies the next word of *s. Blanks within a word, which mountinfo writes as "\040", are restored.
 */
static bool next_word(const char **s, char *word, size_t size)
{
	const char *p = *s + strspn(*s, " ");
	size_t n = 0;

	while (*p && *p != ' ' && *p != '\n') {
		char c = *p++;

		if (c == '\\' && p[0] >= '0' && p[0] <= '3' && p[1] >= '0' && p[1] <= '7' && p[2] >= '0' &&
		    p[2] <= '7') {
			c = (char)((p[0] - '0') << 6 | (p[1] - '0') << 3 | (p[2] - '0'));
			p += 3;
		}
		if (n + 1 >= size)
			return false;
		word[n++] = c;
	}
	word[n] = '\0';
	*s = p;
	return n > 0;
}

/* Returns true if LIST, LEN bytes of comma-separated words, has WORD. */
static bool has_item(const char *list, size_t len, const char *word)
{
	size_t wlen = strlen(word);

	while (len) {
		const char *comma = memchr(list, ',', len);
		size_t n = comma ? (size_t)(comma - list) : len;

		if (n == wlen && !memcmp(list, word, n))
			return true;
		n += comma != NULL;
		list += n;
		len -= n;
	}
	return false;
}

static bool has_dotdot(const char *path)
{
	const char *p = path;

	while ((p = strstr(p, "/.."))) {
		p += 3;
		if (*p == '/' || *p == '\0')
			return true;
	}
	return false;
}

bool cgmount_match(const char *line, const char *controller, const char *path, char *ret, size_t size)
{
	char word[PATH_MAX], root[PATH_MAX], point[PATH_MAX];
	size_t root_len;
	int i;

	for (i = 0; i < 3; i++) { /* mount id, parent id, device */
		if (!next_word(&line, word, sizeof(word)))
			return false;
	}
	if (!next_word(&line, root, sizeof(root)) || !next_word(&line, point, sizeof(point)))
		return false;
	do { /* skip the mount options and optional fields */
		if (!next_word(&line, word, sizeof(word)))
			return false;
	} while (strcmp(word, "-") != 0);
	if (!next_word(&line, word, sizeof(word)) || strcmp(word, controller ? "cgroup" : "cgroup2") != 0)
		return false;
	if (!next_word(&line, word, sizeof(word)) || !next_word(&line, word, sizeof(word)))
		return false;
	if (controller && !has_item(word, strlen(word), controller))
		return false;
	/* cgroups above the root of our cgroup namespace cannot be reached through this mount */
	if (has_dotdot(root) || has_dotdot(path) || path[0] != '/')
		return false;
	root_len = strcmp(root, "/") != 0 ? strlen(root) : 0;
	if (strncmp(path, root, root_len) != 0 ||
	    (root_len && path[root_len] != '/' && path[root_len] != '\0'))
		return false;
	return (size_t)snprintf(ret, size, "%s%s", point, path + root_len) < size;
}

/*
 * The cgroup lines of mountinfo. The kernel makes the whole table for each reader, which takes
 * longer than all other work for a step. So the file is kept open, and poll() reports changes.
 */
static struct {
	pthread_mutex_t lock;
	/* process that opened fd; a child may be in other namespaces, and opens the file itself */
	pid_t owner;
	/*
	 * a descriptor, not a FILE: when a forked child exits, its FILE may move the shared
	 * position
	 */
	int fd;
	size_t part_len;
	char *text; /* the lines read so far; NULL: none, read the file from the start */
	size_t len;
} mounts = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };
/*
 * The start of an incomplete line. It is not a member of `mounts`, whose initialised pages are read from the
 * plugin's file: this buffer would make them more.
 */
static char part[4096];

static void forget_mounts(void)
{
	if (mounts.fd >= 0)
		(void)close(TAKE_FD(mounts.fd));
	free(TAKE_PTR(mounts.text));
}

/*
 * Runs when the plugin is unloaded or the process exits, perhaps while another thread has the lock.
 */
static void __attribute__((destructor)) leave(void)
{
	if (pthread_mutex_trylock(&mounts.lock))
		return;
	forget_mounts();
	(void)pthread_mutex_unlock(&mounts.lock);
}

/*
 * Forgets the lines if the mounts have changed. The caller holds the lock. If mounts change during the
 * reading, the next poll() reports it.
 */
static int update_mounts(void)
{
	struct pollfd p = { .events = POLLPRI };

	if (mounts.text && mounts.owner == getpid()) {
		p.fd = mounts.fd;
		if (poll(&p, 1, 0) == 0)
			return 0;
	}
	forget_mounts();
	mounts.owner = getpid();
	mounts.fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (mounts.fd < 0)
		return -errno;
	mounts.part_len = 0;
	mounts.len = 0;
	mounts.text = strdup("");
	return mounts.text ? 0 : -ENOMEM;
}

static int keep_line(const char *line)
{
	size_t len = strlen(line);
	char *text = realloc(mounts.text, mounts.len + len + 2);

	if (!text) {
		/* read the file again next time; otherwise this line would stay missing */
		free(TAKE_PTR(mounts.text));
		return -ENOMEM;
	}
	mounts.text = text;
	memcpy(text + mounts.len, line, len);
	mounts.len += len + 1;
	memcpy(text + mounts.len - 1, "\n", 2);
	return 0;
}

/* Reads more of the file and keeps the cgroup lines. 0: the end of the file. */
static int read_more(void)
{
	char *const buf = part;
	char *line = buf;
	char *end;
	ssize_t n = read(mounts.fd, buf + mounts.part_len, sizeof(part) - 1 - mounts.part_len);
	int rc = 0;

	if (n <= 0)
		return n < 0 ? -errno : 0;
	mounts.part_len += (size_t)n;
	buf[mounts.part_len] = '\0';
	while (rc == 0 && (end = strchr(line, '\n'))) {
		*end = '\0';
		if (strstr(line, " - cgroup"))
			rc = keep_line(line);
		line = end + 1;
	}
	mounts.part_len -= (size_t)(line - buf);
	if (mounts.part_len == sizeof(part) - 1)
		mounts.part_len = 0; /* drop it: only lines of overlay file systems are so long */
	memmove(buf, line, mounts.part_len);
	return rc < 0 ? rc : 1;
}

static bool is_cgroup_fs(const char *folder, const char *controller)
{
	struct statfs fs;

	return statfs(folder, &fs) == 0 && fs.f_type == (controller ? V1_MAGIC : V2_MAGIC);
}

static int find_folder(const char *controller, const char *path, char *folder, size_t size)
{
	size_t at = 0;
	int rc;

	for (;; at += strcspn(mounts.text + at, "\n") + 1) {
		while (at >= mounts.len) {
			rc = read_more(); /* stop at the first match, since there may be hundreds of mounts */
			if (rc <= 0)
				return rc < 0 ? rc : -ENOENT;
		}
		/* another file system may be mounted over the folder */
		if (cgmount_match(mounts.text + at, controller, path, folder, size) &&
		    is_cgroup_fs(folder, controller))
			return 0;
	}
}

/* --- mount points known from elsewhere ------------------------------------------------------ */

static struct {
	pid_t owner; /* process that set them; not valid in another one */
	struct cgmount_points points;
} expected;

void cgmount_expect(const struct cgmount_points *points)
{
	expected.points = *points;
	expected.owner = getpid();
}

static char *point_of(struct cgmount_points *points, const char *controller)
{
	return !controller		      ? points->v2 :
	       !strcmp(controller, "cpuacct") ? points->cpuacct :
	       !strcmp(controller, "freezer") ? points->freezer :
	       !strcmp(controller, "memory")  ? points->memory :
						NULL;
}

static bool is_as_expected(const char *controller, const char *path, char *ret, size_t size)
{
	const char *point = point_of(&expected.points, controller);
	char folder[PATH_MAX];

	if (!point || !*point || expected.owner != getpid() || path[0] != '/' || has_dotdot(path))
		return false;
	if ((size_t)snprintf(folder, sizeof(folder), "%s%s", point, path) >= sizeof(folder) ||
	    strlen(folder) >= size || !is_cgroup_fs(folder, controller))
		return false;
	memcpy(ret, folder, strlen(folder) + 1);
	return true;
}

void cgmount_points(struct cgmount_points *ret)
{
	static const char *const controllers[] = { NULL, "cpuacct", "freezer", "memory" };
	char folder[sizeof(ret->v2) + 1];
	size_t i;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < ARRAY_SIZE(controllers); i++)
		if (cgmount_find(controllers[i], "/", folder, sizeof(folder)) == 0)
			memcpy(point_of(ret, controllers[i]), folder, strlen(folder) - 1);
}

int cgmount_find(const char *controller, const char *path, char *ret, size_t size)
{
	_cleanup_free_ char *folder = NULL;
	int rc;

	if (is_as_expected(controller, path, ret, size))
		return 0;
	folder = malloc(size);
	if (!folder)
		return -ENOMEM;
	(void)pthread_mutex_lock(&mounts.lock);
	rc = update_mounts();
	if (rc == 0)
		rc = find_folder(controller, path, folder, size);
	(void)pthread_mutex_unlock(&mounts.lock);
	if (rc == 0)
		memcpy(ret, folder, strlen(folder) + 1);
	return rc;
}

int cgmount_open_step(const char *controller, const char *path, const char *file)
{
	char folder[PATH_MAX];
	char full[PATH_MAX + 32];
	int rc;

	if (!path || path[0] != '/' || !path[1])
		return -ENOENT;
	rc = cgmount_find(controller, path, folder, sizeof(folder));
	if (rc < 0)
		return rc;
	if ((size_t)snprintf(full, sizeof(full), "%s/%s", folder, file) >= sizeof(full))
		return -ENAMETOOLONG;
	rc = open(full, O_RDONLY | O_CLOEXEC);
	return rc < 0 ? -errno : rc;
}

/*
 * Returns the length of PATH up to the end of its last component that begins with "step_"; 0: there is none.
 */
static size_t step_len(const char *path)
{
	const char *p = path;
	size_t len = 0;

	while ((p = strstr(p, "/step_"))) {
		p++;
		p += strcspn(p, "/");
		len = (size_t)(p - path);
	}
	return len;
}

/*
 * Parses a line "id:controllers:path" of /proc/PID/cgroup. Returns bits: whether it is
 * about v2, cpuacct, freezer.
 */
static unsigned int hierarchies(char *line, char **ret_path)
{
	char *list = strchr(line, ':');
	char *path = list ? strchr(list + 1, ':') : NULL;
	size_t len;

	if (!path)
		return 0;
	list++;
	len = (size_t)(path - list);
	*ret_path = path + 1;
	if (!len)
		return 1u << 0;
	return (has_item(list, len, "cpuacct") ? 1u << 1 : 0) |
	       (has_item(list, len, "freezer") ? 1u << 2 : 0);
}

int cgmount_step_paths(FILE *f, struct cgroup_paths *ret)
{
	struct cgroup_paths found = { 0 };
	char *const to[3] = { found.v2, found.cpuacct, found.freezer };
	_cleanup_free_ char *line = NULL;
	size_t line_size = 0;
	char *path = NULL;
	size_t i;

	while (getline(&line, &line_size, f) > 0) {
		unsigned int which = hierarchies(line, &path);
		size_t len;

		if (!which)
			continue;
		path[strcspn(path, "\n")] = '\0';
		len = strlen(path);
		if (len >= 10 && !strcmp(path + len - 10, " (deleted)"))
			continue;
		len = step_len(path);
		if (len >= CGROUP_PATH_MAX)
			return -ENAMETOOLONG;
		for (i = 0; i < 3; i++) {
			if (which & 1u << i)
				memcpy(to[i], path, len);
		}
	}
	*ret = found;
	return 0;
}
