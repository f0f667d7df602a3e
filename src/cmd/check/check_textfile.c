/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_textfile.c - TextfileDir in `ceems check`: tries to write there, as slurmd and
 * ceems-recorder do. Only a helper process touches the folder, since its file server may be down.
 */
#define _GNU_SOURCE /* pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/cmd/check/check.h"
#include "src/libcore/controller_metric.h"
#include "src/libutil/fileio.h"
#include "src/libutil/textfile_feed.h"

#define PROM_MAX (64u << 20)
#define HOST_LABEL "{hostname=\""

/*
 * Returns what to do if textfile_feed_try() in DIR gave RC and ERR. The owner of a new folder is SlurmUser.
 * HINT is room for the text.
 */
static struct check_hint textfile_hint(const struct check *c, const char *dir, int rc,
				       const struct errmsg *err, char hint[CHECK_HINT_MAX])
{
	if (rc == -ETIMEDOUT)
		return check_hint_system(check_hang_hint(dir, hint));
	if (rc != -EIO)
		return check_hint_setting(
			SETTING_helper_dir,
			"HelperDir=<the folder of ceems-textfile, which only root can change>");
	/* install would give away a folder that exists, such as /proc */
	if (!strstr(err->text, strerror(ENOENT)) || access(dir, F_OK) == 0 || check_is_system(dir))
		return check_hint_elsewhere(c, SETTING_textfile_dir, hint);
	(void)snprintf(hint, CHECK_HINT_MAX, "install -d -o %s %s", check_slurm_user(c), dir);
	return check_hint_system(hint);
}

/* Warns if the ceems.prom in TextfileDir is of another node, such as one that shares the folder. */
static void textfile_check_owner(struct check *c)
{
	const char *dir = c->settings.textfile_dir;
	_cleanup_free_ char *text = NULL;
	char path[PATH_MAX], hint[SETTINGS_PATH_MAX + 32];
	const char *name;
	size_t len;

	(void)snprintf(path, sizeof(path), "%s/ceems.prom", dir);
	if (fileio_read_alloc(path, PROM_MAX, &text, NULL, NULL) < 0)
		return;
	name = strstr(text, HOST_LABEL);
	name = name ? name + sizeof(HOST_LABEL) - 1 : "";
	len = strcspn(name, "\"");
	if (!len || (len == strlen(c->node) && !strncmp(name, c->node, len)))
		return;
	c->textfile_is_judged = true;
	(void)snprintf(hint, sizeof(hint), "TextfileDir=%s/%%n", dir);
	check_warn(c, "TextfileDir", check_hint_setting(SETTING_textfile_dir, hint),
		   "%s is of the node %.*s, not of %s: two slurmd write it, or the node had that name before",
		   path, (int)(len < 256 ? len : 256), name, c->node);
}

static void textfile_check_tried(struct check *c)
{
	const char *dir = c->settings.textfile_dir;
	const struct textfile_feed_options o = {
		.dir = dir,
		.file = "ceems.prom",
		.mode = (unsigned int)c->settings.textfile_mode,
		.group = c->settings.textfile_group,
		.helper_dir = c->settings.helper_dir,
	};
	char hint[CHECK_HINT_MAX];
	struct errmsg err = { 0 };
	struct check_hint fix;
	int rc = textfile_feed_try(&o, &err);

	if (rc == -ETIMEDOUT)
		check_add_hung(c, dir);
	fix = textfile_hint(c, dir, rc, &err, hint);
	if (rc < 0)
		check_error(c, "TextfileDir", fix, "%s; there will be no ceems.prom", err.text);
	else
		check_ok(c, "TextfileDir", "%s: a file was made there and removed", dir);
	if (rc == 0)
		textfile_check_owner(c);
}

/* Tries to write to TextfileDir, if we run as the user as whom slurmd runs. */
static void textfile_check_dir(struct check *c)
{
	const char *user = check_slurmd_user(c);
	const struct passwd *pw = getpwnam(user);

	if (pw && pw->pw_uid == geteuid())
		textfile_check_tried(c);
	else
		check_note(c, "TextfileDir", "%s is not tried: run ceems check as %s, as slurmd",
			   c->settings.textfile_dir, user);
}

/* Runs in a child process of root: tries to write as user PW, and sends the error through FD. */
static void textfile_try_as(const struct passwd *pw, const struct textfile_feed_options *o, int fd)
{
	struct errmsg err = { 0 };
	int rc;

	if (initgroups(pw->pw_name, pw->pw_gid) < 0 || setgid(pw->pw_gid) < 0 || setuid(pw->pw_uid) < 0)
		rc = errmsg_errno(&err, -errno, "cannot become %s", pw->pw_name);
	else
		rc = textfile_feed_try(o, &err);
	_exit(fileio_write_full(fd, err.text, strlen(err.text)) < 0 ? EIO : -rc);
}

/*
 * Tries to write as user PW, in a child process. Looking at mode bits would not do, since ACLs and root
 * squash also matter.
 */
static int textfile_fork_try(const struct passwd *pw, const struct textfile_feed_options *o,
			     struct errmsg *err)
{
	int fd[2], status = 0;
	ssize_t n;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) < 0)
		return errmsg_errno(err, -errno, "pipe");
	pid = fork();
	if (pid == 0)
		textfile_try_as(pw, o, fd[1]);
	(void)close(fd[1]);
	n = pid > 0 ? read(fd[0], err->text, sizeof(err->text) - 1) : -1;
	(void)close(fd[0]);
	if (n < 0)
		return errmsg_errno(err, -errno, "fork");
	err->text[n] = '\0';
	(void)waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		return errmsg_set(err, -EIO, "%s: the process that tried it was killed by signal %d", o->dir,
				  WTERMSIG(status));
	return -WEXITSTATUS(status);
}

/* Tries to write to the recorder's TextfileDir as SlurmUser, as whom the recorder runs. */
static void textfile_check_recorder(struct check *c)
{
	const char *user = check_slurm_user(c);
	const struct passwd *pw = getpwnam(user);
	const struct textfile_feed_options o = {
		.dir = c->host_textfile_dir,
		.file = CONTROLLER_PROM,
		.mode = 0644,
		.helper_dir = c->settings.helper_dir,
	};
	char hint[CHECK_HINT_MAX] = "";
	struct check_hint fix = check_hint_system(hint);
	struct errmsg err = { 0 };
	struct stat st;
	int rc;

	if (!pw || (pw->pw_uid != geteuid() && geteuid() != 0)) {
		check_note(c, "TextfileDir",
			   "%s is not tried for ceems-recorder: run ceems check as %s or root", o.dir, user);
		return;
	}
	rc = pw->pw_uid == geteuid() ? textfile_feed_try(&o, &err) : textfile_fork_try(pw, &o, &err);
	/* for missing rights: slurmd writes there as root, so root's folder can be given to SlurmUser */
	if (rc != -EIO || !strstr(err.text, strerror(EACCES)))
		fix = textfile_hint(c, o.dir, rc, &err, hint);
	else if (!check_owns_folder(o.dir))
		fix = check_hint_elsewhere(c, SETTING_textfile_dir, hint);
	else if (stat(o.dir, &st) == 0 && st.st_uid == 0)
		(void)snprintf(hint, sizeof(hint), "chown %s %s", user, o.dir);
	else
		(void)snprintf(hint, sizeof(hint), "setfacl -m u:%s:rwx %s  # of the package acl", user,
			       o.dir);
	if (rc < 0)
		check_warn(c, "TextfileDir", fix, "%s; ceems-recorder writes no " CONTROLLER_PROM, err.text);
	else
		check_ok(c, "TextfileDir", "%s: ceems-recorder can write " CONTROLLER_PROM, o.dir);
}

void check_textfile(struct check *c)
{
	const char *group = c->settings.textfile_group;

	if (!*c->settings.textfile_dir)
		return;
	/* if the group is unknown, no file is written, and slurmd logs the same error */
	if (*group && !getgrnam(group))
		check_error(c, "TextfileDir",
			    check_hint_setting(SETTING_textfile_group, "TextfileGroup=prometheus"),
			    "TextfileGroup: no group '%s' is known", group);
	else if (!check_is_hung(c, c->settings.textfile_dir))
		textfile_check_dir(c);
	if (check_is_controller(c) && !check_is_hung(c, c->host_textfile_dir))
		textfile_check_recorder(c);
	if (*group && !(c->settings.textfile_mode & 0040))
		check_warn(c, "TextfileDir", check_hint_setting(SETTING_textfile_mode, "TextfileMode=0640"),
			   "TextfileMode %04o does not let TextfileGroup read ceems.prom",
			   (unsigned int)c->settings.textfile_mode);
}
