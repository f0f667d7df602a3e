/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * confine.h - takes rights from the calling process that it does not use, for good. For our programs that
 * read what users, devices or servers made: a file or an answer that misleads them then finds little to use.
 */
#ifndef CEEMS_CONFINE_H
#define CEEMS_CONFINE_H

#include <stdint.h>

/* A set of capabilities, such as CONFINE_CAP(CAP_SYS_RAWIO). */
#define CONFINE_CAP(cap) (UINT64_C(1) << (cap))

/*
 * Keeps the capabilities KEPT only, also for what the process may execute, and gains none by set-user-ID
 * programs (no_new_privs). 0 or -errno. Not root: nothing is kept that was not there.
 */
int confine_caps(uint64_t kept);

/*
 * Never again gains a right, starts a program, opens a socket, traces a process, or uses other parts of the
 * kernel that a parser does not need (seccomp; the list is in confine.c); such calls fail with EPERM. Files
 * may be opened and written, memory allocated, threads started. 0, or -errno: this kernel has no filters.
 */
int confine_parser(void);

#endif
