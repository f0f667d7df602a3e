/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pages.h - MADV_DONTFORK memory: touching it in a forked child is fatal. Use it for memory that
 * one thread writes while other threads fork often. Heap pages would be copied on the first write
 * after each fork.
 */
#ifndef CEEMS_PAGES_H
#define CEEMS_PAGES_H

#include <stddef.h>

/*
 * Returns SIZE bytes of zeroed memory, in whole pages; free with pages_free(). NULL: out of memory.
 */
void *pages_alloc(size_t size);
/* SIZE is the size that was allocated. NULL: no-op. */
void pages_free(void *p, size_t size);

#endif
