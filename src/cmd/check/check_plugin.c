/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_plugin.c - PluginDir: where Slurm finds plugins, and whether it takes ours.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/cmd/check/check.h"
#include "src/cmd/check/elfsym.h"
#include "src/libutil/slurm_releases.h"

#define OF_EVERY_SLURM "auth_munge.so"

/* Takes the first folder off *DIRS, a list like PluginDir ("/a:/b"). False: there is none. */
static bool next_folder(const char **dirs, char dir[PATH_MAX])
{
	size_t len;

	if (!*dirs || !**dirs)
		return false;
	len = strcspn(*dirs, ":");
	(void)snprintf(dir, PATH_MAX, "%.*s", (int)len, *dirs);
	*dirs += len + ((*dirs)[len] == ':');
	return true;
}

/* Finds FILE in the folders DIRS, in the order in which Slurm searches. */
static bool find_plugin(const char *dirs, const char *file, char *path, size_t size)
{
	char dir[PATH_MAX];

	while (next_folder(&dirs, dir)) {
		int n = snprintf(path, size, "%s/%s", dir, file);

		if (n > 0 && (size_t)n < size && access(path, F_OK) == 0)
			return true;
	}
	return false;
}

/*
 * Returns true if Slurm SLURM_VERSION accepts a plugin of VERSION. The versions must be equal. Only the spank
 * plugin takes the version of the program that loads it, so each release that it knows accepts it.
 */
static bool is_accepted(const char *what, uint32_t version, uint32_t slurm_version)
{
	if (strcmp(what, "spank"))
		return version == slurm_version;
	return version >> 8 == slurm_version >> 8 ||
	       (slurm_release_is_known(version) && slurm_release_is_known(slurm_version));
}

/*
 * Returns the folder of Slurm's own plugins. Packages have it in different places, so this is the first usual
 * place with a plugin that every Slurm has.
 */
static const char *slurm_plugin_dir(void)
{
	static const char *const usual[] = { "/usr/lib/x86_64-linux-gnu/slurm-wlm",
					     "/usr/lib/aarch64-linux-gnu/slurm-wlm",
					     "/usr/lib64/slurm",
					     "/usr/lib/slurm",
					     "/usr/local/lib/slurm",
					     "/opt/slurm/lib/slurm",
					     "/opt/slurm/lib64/slurm",
					     SLURM_PLUGINDIR };
	char path[PATH_MAX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(usual); i++)
		if (find_plugin(usual[i], OF_EVERY_SLURM, path, sizeof(path)))
			return usual[i];
	return "<Slurm's own folder>";
}

bool check_find_plugin(const char *dirs, const char *file, char *path, size_t size)
{
	if (!dirs)
		dirs = slurm_plugin_dir();
	return find_plugin(dirs, file, path, size);
}

static bool has_folder(const char *dirs, const char *wanted)
{
	char dir[PATH_MAX];

	while (next_folder(&dirs, dir))
		if (!strcmp(dir, wanted))
			return true;
	return false;
}

static void append_folder(char buf[LINE_MAX], const char *dir)
{
	size_t used = strlen(buf);

	(void)snprintf(buf + used, LINE_MAX - used, "%s%s", buf[used - 1] == '=' ? "" : ":", dir);
}

/*
 * Writes a line PluginDir= that is right: Slurm's own folder, the folders of slurm.conf that exist, and ours.
 * A folder of a line that Slurm ignores is not looked for, since it may hang.
 */
static const char *plugin_dir_line(const struct check *c, char buf[LINE_MAX])
{
	_cleanup_free_ char *merged = slurmconf_merge(c->slurm, "PluginDir", ':');
	const char *dirs = slurmconf_get(c->slurm, "PluginDir");
	const char *own = slurm_plugin_dir();
	const char *rest = merged;
	char *list = buf + strlen("PluginDir=");
	char path[PATH_MAX];

	(void)snprintf(buf, LINE_MAX, "PluginDir=");
	if (!dirs || (!find_plugin(dirs, OF_EVERY_SLURM, path, sizeof(path)) && *own != '<'))
		append_folder(buf, own);
	while (next_folder(&rest, path))
		if (!has_folder(list, path) && (!has_folder(dirs, path) || access(path, F_OK) == 0))
			append_folder(buf, path);
	if (!has_folder(list, SLURM_PLUGINDIR) && access(SLURM_PLUGINDIR, F_OK) == 0)
		append_folder(buf, SLURM_PLUGINDIR);
	return buf;
}

void check_plugin_dir(struct check *c)
{
	unsigned int errors = c->errors;
	const char *dirs = slurmconf_get(c->slurm, "PluginDir");
	const char *own = slurm_plugin_dir();
	char hint[LINE_MAX];
	char path[PATH_MAX];
	const char *rest = dirs;

	while (next_folder(&rest, path))
		if (access(path, F_OK) < 0)
			check_error(
				c, "slurm.conf", check_hint_slurm("PluginDir", plugin_dir_line(c, hint)),
				"%sPluginDir has %s, which does not exist: Slurm refuses its configuration",
				check_at(c, "PluginDir"), path);
	if (dirs && !find_plugin(dirs, OF_EVERY_SLURM, path, sizeof(path)) && *own != '<')
		check_error(c, "slurm.conf", check_hint_slurm("PluginDir", plugin_dir_line(c, hint)),
			    "%sPluginDir (%s) is without Slurm's own plugins, which are in %s",
			    check_at(c, "PluginDir"), dirs, own);
	c->is_slurm_mute = c->errors > errors;
	if (slurmconf_get_nth(c->slurm, "PluginDir", 1))
		check_repeats(c, "PluginDir", ':', plugin_dir_line(c, hint));
}

bool check_plugin_dir_answers(struct check *c)
{
	const char *dirs = slurmconf_get(c->slurm, "PluginDir");
	char path[PATH_MAX];

	while (next_folder(&dirs, path))
		if (!check_answers(c, "PluginDir", path)) {
			c->is_slurm_mute = true;
			return false;
		}
	return true;
}

/* Reports a second copy of FILE, another than the one at PATH, in a later folder of DIRS. */
static void check_copies(struct check *c, const char *what, const char *dirs, const char *file,
			 const char *path)
{
	char dir[PATH_MAX], other[PATH_MAX + 256], hint[PATH_MAX + 256];
	struct stat first, st;
	bool is_behind = false;

	if (stat(path, &first) < 0)
		return;
	while (next_folder(&dirs, dir)) {
		(void)snprintf(other, sizeof(other), "%s/%s", dir, file);
		if (!strcmp(other, path) || !is_behind) {
			is_behind |= !strcmp(other, path);
			continue;
		}
		if (stat(other, &st) < 0 || (st.st_dev == first.st_dev && st.st_ino == first.st_ino))
			continue;
		(void)snprintf(hint, sizeof(hint), "rm %s  # or remove the package that has it", other);
		check_warn(
			c, what, check_hint_system(hint),
			"%s is there twice: %s is loaded, and %s if Slurm refuses the first, without a word",
			file, path, other);
	}
}

void check_plugin(struct check *c, const char *what, const char *file, uint32_t slurm_version)
{
	const char *dirs = slurmconf_get(c->slurm, "PluginDir");
	struct errmsg err = { 0 };
	char path[PATH_MAX];
	uint32_t version;

	if (!dirs)
		dirs = slurm_plugin_dir();
	if (*file == '/') {
		(void)snprintf(path, sizeof(path), "%s", file);
	} else if (!check_find_plugin(dirs, file, path, sizeof(path))) {
		char hint[LINE_MAX];

		(void)plugin_dir_line(c, hint);
		(void)snprintf(path, sizeof(path), SLURM_PLUGINDIR "/%s", file);
		check_error(c, what,
			    access(path, F_OK) < 0 ? check_hint_system("install slurm-ceems") :
						     check_hint_slurm("PluginDir", hint),
			    "%s%s is not in PluginDir (%s)", check_at(c, "PluginDir"), file, dirs);
		return;
	} else {
		check_copies(c, what, dirs, file, path);
	}
	if (elfsym_read_u32(path, "plugin_version", &version, &err) < 0) {
		check_error(c, what, check_hint_system("build and install slurm-ceems again"), "%s",
			    err.text);
		return;
	}
	if (!slurm_version || !version) {
		check_ok(c, what, "%s", path);
	} else if (!is_accepted(what, version, slurm_version)) {
		check_error(c, what,
			    check_hint_system("contrib/slurm-source, then "
					      "./configure --with-slurm-src=$PWD/slurm-src, make install"),
			    "%s is for Slurm %u.%02u.%u, installed is %u.%02u.%u: it is refused", path,
			    version >> 16, version >> 8 & 255, version & 255, slurm_version >> 16,
			    slurm_version >> 8 & 255, slurm_version & 255);
	} else {
		check_ok(c, what, "%s, for Slurm %u.%02u.%u", path, version >> 16, version >> 8 & 255,
			 version & 255);
	}
}
