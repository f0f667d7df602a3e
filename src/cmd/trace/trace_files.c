/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/trace/trace_files.h"

#include <inttypes.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/cmd/job/job_files.h"
#include "src/libtrace/trace_grid.h"
#include "src/libutil/fileio.h"
#include "src/libutil/text.h"

#define FILE_MAX ((size_t)2 << 30)

static const struct job_file_kind trace_kind = { "trace", "ceems-trace-", ".csv" };

/* Sets the job and step of T from the file's name; "" if it has another form. */
static void find_step(const char *path, struct trace_table *t)
{
	struct job_file_name name;

	(void)job_files_name(&trace_kind, path, &name);
	memcpy(t->job, name.job, sizeof(t->job));
	memcpy(t->step, name.step, sizeof(t->step));
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

	(void)errmsg_set(&shown, 0, "%s", path); /* errmsg_set() masks the path */
	if (!t->is_whole)
		(void)cmd_error("%s: not complete: the step still runs, or slurmd's log says why",
				shown.text);
	if (t->dropped)
		(void)cmd_error("%s: %" PRIu64 " samples were dropped", shown.text, t->dropped);
	if (t->missed)
		(void)cmd_error("%s: %" PRIu64 " samples are missing: the node was too busy", shown.text,
				t->missed);
}

static bool is_same(const struct trace_table *a, const struct trace_table *b)
{
	return a->step[0] && !strcmp(a->job, b->job) && !strcmp(a->step, b->step) &&
	       !strcmp(a->node, b->node);
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
		(void)cmd_error("step %s.%s on %s ran twice: its earlier run is left out", table.job,
				table.step, table.node);
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

static int take_trace(void *owner, const char *path)
{
	return trace_files_add(owner, path);
}

int trace_files_look(struct trace_files *f, const struct job_ids *ids, const char *what,
		     const char *const *dir, size_t ndirs)
{
	return job_files_look(&trace_kind, ids, what, dir, ndirs, take_trace, f);
}

int trace_files_find(struct trace_files *f, const struct job_ids *ids, const char *what,
		     const char *const *dir, size_t ndirs)
{
	int rc = trace_files_look(f, ids, what, dir, ndirs);

	return rc != CMD_OK || f->n ? rc : job_files_none(&trace_kind, what, dir, ndirs);
}

/* --- drawing them ------------------------------------------------------------------------------ */

/* Columns to draw by default, those that most people want to see first. */
static const char *const drawn[] = { "power_w",		  "cpu_time_s_per_s",	      "working_set_bytes",
				     "gpu_power_w",	  "gpu_busy_s_per_s",	      "read_bytes_per_s",
				     "write_bytes_per_s", "tcp_received_bytes_per_s", "tcp_sent_bytes_per_s",
				     "instructions_per_s" };

static bool has_some(const struct trace_files *files, const char *name)
{
	size_t i, row;

	for (i = 0; i < files->n; i++) {
		const struct trace_table *t = &files->table[i];
		const int column = trace_table_find(t, name);

		for (row = 0; column >= 0 && row < t->nrows; row++)
			if (t->value[row * t->ncolumns + (size_t)column] > 0) /* false for NAN */
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
