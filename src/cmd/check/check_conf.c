/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_conf.c - where slurm.conf sets a key, lines of it that Slurm ignores, and the users of its daemons.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "src/cmd/check/check.h"

const char *check_at(const struct check *c, const char *key)
{
	static char buf[PATH_MAX + 16];
	unsigned int line;
	const char *path = slurmconf_where(c->slurm, key, &line);

	buf[0] = '\0';
	if (path)
		(void)snprintf(buf, sizeof(buf), "%s:%u: ", path, line);
	return buf;
}

void check_repeats(struct check *c, const char *key, char sep, const char *hint)
{
	unsigned int line, last_line;
	const char *last = slurmconf_where(c->slurm, key, &last_line);
	char choose[PATH_MAX + 128];
	const char *path;
	unsigned int n;

	for (n = 1; (path = slurmconf_where_nth(c->slurm, key, n, &line)); n++) {
		_cleanup_free_ char *lost = slurmconf_lost(c->slurm, key, n, sep);

		if (!lost)
			continue;
		(void)snprintf(choose, sizeof(choose), "%s: delete line %u of %s, or move it to the end", key,
			       line, path);
		check_warn(c, "slurm.conf", check_hint_slurm(key, hint ? hint : choose),
			   "%s:%u: %s=%s has no effect: %s:%u sets %s again, and only the last line counts",
			   path, line, key, lost, last, last_line, key);
	}
}

const char *check_slurm_user(const struct check *c)
{
	const char *user = c->slurm ? slurmconf_get(c->slurm, "SlurmUser") : NULL;

	return user ? user : "root"; /* Slurm's default */
}

const char *check_slurmd_user(const struct check *c)
{
	const char *user = c->slurm ? slurmconf_get(c->slurm, "SlurmdUser") : NULL;

	return user ? user : "root"; /* Slurm's default */
}
