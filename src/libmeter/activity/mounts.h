/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mounts.h - where file systems are mounted, by device number, learned from one or more processes'
 * mountinfo (proc(5)). Field 3 there is the kernel's s_dev, which the BPF programs see. st_dev
 * differs from it for subvolumes of btrfs and for overlayfs.
 */
#ifndef CEEMS_MOUNTS_H
#define CEEMS_MOUNTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mounts;

/*
 * If a file system is mounted several times, its name is the mount that shows its root, not a
 * folder of it (a bind mount, a subvolume), and then the shortest.
 */
struct mount_point {
	uint32_t device; /* major << 20 | minor */
	const char *path; /* as its process sees it, unescaped, any length */
	const char *type; /* "ext4", "fuse.sshfs" */
};

/* -ENOMEM */
int mounts_create(struct mounts **ret);
/* NULL: no-op. */
void mounts_destroy(struct mounts *m);

/*
 * Adds the file systems that process PID sees. Names known from an earlier process stay: a
 * container's view comes after the host's. -errno: cannot be read; what was read is kept.
 */
int mounts_learn(struct mounts *m, pid_t pid);

/* One line of a mountinfo file. One of another form is left out. -ENOMEM. */
int mounts_learn_line(struct mounts *m, const char *line);
/* The lines that follow are another process's. */
void mounts_next_process(struct mounts *m);

/* NULL: not known. Valid until the next call that learns. */
const struct mount_point *mounts_find(const struct mounts *m, uint32_t device);
size_t mounts_count(const struct mounts *m);
const struct mount_point *mounts_at(const struct mounts *m, size_t i);

#endif
