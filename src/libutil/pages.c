/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/pages.h"

#include <sys/mman.h>

void *pages_alloc(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	(void)madvise(p, size, MADV_DONTFORK); /* best effort: without it fork() is only slower */
	return p;
}

void pages_free(void *p, size_t size)
{
	if (p)
		(void)munmap(p, size);
}
