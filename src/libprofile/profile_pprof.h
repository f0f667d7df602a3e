/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_pprof.h - reads and writes pprof's format: a protobuf message (profile.proto), with gzip
 * around it.
 */
#ifndef CEEMS_PROFILE_PPROF_H
#define CEEMS_PROFILE_PPROF_H

#include "src/libprofile/profile.h"
#include "src/libutil/must_check.h"

#define PROFILE_PPROF_MAX ((size_t)128 << 20) /* bytes that are read, before and after unpacking */

/*
 * Writes P, compressed by gzip, to FD from its current position. Returns 0; -EFBIG: the file would
 * exceed MAX bytes (0: no limit), and a part of it was written; -ENOMEM; or -errno of write(2).
 */
int profile_write(const struct profile *p, int fd, uint64_t max, struct errmsg *err);

/*
 * Reads a profile from FD to its end, compressed or not. The file may be forged. NAME is for
 * messages. Returns 0; -EINVAL: not a profile, or damaged; -EFBIG: more than PROFILE_PPROF_MAX
 * bytes; -ERANGE: a limit of profile.h is exceeded; -ENOMEM: also if unpacking would take more than
 * 1 GiB; or -errno of read(2).
 */
int profile_read(int fd, const char *name, struct profile **ret, struct errmsg *err) _must_check_;

#endif
