/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_todo.h - the list at the end of `ceems check`: changes grouped by file, and the daemons to
 * restart.
 */
#ifndef CEEMS_CHECK_TODO_H
#define CEEMS_CHECK_TODO_H

#include "src/cmd/check/check.h"

/*
 * Returns what HINT changes: a file such as "slurm.conf", or "system" for a command or anything
 * else. NULL: nothing.
 */
const char *check_todo_file_name(const struct check_hint *hint);

/* Prints each hint of an error or warning once. Prints nothing if there is none. */
void check_todo_print(const struct check *c);

#endif
