/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * demangle.h - names of functions as their author wrote them.
 */
#ifndef CEEMS_DEMANGLE_H
#define CEEMS_DEMANGLE_H

/*
 * C++ and Rust by libiberty, without parameters; Fortran's module procedures; the parts that a compiler took out of a
 * function (clones, OpenMP regions). *RET is malloc'ed, or NULL: the name is for people already. 0 or -ENOMEM.
 */
int demangle(const char *name, char **ret);

#endif
