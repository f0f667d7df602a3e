/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_names.h - finds names of users and groups, and keeps them for ten minutes. It may ask a
 * directory service over the network, so do not use it in a hook.
 */
#ifndef CEEMS_RECORD_NAMES_H
#define CEEMS_RECORD_NAMES_H

#include <stdint.h>

#define RECORD_NAMES_SLOTS 256
#define RECORD_NAMES_MAX 64

struct record_names {
	struct {
		uint32_t id;
		uint64_t until_mono_ns; /* 0: empty */
		char name[RECORD_NAMES_MAX];	/* empty: has none */
	} slot[2][RECORD_NAMES_SLOTS];
};

/* Returns a copy, which the caller frees; NULL: the number has no name, or no memory. */
char *record_names_user(struct record_names *n, uint32_t uid);
char *record_names_group(struct record_names *n, uint32_t gid);

#endif
