/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text_list.h - the values of an option that takes several, separated by commas: "physics,chem".
 */
#ifndef CEEMS_CMD_TEXT_LIST_H
#define CEEMS_CMD_TEXT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libutil/errmsg.h"

struct text_list {
	const char **text; /* owned; the texts are too */
	size_t n;
};
void text_list_fini(struct text_list *list);

/* Makes of an item the text that is kept, malloc'ed. -EINVAL with the reason, -ENOMEM. */
typedef int text_list_map(const char *item, char **ret, struct errmsg *err);

/* MAP: NULL keeps the items as they are. Of an error, what came before it is kept. */
int text_list_add(struct text_list *list, const char *by_comma, text_list_map *map, struct errmsg *err);

/* The number of the user that TEXT names or numbers: slurmdbd has users by number. False: there is no such name. */
bool text_list_uid(const char *text, uint64_t *ret);
/* Maps a user's name or number to the number. */
int text_list_user(const char *item, char **ret, struct errmsg *err);
/* Maps it back to the name. A number without a name stays a number. */
int text_list_user_name(const char *item, char **ret, struct errmsg *err);

#endif
