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

/* A line that loads the plugin. */
struct place {
	char conf[PATH_MAX]; /* the file with the line */
	unsigned int line;
	char file[PATH_MAX]; /* the plugin as that line names it: a path, or a name in PluginDir */
};

struct places {
	struct place first, second;
	size_t n; /* lines in all */
};

static bool is_ours(const char *file)
{
	const char *slash = strrchr(file, '/');

	return !strcmp(slash ? slash + 1 : file, PLUGIN);
}

static void check_plugstack_find(const char *conf, bool follow, struct places *ret);

/*
 * Finds the plugin in the files that PATTERN matches. A relative PATTERN is in the folder of CONF.
 */
static void find_included(const char *conf, const char *pattern, struct places *ret)
{
	char path[PATH_MAX];
	glob_t files;
	size_t i;

	if (*pattern != '/')
		pattern = cmd_conf_beside(conf, pattern, path);
	if (glob(pattern, 0, NULL, &files))
		return;
	for (i = 0; i < files.gl_pathc; i++)
		check_plugstack_find(files.gl_pathv[i], /* follow= */ false, ret);
	globfree(&files);
}

static void add_place(struct places *p, const char *conf, unsigned int line, const char *file)
{
	struct place *to = p->n ? &p->second : &p->first;

	if (p->n++ > 1)
		return;
	(void)snprintf(to->conf, sizeof(to->conf), "%s", conf);
	(void)snprintf(to->file, sizeof(to->file), "%s", file);
	to->line = line;
}

/*
 * Finds the plugin in CONF and, if FOLLOW, in the files that it includes ("include
 * plugstack.conf.d/ *"), one level deep.
 */
static void check_plugstack_find(const char *conf, bool follow, struct places *ret)
{
	_cleanup_free_ char *text = NULL;
	unsigned int n = 0;
	char *next;
	char *line;
	size_t len;

	if (fileio_read_alloc(conf, 1u << 20, &text, &len, NULL) < 0)
		return;
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
			if (follow)
				find_included(conf, file, ret);
		} else if (is_ours(file)) {
			add_place(ret, conf, n, file);
		}
	}
}

/* A second line registers the options again: Slurm warns at every srun, and ignores them. */
static void check_once(struct check *c, const struct places *p)
{
	char hint[PATH_MAX + 32];

	if (p->n < 2)
		return;
	if (p->first.line == p->second.line && !strcmp(p->first.conf, p->second.conf))
		(void)snprintf(hint, sizeof(hint), "include %s once", p->second.conf);
	else
		(void)snprintf(hint, sizeof(hint), "remove line %u of %s", p->second.line, p->second.conf);
	check_warn(c, "plugstack.conf", check_hint_file(CHECK_PLUGSTACK_CONF, hint),
		   PLUGIN " is loaded by %s:%u and again by %s:%u: Slurm warns at every srun", p->first.conf,
		   p->first.line, p->second.conf, p->second.line);
}

void check_plugstack(struct check *c, uint32_t slurm_version)
{
	const char *path = slurmconf_get(c->slurm, "PlugStackConfig");
	struct places places = { .first.file = PLUGIN };
	const struct place *place = &places.first;
	char beside[PATH_MAX];

	if (!path)
		path = cmd_conf_beside(c->slurm_conf, "plugstack.conf", beside);
	check_plugstack_find(path, /* follow= */ true, &places);
	if (places.n)
		check_ok(c, "plugstack.conf", "%s:%u loads %s", place->conf, place->line, place->file);
	else
		check_warn(c, "plugstack.conf", check_hint_file(CHECK_PLUGSTACK_CONF, "optional " PLUGIN),
			   "%s does not name " PLUGIN ": no --ceems-perf, no --ceems-report", path);
	check_once(c, &places);
	if (*place->file == '/' && access(place->file, R_OK) < 0)
		check_error(c, "spank", check_hint_file(CHECK_PLUGSTACK_CONF, "optional " PLUGIN),
			    "%s:%u: %s: %s: it is not loaded", place->conf, place->line, place->file,
			    strerror(errno));
	else
		check_plugin(c, "spank", place->file, slurm_version);
}
