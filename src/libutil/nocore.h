/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nocore.h - for programs whose memory has a password or a token. */
#ifndef CEEMS_NOCORE_H
#define CEEMS_NOCORE_H

#include <sys/resource.h>

/* Forbids core dumps of this process and of its children. */
static inline void nocore_set(void)
{
	const struct rlimit none = { 0, 0 };

	(void)setrlimit(RLIMIT_CORE, &none);
}

#endif
