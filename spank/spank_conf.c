/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spank/spank_conf.h"

#include <errno.h>
#include <string.h>

/*
 * Functions of libslurm from 22.05 to 26.05 that no installed header declares. Weak: without them, ceems.conf
 * is searched in other ways.
 */
extern char *slurm_get_extra_conf_path(char *name) __attribute__((weak));
extern void slurm_xfree(void **item) __attribute__((weak));

static bool is_beside(const char *slurm_conf, char *path, size_t size)
{
	return slurm_conf && strchr(slurm_conf, '/') && settings_path(slurm_conf, path, size) == 0 &&
	       access(path, F_OK) == 0;
}

static bool beside_slurm_conf(char *path, size_t size)
{
	char name[] = "ceems.conf";
	void *known;
	bool found;

	if (is_beside(getenv("SLURM_CONF"), path, size))
		return true;
	if (!slurm_get_extra_conf_path || !slurm_xfree)
		return false;
	known = slurm_get_extra_conf_path(name);
	found = is_beside(known, path, size); /* takes only the folder of its argument */
	slurm_xfree(&known);
	return found;
}

static const char *argument(int argc, char **argv)
{
	static const char key[] = "conf=";
	int i;

	for (i = 0; i < argc; i++)
		if (!strncmp(argv[i], key, sizeof(key) - 1))
			return argv[i] + sizeof(key) - 1;
	return NULL;
}

int spank_conf_load(int argc, char **argv, struct settings *ret, struct errmsg *err)
{
	const char *given = argument(argc, argv);
	char path[PATH_MAX];
	int rc = 0;

	if (given) /* a missing file is an error only if plugstack.conf names it */
		return settings_load(given, ret, err);
	if (!beside_slurm_conf(path, sizeof(path)))
		rc = settings_path(NULL, path, sizeof(path));
	if (rc == 0)
		rc = settings_load(path, ret, err);
	return rc == -ENOENT ? 0 : rc;
}
