/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_names.h - finds the names of users and groups by their numbers, and remembers each name for
 * ten minutes. The look-up may ask a directory service over the network. So no function that
 * slurmctld waits for may use it.
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

/* Each returns a copy of the name, which the caller frees. NULL: the number has no name, or memory is short. */
char *record_names_user(struct record_names *n, uint32_t uid);
char *record_names_group(struct record_names *n, uint32_t gid);

#endif
