/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/pressure.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "src/libmeter/activity/cgmount.h"
#include "src/libutil/parse.h"
#include "src/libutil/util.h"

#define NS_PER_US 1000

static const struct {
	char file[16];
	enum metric some, full;
} psi[] = {
	{ "cpu.pressure", METRIC_CPU_PRESSURE_SOME, METRIC_CPU_PRESSURE_FULL },
	{ "memory.pressure", METRIC_MEMORY_PRESSURE_SOME, METRIC_MEMORY_PRESSURE_FULL },
	{ "io.pressure", METRIC_IO_PRESSURE_SOME, METRIC_IO_PRESSURE_FULL },
};

/*
 * Reads FILE into BUF without a last line that is cut; "" if it cannot be read. It calls read() once, since
 * the kernel adds up all CPUs for each call.
 */
static void read_file(int folder_fd, const char *file, char *buf, size_t size)
{
	/* a negative number may be AT_FDCWD */
	_cleanup_close_ int fd = folder_fd < 0 ? -1 : openat(folder_fd, file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	while (n > 0 && buf[n - 1] != '\n')
		n--;
	buf[n > 0 ? n : 0] = '\0';
}

/*
 * Sets M to the number VALUE, which ends with its line. If it is NULL or no number, M is missing
 * with REASON.
 */
static void set_metric(struct values *f, enum metric m, const char *value, uint64_t scale,
		       enum metric_reason reason)
{
	uint64_t v;
	int rc = value ? parse_u64_n(value, strcspn(value, "\n"), &v) : -ENOENT;

	if (rc < 0)
		values_miss(f, m, rc == -ERANGE ? REASON_TOO_LARGE : reason);
	else
		values_set(f, m, __builtin_mul_overflow(v, scale, &v) ? UINT64_MAX : v);
}

/*
 * Finds the line that begins with KIND, such as "some avg10=0.00 avg60=0.00 avg300=0.00 total=12", and
 * returns its total, in microseconds. NULL: there is none.
 */
static const char *find_total(const char *text, const char *kind)
{
	static const char key[] = " total=";
	const char *line = parse_find_line(text, kind);
	const char *total = line ? strstr(line, key) : NULL;

	return total && total < line + strcspn(line, "\n") ? total + sizeof(key) - 1 : NULL;
}

static void read_psi(int folder_fd, struct values *f)
{
	char buf[256];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(psi); i++) {
		read_file(folder_fd, psi[i].file, buf, sizeof(buf));
		set_metric(f, psi[i].some, find_total(buf, "some "), NS_PER_US, REASON_NO_PSI);
		set_metric(f, psi[i].full, find_total(buf, "full "), NS_PER_US, REASON_NO_PSI);
	}
}

/*
 * Reads throttling from the cpu.stat of a cgroup. False: the cgroup has no quota, or there is no such file.
 */
static bool read_throttling(int folder_fd, const char *time_key, uint64_t scale, struct values *f)
{
	char buf[1024];

	read_file(folder_fd, "cpu.stat", buf, sizeof(buf));
	set_metric(f, METRIC_CPU_THROTTLED, parse_find_line(buf, time_key), scale, REASON_NO_CPU_QUOTA);
	set_metric(f, METRIC_CPU_THROTTLED_PERIODS, parse_find_line(buf, "nr_throttled "), 1,
		   REASON_NO_CPU_QUOTA);
	return values_has(f, METRIC_CPU_THROTTLED);
}

void pressure_read_folders(int v2_fd, int cpuacct_fd, struct values *f)
{
	read_psi(v2_fd, f);
	if (!read_throttling(v2_fd, "throttled_usec ", NS_PER_US, f))
		(void)read_throttling(cpuacct_fd, "throttled_time ", 1, f);
}

void pressure_read(const struct cgroup_paths *paths, struct values *f)
{
	_cleanup_close_ int v2_fd = cgmount_open_step(NULL, paths->v2, ".");
	_cleanup_close_ int cpuacct_fd = cgmount_open_step("cpuacct", paths->cpuacct, ".");

	pressure_read_folders(v2_fd, cpuacct_fd, f);
}
