/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/text_list.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libutil/parse.h"
#include "src/libutil/util.h"

void text_list_fini(struct text_list *list)
{
	while (list->n)
		free((void *)(uintptr_t)list->text[--list->n]);
	free(list->text);
	list->text = NULL;
}

static int keep_item(const char *item, char **ret, struct errmsg *err)
{
	*ret = strdup(item);
	return *ret ? 0 : errmsg_set(err, -ENOMEM, "out of memory");
}

static int add_item(struct text_list *list, const char *item, text_list_map *map, struct errmsg *err)
{
	const char **more = realloc(list->text, (list->n + 1) * sizeof(*more));
	char *text;
	int rc;

	if (!more)
		return errmsg_set(err, -ENOMEM, "out of memory");
	list->text = more;
	rc = map(item, &text, err);
	if (rc == 0)
		list->text[list->n++] = text;
	return rc;
}

int text_list_add(struct text_list *list, const char *by_comma, text_list_map *map, struct errmsg *err)
{
	_cleanup_free_ char *copy = strdup(by_comma);
	char *rest = copy;
	char *item;
	int rc = copy ? 0 : errmsg_set(err, -ENOMEM, "out of memory");

	while (rc == 0 && (item = strsep(&rest, ",")))
		rc = *item ? add_item(list, item, map ? map : keep_item, err) :
			     errmsg_set(err, -EINVAL, "'%s': an empty item", by_comma);
	return rc;
}

bool text_list_uid(const char *text, uint64_t *ret)
{
	const struct passwd *pw;

	if (parse_u64(text, ret) == 0)
		return true;
	pw = getpwnam(text);
	if (pw)
		*ret = pw->pw_uid;
	return pw != NULL;
}

int text_list_user(const char *item, char **ret, struct errmsg *err)
{
	char text[24];
	uint64_t uid;

	if (!text_list_uid(item, &uid))
		return errmsg_set(err, -EINVAL, "no user '%s'", item);
	(void)snprintf(text, sizeof(text), "%" PRIu64, uid);
	return keep_item(text, ret, err);
}

int text_list_user_name(const char *item, char **ret, struct errmsg *err)
{
	const struct passwd *pw = NULL;
	uint64_t uid;

	if (parse_u64(item, &uid) == 0 && uid < UINT32_MAX)
		pw = getpwuid((uid_t)uid);
	return keep_item(pw ? pw->pw_name : item, ret, err);
}
