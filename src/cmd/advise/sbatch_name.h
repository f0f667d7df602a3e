/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sbatch_name.h - the job name that sbatch gives to a script.
 */
#ifndef CEEMS_CMD_SBATCH_NAME_H
#define CEEMS_CMD_SBATCH_NAME_H

#include <stddef.h>

#include "src/libutil/errmsg.h"

/*
 * Returns the job name that sbatch takes from the script TEXT, whose file is PATH. It is the last
 * --job-name (or -J) in the #SBATCH lines; in a het job, in those of the first component. Without
 * one, it is the base name of PATH. NULL: out of memory. The caller frees the name.
 */
char *sbatch_name_of(const char *text, const char *path);

/*
 * Gives the job name of the script in file PATH. $SBATCH_JOB_NAME has precedence, as in sbatch. The
 * caller frees it. -errno.
 */
int sbatch_name_read(const char *path, char **ret, struct errmsg *err) _must_check_;

#endif
