/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_plugstack.c - the SPANK plugin in `ceems check`: which file plugstack.conf names, and
 * whether Slurm accepts that file.
 */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/cmd/check/check.h"
#include "src/cmd/cmd.h"
#include "src/libutil/fileio.h"

#define PLUGIN "spank_ceems.so"
#define BLANKS " \t\r"

/* A line that loads the plugin, or includes a file. */
struct place {
	char conf[PATH_MAX]; /* the file with the line */
	unsigned int line;
	char file[PATH_MAX]; /* the plugin as that line names it: a path, or a name in PluginDir */
	bool is_required;
};

struct places {
	struct place first, second;
	size_t n;	   /* lines in all */
	struct place loop; /* an include that leads back to its own file; line 0: none */
};

/* The file that is being read, and those that include it. */
struct plugstack {
	const struct plugstack *by;
	const char *conf;
	dev_t dev;
	ino_t ino;
};

static bool is_ours(const char *file)
{
	const char *slash = strrchr(file, '/');

	return !strcmp(slash ? slash + 1 : file, PLUGIN);
}

static void set_place(struct place *to, const char *conf, unsigned int line, const char *file)
{
	(void)snprintf(to->conf, sizeof(to->conf), "%s", conf);
	(void)snprintf(to->file, sizeof(to->file), "%s", file);
	to->line = line;
}

static void add_place(struct places *p, const char *conf, unsigned int line, const char *file,
		      bool is_required)
{
	struct place *to = p->n ? &p->second : &p->first;

	if (p->n++ > 1)
		return;
	set_place(to, conf, line, file);
	to->is_required = is_required;
}

static void read_line(const struct plugstack *r, unsigned int n, char *line, struct places *ret);

/* Finds the plugin in CONF, which BY includes, and in the files that CONF includes. */
static void check_plugstack_find(const char *conf, const struct plugstack *by, unsigned int by_line,
				 struct places *ret)
{
	struct plugstack r = { .by = by, .conf = conf };
	_cleanup_free_ char *text = NULL;
	unsigned int n = 0;
	struct stat st;
	char *next;
	char *line;
	size_t len;

	if (stat(conf, &st) < 0 || ret->loop.line)
		return;
	for (; by; by = by->by)
		if (by->dev == st.st_dev && by->ino == st.st_ino) {
			set_place(&ret->loop, r.by->conf, by_line, conf);
			return;
		}
	r.dev = st.st_dev;
	r.ino = st.st_ino;
	if (fileio_read_alloc(conf, 1u << 20, &text, &len, NULL) < 0)
		return;
	for (next = text; (line = strsep(&next, "\n"));)
		read_line(&r, ++n, line, ret);
}

/* Finds the plugin in the files that PATTERN matches. A relative PATTERN is in the folder of its file. */
static void find_included(const struct plugstack *r, unsigned int n, const char *pattern, struct places *ret)
{
	char path[PATH_MAX];
	glob_t files;
	size_t i;

	if (*pattern != '/')
		pattern = cmd_conf_beside(r->conf, pattern, path);
	if (glob(pattern, 0, NULL, &files))
		return;
	for (i = 0; i < files.gl_pathc; i++)
		check_plugstack_find(files.gl_pathv[i], r, n, ret);
	globfree(&files);
}

static void read_line(const struct plugstack *r, unsigned int n, char *line, struct places *ret)
{
	char *save = NULL;
	char *word;
	char *file;

	line[strcspn(line, "#")] = '\0';
	word = strtok_r(line, BLANKS, &save);
	file = strtok_r(NULL, BLANKS, &save);
	if (!word || !file)
		return;
	if (!strcmp(word, "include"))
		find_included(r, n, file, ret);
	else if (is_ours(file))
		add_place(ret, r->conf, n, file, !strcmp(word, "required"));
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

/* Slurm follows such an include until it crashes. */
static void check_loop(struct check *c, const struct place *loop)
{
	char hint[PATH_MAX + 32];

	if (!loop->line)
		return;
	(void)snprintf(hint, sizeof(hint), "remove line %u of %s", loop->line, loop->conf);
	check_error(c, "plugstack.conf", check_hint_file(CHECK_PLUGSTACK_CONF, hint),
		    "%s:%u includes %s, which includes it in turn: srun crashes", loop->conf, loop->line,
		    loop->file);
}

/* Returns true if the file that PLACE names is there, or would be if it were in PluginDir. */
static bool has_file(const struct check *c, const struct place *place)
{
	char path[PATH_MAX];

	if (*place->file == '/')
		return access(place->file, R_OK) == 0;
	return check_find_plugin(slurmconf_get(c->slurm, "PluginDir"), place->file, path, sizeof(path));
}

void check_plugstack(struct check *c, uint32_t slurm_version)
{
	const char *path = slurmconf_get(c->slurm, "PlugStackConfig");
	struct places places = { .first.file = PLUGIN };
	const struct place *place = &places.first;
	char beside[PATH_MAX];
	bool is_there;

	if (!path)
		path = cmd_conf_beside(c->slurm_conf, "plugstack.conf", beside);
	check_plugstack_find(path, /* by= */ NULL, /* by_line= */ 0, &places);
	is_there = has_file(c, place);
	if (places.n && is_there)
		check_ok(c, "plugstack.conf", "%s:%u loads %s", place->conf, place->line, place->file);
	else if (places.n)
		check_note(c, "plugstack.conf", "%s:%u names %s", place->conf, place->line, place->file);
	else if (!places.loop.line)
		check_warn(c, "plugstack.conf", check_hint_file(CHECK_PLUGSTACK_CONF, "optional " PLUGIN),
			   "%s does not name " PLUGIN ": no --ceems-perf, no --ceems-report", path);
	check_loop(c, &places.loop);
	check_once(c, &places);
	if (places.n && place->is_required && !is_there)
		check_error(c, "plugstack.conf", check_hint_file(CHECK_PLUGSTACK_CONF, "optional " PLUGIN),
			    "%s:%u requires %s, which is not there: each srun and each job step fails",
			    place->conf, place->line, place->file);
	if (*place->file == '/' && !is_there)
		check_error(c, "spank", check_hint_file(CHECK_PLUGSTACK_CONF, "optional " PLUGIN),
			    "%s:%u: %s: %s: it is not loaded", place->conf, place->line, place->file,
			    strerror(errno));
	else
		check_plugin(c, "spank", place->file, slurm_version);
}
