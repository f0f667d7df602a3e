/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elfsym.h - reads an exported integer of a shared object without loading it. Used for a plugin's
 * plugin_version, which Slurm compares before it uses the plugin.
 */
#ifndef CEEMS_ELFSYM_H
#define CEEMS_ELFSYM_H

#include <stdint.h>

#include "src/libutil/errmsg.h"

/*
 * Reads SYMBOL of the file PATH. -ENOENT: no such symbol. -ENOEXEC: not a 64-bit ELF file of this
 * machine's byte order, or damaged.
 */
int elfsym_read_u32(const char *path, const char *symbol, uint32_t *ret, struct errmsg *err) _must_check_;

#endif
