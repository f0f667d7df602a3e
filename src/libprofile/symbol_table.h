/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbol_table.h - functions by address.
 */
#ifndef CEEMS_SYMBOL_TABLE_H
#define CEEMS_SYMBOL_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct symbol {
	uint64_t start, size; /* 0: to the next symbol */
	const char *name;     /* as in the file: not demangled */
	uint32_t rank;	      /* the highest of those at one address counts */
};

struct symbol_table {
	struct symbol *symbol;
	size_t n, room;
};

#define SYMBOLS_MAX ((size_t)8 << 20) /* in one table */

/* NAME is borrowed. -ENOMEM; -EFBIG: more than SYMBOLS_MAX. */
int symbol_table_add(struct symbol_table *t, const struct symbol *s);
/* To be called once, after the last symbol. */
void symbol_table_sort(struct symbol_table *t);
/* The symbol that ADDRESS is in, or NULL. */
const struct symbol *symbol_table_find(const struct symbol_table *t, uint64_t address);
void symbol_table_fini(struct symbol_table *t);

#endif
