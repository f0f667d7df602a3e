/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the commands print of a job beside its screen (fuzz_job_screen.c): lists, sums, comparisons, advice on
 * a name, reports, pages, and top. Whatever users wrote, no control character reaches a terminal, and nothing
 * becomes an element or an attribute of HTML.
 */
#include <math.h>
#include <stdarg.h>

#include "src/cmd/cmd.h"
#include "src/cmd/compare/job_compare.h"
#include "src/cmd/job/job_list.h"
#include "src/cmd/report/job_page.h"
#include "src/cmd/jobs/jobs_group.h"
#include "src/cmd/advise/run_advice.h"
#include "src/cmd/report/summary.h"
#include "src/cmd/top/top_draw.h"
#include "src/libutil/text.h"
#include "tests/fuzz/fuzz.h"

#define NTEXTS 8
#define NOW UINT64_C(1764000000) /* 24 Nov 2025 */
/* Behind each text: what would end an attribute, and begin an element. */
#define MARK "\"'><ceems&\x1b\n"

/* --- what is printed --------------------------------------------------------------------------- */

static char *printed;
static size_t printed_size;

static FILE *begin(void)
{
	FILE *out = open_memstream(&printed, &printed_size);

	assert(out);
	return out;
}

static void end(FILE *out)
{
	assert(fclose(out) == 0 && strlen(printed) == printed_size);
}

/* As ceems.c prints it: to stdout, which is the memory of begin(). */
void cmd_print(const char *fmt, ...)
{
	char line[8192];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	puts(text_mask(line, line, sizeof(line)));
}

static void check_text(size_t columns)
{
	(void)fuzz_check_lines(printed, columns);
	free(printed);
}

/* As many fields in each line as in the first one. */
static void check_csv(char separator)
{
	size_t fields = 0, n = 1;
	bool is_quoted = false;
	const char *p;

	for (p = printed; *p; p++) {
		is_quoted ^= separator == ',' && *p == '"';
		n += *p == separator && !is_quoted;
		if (*p != '\n')
			continue;
		assert(!is_quoted && (!fields || n == fields));
		fields = n;
		n = 1;
	}
	check_text(0);
}

/* A bidi control in a JSON string is kept: what reads JSON wants the name as it is. */
static void check_json(char *text)
{
	const char *p;

	assert(text);
	for (p = text; *p; p++) {
		const unsigned char c = (unsigned char)*p;

		assert((c >= ' ' || c == '\n') && c != 0x7f);
		assert(c != 0xc2 || (unsigned char)p[1] >= 0xa0);
	}
	free(text);
}

static void check_html(void)
{
	char *tab;

	assert(!strstr(printed, "<ceems") && !strstr(printed, "\"'>") && !strstr(printed, "ceems&\x1b"));
	for (tab = printed; (tab = strchr(tab, '\t'));) /* the style sheet has some */
		*tab = ' ';
	check_text(0);
}

/* --- the outputs -------------------------------------------------------------------------------- */

static void list_jobs(const struct record *r, enum cells_format format)
{
	static const char fields[] =
		"JobID,JobName,User,Group,Account,Cluster,Partition,QOS,State,NodeList,AllocTRES,Elapsed,"
		"CPUEff,MemEff,Energy,co2e,IdleShare";
	struct jobs_columns columns;
	struct cell cell[24] = { 0 };
	char buf[24][JOBS_TEXT_MAX];
	struct cells *cells;
	struct jobs_job j;
	FILE *out = begin();
	size_t i;

	jobs_job_init(&j, r, NOW);
	assert(jobs_columns_parse(fields, &columns, NULL) == 0 && columns.n <= ARRAY_SIZE(cell));
	cells = cells_create(columns.cells, columns.n, format, /* top= */ 0);
	assert(cells);
	for (i = 0; i < columns.n; i++)
		jobs_cell(&j, &columns.column[i], &cell[i], buf[i]);
	assert(cells_add(cells, 0, cell) == 0 && cells_add(cells, NAN, cell) == 0);
	assert(cells_print(cells, out, /* header= */ true) == 0);
	cells_destroy(cells);
	jobs_columns_free(&columns);
	end(out);
}

static void list_groups(const struct record *r, enum cells_format format)
{
	struct jobs_groups groups = { .by = JOBS_BY_NAME };
	struct jobs_sum sum = { 0 };
	struct jobs_job j;
	char *text;
	FILE *out = begin();

	jobs_job_init(&j, r, NOW);
	jobs_sum_add(&sum, &j);
	assert(jobs_groups_add(&groups, &j) == 0);
	assert(jobs_groups_print(&groups, SUM_KEY, format, /* top= */ 0, /* header= */ true, out) == 0);
	end(out);
	jobs_groups_free(&groups);
	text = jobs_sum_text(&sum);
	assert(text);
	(void)fuzz_check_lines(text, 0);
	free(text);
}

static void list_long(const struct record *r)
{
	FILE *screen = stdout;

	stdout = begin();
	job_list_print(r);
	job_list_step(r, r->steps);
	end(stdout);
	stdout = screen;
}

static void compare(const struct record *r, enum cells_format format)
{
	const struct job_compare c = { .id = { "12", r->job_name }, .r = { r, r }, .now = NOW };
	FILE *out = begin();

	assert(job_compare_print(&c, format, /* header= */ true, out) == 0);
	end(out);
}

static void advise(const struct record *r)
{
	struct run_history history = { 0 };
	struct run_advice advice;
	FILE *out = begin();
	size_t i;

	for (i = 0; i < RUN_HISTORY_ENOUGH; i++)
		assert(run_history_add(&history, r) == 0);
	assert(run_history_advise(&history, RUN_HISTORY_ENOUGH, &advice) == 0);
	assert(run_advice_print(r->job_name, &advice, NOW, out) == 0);
	end(out);
	check_json(run_advice_json(r->job_name, &advice));
	run_advice_free(&advice);
	run_history_free(&history);
}

static void report(const struct record *r, int (*print)(const struct summary *s, FILE *out))
{
	static struct summary s;
	struct period period;
	struct jobs_job j;
	FILE *out;

	assert(period_parse(PERIOD_WEEK, "2025-W47", NOW, &period) == 0);
	summary_init(&s, &period, JOBS_BY_ACCOUNT, NOW);
	s.cluster = r->cluster;
	s.whose = r->user_name;
	jobs_job_init(&j, r, NOW);
	assert(summary_add(&s, &j) == 0);
	out = begin();
	assert(print(&s, out) == 0);
	end(out);
	summary_fini(&s);
}

static int print_html(const struct summary *s, FILE *out)
{
	return summary_print_html(s, NULL, out);
}

static void page(const struct record *r, const char *why)
{
	static const struct advice_site site;
	struct advice advice[JOB_SCREEN_ADVICE];
	const struct job_page p = {
		.screen = { .part = &r, .n = 1, .now = NOW, .cluster = "c", .not_live = why },
		.advice = advice,
		.nadvice = advice_find(r, &site, NOW, advice, ARRAY_SIZE(advice))
	};
	FILE *out = begin();

	assert(job_page_print(&p, out) == 0);
	end(out);
}

static void page_csv(const struct record *r)
{
	FILE *out = begin();

	assert(job_page_csv(&r, 1, NOW, out) == 0);
	end(out);
}

static double number_of(uint64_t v)
{
	double ret;

	memcpy(&ret, &v, sizeof(ret));
	return ret;
}

static void top(const struct record *r, const char *note, uint64_t size)
{
	struct top_frame f = { .t = NOW, .id_title = size & 1 ? "NODE" : NULL };
	struct top_view v = {
		.width = size % 200, .height = size / 256 % 60, .is_typing = size & 2, .is_help = size & 4
	};
	struct top_lines lines;
	size_t i, k;

	(void)snprintf(f.what, sizeof(f.what), "jobs of %s", r->user_name);
	(void)snprintf(f.source, sizeof(f.source), "%s", r->account);
	(void)snprintf(f.note, sizeof(f.note), "%s", note);
	(void)snprintf(v.filter, sizeof(v.filter), "%s", size & 8 ? r->partition : "");
	for (i = 0; i < 2; i++) {
		struct top_row *row = top_frame_add(&f);

		assert(row);
		*row = (struct top_row){ .job_id = r->job_id,
					 .nnodes = r->total_nodes,
					 .cpus = r->total_cpus,
					 .gpus = r->start,
					 .memory = r->end,
					 .elapsed_s = r->submit };
		(void)snprintf(row->id, sizeof(row->id), "%s", r->nodes);
		(void)snprintf(row->name, sizeof(row->name), "%s", r->job_name);
		(void)snprintf(row->user, sizeof(row->user), "%s", r->user_name);
		(void)snprintf(row->account, sizeof(row->account), "%s", r->account);
		(void)snprintf(row->partition, sizeof(row->partition), "%s", r->partition);
		(void)snprintf(row->nodes, sizeof(row->nodes), "%s", r->nodes);
		for (k = 0; k < TOP_N; k++)
			row->value[k] = i ? NAN : number_of(r->values.value[k]);
	}
	assert(top_draw(&f, &v, &lines) == 0);
	for (i = 0; i < lines.n; i++)
		assert(fuzz_check_lines(lines.line[i].text, v.width) <= 1);
	top_lines_free(&lines);
	check_json(top_frame_json(&f));
	top_frame_free(&f);
}

static void check_outputs(const struct record *r, const char *why, uint64_t choice)
{
	switch (choice % 8) {
	case 0:
		list_jobs(r, CELLS_TABLE);
		check_text(0);
		list_jobs(r, CELLS_CSV);
		check_csv(',');
		list_jobs(r, CELLS_PARSABLE);
		check_csv('|');
		list_jobs(r, CELLS_JSON);
		check_json(printed);
		break;
	case 1:
		list_groups(r, CELLS_TABLE);
		check_text(0);
		list_groups(r, CELLS_CSV);
		check_csv(',');
		break;
	case 2:
		list_long(r);
		check_text(0);
		compare(r, CELLS_TABLE);
		check_text(80);
		compare(r, CELLS_CSV);
		check_csv(',');
		break;
	case 3:
		advise(r);
		check_text(0);
		break;
	case 4:
		report(r, summary_print_text);
		check_text(0);
		report(r, summary_print_csv);
		check_csv(',');
		report(r, summary_print_json);
		check_json(printed);
		break;
	case 5:
		report(r, print_html);
		check_html();
		break;
	case 6:
		page(r, why);
		check_html();
		page_csv(r);
		check_csv(',');
		break;
	case 7:
		top(r, why, choice / 8);
		break;
	}
}

/* --- the input ---------------------------------------------------------------------------------- */

static char *next_text(struct fuzz_parts *p)
{
	size_t n;
	const uint8_t *part = fuzz_next(p, &n);
	char *text = malloc(n + sizeof(MARK));

	assert(text);
	memcpy(text, part, n);
	memcpy(text + n, MARK, sizeof(MARK));
	return text;
}

static void set_numbers(struct fuzz_parts *p, struct record *r, struct record_step *step)
{
	unsigned int m;

	r->job_id = (uint32_t)fuzz_number(p);
	r->start = NOW - 86400 * 7 + fuzz_number(p) % 86400;
	r->end = r->start + fuzz_number(p) % 86400;
	r->submit = fuzz_number(p);
	r->total_cpus = (uint32_t)fuzz_number(p);
	r->total_nodes = (uint32_t)fuzz_number(p);
	r->time_limit_min = (struct maybe_u64){ fuzz_number(p) & UINT32_MAX, true };
	r->array_job_id = r->array_task_id = (struct maybe_u64){ fuzz_number(p), r->job_id & 1 };
	r->emissions.pue_milli = fuzz_number(p);
	step->nnodes = (uint32_t)fuzz_number(p);
	step->cpu_time.max = step->energy.max = (struct maybe_u64){ fuzz_number(p), true };
	metric_foreach(m)
		if (p->size)
			values_set(&r->values, (enum metric)m, fuzz_number(p));
	step->values = r->values;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_parts p = { data, size };
	static struct record r;
	static struct record_step step;
	static char completed[] = "COMPLETED";
	const uint64_t choice = fuzz_number(&p);
	char *text[NTEXTS];
	size_t i;

	for (i = 0; i < NTEXTS; i++)
		text[i] = next_text(&p);
	r = (struct record){ .job_name = text[0],
			     .user_name = text[1],
			     .group_name = text[1],
			     .account = text[2],
			     .partition = text[3],
			     .nodes = text[4],
			     .state = choice & 1024 ? completed : text[5],
			     .cluster = text[6],
			     .qos = text[6],
			     .tres_alloc = text[7],
			     .steps = &step,
			     .nsteps = 1,
			     .steps_known = true };
	/* Slurm has the states of steps as numbers */
	step = (struct record_step){ .step_id = 0, .name = text[0], .nodes = text[4], .state = "FAILED" };
	(void)snprintf(step.cpu_time.max_node, sizeof(step.cpu_time.max_node), "%s", text[4]);
	values_init(&r.values);
	(void)snprintf(r.emissions.source, sizeof(r.emissions.source), "%s", text[6]);
	(void)snprintf(r.emissions.region, sizeof(r.emissions.region), "%s", text[7]);
	set_numbers(&p, &r, &step);
	check_outputs(&r, text[5], choice);
	for (i = 0; i < NTEXTS; i++)
		free(text[i]);
	return 0;
}
