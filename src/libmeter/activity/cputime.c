/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/cputime.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "src/libmeter/activity/cgmount.h"
#include "src/libmeter/activity/cputime_procs.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"

struct cputime {
	int fd;			     /* cpu.stat, cpuacct.usage or the folder of the cgroup */
	int user_fd;		     /* cpuacct.usage_user; -1: none */
	bool is_v2;		     /* FD is cpu.stat of v2 */
	struct cputime_procs *procs; /* if not NULL, CPU time is summed over processes */
	uint64_t last_ns;
};

/* Parses the value of KEY, which includes the blank, in microseconds. */
static int parse_usec(const char *text, const char *key, uint64_t *ret_ns)
{
	const char *p = parse_find_line(text, key);
	uint64_t us, ns;
	int rc;

	if (!p)
		return -EINVAL;
	rc = parse_u64_n(p, strcspn(p, "\n"), &us);
	if (rc < 0)
		return rc;
	if (__builtin_mul_overflow(us, 1000, &ns))
		return -ERANGE;
	*ret_ns = ns;
	return 0;
}

int cputime_parse_cpu_stat(const char *text, uint64_t *ret_ns)
{
	return parse_usec(text, "usage_usec ", ret_ns);
}

int cputime_parse_user(const char *text, uint64_t *ret_ns)
{
	return parse_usec(text, "user_usec ", ret_ns);
}

static int read_cpu_stat(int fd, uint64_t *ret_ns, uint64_t *ret_user_ns)
{
	char buf[128];
	ssize_t n = pread(fd, buf, sizeof(buf) - 1, 0);
	int rc;

	if (n < 0)
		return -errno;
	/* only the first two lines are needed; a line that is cut would give a smaller number */
	buf[n] = '\0';
	if (!strchr(buf, '\n'))
		return -EINVAL;
	rc = cputime_parse_cpu_stat(buf, ret_ns);
	return rc < 0 || !ret_user_ns ? rc : cputime_parse_user(buf, ret_user_ns);
}

int cputime_read(struct cputime *c, uint64_t *ret_busy_ns)
{
	uint64_t ns = 0;
	int rc;

	if (c->procs)
		rc = cputime_procs_read(c->procs, &ns);
	else if (c->is_v2)
		rc = read_cpu_stat(c->fd, &ns, NULL);
	else
		rc = fileio_pread_u64(c->fd, &ns);
	if (rc < 0)
		return rc;
	if (ns > c->last_ns)
		c->last_ns = ns;
	*ret_busy_ns = c->last_ns;
	return 0;
}

int cputime_read_modes(struct cputime *c, uint64_t *ret_user_ns, uint64_t *ret_system_ns)
{
	uint64_t ns, user_ns;
	int rc;

	if (c->procs || (!c->is_v2 && c->user_fd < 0))
		return -EOPNOTSUPP;
	if (c->is_v2) {
		rc = read_cpu_stat(c->fd, &ns, &user_ns);
	} else { /* in this order the sum is never too small */
		rc = fileio_pread_u64(c->user_fd, &user_ns);
		if (rc == 0)
			rc = fileio_pread_u64(c->fd, &ns);
	}
	if (rc < 0)
		return rc;
	*ret_user_ns = user_ns < ns ? user_ns : ns;
	*ret_system_ns = ns - *ret_user_ns;
	return 0;
}

/* Tries to read FD, which this function owns. A file that opens may still not be readable. */
static int try_fd(struct cputime *c, int fd, bool is_v2, bool is_folder)
{
	uint64_t ns;
	int rc;

	if (fd < 0)
		return fd;
	c->fd = fd;
	c->is_v2 = is_v2;
	rc = is_folder ? cputime_procs_create(fd, /* root= */ 0, &c->procs) : 0;
	if (rc == 0)
		rc = cputime_read(c, &ns);
	if (rc == 0)
		return 0;
	cputime_procs_destroy(c->procs);
	c->procs = NULL;
	c->fd = -1;
	c->last_ns = 0;
	(void)close(fd);
	return rc;
}

int cputime_open(const struct cgroup_paths *paths, struct cputime **ret, struct errmsg *err)
{
	struct cputime *c = calloc(1, sizeof(*c));

	if (!c)
		return errmsg_set(err, -ENOMEM, "CPU time: out of memory");
	c->fd = c->user_fd = -1;
	if (try_fd(c, cgmount_open_step(NULL, paths->v2, "cpu.stat"), true, false) < 0 &&
	    try_fd(c, cgmount_open_step("cpuacct", paths->cpuacct, "cpuacct.usage"), false, false) < 0 &&
	    try_fd(c, cgmount_open_step("freezer", paths->freezer, "."), false, true) < 0 &&
	    try_fd(c, cgmount_open_step(NULL, paths->v2, "."), true, true) < 0) {
		cputime_close(c);
		return errmsg_set(err, -ENOENT,
				  "no cgroup to read CPU time from (v2 '%s', cpuacct "
				  "'%s', freezer '%s')",
				  paths->v2, paths->cpuacct, paths->freezer);
	}
	if (!c->is_v2 && !c->procs)
		c->user_fd = cgmount_open_step("cpuacct", paths->cpuacct, "cpuacct.usage_user");
	*ret = c;
	return 0;
}

int cputime_open_tree(pid_t root, struct cputime **ret, struct errmsg *err)
{
	struct cputime *c = calloc(1, sizeof(*c));
	uint64_t ns;
	int rc;

	if (!c)
		return errmsg_set(err, -ENOMEM, "CPU time: out of memory");
	c->fd = c->user_fd = -1;
	rc = cputime_procs_create(/* folder_fd= */ -1, root, &c->procs);
	if (rc == 0)
		rc = cputime_read(c, &ns);
	if (rc < 0) {
		cputime_close(c);
		return errmsg_errno(err, rc, "CPU time of the processes below %d", (int)root);
	}
	*ret = c;
	return 0;
}

void cputime_close(struct cputime *c)
{
	if (!c)
		return;
	cputime_procs_destroy(c->procs);
	if (c->fd >= 0)
		(void)close(c->fd);
	if (c->user_fd >= 0)
		(void)close(c->user_fd);
	free(c);
}

int cputime_find_cgroups(pid_t pid, struct cgroup_paths *ret)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	return cgmount_step_paths(f, ret);
}

/* Parses "cpu user nice system idle iowait irq softirq steal guest guest_nice", in clock ticks. */
static int parse_cpu_line(const char *line, uint64_t *ret_ticks)
{
	uint64_t sum = 0;
	int i;

	line += strcspn(line, " ");
	for (i = 0; i < 7; i++) {
		uint64_t v;
		size_t len;
		int rc;

		line += strspn(line, " ");
		len = strcspn(line, " \n");
		rc = parse_u64_n(line, len, &v);
		if (rc < 0)
			return rc;
		line += len;
		if (i != 3 && i != 4) /* idle and iowait; guest time is part of user and nice */
			sum += v;
	}
	*ret_ticks = sum;
	return 0;
}

static uint64_t ticks_to_ns(uint64_t ticks)
{
	long hz = sysconf(_SC_CLK_TCK);

	return ticks * (NSEC_PER_SEC / (hz > 0 ? (uint64_t)hz : 100));
}

/* Stores the CPU time in a line "cpu12 ..." under its CPU's number. */
static void take_cpu(const char *line, uint64_t *cpu_ns, size_t max)
{
	uint64_t ticks;
	uint64_t cpu;

	if (parse_u64_n(line + 3, strcspn(line + 3, " "), &cpu) == 0 && cpu < max &&
	    parse_cpu_line(line, &ticks) == 0)
		cpu_ns[cpu] = ticks_to_ns(ticks);
}

/*
 * /proc/stat counts in clock ticks of 10 ms and rounds each field of each CPU, while a step's time
 * is in nanoseconds. So within a tick the steps may seem to use more than the node; the split
 * (split.h) allows for that. Only the head of the file is read, since the line of interrupts is
 * long.
 */
int cputime_cpus(int proc_stat_fd, uint64_t *cpu_ns, size_t max, uint64_t *ret_busy_ns, uint32_t *ret_cpus)
{
	uint64_t ticks = 0;
	uint32_t cpus = 0;
	bool has_sum = false;
	char buf[4096];
	size_t used = 0;
	off_t at = 0;

	for (;;) {
		ssize_t n = pread(proc_stat_fd, buf + used, sizeof(buf) - used, at);
		char *line = buf;
		char *end;
		int rc;

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		used += (size_t)n;
		at += n;
		while ((end = memchr(line, '\n', used - (size_t)(line - buf)))) {
			*end = '\0';
			if (strncmp(line, "cpu", 3) != 0)
				goto out;
			if (line[3] == ' ') {
				rc = parse_cpu_line(line, &ticks);
				if (rc < 0)
					return rc;
				has_sum = true;
			} else {
				take_cpu(line, cpu_ns, max);
				cpus++;
			}
			line = end + 1;
		}
		used -= (size_t)(line - buf);
		memmove(buf, line, used);
		if (!n)
			break;
		if (used >= 3 && strncmp(buf, "cpu", 3) != 0)
			break; /* the line of interrupts, which may be cut */
		if (used == sizeof(buf))
			return -EINVAL;
	}
out:
	if (!has_sum || !cpus)
		return -EINVAL;
	*ret_busy_ns = ticks_to_ns(ticks);
	*ret_cpus = cpus;
	return 0;
}

int cputime_node(int proc_stat_fd, uint64_t *ret_busy_ns, uint32_t *ret_cpus)
{
	return cputime_cpus(proc_stat_fd, NULL, 0, ret_busy_ns, ret_cpus);
}
