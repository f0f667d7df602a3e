/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * names.h - names of users and groups. May ask a directory service over the network and so is
 * for the finaliser only; the hook copies numbers.
 */
#ifndef CEEMS_NAMES_H
#define CEEMS_NAMES_H

#include <stdint.h>

#define NAMES_SLOTS 256
#define NAMES_MAX 64

struct names {
	struct {
		uint32_t id;
		uint64_t until_mono_ns; /* 0: empty */
		char name[NAMES_MAX];	/* empty: has none */
	} slot[2][NAMES_SLOTS];
};

/* A malloc'ed copy; NULL when the number has no name or there is no memory. */
char *names_of_user(struct names *n, uint32_t uid);
char *names_of_group(struct names *n, uint32_t gid);

#endif
