/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/trace_files.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "src/cmd/cmd.h"
#include "src/libtrace/trace_grid.h"
#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"
#include "src/libutil/text.h"

#define FILE_MAX ((size_t)2 << 30)

static const char prefix[] = "ceems-trace-";

/* Whose trace a file is. */
struct trace_name {
	struct record job; /* its ids only */
	uint32_t step_id;
	char job_text[24], step_text[16];
};

static struct maybe_u64 known(uint32_t n)
{
	return (struct maybe_u64){ n, true };
}

/* JOB: "7.0", "5_3.0" */
static bool take_ids(const char *job, struct trace_name *ret)
{
	struct job_ids ids = { 0 };
	struct record *r = &ret->job;
	bool is_one = job_ids_add(&ids, job, NULL) == 0 && ids.n == 1 && ids.id[0].has_step;

	if (is_one) {
		const struct job_id *id = &ids.id[0];

		r->job_id = id->job_id;
		if (id->kind == JOB_ID_TASK) {
			r->array_job_id = known(id->job_id);
			r->array_task_id = known(id->part);
		} else if (id->kind == JOB_ID_COMPONENT) {
			r->het_job_id = known(id->job_id);
			r->het_job_offset = known(id->part);
		}
		ret->step_id = id->step_id;
	}
	job_ids_fini(&ids);
	return is_one;
}

/*
 * "ceems-trace-JOB.STEP-NODE.csv". JOB is from steptrace_job_name(): "7"; "5_3-8" is task 3 of array 5, with job
 * id 8; "21+1-22" is component 1 of het job 21, with job id 22.
 */
static bool parse_name(const char *name, struct trace_name *ret)
{
	const char *job = name + sizeof(prefix) - 1;
	const char *dot, *dash, *end;
	char text[sizeof(ret->job_text) + sizeof(ret->step_text)];
	uint64_t id = 0;

	*ret = (struct trace_name){ 0 };
	if (strncmp(name, prefix, sizeof(prefix) - 1))
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

/* Sets the job and step of T from the file's name; "" if it has another form. */
static void find_step(const char *path, struct trace_table *t)
{
	const char *slash = strrchr(path, '/');
	struct trace_name name;

	t->job[0] = t->step[0] = '\0';
	if (!parse_name(slash ? slash + 1 : path, &name))
		return;
	(void)snprintf(t->job, sizeof(t->job), "%s", name.job_text);
	(void)snprintf(t->step, sizeof(t->step), "%s", name.step_text);
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
	find_step(path, ret);
	/* mask it, since any user may have written the file */
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
	if (t->missed)
		(void)cmd_error("%s: %" PRIu64 " samples are missing: the node was too busy", shown.text, t->missed);
}

static bool is_same(const struct trace_table *a, const struct trace_table *b)
{
	return a->step[0] && !strcmp(a->job, b->job) && !strcmp(a->step, b->step) && !strcmp(a->node, b->node);
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
		(void)cmd_error("step %s.%s on %s ran twice: its earlier run is left out", table.job, table.step,
				table.node);
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

static bool is_wanted(const char *file, const struct job_ids *ids)
{
	const char *dot = strrchr(file, '.');
	struct trace_name name;
	size_t i;

	if (!dot || strcmp(dot, ".csv") != 0 || !parse_name(file, &name))
		return false;
	for (i = 0; i < ids->n; i++)
		if (job_id_is_of(&ids->id[i], &name.job) &&
		    (!ids->id[i].has_step || ids->id[i].step_id == name.step_id))
			return true;
	return false;
}

/*
 * Returns true if the file is the caller's (for root: any user's). Others may leave files in
 * TraceDir.
 */
static bool is_callers(const char *path, uid_t *owner)
{
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || (geteuid() != 0 && st.st_uid != geteuid()))
		return false;
	*owner = st.st_uid;
	return true;
}

static int find_in(struct trace_files *f, const struct job_ids *ids, const char *what, const char *dir,
		   uid_t *first_owner)
{
	char path[PATH_MAX];
	DIR *d = opendir(dir);
	struct dirent *e;
	uid_t owner;
	int rc = CMD_OK;

	while (d && rc == CMD_OK && (e = readdir(d))) {
		if (!is_wanted(e->d_name, ids) ||
		    (size_t)snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) >= sizeof(path) ||
		    !is_callers(path, &owner))
			continue;
		if (f->n && owner != *first_owner)
			rc = cmd_error("traces of job %s are of several users: name the files", what);
		else
			rc = trace_files_add(f, path);
		*first_owner = owner;
	}
	if (d)
		(void)closedir(d);
	return rc;
}

int trace_files_look(struct trace_files *f, const struct job_ids *ids, const char *what, const char *const *dir,
		     size_t ndirs)
{
	uid_t owner = 0;
	size_t i;
	int rc = CMD_OK;

	for (i = 0; rc == CMD_OK && i < ndirs; i++)
		rc = find_in(f, ids, what, dir[i], &owner);
	return rc;
}

int trace_files_find(struct trace_files *f, const struct job_ids *ids, const char *what, const char *const *dir,
		     size_t ndirs)
{
	int rc = trace_files_look(f, ids, what, dir, ndirs);

	if (rc != CMD_OK || f->n)
		return rc;
	return cmd_error("no trace of yours of job %s in %s%s%s; --dir says where else", what, dir[0],
			 ndirs > 1 ? " or " : "", ndirs > 1 ? dir[1] : "");
}

/* --- drawing them ------------------------------------------------------------------------------ */

/* Columns to draw by default, those that most people want to see first. */
static const char *const drawn[] = { "power_w", "cpu_time_s_per_s", "working_set_bytes", "gpu_power_w",
				     "gpu_busy_s_per_s", "read_bytes_per_s", "write_bytes_per_s",
				     "tcp_received_bytes_per_s", "tcp_sent_bytes_per_s", "instructions_per_s" };

static bool has_some(const struct trace_files *files, const char *name)
{
	size_t i, row;

	for (i = 0; i < files->n; i++) {
		const struct trace_table *t = &files->table[i];
		const int column = trace_table_find(t, name);

		for (row = 0; column >= 0 && row < t->nrows; row++)
			if (t->value[row * t->ncolumns + (size_t)column] > 0) /* NAN is not */
				return true;
	}
	return false;
}

void trace_files_choose(const struct trace_files *files, char *buf, size_t size)
{
	size_t i, used = 0;

	buf[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(drawn) && used < size; i++)
		if (has_some(files, drawn[i]))
			used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? "," : "", drawn[i]);
	if (!used)
		(void)snprintf(buf, size, "energy_j");
}

uint64_t trace_files_interval(const struct trace_files *files, uint64_t bins)
{
	uint64_t begin_ns, end_ns;

	trace_grid_span(files->table, files->n, &begin_ns, &end_ns);
	return (end_ns - begin_ns + bins - 1) / bins + (end_ns == begin_ns);
}
