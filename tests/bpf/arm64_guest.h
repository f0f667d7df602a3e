/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arm64_guest.h - what the programs that are init of an emulated arm64 guest share: mounts, and the cgroup of
 * a step.
 */
#ifndef CEEMS_TEST_ARM64_GUEST_H
#define CEEMS_TEST_ARM64_GUEST_H

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#define CGROUP "/sys/fs/cgroup/step_0" /* the caller makes this folder */

/* Mounts what every init needs, with cgroup v2. */
static inline void guest_mount(void)
{
	(void)mount("p", "/proc", "proc", 0, NULL);
	(void)mount("s", "/sys", "sysfs", 0, NULL);
	(void)mount("d", "/dev", "devtmpfs", 0, NULL);
	(void)mount("t", "/tmp", "tmpfs", 0, NULL);
	(void)mount("c", "/sys/fs/cgroup", "cgroup2", 0, NULL);
}

/* Moves this process, a child of init, to CGROUP, or ends it. */
static inline void guest_enter_cgroup(void)
{
	int fd = open(CGROUP "/cgroup.procs", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "0", 1) != 1)
		_exit(126);
	(void)close(fd);
}

#endif
