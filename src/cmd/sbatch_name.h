/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sbatch_name.h - the job name that sbatch gives to a script.
 */
#ifndef CEEMS_CMD_SBATCH_NAME_H
#define CEEMS_CMD_SBATCH_NAME_H

#include <stddef.h>

#include "src/libutil/errmsg.h"

/*
 * The job's name as sbatch takes it from a script. TEXT is the script, PATH its file. The name is the last --job-name
 * (or -J) of the #SBATCH lines; in a het job, of the lines of the first component. Without one, it is the base name of
 * PATH. NULL: out of memory. The caller frees the name.
 */
char *sbatch_name_of(const char *text, const char *path);

/* The same for the file PATH. As in sbatch, $SBATCH_JOB_NAME wins over the script. -errno. */
int sbatch_name_read(const char *path, char **ret, struct errmsg *err);

#endif
