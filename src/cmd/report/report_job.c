/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report_job.c - `ceems report job`: the report of one job. */
#include "src/cmd/report/report.h"

#include <errno.h>
#include <string.h>

#include "ceems_config.h"
#include "src/cmd/cmd.h"
#include "src/cmd/flame/flame_files.h"
#include "src/cmd/flame/flame_view.h"
#include "src/cmd/report/job_page.h"
#include "src/cmd/job/job_show.h"
#include "src/cmd/trace/trace_files.h"
#include "src/libtrace/trace_draw.h"

#define ADVICE_SHOWN 8

static struct job_id id_of(const struct record *r)
{
	if (r->array_job_id.known && r->array_task_id.known)
		return (struct job_id){ .job_id = (uint32_t)r->array_job_id.value,
					.kind = JOB_ID_TASK,
					.part = (uint32_t)r->array_task_id.value };
	if (r->het_job_id.known && r->het_job_offset.known)
		return (struct job_id){ .job_id = (uint32_t)r->het_job_id.value,
					.kind = JOB_ID_COMPONENT,
					.part = (uint32_t)r->het_job_offset.value };
	return (struct job_id){ .job_id = (uint32_t)r->job_id };
}

/*
 * Finds the folders in which files of job R may be: --dir, or SITES, the site's folder, and the
 * job's. Returns how many.
 */
static size_t users_dirs(const struct report_options *o, const char *sites, const struct record *r,
			 const char *dir[2])
{
	size_t n = 0;

	if (o->trace_dir) {
		dir[n++] = o->trace_dir;
		return n;
	}
	if (*sites == '/')
		dir[n++] = sites;
	if (r->work_dir && *r->work_dir == '/')
		dir[n++] = r->work_dir;
	if (!n)
		dir[n++] = ".";
	return n;
}

static int find_traces(const struct report_options *o, const struct job_site *site, const struct record *r,
		       struct trace_files *files)
{
	const char *dir[2];
	struct job_id id = id_of(r);
	const struct job_ids ids = { .id = &id, .n = 1 };
	const size_t n = users_dirs(o, site->settings.trace_dir, r, dir);
	char job[16];

	(void)snprintf(job, sizeof(job), "%u", r->job_id);
	return trace_files_look(files, &ids, job, dir, n);
}

#ifdef HAVE_PROFILES
struct report_flame {
	struct flame_files files;
	struct flame *flame;
	struct flame_view view;
};

static void draw_flame(const void *owner, FILE *out)
{
	flame_view_svg(&((const struct report_flame *)owner)->view, out);
}

/*
 * Makes the flame graph of job R. False: there is no profile, or it cannot be used;
 * then the reason was printed.
 */
static bool make_flame(const struct report_options *o, const struct job_site *site, const struct record *r,
		       struct report_flame *ret)
{
	const char *dir[2];
	struct job_id id = id_of(r);
	const struct job_ids ids = { .id = &id, .n = 1 };
	const size_t n = users_dirs(o, site->settings.profile_dir, r, dir);
	const struct profile_type *type;
	struct errmsg err = { 0 };
	char job[16];

	(void)snprintf(job, sizeof(job), "%u", r->job_id);
	if (flame_files_look(&ret->files, &ids, job, dir, n) != CMD_OK || !ret->files.n)
		return false;
	type = flame_files_type(&ret->files, &err);
	if (!type) {
		(void)cmd_error("no flame graph of job %s: %s", job, err.text);
		return false;
	}
	ret->flame = flame_create();
	if (!ret->flame || flame_files_add_to(&ret->files, ret->flame, FLAME_THIS) < 0 ||
	    flame_finish(ret->flame) < 0)
		return false;
	ret->view = (struct flame_view){ .flame = ret->flame, .title = flame_files_title(&ret->files) };
	flame_view_set_type(&ret->view, type);
	return ret->flame->frame[FLAME_ROOT].total[FLAME_THIS] > 0;
}

static void flame_fini(struct report_flame *f)
{
	flame_destroy(f->flame);
	flame_files_fini(&f->files);
}
#endif

/*
 * Makes the grid to draw from the job's traces. False: there is no trace, or it cannot be used;
 * then the reason was printed.
 */
static bool make_grid(const struct trace_files *files, struct trace_grid *ret)
{
	struct trace_column *column;
	struct errmsg err = { 0 };
	char metrics[512];
	size_t n;

	if (!files->n)
		return false;
	trace_files_choose(files, metrics, sizeof(metrics));
	if (trace_columns_pick(files->table, files->n, metrics, &column, &n, &err) < 0) {
		(void)cmd_error("%s", err.text);
		return false;
	}
	if (trace_grid_make(files->table, files->n, column, n, trace_files_interval(files, TRACE_SVG_BINS),
			    ret, &err) < 0) {
		free(column);
		(void)cmd_error("%s", err.text);
		return false;
	}
	return true;
}

static int print_page(const struct report_options *o, const struct job_answer *a,
		      const struct record *const *part, size_t n, FILE *out)
{
	struct advice advice[ADVICE_SHOWN];
	struct job_page p = { .screen = job_show_make(a, part, n, o->now), .advice = advice };
	struct trace_files files = { 0 };
	struct trace_grid grid;
#ifdef HAVE_PROFILES
	struct report_flame flame = { 0 };
#endif
	int rc;

	if (n == 1) {
		p.nadvice = advice_find(part[0], &a->site->advice, o->now, advice, ADVICE_SHOWN);
		if (find_traces(o, a->site, part[0], &files) == CMD_OK && make_grid(&files, &grid))
			p.trace = &grid;
#ifdef HAVE_PROFILES
		if (make_flame(o, a->site, part[0], &flame)) {
			p.flame = draw_flame;
			p.flame_owner = &flame;
		}
#endif
	}
	rc = job_page_print(&p, out);
	if (p.trace)
		trace_grid_fini(&grid);
	trace_files_fini(&files);
#ifdef HAVE_PROFILES
	flame_fini(&flame);
#endif
	return rc;
}

static int print_json(const struct record *const *part, size_t n, FILE *out)
{
	struct errmsg err = { 0 };
	size_t i, len;

	for (i = 0; i < n; i++) {
		_cleanup_free_ char *json = NULL;

		if (record_to_json(part[i], &json, &len, &err) < 0)
			return -ENOMEM;
		(void)fprintf(out, "%s\n", json);
	}
	return 0;
}

static int print_job(const struct report_options *o, const struct job_answer *a,
		     const struct record *const *part, size_t n, FILE *out)
{
	switch (o->form) {
	case REPORT_JSON:
		return print_json(part, n, out);
	case REPORT_CSV:
		return job_page_csv(part, n, o->now, out);
	case REPORT_HTML:
		return print_page(o, a, part, n, out);
	case REPORT_TEXT:
		break;
	}
	return job_show(a, part, n, o->now, /* colour= */ false, out);
}

/* Checks that all jobs belong to one job, array or heterogeneous job, since they get one page. */
static int check_group(const struct job_answer *a)
{
	size_t i;

	for (i = 1; i < a->jobs.n; i++)
		if (!job_ask_is_group(a->jobs.job[0].record, a->jobs.job[i].record))
			return cmd_error("report: one job, array or het job at a time");
	return a->jobs.n ? CMD_OK : CMD_FAILED;
}

static int report_answer(const struct report_options *o, const struct job_answer *a)
{
	_cleanup_free_ const struct record **part = calloc(a->jobs.n + 1, sizeof(*part));
	int rc = check_group(a);
	FILE *out;
	size_t i;

	if (rc != CMD_OK)
		return rc;
	if (!part)
		return cmd_error("out of memory");
	for (i = 0; i < a->jobs.n; i++)
		part[i] = a->jobs.job[i].record;
	out = report_open(o);
	if (!out)
		return CMD_FAILED;
	rc = report_close(o, out, print_job(o, a, part, a->jobs.n, out));
	return rc;
}

int report_job(const struct report_options *o, const char *text)
{
	static struct job_site site;
	struct job_answer a = { .site = &site };
	struct job_ids ids = { 0 };
	struct errmsg err = { 0 };
	size_t i;
	int rc;

	if (job_ids_add(&ids, text, &err) < 0) {
		rc = cmd_usage_error(o->self, "%s", err.text);
	} else {
		rc = CMD_OK;
	}
	for (i = 0; rc == CMD_OK && i < ids.n; i++)
		if (ids.id[i].has_step)
			rc = cmd_error("report: whole jobs only: leave out the step");
	if (rc == CMD_OK)
		rc = job_ask_check_conf();
	if (rc == CMD_OK) {
		job_site_load(&site);
		rc = job_ask(&(const struct job_question){ .ids = &ids,
							   .cluster = o->choice.cluster,
							   .script = o->form == REPORT_JSON &&
								     site.settings.record_script,
							   .qos = o->form == REPORT_JSON },
			     &a);
		if (rc == CMD_OK)
			rc = report_answer(o, &a);
		if (job_ask_missing(&ids, &a) != CMD_OK)
			rc = CMD_FAILED;
		job_answer_free(&a);
		job_site_fini(&site);
	}
	job_ids_fini(&ids);
	return rc;
}
