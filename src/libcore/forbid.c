/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/forbid.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/libcore/settings.h"
#include "src/libutil/items.h"

#define PERF                                                                                 \
	(PERF_GROUP_HW | PERF_GROUP_SW | PERF_GROUP_IO | PERF_GROUP_NET | PERF_GROUP_SCHED | \
	 PERF_GROUP_EVENTS)
#define ALL (PERF | FORBID_PROFILE | FORBID_TRACE)

static const struct {
	const char *name;
	uint32_t mask;
} words[] = {
	{ "hw", PERF_GROUP_HW },
	{ "sw", PERF_GROUP_SW },
	{ "io", PERF_GROUP_IO },
	{ "net", PERF_GROUP_NET },
	{ "sched", PERF_GROUP_SCHED },
	{ "events", PERF_GROUP_EVENTS },
	{ "perf", PERF },
	{ "profile", FORBID_PROFILE },
	{ "trace", FORBID_TRACE },
	{ "all", ALL },
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

struct forbid_rule {
	bool is_account; /* about an account, not a partition */
	const char *name;
	char *options;
};

/* Splits TEXT, KIND:NAME:OPTIONS, by NULs. Names may have colons. RET points into TEXT. */
static int forbid_split(char *text, struct forbid_rule *ret, struct errmsg *err)
{
	char *name = strchr(text, ':'), *last = strrchr(text, ':');

	if (!name || last <= name + 1 || !last[1])
		return errmsg_set(
			err, -EINVAL,
			"'%s' is not partition:NAME:OPTIONS or account:NAME:OPTIONS (OPTIONS such as "
			"io+trace)",
			text);
	*name++ = *last++ = '\0';
	if (strcasecmp(text, "partition") != 0 && strcasecmp(text, "account") != 0)
		return errmsg_set(err, -EINVAL, "'%s' is neither partition nor account", text);
	*ret = (struct forbid_rule){ .is_account = !strcasecmp(text, "account"),
				     .name = name,
				     .options = last };
	return 0;
}

/* Adds to MASK what the rule in TEXT forbids to a job in PARTITION and of ACCOUNT. Puts NULs in TEXT. */
static int forbid_rule(char *text, const char *partition, const char *account, uint32_t *mask,
		       struct errmsg *err)
{
	struct forbid_rule rule;
	uint32_t found = 0;
	const char *own;
	char *word;
	int rc = forbid_split(text, &rule, err);

	while (rc == 0 && (word = strsep(&rule.options, "+")))
		rc = forbid_word(word, &found, err);
	if (rc < 0)
		return rc;
	own = rule.is_account ? account : partition;
	/* Slurm stores accounts in lower case */
	if (!own || !strcasecmp(own, rule.name))
		*mask |= found;
	return 0;
}

int forbid_find(const char *setting, const char *partition, const char *account, uint32_t *ret,
		struct errmsg *err)
{
	char rule[sizeof(((struct settings *)0)->forbid_options)];
	uint32_t mask = 0;
	int rc = 0;

	while (rc == 0 && items_next(&setting, rule, sizeof(rule)))
		rc = forbid_rule(rule, partition, account, &mask, err);
	if (rc == 0)
		*ret = mask;
	return rc;
}

uint32_t forbid_checked(const char *setting, const char *partition, const char *account)
{
	uint32_t mask;

	return forbid_find(setting, partition, account, &mask, NULL) < 0 ? ALL : mask;
}

bool forbid_next_partition(const char **setting, char *name, size_t size)
{
	char text[sizeof(((struct settings *)0)->forbid_options)];
	struct forbid_rule rule;

	while (items_next(setting, text, sizeof(text))) {
		if (forbid_split(text, &rule, NULL) < 0 || rule.is_account)
			continue;
		(void)snprintf(name, size, "%s", rule.name);
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
