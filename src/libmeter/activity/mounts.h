/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mounts.h - finds the mount point of a device number. It learns them from the mountinfo (proc(5))
 * of one or more processes. The number is field 3 there, the kernel's s_dev, which the BPF programs
 * see, too. stat(2)'s st_dev differs from it for subvolumes of btrfs and for overlayfs.
 */
#ifndef CEEMS_MOUNTS_H
#define CEEMS_MOUNTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/libutil/must_check.h"

struct mounts;

/*
 * One file system. If it is mounted several times, PATH is the shortest mount of its root. Mounts of a
 * folder in it (a bind mount, a subvolume) count only if the root is not mounted.
 */
struct mount_point {
	uint32_t device;  /* major << 20 | minor */
	const char *path; /* unescaped, as the process sees it that was read */
	const char *type; /* "ext4", "fuse.sshfs" */
};

/* Makes a table without mounts. -ENOMEM. */
int mounts_create(struct mounts **ret) _must_check_;
/* NULL: no-op. */
void mounts_destroy(struct mounts *m);

/*
 * Adds the file systems that process PID sees. Names already known from another process stay, so
 * learn the host's before a container's. -errno: mountinfo could not be read to its end; lines read
 * so far are kept.
 */
int mounts_learn(struct mounts *m, pid_t pid);

/* Adds one line of a mountinfo file. A malformed line is ignored. -ENOMEM. */
int mounts_learn_line(struct mounts *m, const char *line);
/* To be called before mounts_learn_line() gets lines of another process. */
void mounts_next_process(struct mounts *m);

/* Returns the mount point of DEVICE, valid until the next mounts_learn*(). NULL: not known. */
const struct mount_point *mounts_find(const struct mounts *m, uint32_t device);
size_t mounts_count(const struct mounts *m);
const struct mount_point *mounts_at(const struct mounts *m, size_t i);

#endif
