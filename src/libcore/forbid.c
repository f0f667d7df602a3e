/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/forbid.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/libcore/settings.h"

#define PERF (PERF_GROUP_HW | PERF_GROUP_SW | PERF_GROUP_IO | PERF_GROUP_NET | PERF_GROUP_SCHED | PERF_GROUP_EVENTS)

static const struct {
	const char *name;
	uint32_t mask;
} words[] = {
	{ "hw", PERF_GROUP_HW },	 { "sw", PERF_GROUP_SW },	  { "io", PERF_GROUP_IO },
	{ "net", PERF_GROUP_NET },	 { "sched", PERF_GROUP_SCHED },	  { "events", PERF_GROUP_EVENTS },
	{ "perf", PERF },		 { "profile", FORBID_PROFILE },	  { "trace", FORBID_TRACE },
	{ "all", PERF | FORBID_PROFILE | FORBID_TRACE },
};

static int forbid_word(const char *word, uint32_t *mask, struct errmsg *err)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcasecmp(words[i].name, word)) {
			*mask |= words[i].mask;
			return 0;
		}
	return errmsg_set(err, -EINVAL,
			  "'%s' is not hw, sw, io, net, sched, events, perf, profile, trace or all", word);
}

/* Parses a rule, KIND:NAME:OPTIONS, in which it puts NULs. Names may have colons. */
static int forbid_rule(char *rule, const char *partition, const char *account, uint32_t *mask, struct errmsg *err)
{
	char *name = strchr(rule, ':'), *last = strrchr(rule, ':');
	const char *own;
	uint32_t found = 0;
	char *word;
	int rc = 0;

	if (!name || last <= name + 1 || !last[1])
		return errmsg_set(err, -EINVAL, "'%s' is not partition:NAME:OPTIONS or account:NAME:OPTIONS (OPTIONS such as io+trace)", rule);
	*name++ = *last++ = '\0';
	if (strcasecmp(rule, "partition") != 0 && strcasecmp(rule, "account") != 0)
		return errmsg_set(err, -EINVAL, "'%s' is neither partition nor account", rule);
	own = strcasecmp(rule, "account") != 0 ? partition : account;
	while (rc == 0 && (word = strsep(&last, "+")))
		rc = forbid_word(word, &found, err);
	/* Slurm stores accounts in lower case */
	if (rc == 0 && (!own || !strcasecmp(own, name)))
		*mask |= found;
	return rc;
}

int forbid_find(const char *setting, const char *partition, const char *account, uint32_t *ret, struct errmsg *err)
{
	char rule[sizeof(((struct settings *)0)->forbid_options)];
	uint32_t mask = 0;
	int rc = 0;

	while (rc == 0 && settings_next_item(&setting, rule, sizeof(rule)))
		rc = forbid_rule(rule, partition, account, &mask, err);
	if (rc == 0)
		*ret = mask;
	return rc;
}

bool forbid_next_partition(const char **setting, char *name, size_t size)
{
	static const char kind[] = "partition:";
	char rule[sizeof(((struct settings *)0)->forbid_options)];

	while (settings_next_item(setting, rule, sizeof(rule))) {
		char *last = strrchr(rule, ':');

		if (!last || strncasecmp(rule, kind, sizeof(kind) - 1) != 0)
			continue;
		*last = '\0';
		(void)snprintf(name, size, "%s", rule + sizeof(kind) - 1);
		return true;
	}
	return false;
}

void forbid_request(uint32_t mask, struct perf_request *request)
{
	request->groups &= ~mask;
	if (!(request->groups & PERF_GROUP_EVENTS))
		request->nevents = 0;
}

void forbid_text(uint32_t mask, char buf[FORBID_TEXT_MAX])
{
	const char *between = "--ceems-perf=";
	size_t used = 0;
	size_t i;

	*buf = '\0';
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (words[i].mask & (words[i].mask - 1) || !(words[i].mask & mask))
			continue; /* a word for several, or not in MASK */
		if (!(words[i].mask & PERF))
			between = used ? " --ceems-" : "--ceems-";
		used += (size_t)snprintf(buf + used, FORBID_TEXT_MAX - used, "%s%s", between, words[i].name);
		between = ",";
	}
}
