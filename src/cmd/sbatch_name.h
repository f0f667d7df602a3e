/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sbatch_name.h - the job name that sbatch gives to a script.
 */
#ifndef CEEMS_CMD_SBATCH_NAME_H
#define CEEMS_CMD_SBATCH_NAME_H

#include <stddef.h>

#include "src/libutil/errmsg.h"

/*
 * The last --job-name of the #SBATCH lines of the script TEXT at PATH, of a het job of its first component; else the
 * base name of PATH. NULL: out of memory. The caller frees it.
 */
char *sbatch_name_of(const char *text, const char *path);

/* The same, of the file PATH, and $SBATCH_JOB_NAME before all as in sbatch. -errno. */
int sbatch_name_read(const char *path, char **ret, struct errmsg *err);

#endif
