/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmconf.h - reads the settings of slurm.conf that `ceems check` needs. Slurm's own parser ends the
 * process if the file has an error, and needs the daemons' libraries.
 */
#ifndef CEEMS_SLURMCONF_H
#define CEEMS_SLURMCONF_H

#include <stdbool.h>

#include "src/libutil/errmsg.h"

struct slurmconf;

/*
 * Follows Include. Lines of several entries (NodeName=, PartitionName= ...) are skipped.
 * -ENOENT, -EACCES; a line that is not understood is Slurm's business and passed over.
 */
int slurmconf_read(const char *path, struct slurmconf **ret, struct errmsg *err);
void slurmconf_destroy(struct slurmconf *sc);

/* The value in force (the last one), or NULL. Borrowed. */
const char *slurmconf_get(const struct slurmconf *sc, const char *key);

/* The file and line that it is from; NULL: not set. Borrowed. */
const char *slurmconf_where(const struct slurmconf *sc, const char *key, unsigned int *ret_line);

/* The last key that begins with PREFIX, as it is written; NULL: none. Borrowed. */
const char *slurmconf_key_like(const struct slurmconf *sc, const char *prefix);

/* SlurmctldHost has a line for each host: the value of the N-th from the end, from 0; NULL: there are no more. */
const char *slurmconf_get_nth(const struct slurmconf *sc, const char *key, unsigned int n);

/* Does the comma list VALUE (NULL: empty) hold ITEM, in any case? */
bool slurmconf_list_has(const char *value, const char *item);

#endif
