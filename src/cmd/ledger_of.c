/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger_of.c - opens a node's ledger, for ceems ledger and ceems top.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/libledger/ledger.h"

#define LEDGER_SUFFIX ".ledger"

/* Finds the node name of the only ledger in DIR. False: there is no ledger, or there are several. */
static bool only_ledger(const char *dir, char *node, size_t size)
{
	unsigned int found = 0;
	struct dirent *e;
	DIR *d = opendir(dir);

	if (!d)
		return false;
	while ((e = readdir(d))) {
		size_t len = strlen(e->d_name);

		if (len <= strlen(LEDGER_SUFFIX) ||
		    strcmp(e->d_name + len - strlen(LEDGER_SUFFIX), LEDGER_SUFFIX))
			continue;
		found++;
		(void)snprintf(node, size, "%.*s", (int)(len - strlen(LEDGER_SUFFIX)), e->d_name);
	}
	closedir(d);
	return found == 1;
}

static void choose_node(const struct settings *s, const char *asked, char *node, size_t size)
{
	if (asked) {
		(void)snprintf(node, size, "%s", asked);
		return;
	}
	if (!strstr(s->ledger_dir, "%n") && only_ledger(s->ledger_dir, node, size))
		return;
	cmd_node_name(node, size);
}

int cmd_ledger_open(const struct settings *settings, const char *asked, struct ledger **ret,
		    struct errmsg *err)
{
	struct settings s = *settings;
	struct errmsg why = { 0 };
	char node[256];
	int rc;

	choose_node(&s, asked, node, sizeof(node));
	rc = settings_for_node(&s, node, err);
	if (rc < 0)
		return rc;
	rc = ledger_open(s.ledger_dir, node, /* writable= */ false, ret, &why);
	return rc < 0 ? errmsg_set(err, rc, "%s%s", why.text,
				   rc == -EACCES || rc == -EPERM ? " (only root can read the ledger)" : "") :
			0;
}
