/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program.h - the programs that belong to ceems.
 */
#ifndef CEEMS_PROGRAM_H
#define CEEMS_PROGRAM_H

#include <stddef.h>

#include "src/libutil/errmsg.h"

/* Writes the path of the file NAME in the folder of the running program to PATH. Returns 0 or -errno. */
int program_beside(const char *name, char *path, size_t size) _must_check_;

/*
 * Writes the path of the program of COMMAND to PATH: in the folder of the running ceems, as in the build
 * tree, if it has the same owner as ceems; else in the folder set by configure. -ENOENT: it is not installed.
 * -EPERM: another account could have written it.
 */
int program_of(const char *command, char *path, size_t size, struct errmsg *err) _must_check_;

#endif
