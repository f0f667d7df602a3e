/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbol_table.h - finds the function at an address.
 */
#ifndef CEEMS_SYMBOL_TABLE_H
#define CEEMS_SYMBOL_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct symbol {
	uint64_t start, size; /* address and bytes; size 0: up to the next symbol */
	const char *name;     /* not demangled */
	uint32_t rank;	      /* of symbols with the same start, only the highest rank is kept */
};

struct symbol_table {
	struct symbol *symbol;
	size_t n, room;
};

#define SYMBOLS_MAX ((size_t)8 << 20) /* in one table */

/*
 * Adds a copy of S; S->name is borrowed as long as T lives. Returns 0; -ENOMEM; or -EFBIG: T has
 * SYMBOLS_MAX already.
 */
int symbol_table_add(struct symbol_table *t, const struct symbol *s);
/* Call it once, after the last symbol_table_add() and before the first symbol_table_find(). */
void symbol_table_sort(struct symbol_table *t);
/* Returns the symbol that contains ADDRESS, or NULL. */
const struct symbol *symbol_table_find(const struct symbol_table *t, uint64_t address);
void symbol_table_fini(struct symbol_table *t);

#endif
