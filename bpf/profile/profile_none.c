/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile_mon.h where no BPF programs are built. */
#include <errno.h>

#include "bpf/profile/profile_mon.h"

int profile_samples_open(int cgroup_fd, struct profile_samples *ret, struct errmsg *err)
{
	(void)cgroup_fd;
	(void)ret;
	return errmsg_set(err, -EOPNOTSUPP, PROFILE_NOT_BUILT);
}

int profile_samples_open_noting(int cgroup_fd, uid_t uid, unsigned int notes_max, struct profile_samples *ret,
				struct errmsg *err)
{
	(void)uid;
	(void)notes_max;
	return profile_samples_open(cgroup_fd, ret, err);
}

void profile_samples_close(struct profile_samples *s)
{
	(void)s;
}

int profile_waits_open(int cgroup_fd, bool has_user, bool has_kernel, struct profile_waits *ret,
		       struct errmsg *err)
{
	(void)cgroup_fd;
	(void)has_user;
	(void)has_kernel;
	(void)ret;
	return errmsg_set(err, -EOPNOTSUPP, PROFILE_NOT_BUILT);
}

void profile_waits_close(struct profile_waits *w)
{
	(void)w;
}
