/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text_list.h - the values of an option that takes several, separated by commas: "physics,chem".
 */
#ifndef CEEMS_CMD_TEXT_LIST_H
#define CEEMS_CMD_TEXT_LIST_H

#include <stddef.h>

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

/* Of a user's name or number the number: slurmdbd has users by it. */
int text_list_user(const char *item, char **ret, struct errmsg *err);
/* And back; a number without a name stays one. */
int text_list_user_name(const char *item, char **ret, struct errmsg *err);

#endif
