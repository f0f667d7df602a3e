/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kallsyms.h - names of the kernel's functions by address. Addresses of the kernel are a secret of root's, which the
 * names are not.
 */
#ifndef CEEMS_KALLSYMS_H
#define CEEMS_KALLSYMS_H

#include <stdint.h>

#include "src/libutil/errmsg.h"

struct kallsyms;

/* Reads PATH, some 0.1 s. -EPERM: the kernel shows no addresses. */
int kallsyms_open(const char *path, struct kallsyms **ret, struct errmsg *err);
void kallsyms_close(struct kallsyms *k);

/* The number of the function that ADDRESS is in, from 0 on, or UINT32_MAX. */
uint32_t kallsyms_find(const struct kallsyms *k, uint64_t address);
/* "do_syscall_64", "nfs_file_read [nfs]" */
const char *kallsyms_name(const struct kallsyms *k, uint32_t number);
uint32_t kallsyms_count(const struct kallsyms *k);

#endif
