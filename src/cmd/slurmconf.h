/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmconf.h - reads keys and values of slurm.conf. Slurm's own parser cannot be used: it ends the process
 * if the file has an error, and it needs the libraries of the daemons.
 */
#ifndef CEEMS_SLURMCONF_H
#define CEEMS_SLURMCONF_H

#include <stdbool.h>

#include "src/libutil/errmsg.h"

struct slurmconf;

/*
 * Reads PATH and the files that it includes. Of lines with several entries (NodeName=, PartitionName= ...)
 * only the first, the name, is a key; slurmconf_get_in_line() has the others. Lines that cannot be parsed are
 * skipped; Slurm reports those itself.
 * -ENOENT, -EACCES.
 */
int slurmconf_read(const char *path, struct slurmconf **ret, struct errmsg *err) _must_check_;
void slurmconf_destroy(struct slurmconf *sc);

/* Returns the value of KEY, which is the last one in the file, or NULL. Borrowed. */
const char *slurmconf_get(const struct slurmconf *sc, const char *key);

/* Returns the file and line that set KEY; NULL: not set. Borrowed. */
const char *slurmconf_where(const struct slurmconf *sc, const char *key, unsigned int *ret_line);

/* Returns the last key that begins with PREFIX, as written; NULL: none. Borrowed. */
const char *slurmconf_key_like(const struct slurmconf *sc, const char *prefix);

/*
 * Returns the value in line N of KEY, counted from the last line as 0; NULL: there is none.
 * SlurmctldHost has a line per host, PartitionName one per partition.
 */
const char *slurmconf_get_nth(const struct slurmconf *sc, const char *key, unsigned int n);

/*
 * Returns a copy of the value of WANTED in line N of KEY, which describes nodes or the like, such as
 * NodeHostname in a line of NodeName. The caller frees it. NULL: not there, or no memory.
 */
char *slurmconf_get_in_line(const struct slurmconf *sc, const char *key, unsigned int n, const char *wanted);

/* The file and line of that value. */
const char *slurmconf_where_nth(const struct slurmconf *sc, const char *key, unsigned int n,
				unsigned int *ret_line);

/*
 * Returns what the values of all lines of KEY have, each item once, those of the last line first. Items are
 * separated by SEP; without regard to upper and lower case. The caller frees it. NULL: not set, or no memory.
 */
char *slurmconf_merge(const struct slurmconf *sc, const char *key, char sep);

/*
 * Returns what line N of KEY has and the last line lacks. SEP is as above, or '\0' if a value is one item.
 * The caller frees it. NULL: nothing, or no memory.
 */
char *slurmconf_lost(const struct slurmconf *sc, const char *key, unsigned int n, char sep);

/* Returns true if the comma-separated list VALUE (NULL: empty) has ITEM, in upper or lower case. */
bool slurmconf_list_has(const char *value, const char *item);

#endif
