/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_plugstack.c - the SPANK plugin in `ceems check`: which file plugstack.conf names, and
 * whether Slurm accepts that file.
 */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "src/cmd/check/check.h"
#include "src/cmd/cmd.h"
#include "src/libutil/fileio.h"

#define PLUGIN "spank_ceems.so"
#define BLANKS " \t\r"

struct place {
	char conf[PATH_MAX]; /* the file with the line that loads the plugin */
	unsigned int line;
	char file[PATH_MAX]; /* the plugin as that line names it: a path, or a name in PluginDir */
};

static bool is_ours(const char *file)
{
	const char *slash = strrchr(file, '/');

	return !strcmp(slash ? slash + 1 : file, PLUGIN);
}

static bool check_plugstack_find(const char *conf, bool follow, struct place *ret);

/*
 * Finds the plugin in the files that PATTERN matches. A relative PATTERN is in the folder of CONF.
 */
static bool find_included(const char *conf, const char *pattern, struct place *ret)
{
	char path[PATH_MAX];
	bool found = false;
	glob_t files;
	size_t i;

	if (*pattern != '/')
		pattern = cmd_conf_beside(conf, pattern, path);
	if (glob(pattern, 0, NULL, &files))
		return false;
	for (i = 0; i < files.gl_pathc && !found; i++)
		found = check_plugstack_find(files.gl_pathv[i], /* follow= */ false, ret);
	globfree(&files);
	return found;
}

/*
 * Finds the plugin in CONF and, if FOLLOW, in the files that it includes ("include
 * plugstack.conf.d/ *"), one level deep.
 */
static bool check_plugstack_find(const char *conf, bool follow, struct place *ret)
{
	_cleanup_free_ char *text = NULL;
	unsigned int n = 0;
	char *next;
	char *line;
	size_t len;

	if (fileio_read_alloc(conf, 1u << 20, &text, &len, NULL) < 0)
		return false;
	for (next = text; (line = strsep(&next, "\n"));) {
		char *save = NULL;
		char *word;
		char *file;

		n++;
		line[strcspn(line, "#")] = '\0';
		word = strtok_r(line, BLANKS, &save);
		file = strtok_r(NULL, BLANKS, &save);
		if (!word || !file)
			continue;
		if (!strcmp(word, "include")) {
			if (follow && find_included(conf, file, ret))
				return true;
		} else if (is_ours(file)) {
			(void)snprintf(ret->conf, sizeof(ret->conf), "%s", conf);
			(void)snprintf(ret->file, sizeof(ret->file), "%s", file);
			ret->line = n;
			return true;
		}
	}
	return false;
}

void check_plugstack(struct check *c, uint32_t slurm_version)
{
	const char *path = slurmconf_get(c->slurm, "PlugStackConfig");
	struct place place = { .file = PLUGIN };
	char beside[PATH_MAX];

	if (!path)
		path = cmd_conf_beside(c->slurm_conf, "plugstack.conf", beside);
	if (check_plugstack_find(path, /* follow= */ true, &place))
		check_ok(c, "plugstack.conf", "%s:%u loads %s", place.conf, place.line, place.file);
	else
		check_warn(c, "plugstack.conf", check_hint_file(CHECK_PLUGSTACK_CONF, "optional " PLUGIN),
			   "%s does not name " PLUGIN ": no --ceems-perf, no --ceems-report", path);
	if (*place.file == '/' && access(place.file, R_OK) < 0)
		check_error(c, "spank", check_hint_file(CHECK_PLUGSTACK_CONF, "optional " PLUGIN),
			    "%s:%u: %s: %s: it is not loaded", place.conf, place.line, place.file,
			    strerror(errno));
	else
		check_plugin(c, "spank", place.file, slurm_version);
}
