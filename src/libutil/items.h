/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * items.h - lists in a text, as the values of many settings are: "file, kafka".
 */
#ifndef CEEMS_ITEMS_H
#define CEEMS_ITEMS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/libutil/must_check.h"

/*
 * Takes the next item off LIST, whose items are separated by commas, and copies it to ITEM. Blanks around
 * items are dropped; an item that does not fit is cut. False at the end.
 */
bool items_next(const char **list, char *item, size_t size) _must_check_;

#endif
