/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pages.h - MADV_DONTFORK memory: touching it in a forked child is fatal. For memory that a thread
 * writes to while another thread forks all the time. Pages of the heap are copied one by one after
 * each fork.
 */
#ifndef CEEMS_PAGES_H
#define CEEMS_PAGES_H

#include <stddef.h>

/* Zeroed, whole pages. NULL: there is no memory. */
void *pages_alloc(size_t size);
/* SIZE as allocated. NULL: no-op. */
void pages_free(void *p, size_t size);

#endif
