/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_textfile.c - TextfileDir in `ceems check`: tried by writing, as slurmd and ceems-recorder do it. Only the helper
 * touches the folder, which may be on a server that is away.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>

#include "src/cmd/check.h"
#include "src/libutil/textfile_feed.h"

static int textfile_try(const struct check *c, const char *dir, const char *file, struct errmsg *err)
{
	const struct textfile_feed_options o = {
		.dir = dir,
		.file = file,
		.mode = (unsigned int)c->settings.textfile_mode,
		.group = c->settings.textfile_group,
		.helper_dir = c->settings.helper_dir,
	};

	return textfile_feed_try(&o, err);
}

static void textfile_check_tried(struct check *c)
{
	const char *dir = c->settings.textfile_dir;
	char hint[SETTINGS_PATH_MAX + 64];
	struct errmsg err = { 0 };
	int rc = textfile_try(c, dir, "ceems.prom", &err);

	if (rc == -EIO && strstr(err.text, strerror(ENOENT)))
		(void)snprintf(hint, sizeof(hint), "mkdir -p %s", dir);
	else if (rc == -EIO)
		(void)snprintf(hint, sizeof(hint), "TextfileDir=<a folder that slurmd can write in>");
	else
		(void)snprintf(hint, sizeof(hint), "HelperDir=<the folder of ceems-textfile, which only root can change>");
	if (rc < 0)
		check_error(c, "TextfileDir", hint, "%s; there will be no ceems.prom", err.text);
	else
		check_ok(c, "TextfileDir", "%s: a file was made there and removed", dir);
}

/* What another user can write says nothing of slurmd. */
static void textfile_check_dir(struct check *c)
{
	const char *user = c->slurm ? slurmconf_get(c->slurm, "SlurmdUser") : NULL;
	const struct passwd *pw = getpwnam(user ? user : "root");

	if (pw && pw->pw_uid == geteuid())
		textfile_check_tried(c);
	else
		check_note(c, "TextfileDir", "%s is not tried: run ceems check as %s, as slurmd", c->settings.textfile_dir,
			   user ? user : "root");
}

void check_textfile(struct check *c)
{
	const char *group = c->settings.textfile_group;

	if (!*c->settings.textfile_dir)
		return;
	/* ceems-textfile looks it up at each write, and slurmd's log then says the same */
	if (*group && !getgrnam(group))
		check_error(c, "TextfileDir", "TextfileGroup=prometheus", "TextfileGroup: no group '%s' is known",
			    group);
	else
		textfile_check_dir(c);
	if (*group && !(c->settings.textfile_mode & 0040))
		check_warn(c, "TextfileDir", "TextfileMode=0640",
			   "TextfileMode %04o does not let TextfileGroup read ceems.prom",
			   (unsigned int)c->settings.textfile_mode);
}
