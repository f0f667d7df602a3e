/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kallsyms.h - finds kernel functions by address. Only root may see kernel addresses; everyone may
 * see the names.
 */
#ifndef CEEMS_KALLSYMS_H
#define CEEMS_KALLSYMS_H

#include <stdint.h>

#include "src/libutil/errmsg.h"

struct kallsyms;

/* Opens /proc/kallsyms (PATH). Returns 0 or -errno. */
int kallsyms_open(const char *path, struct kallsyms **ret, struct errmsg *err) _must_check_;
/*
 * Reads the next portion; all of them take some 0.1 s. Returns 1: there is more; 0: all is read, and the
 * functions below can be called; -EPERM: the kernel hides the addresses; or -errno.
 */
int kallsyms_read(struct kallsyms *k);
/* NULL: does nothing. */
void kallsyms_close(struct kallsyms *k);

/*
 * Returns the number of the function that contains ADDRESS, 0 to kallsyms_count() - 1; UINT32_MAX:
 * ADDRESS is below all.
 */
uint32_t kallsyms_find(const struct kallsyms *k, uint64_t address);
/*
 * Returns a function's name, such as "do_syscall_64" or "nfs_file_read [nfs]". It lives as long as
 * K.
 */
const char *kallsyms_name(const struct kallsyms *k, uint32_t number);
uint32_t kallsyms_count(const struct kallsyms *k);

#endif
