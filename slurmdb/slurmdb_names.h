/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmdb_names.h - the names of TRES and QOS; slurmdbd's rows have only their numbers.
 * slurmdb_rows.c gets the names from slurmdbd.
 */
#ifndef CEEMS_SLURMDB_NAMES_H
#define CEEMS_SLURMDB_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libcore/tresmap.h"
#include "src/libutil/must_check.h"

struct slurmdb_name {
	uint32_t id;
	char *name; /* owned */
};

struct slurmdb_name_list {
	struct slurmdb_name *item; /* owned, sorted by id */
	size_t n, room;
};

struct slurmdb_names {
	struct tresmap map;
	struct slurmdb_name_list tres; /* "cpu", "gres/gpu" */
	struct slurmdb_name_list qos;
};

void slurmdb_names_init(struct slurmdb_names *n);
void slurmdb_names_fini(struct slurmdb_names *n);

/* Add a name. NAME may be NULL. -ENOMEM. */
int slurmdb_names_add_tres(struct slurmdb_names *n, uint32_t id, const char *type, const char *name);
int slurmdb_names_add_qos(struct slurmdb_names *n, uint32_t id, const char *name);

/* Returns the name of a QOS; NULL: unknown. */
const char *slurmdb_names_qos(const struct slurmdb_names *n, uint32_t id);

/*
 * Converts slurmdbd's "1=4,2=8192,4=1" (may be NULL) to "cpu=4,mem=8G,node=1", as slurmctld writes
 * it. TRES that are 0 or unknown are left out, and so is energy, which record_fill() adds. The
 * caller frees *RET; NULL: no TRES. -ENOMEM.
 */
int slurmdb_names_tres(const struct slurmdb_names *n, const char *simple, char **ret) _must_check_;

#endif
