/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text_list.h - the values of an option that takes a list, such as "physics,chem".
 */
#ifndef CEEMS_CMD_TEXT_LIST_H
#define CEEMS_CMD_TEXT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libutil/errmsg.h"

struct text_list {
	const char **text; /* owned, as are the texts */
	size_t n;
};
void text_list_fini(struct text_list *list);

/* Converts an item to the text to keep, which text_list frees. -EINVAL with the reason in ERR, or -ENOMEM. */
typedef int text_list_map(const char *item, char **ret, struct errmsg *err);

/*
 * Adds the items of the list BY_COMMA, each converted by MAP (NULL: as it is). If an item is wrong, the items
 * before it have been added. Errors are those of MAP.
 */
int text_list_add(struct text_list *list, const char *by_comma, text_list_map *map, struct errmsg *err);

/*
 * Finds the number of the user whose name or number is TEXT, because slurmdbd knows users by number. False:
 * there is no such user.
 */
bool text_list_uid(const char *text, uint64_t *ret) _must_check_;
/* Maps a user's name or number to the number. */
int text_list_user(const char *item, char **ret, struct errmsg *err) _must_check_;
/* Maps a user's name or number to the name. A number without a name is kept. */
int text_list_user_name(const char *item, char **ret, struct errmsg *err) _must_check_;

#endif
