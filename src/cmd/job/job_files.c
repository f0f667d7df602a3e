/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* versionsort */

#include "src/cmd/job/job_files.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "src/cmd/cmd.h"
#include "src/libutil/as_owner.h"
#include "src/libutil/parse.h"

/* The job and step of a file. */
struct owner_name {
	struct record job; /* only its ids are set */
	uint32_t step_id;
	char job_text[24], step_text[16];
};

static struct maybe_u64 known_id(uint32_t n)
{
	return (struct maybe_u64){ n, true };
}

/* Sets the ids from JOB, which must name a step, such as "7.0" or "5_3.0". False: it names none. */
static bool take_ids(const char *job, struct owner_name *ret)
{
	struct job_ids ids = { 0 };
	struct record *r = &ret->job;
	bool is_one = job_ids_add(&ids, job, NULL) == 0 && ids.n == 1 && ids.id[0].has_step;

	if (is_one) {
		const struct job_id *id = &ids.id[0];

		r->job_id = id->job_id;
		if (id->kind == JOB_ID_TASK) {
			r->array_job_id = known_id(id->job_id);
			r->array_task_id = known_id(id->part);
		} else if (id->kind == JOB_ID_COMPONENT) {
			r->het_job_id = known_id(id->job_id);
			r->het_job_offset = known_id(id->part);
		}
		ret->step_id = id->step_id;
	}
	job_ids_fini(&ids);
	return is_one;
}

/*
 * Reads the job and the step from a file name such as "ceems-trace-JOB.STEP-NODE.csv"; its prefix is
 * "ceems-trace-". stepfile_job_name() made JOB: "7"; "5_3-8" for task 3 of array 5, with job id 8; "21+1-22"
 * for component 1 of het job 21, with job id 22. False: the name has another form.
 */
static bool parse_name(const struct job_file_kind *kind, const char *name, struct owner_name *ret)
{
	const size_t before = strlen(kind->prefix);
	const char *job = name + before;
	const char *dot, *dash, *end;
	char text[sizeof(ret->job_text) + sizeof(ret->step_text)];
	uint64_t id = 0;

	*ret = (struct owner_name){ 0 };
	if (strncmp(name, kind->prefix, before))
		return false;
	dot = strchr(job, '.');
	end = dot ? strchr(dot, '-') : NULL;
	if (!end || (size_t)(end - dot) > sizeof(ret->step_text))
		return false;
	dash = memchr(job, '-', (size_t)(dot - job));
	if (dash && (parse_u64_n(dash + 1, (size_t)(dot - dash - 1), &id) < 0 || id > UINT32_MAX))
		return false;
	if ((size_t)((dash ? dash : dot) - job) >= sizeof(ret->job_text))
		return false;
	(void)snprintf(ret->job_text, sizeof(ret->job_text), "%.*s", (int)((dash ? dash : dot) - job), job);
	(void)snprintf(ret->step_text, sizeof(ret->step_text), "%.*s", (int)(end - dot - 1), dot + 1);
	(void)snprintf(text, sizeof(text), "%s.%s", ret->job_text, ret->step_text);
	if (!take_ids(text, ret))
		return false;
	if (dash)
		ret->job.job_id = (uint32_t)id;
	return true;
}

static bool is_wanted(const struct job_file_kind *kind, const char *file, const struct job_ids *ids)
{
	const size_t len = strlen(file), behind = strlen(kind->suffix);
	struct owner_name name;
	size_t i;

	if (len < behind || strcmp(file + len - behind, kind->suffix) != 0 || !parse_name(kind, file, &name))
		return false;
	for (i = 0; i < ids->n; i++)
		if (job_id_is_of(&ids->id[i], &name.job) &&
		    (!ids->id[i].has_step || ids->id[i].step_id == name.step_id))
			return true;
	return false;
}

static bool may_become_user;

void job_files_become_user(void)
{
	may_become_user = true;
}

/*
 * Returns true if PATH is a file that may be taken, and its owner: the caller's; for a caller that was root,
 * that of any user. Another user may have put a file there.
 */
static bool is_callers(const char *path, bool was_root, uid_t *owner)
{
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || (!was_root && st.st_uid != geteuid()))
		return false;
	*owner = st.st_uid;
	return true;
}

/* If we are root and a user could have written the file at PATH, becomes the user, or refuses. */
static int become_user_of(const char *path)
{
	struct errmsg err = { 0 };
	uid_t owner;

	if (!as_owner_is_other(path, &owner))
		return CMD_OK;
	if (!may_become_user)
		return cmd_error("%s is left out: root reads no file of a user; run this as user %u", path,
				 (unsigned int)owner);
	return as_owner_become(owner, &err) < 0 ? cmd_error("%s", err.text) : CMD_OK;
}

/* The arguments of job_files_look(), and what was found. */
struct file_search {
	const struct job_file_kind *kind;
	const struct job_ids *ids;
	const char *what;
	int (*take)(void *owner, const char *path);
	void *owner;
	bool was_root;
	uid_t uid; /* owner of the first file that was found */
	bool is_found;
};

/* scandir() gives its filter no argument. */
static const struct file_search *listed;

static int is_listed(const struct dirent *d)
{
	return is_wanted(listed->kind, d->d_name, listed->ids);
}

/*
 * Takes the files in the order of their names, n2 before n10: the order of readdir()
 * differs between file systems.
 */
static int find_in(struct file_search *s, const char *dir)
{
	struct dirent **list = NULL;
	char path[PATH_MAX];
	int rc = CMD_OK;
	uid_t uid;
	int i, n;

	listed = s;
	n = scandir(dir, &list, is_listed, versionsort);
	if (n < 0 && errno == ENOMEM)
		rc = cmd_error("out of memory");
	for (i = 0; rc == CMD_OK && i < n; i++) {
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name) >= sizeof(path) ||
		    !is_callers(path, s->was_root, &uid))
			continue;
		if (s->is_found && uid != s->uid)
			rc = cmd_error("%ss of job %s are of several users: name the files", s->kind->name,
				       s->what);
		else if (become_user_of(path) == CMD_OK)
			rc = s->take(s->owner, path);
		s->uid = uid;
		s->is_found = true;
	}
	while (n > 0)
		free(list[--n]);
	free(list);
	return rc;
}

int job_files_look(const struct job_file_kind *kind, const struct job_ids *ids, const char *what,
		   const char *const *dir, size_t ndirs, int (*take)(void *owner, const char *path),
		   void *owner)
{
	struct file_search s = { .kind = kind,
				 .ids = ids,
				 .what = what,
				 .take = take,
				 .owner = owner,
				 .was_root = geteuid() == 0 };
	size_t i;
	int rc = CMD_OK;

	for (i = 0; rc == CMD_OK && i < ndirs; i++)
		rc = find_in(&s, dir[i]);
	return rc;
}

int job_files_none(const struct job_file_kind *kind, const char *what, const char *const *dir, size_t ndirs)
{
	return cmd_error("you own no %s of job %s in %s%s%s; use --dir to look in another folder", kind->name,
			 what, dir[0], ndirs > 1 ? " or " : "", ndirs > 1 ? dir[1] : "");
}

#define NOT_BOTH "jobs, or names of files"

int job_files_arguments(int argc, char **argv, struct job_ids *ids,
			int (*take)(void *owner, const char *path), void *owner, char *what, size_t size)
{
	struct errmsg err = { 0 };
	bool has_file = false;
	size_t used = 0;
	int rc = CMD_OK;
	int i;

	what[0] = '\0';
	for (i = 0; rc == CMD_OK && i < argc; i++) {
		const size_t before = ids->n;
		int bad = job_ids_add(ids, argv[i], &err);

		if (bad == -EINVAL && ids->n == before) {
			rc = ids->n ? cmd_error(NOT_BOTH) : become_user_of(argv[i]);
			if (rc == CMD_OK)
				rc = take(owner, argv[i]);
			has_file = true;
		} else if (bad < 0) {
			rc = cmd_error("%s", err.text);
		} else if (used < size) {
			used += (size_t)snprintf(what + used, size - used, "%s%s", used ? "," : "", argv[i]);
		}
	}
	return rc == CMD_OK && ids->n && has_file ? cmd_error(NOT_BOTH) : rc;
}

bool job_files_name(const struct job_file_kind *kind, const char *path, struct job_file_name *ret)
{
	const char *slash = strrchr(path, '/');
	struct owner_name name;

	*ret = (struct job_file_name){ "", "" };
	if (!parse_name(kind, slash ? slash + 1 : path, &name))
		return false;
	(void)snprintf(ret->job, sizeof(ret->job), "%s", name.job_text);
	(void)snprintf(ret->step, sizeof(ret->step), "%s", name.step_text);
	return true;
}
