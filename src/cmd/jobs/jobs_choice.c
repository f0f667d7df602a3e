/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/jobs/jobs_choice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void jobs_choice_fini(struct jobs_choice *j)
{
	text_list_fini(&j->users);
	text_list_fini(&j->accounts);
	text_list_fini(&j->partitions);
	text_list_fini(&j->names);
}

int jobs_choice_texts(const struct cmd_info *self, struct text_list *list, const char *by_comma,
		      text_list_map *map)
{
	struct errmsg err = { 0 };
	int rc = text_list_add(list, by_comma, map, &err);

	return rc == 0	     ? CMD_OK :
	       rc == -EINVAL ? cmd_usage_error(self, "%s", err.text) :
			       cmd_error("%s", err.text);
}

int jobs_choice_set(const struct cmd_info *self, struct jobs_choice *j, int c)
{
	switch (c) {
	case 'a':
		j->all_users = true;
		return CMD_OK;
	case 'u':
		return jobs_choice_texts(self, &j->users, optarg, text_list_user);
	case 'A':
		return jobs_choice_texts(self, &j->accounts, optarg, NULL);
	case 'r':
		return jobs_choice_texts(self, &j->partitions, optarg, NULL);
	case 'M':
		j->cluster = optarg;
		return CMD_OK;
	default:
		return cmd_usage(self, CMD_USAGE);
	}
}

int jobs_choice_self(const struct cmd_info *self, struct jobs_choice *j)
{
	char uid[24];

	if (j->all_users || j->users.n)
		return CMD_OK;
	(void)snprintf(uid, sizeof(uid), "%u", (unsigned int)geteuid());
	return jobs_choice_texts(self, &j->users, uid, NULL);
}

static struct slurmdb_texts texts_of(const struct text_list *list)
{
	return (struct slurmdb_texts){ .text = list->text, .n = list->n };
}

struct slurmdb_filter jobs_choice_filter(const struct jobs_choice *j)
{
	return (struct slurmdb_filter){ .uids = texts_of(&j->users),
					.accounts = texts_of(&j->accounts),
					.partitions = texts_of(&j->partitions),
					.names = texts_of(&j->names) };
}

/* Returns true if LIST has TEXT, or is empty. */
static bool list_has(const struct text_list *list, const char *text)
{
	size_t i;

	for (i = 0; i < list->n; i++)
		if (text && !strcmp(list->text[i], text))
			return true;
	return !list->n;
}

bool jobs_choice_has(const struct jobs_choice *j, const struct record *r, bool all_users)
{
	char uid[16];

	(void)snprintf(uid, sizeof(uid), "%" PRIu32, r->user_id);
	return (all_users || list_has(&j->users, uid)) && list_has(&j->accounts, r->account) &&
	       list_has(&j->partitions, r->partition);
}
