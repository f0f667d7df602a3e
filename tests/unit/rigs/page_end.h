/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page_end.h - data at the end of a page: a read beyond its end kills the test.
 */
#ifndef CEEMS_PAGE_END_H
#define CEEMS_PAGE_END_H

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * A copy of FROM, which ends where its last page does; the next may not be read. Stays for good. NULL: errno.
 */
static inline void *page_end_copy(const void *from, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t room = (size + page - 1) / page * page;
	char *p = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + room, page, PROT_NONE) < 0)
		return NULL;
	return memcpy(p + room - size, from, size);
}

#endif
