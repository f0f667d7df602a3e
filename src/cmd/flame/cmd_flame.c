/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_flame.c - ceems flame: shows in which functions a job spent its CPU time, from the profiles of its
 * nodes.
 */
#include <errno.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/cmd/flame/flame_files.h"
#include "src/cmd/flame/flame_view.h"
#include "src/libprofile/profile_inlines.h"
#include "src/libprofile/profile_pprof.h"
#include "src/libutil/parse.h"

enum flame_format {
	FORMAT_TEXT,
	FORMAT_HTML,
	FORMAT_SVG,
	FORMAT_FOLDED,
	FORMAT_PPROF,
	FORMAT_SPEEDSCOPE,
	FORMAT_N,
};

static const struct {
	const char *name, *ending;
} formats[FORMAT_N] = {
	[FORMAT_TEXT] = { "text", ".txt" },	[FORMAT_HTML] = { "html", ".html" },
	[FORMAT_SVG] = { "svg", ".svg" },	[FORMAT_FOLDED] = { "folded", ".folded" },
	[FORMAT_PPROF] = { "pprof", ".pb.gz" }, [FORMAT_SPEEDSCOPE] = { "speedscope", ".json" },
};

struct flame_request {
	enum flame_format format;
	const char *out, *other;
	const char *dirs[3];
	size_t ndirs;
	struct flame_filter filter;
	bool by_energy, has_waits, has_inlines;
	uint64_t rows;
};

/* --- output ------------------------------------------------------------------------------------- */

static int write_view(const struct flame_request *r, const struct flame_view *v, FILE *out)
{
	switch (r->format) {
	case FORMAT_HTML:
		return flame_view_html(v, out);
	case FORMAT_SVG:
		flame_view_svg(v, out);
		return 0;
	case FORMAT_FOLDED:
		flame_view_folded(v, out);
		return 0;
	case FORMAT_SPEEDSCOPE:
		flame_view_speedscope(v, out);
		return 0;
	default:
		return flame_view_table(v, r->rows, out);
	}
}

static int write_pprof(const struct flame_files *f, FILE *out)
{
	struct errmsg err = { 0 };
	struct profile *all = NULL;
	int rc = flame_files_merge(f, &all);

	if (rc < 0)
		return cmd_error("cannot put the profiles together: %s", strerror(-rc));
	rc = profile_write(all, fileno(out), /* max= */ 0, &err);
	profile_destroy(all);
	return rc < 0 ? cmd_error("%s", err.text) : CMD_OK;
}

static int write_output(const struct flame_request *r, const struct flame_files *f,
			const struct flame_view *v)
{
	FILE *out = r->out ? fopen(r->out, "we") : stdout;
	int rc = CMD_OK;

	if (!out)
		return cmd_error("%s: %s", r->out, strerror(errno));
	if (r->format == FORMAT_PPROF)
		rc = write_pprof(f, out);
	else if (write_view(r, v, out) < 0)
		rc = cmd_error("out of memory");
	if (r->out && (ferror(out) | fclose(out)) != 0)
		return cmd_error("%s: %s", r->out, strerror(errno));
	return rc;
}

/* --- profiles ----------------------------------------------------------------------------------- */

static int make_flame(struct flame_files *f, struct flame_files *other, struct flame **ret)
{
	struct flame *flame = flame_create();
	int rc = flame ? flame_files_add_to(f, flame, FLAME_THIS) : -ENOMEM;

	if (rc == 0 && other->n)
		rc = flame_files_add_to(other, flame, FLAME_OTHER);
	if (rc == 0)
		rc = flame_finish(flame);
	if (rc < 0) {
		flame_destroy(flame);
		return cmd_error("cannot put the profiles together: %s", strerror(-rc));
	}
	*ret = flame;
	return CMD_OK;
}

static int weigh_files(const struct flame_request *r, struct flame_files *f, struct flame_files *other,
		       char *note, size_t size)
{
	char others[128];
	int rc = flame_files_by_energy(f, r->dirs, r->ndirs, note, size);

	if (rc == CMD_OK && other->n)
		rc = flame_files_by_energy(other, r->dirs, r->ndirs, others, sizeof(others));
	return rc;
}

static void filter_files(const struct flame_request *r, struct flame_files *f)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		flame_filter(f->file[i].profile, &r->filter);
}

/*
 * Sets what V shows: energy, or the one type of value that all files have. Prints an
 * error if there are several.
 */
static int choose_value(struct flame_files *f, struct flame_files *other, struct flame_view *v)
{
	struct errmsg err = { 0 };
	const struct profile_type *type = flame_files_type(f, &err);
	const struct profile_type *compared = !type ? NULL : other->n ? flame_files_type(other, &err) : type;

	if (!type || !compared)
		return cmd_error("%s", err.text);
	if (strcmp(type->type, compared->type) != 0 || strcmp(type->unit, compared->unit) != 0)
		return cmd_error("%s has %s/%s and %s has %s/%s, which cannot be compared", v->title,
				 type->type, type->unit, v->other, compared->type, compared->unit);
	flame_view_set_type(v, type);
	return CMD_OK;
}

static int show_files(const struct flame_request *r, struct flame_files *f, struct flame_files *other)
{
	char note[128] = "";
	char **gap = NULL;
	struct flame_view v = {
		.title = flame_files_title(f),
		.other = other->n ? flame_files_title(other) : NULL,
		.what = "energy",
		.unit = "joules",
	};
	struct flame *flame = NULL;
	int rc = r->by_energy ? weigh_files(r, f, other, note, sizeof(note)) : CMD_OK;

	if (rc != CMD_OK)
		return rc;
	filter_files(r, f);
	filter_files(r, other);
	rc = r->by_energy ? CMD_OK : choose_value(f, other, &v);
	if (rc == CMD_OK)
		rc = make_flame(f, other, &flame);
	if (rc != CMD_OK)
		return rc;
	gap = flame_files_gaps(f);
	v.flame = flame;
	v.note = *note ? note : NULL;
	v.gap = (const char *const *)gap;
	if (!(flame->frame[FLAME_ROOT].total[FLAME_THIS] > 0))
		rc = cmd_error("%s: no samples%s", v.title,
			       r->filter.node || r->filter.process || r->filter.thread || r->filter.has_task ?
				       " of these" :
				       "");
	else
		rc = write_output(r, f, &v);
	flame_files_free_gaps(gap);
	flame_destroy(flame);
	return rc;
}

static int add_inlines(struct flame_files *f)
{
	size_t i, found, all = 0;
	int rc = 0;

	for (i = 0; rc == 0 && i < f->n; i++) {
		rc = profile_add_inlines(f->file[i].profile, &found);
		all += found;
	}
	if (rc < 0)
		return cmd_error("cannot look for inlined functions: %s", strerror(-rc));
	if (f->n && !all)
		(void)cmd_error(
			"%s: no inlined functions: no program of it is here with debug information (gcc -g)",
			flame_files_title(f));
	return CMD_OK;
}

static int flame_run(const struct flame_request *r, int argc, char **argv)
{
	struct flame_files f = { 0 }, other = { 0 };
	char *others[] = { (char *)r->other };
	int rc = flame_files_load(&f, argc, argv, r->dirs, r->ndirs);

	if (rc == CMD_OK && r->other)
		rc = flame_files_load(&other, 1, others, r->dirs, r->ndirs);
	if (rc == CMD_OK && r->has_inlines)
		rc = add_inlines(&f);
	if (rc == CMD_OK && r->has_inlines)
		rc = add_inlines(&other);
	if (rc == CMD_OK && r->has_waits)
		rc = flame_files_choose(&f, PROFILE_WAITS);
	if (rc == CMD_OK && r->has_waits)
		rc = flame_files_choose(&other, PROFILE_WAITS);
	if (rc == CMD_OK)
		rc = show_files(r, &f, &other);
	flame_files_fini(&f);
	flame_files_fini(&other);
	return rc;
}

/* --- arguments ---------------------------------------------------------------------------------- */

/*
 * Sets the folders in which files are looked for: --dir, or else the current folder and those of ceems.conf.
 */
static int choose_dirs(const char *dir, const char *conf, struct settings *settings, struct flame_request *r)
{
	r->dirs[r->ndirs++] = dir ? dir : ".";
	if (dir)
		return CMD_OK;
	if (cmd_load_users_settings(conf, settings, "only the current folder is searched") != CMD_OK)
		return CMD_FAILED;
	if (settings->profile_dir[0] == '/')
		r->dirs[r->ndirs++] = settings->profile_dir;
	/* where the traces for --per-joule are */
	if (settings->trace_dir[0] == '/' && strcmp(settings->trace_dir, settings->profile_dir) != 0)
		r->dirs[r->ndirs++] = settings->trace_dir;
	return CMD_OK;
}

static bool ends_with(const char *path, const char *ending)
{
	const size_t len = strlen(path), behind = strlen(ending);

	return len > behind && !strcmp(path + len - behind, ending);
}

static int choose_format(const struct cmd_info *self, const char *name, struct flame_request *r)
{
	size_t i;

	for (i = 0; i < FORMAT_N; i++)
		if (name ? !strcmp(name, formats[i].name) : r->out && ends_with(r->out, formats[i].ending)) {
			r->format = (enum flame_format)i;
			return CMD_OK;
		}
	if (name)
		return cmd_usage_error(self,
				       "--format: '%s' is none of html, svg, folded, pprof, speedscope, text",
				       name);
	if (r->out)
		return cmd_usage_error(
			self,
			"-o: '%s' does not end with .html, .svg, .folded, .pb.gz, .json or .txt; give the "
			"format with --format",
			r->out);
	return CMD_OK;
}

static int check_request(const struct cmd_info *self, const struct flame_request *r)
{
	if (r->format == FORMAT_PPROF && !r->out && isatty(STDOUT_FILENO))
		return cmd_usage_error(self, "pprof's format is not for a terminal: -o names a file");
	if (r->format == FORMAT_PPROF && (r->other || r->by_energy))
		return cmd_usage_error(self, "pprof's format has neither --diff nor --per-joule");
	if (r->by_energy && r->has_waits)
		return cmd_usage_error(
			self,
			"--offcpu: a thread that waits uses no energy of its own, so not with --per-joule");
	if (r->other && (r->format == FORMAT_FOLDED || r->format == FORMAT_SPEEDSCOPE))
		return cmd_usage_error(self, "--diff is for html, svg and text");
	return CMD_OK;
}

enum {
	OPT_DIFF = 256,
	OPT_FORMAT,
	OPT_INLINES,
	OPT_KERNEL,
	OPT_NODE,
	OPT_OFFCPU,
	OPT_PER_JOULE,
	OPT_PROCESS,
	OPT_TASK,
	OPT_THREAD
};

static const struct cmd_option flame_options[] = {
	{ NULL, 0, NULL, "Which files" },
	{ "conf", 'c', "FILE", "read this ceems.conf" },
	{ "dir", 'd', "DIR", "look for profiles in this folder only" },
	{ NULL, 0, NULL, "Which samples" },
	{ "kernel", OPT_KERNEL, "show|hide", "functions of the kernel (default: show)" },
	{ "node", OPT_NODE, "NAME", "of this node" },
	{ "process", OPT_PROCESS, "NAME", "of processes with this name" },
	{ "task", OPT_TASK, "RANK", "of this task" },
	{ "thread", OPT_THREAD, "NAME", "of threads with this name" },
	{ NULL, 0, NULL, "Output" },
	{ "diff", OPT_DIFF, "JOBID", "compare with this job or file" },
	{ "format", OPT_FORMAT, "html|svg|folded|pprof|speedscope|text",
	  "this format, whatever FILE's suffix" },
	{ "inlines", OPT_INLINES, NULL, "also functions that the compiler inlined (gcc -g)" },
	{ "output", 'o', "FILE", "write to this file, as .html" },
	{ "offcpu", OPT_OFFCPU, NULL, "where threads waited (--ceems-profile=offcpu)" },
	{ "per-joule", OPT_PER_JOULE, NULL, "weigh samples by energy instead of time" },
	{ "top", 't', "N", "number of functions in a text (default: 20)" },
	{ 0 },
};

static int take_number(const struct cmd_info *self, const char *option, const char *text, uint64_t max,
		       uint64_t *ret)
{
	if (parse_u64(text, ret) == 0 && *ret <= max)
		return CMD_OK;
	return cmd_usage_error(self, "--%s: '%s' is not a valid number", option, text);
}

static int cmd_flame_run(const struct cmd_info *self, int argc, char **argv)
{
	struct flame_request r = { .rows = 20 };
	static struct settings settings;
	const char *conf = NULL, *dir = NULL, *format = NULL;
	uint64_t task = 0;
	int c, rc = CMD_OK;

	while (rc == CMD_OK && (c = cmd_getopt(argc, argv, flame_options, 0)) >= 0) {
		switch (c) {
		case 'c':
			conf = optarg;
			break;
		case 'd':
			dir = optarg;
			break;
		case 'o':
			r.out = optarg;
			break;
		case 't':
			rc = take_number(self, "top", optarg, 1000000, &r.rows);
			break;
		case OPT_DIFF:
			r.other = optarg;
			break;
		case OPT_FORMAT:
			format = optarg;
			break;
		case OPT_INLINES:
			r.has_inlines = true;
			break;
		case OPT_KERNEL:
			r.filter.hides_kernel = !strcmp(optarg, "hide");
			if (!r.filter.hides_kernel && strcmp(optarg, "show") != 0)
				rc = cmd_usage_error(self, "--kernel: '%s' is neither show nor hide", optarg);
			break;
		case OPT_NODE:
			r.filter.node = optarg;
			break;
		case OPT_OFFCPU:
			r.has_waits = true;
			break;
		case OPT_PER_JOULE:
			r.by_energy = true;
			break;
		case OPT_PROCESS:
			r.filter.process = optarg;
			break;
		case OPT_TASK:
			rc = take_number(self, "task", optarg, UINT32_MAX, &task);
			r.filter.task = (int64_t)task;
			r.filter.has_task = true;
			break;
		case OPT_THREAD:
			r.filter.thread = optarg;
			break;
		default:
			return cmd_usage(self, c == 'h' ? CMD_OK : CMD_USAGE);
		}
	}
	if (rc != CMD_OK)
		return rc;
	if (optind == argc)
		return cmd_usage(self, CMD_USAGE);
	rc = choose_format(self, format, &r);
	if (rc == CMD_OK)
		rc = check_request(self, &r);
	if (rc == CMD_OK)
		rc = choose_dirs(dir, conf, &settings, &r);
	return rc == CMD_OK ? flame_run(&r, argc - optind, argv + optind) : rc;
}

const struct cmd_info cmd_flame = {
	"flame",
	"[OPTION...] JOBID[.STEP][,...]...|FILE...",
	cmd_flame_run,
	flame_options,
	"ceems flame 1234 -o job.html",
};
