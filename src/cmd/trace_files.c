/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/trace_files.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "src/cmd/cmd.h"
#include "src/libutil/fileio.h"
#include "src/libutil/text.h"

#define FILE_MAX ((size_t)2 << 30)

static const char prefix[] = "ceems-trace-";

/* "0" of "ceems-trace-1234.0-n1.csv"; a file of another name has none. */
static void find_step(const char *path, char *ret, size_t size)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *dot = strncmp(name, prefix, sizeof(prefix) - 1) ? NULL : strchr(name, '.');
	const char *end = dot ? strchr(dot, '-') : NULL;

	ret[0] = '\0';
	if (end && (size_t)(end - dot) <= size)
		(void)snprintf(ret, size, "%.*s", (int)(end - dot - 1), dot + 1);
}

static int read_table(const char *path, struct trace_table *ret)
{
	_cleanup_free_ char *text = NULL;
	struct errmsg err = { 0 };
	size_t len;
	int rc = fileio_read_alloc(path, FILE_MAX, &text, &len, &err);

	if (rc == 0)
		rc = trace_table_parse(path, text, len, ret, &err);
	if (rc < 0)
		return cmd_error("%s", err.text);
	find_step(path, ret->step, sizeof(ret->step));
	/* what a file says of itself may be anybody's words */
	(void)text_mask(ret->step, ret->step, sizeof(ret->step));
	(void)text_mask(ret->node, ret->node, sizeof(ret->node));
	return CMD_OK;
}

static void tell_state(const struct trace_table *t, const char *path)
{
	struct errmsg shown = { 0 };

	(void)errmsg_set(&shown, 0, "%s", path); /* masked */
	if (!t->is_whole)
		(void)cmd_error("%s: no end: the step runs still, or slurmd's log says why", shown.text);
	if (t->dropped)
		(void)cmd_error("%s: %" PRIu64 " samples were dropped", shown.text, t->dropped);
}

static bool is_same(const struct trace_table *a, const struct trace_table *b)
{
	return a->step[0] && !strcmp(a->step, b->step) && !strcmp(a->node, b->node);
}

int trace_files_add(struct trace_files *f, const char *path)
{
	struct trace_table table, *more;
	size_t i;
	int rc = read_table(path, &table);

	if (rc != CMD_OK)
		return rc;
	tell_state(&table, path);
	for (i = 0; i < f->n; i++) {
		struct trace_table *other = &f->table[i];
		struct trace_table old = table;

		if (!is_same(other, &table))
			continue;
		(void)cmd_error("step %s on %s ran twice: its earlier run is left out", table.step, table.node);
		if (table.t_ns[0] > other->t_ns[0]) {
			old = *other;
			*other = table;
		}
		trace_table_fini(&old);
		return CMD_OK;
	}
	more = reallocarray(f->table, f->n + 1, sizeof(*more));
	if (!more) {
		trace_table_fini(&table);
		return cmd_error("out of memory");
	}
	f->table = more;
	f->table[f->n++] = table;
	return CMD_OK;
}

void trace_files_fini(struct trace_files *f)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		trace_table_fini(&f->table[i]);
	free(f->table);
	*f = (struct trace_files){ 0 };
}

/* "ceems-trace-JOB.", or with its step "ceems-trace-JOB.STEP-". */
static bool is_of_job(const char *name, const char *job)
{
	const size_t len = strlen(job);
	const char *rest = name + sizeof(prefix) - 1;
	const char *dot = strrchr(name, '.');

	if (strncmp(name, prefix, sizeof(prefix) - 1) || strncmp(rest, job, len))
		return false;
	return rest[len] == (strchr(job, '.') ? '-' : '.') && dot && !strcmp(dot, ".csv");
}

/* A file that another user left in TraceDir is not the job's. */
static bool is_callers(const char *path, uid_t *owner)
{
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || (geteuid() != 0 && st.st_uid != geteuid()))
		return false;
	*owner = st.st_uid;
	return true;
}

static int find_in(struct trace_files *f, const char *job, const char *dir, uid_t *first_owner)
{
	char path[PATH_MAX];
	DIR *d = opendir(dir);
	struct dirent *e;
	uid_t owner;
	int rc = CMD_OK;

	while (d && rc == CMD_OK && (e = readdir(d))) {
		if (!is_of_job(e->d_name, job) ||
		    (size_t)snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) >= sizeof(path) ||
		    !is_callers(path, &owner))
			continue;
		if (f->n && owner != *first_owner)
			rc = cmd_error("traces of job %s are of several users: name the files", job);
		else
			rc = trace_files_add(f, path);
		*first_owner = owner;
	}
	if (d)
		(void)closedir(d);
	return rc;
}

int trace_files_find(struct trace_files *f, const char *job, const char *const *dir, size_t ndirs)
{
	uid_t owner = 0;
	size_t i;
	int rc = CMD_OK;

	for (i = 0; rc == CMD_OK && i < ndirs; i++)
		rc = find_in(f, job, dir[i], &owner);
	if (rc != CMD_OK || f->n)
		return rc;
	return cmd_error("no trace of yours of job %s in %s%s%s; --dir says where else", job, dir[0],
			 ndirs > 1 ? " or " : "", ndirs > 1 ? dir[1] : "");
}
