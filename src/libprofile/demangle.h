/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * demangle.h - turns linker names of functions into the names in the source code.
 */
#ifndef CEEMS_DEMANGLE_H
#define CEEMS_DEMANGLE_H

#include "src/libutil/must_check.h"

/*
 * Demangles NAME of C++, Rust or gfortran, without parameters, and removes suffixes that a compiler
 * added for copies. An OpenMP region gets " [OpenMP]" after its function's name. *RET is malloc'ed.
 * NULL: use NAME as it is. Returns 0 or -ENOMEM.
 */
int demangle(const char *name, char **ret) _must_check_;

#endif
