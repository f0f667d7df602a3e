/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * util.h - scope-bound cleanup, ownership hand-over and macros that every file needs.
 */
#ifndef CEEMS_UTIL_H
#define CEEMS_UTIL_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/libutil/must_check.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Takes ownership out of a _cleanup_ variable: `*ret = TAKE_PTR(p);` */
#define TAKE_PTR(p)                         \
	({                                  \
		__typeof__(p) taken_ = (p); \
		(p) = NULL;                 \
		taken_;                     \
	})
#define TAKE_FD(fd)                \
	({                         \
		int taken_ = (fd); \
		(fd) = -1;         \
		taken_;            \
	})

static inline void util_freep(void *p)
{
	free(*(void **)p);
}

static inline void util_closep(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

static inline void util_fclosep(FILE **f)
{
	if (*f)
		(void)fclose(*f);
}

#define _cleanup_(fn) __attribute__((cleanup(fn)))
#define _cleanup_free_ _cleanup_(util_freep)
#define _cleanup_close_ _cleanup_(util_closep)
#define _cleanup_fclose_ _cleanup_(util_fclosep)

#define _printf_(fmt, args) __attribute__((format(printf, fmt, args)))

#endif
