/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/sensor/perf_event.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int perf_event_kernel_open(void *ctx, const struct perf_event_attr *attr, pid_t pid, int cpu,
				  int group, unsigned long flags)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, group, flags | PERF_FLAG_FD_CLOEXEC);

	(void)ctx;
	return fd < 0 ? -errno : (int)fd;
}

static ssize_t perf_event_kernel_read(void *ctx, int fd, void *buf, size_t size)
{
	ssize_t n = read(fd, buf, size);

	(void)ctx;
	return n < 0 ? -errno : n;
}

static int perf_event_kernel_id(void *ctx, int fd, uint64_t *ret)
{
	(void)ctx;
	return ioctl(fd, PERF_EVENT_IOC_ID, ret) < 0 ? -errno : 0;
}

static void perf_event_kernel_close(void *ctx, int fd)
{
	(void)ctx;
	(void)close(fd);
}

const struct perf_event_ops perf_event_kernel = {
	.open = perf_event_kernel_open,
	.read = perf_event_kernel_read,
	.id = perf_event_kernel_id,
	.close = perf_event_kernel_close,
};
