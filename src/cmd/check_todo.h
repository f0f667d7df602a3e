/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_todo.h - the to-do list at the end of `ceems check`: the changes by file, and the daemons to restart after them.
 */
#ifndef CEEMS_CHECK_TODO_H
#define CEEMS_CHECK_TODO_H

#include "src/cmd/check.h"

/* What HINT changes: "slurm.conf", ..., or "system" for a command or anything else. NULL of NULL. */
const char *check_todo_file_name(const char *hint);

/* Each hint of an error or a warning once. Nothing to do: nothing is printed. */
void check_todo_print(const struct check *c);

#endif
