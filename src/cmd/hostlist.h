/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostlist.h - a list of hosts or nodes as slurm.conf writes it: "n[1-4,08],login", "r[1-2]n[1-8]".
 */
#ifndef CEEMS_HOSTLIST_H
#define CEEMS_HOSTLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libutil/must_check.h"

/* Writes name number N, counted from 0, of LIST into BUF. False: LIST has fewer, or BUF is too small. */
bool hostlist_nth(const char *list, uint64_t n, char *buf, size_t size) _must_check_;

/* Finds NAME in LIST, in upper or lower case. *RET is its number. */
bool hostlist_find(const char *list, const char *name, uint64_t *ret) _must_check_;

#endif
