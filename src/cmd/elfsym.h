/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elfsym.h - reads an exported integer of a shared object without loading it: a plugin's
 * plugin_version, which Slurm compares before it uses the plugin.
 */
#ifndef CEEMS_ELFSYM_H
#define CEEMS_ELFSYM_H

#include <stdint.h>

#include "src/libutil/errmsg.h"

/*
 * -ENOENT: no such symbol; -ENOEXEC: no 64-bit ELF of this machine's byte order, or a damaged one.
 */
int elfsym_read_u32(const char *path, const char *symbol, uint32_t *ret, struct errmsg *err);

#endif
