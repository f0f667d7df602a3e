/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libprofile/symbol_table.h"

#include <errno.h>
#include <stdlib.h>

int symbol_table_add(struct symbol_table *t, const struct symbol *s)
{
	struct symbol *more;
	const size_t room = t->room ? t->room * 2 : 256;

	if (t->n >= SYMBOLS_MAX)
		return -EFBIG;
	if (t->n == t->room) {
		more = reallocarray(t->symbol, room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		t->symbol = more;
		t->room = room;
	}
	t->symbol[t->n++] = *s;
	return 0;
}

/* Orders symbols by address, and those at the same address by rank, the highest first. */
static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return 0;
}

void symbol_table_sort(struct symbol_table *t)
{
	size_t i, n = 0;

	if (!t->n)
		return;
	qsort(t->symbol, t->n, sizeof(*t->symbol), compare_symbols);
	for (i = 0; i < t->n; i++)
		if (!n || t->symbol[n - 1].start != t->symbol[i].start)
			t->symbol[n++] = t->symbol[i];
	t->n = n;
}

const struct symbol *symbol_table_find(const struct symbol_table *t, uint64_t address)
{
	size_t low = 0, high = t->n;
	const struct symbol *s;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (t->symbol[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	s = &t->symbol[low - 1];
	return s->size && address - s->start >= s->size ? NULL : s;
}

void symbol_table_fini(struct symbol_table *t)
{
	free(t->symbol);
	*t = (struct symbol_table){ 0 };
}
