/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_names.h - looks up names of users and groups by number, and remembers each for ten
 * minutes. A look-up may ask a directory service over the network. So slurmctld must never wait for
 * a function that uses this.
 */
#ifndef CEEMS_RECORD_NAMES_H
#define CEEMS_RECORD_NAMES_H

#include <stdint.h>

#define RECORD_NAMES_SLOTS 256
#define RECORD_NAMES_MAX 64

struct record_names {
	struct {
		uint32_t id;
		uint64_t until_mono_ns;	     /* when this entry expires; 0: never filled */
		char name[RECORD_NAMES_MAX]; /* empty: the number has no name */
	} slot[2][RECORD_NAMES_SLOTS];
};

/*
 * Each returns a copy of the name; the caller frees it. NULL: the number has no name, or out of
 * memory.
 */
char *record_names_user(struct record_names *n, uint32_t uid);
char *record_names_group(struct record_names *n, uint32_t gid);

#endif
