/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_pprof.h - reads and writes pprof's format: a protobuf message (profile.proto), with gzip around it.
 */
#ifndef CEEMS_PROFILE_PPROF_H
#define CEEMS_PROFILE_PPROF_H

#include "src/libprofile/profile.h"

#define PROFILE_PPROF_MAX ((size_t)128 << 20) /* bytes of a file that is read, packed or not */

/*
 * Writes P to FD, packed, from where FD stands. -EFBIG: it would be more than MAX bytes (0: no limit), and a part of it
 * is written. -errno of write(2); -ENOMEM.
 */
int profile_write(const struct profile *p, int fd, uint64_t max, struct errmsg *err);

/*
 * Reads a profile of anybody, packed or not, from FD to its end. NAME is for messages. -EINVAL: it is not one;
 * -EFBIG: more than PROFILE_PPROF_MAX; -ERANGE: a limit of profile.h; -ENOMEM: it needs more memory than the size of
 * a file of this kind explains.
 */
int profile_read(int fd, const char *name, struct profile **ret, struct errmsg *err);

#endif
