/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `ceems top` makes of readings: rates, lines of a screen, JSON, and Prometheus' answers. */
#include "src/cmd/top/top_draw.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/cmd/top/top_prom.h"
#include "src/cmd/top/top_rates.h"
#include "src/libutil/text.h"
#include "src/libutil/util.h"

#include "tap.h"

#define T UINT64_C(1795603505) /* 25 Nov 2026 10:45:05 UTC */
#define S UINT64_C(1000000000)
#define GIB (UINT64_C(1) << 30)

static struct top_row *add(struct top_frame *f, uint32_t id, const char *name, const char *user, double watts)
{
	struct top_row *row = top_frame_add(f);

	if (!row)
		abort();
	row->job_id = id;
	(void)snprintf(row->id, sizeof(row->id), "%u", id);
	(void)snprintf(row->name, sizeof(row->name), "%s", name);
	(void)snprintf(row->user, sizeof(row->user), "%s", user);
	row->cpus = 4;
	row->nnodes = 1;
	row->memory = 4 * GIB;
	row->elapsed_s = 3725;
	row->value[TOP_POWER] = watts;
	return row;
}

/* A job of which all is known, one with control characters in its name, one of which nothing is known. */
static struct top_frame make_frame(void)
{
	struct top_frame f = { .t = T, .what = "running jobs of all users", .source = "sstat" };
	struct top_row *row = add(&f, 12, "burn", "user1", 123.4);

	row->value[TOP_IDLE] = 0.5;
	row->value[TOP_CPU] = 3.9;
	row->value[TOP_MEMORY] = (double)GIB;
	row->value[TOP_GPU] = 1.5;
	row->gpus = 2;
	row->value[TOP_READ] = 1.5 * 1024 * 1024;
	row->value[TOP_WRITE] = 0;
	row->value[TOP_ENERGY] = 7200;
	row->value[TOP_CO2E] = 1.5;
	row = add(&f, 13,
		  "a\033[31m\nb\xff"
		  "cdefghijklmnop",
		  "user2", 1500);
	row->value[TOP_IDLE] = 0.25;
	row->value[TOP_CPU] = 0.01;
	(void)add(&f, 14, "new", "user1", NAN);
	return f;
}

static char *draw(const struct top_frame *f, const struct top_view *v)
{
	struct top_lines l;
	char *text = NULL;
	size_t size, i;
	FILE *out = open_memstream(&text, &size);

	if (!out || top_draw(f, v, &l) < 0)
		abort();
	for (i = 0; i < l.n; i++)
		(void)fprintf(out, "%s\n", l.line[i].text);
	(void)fclose(out);
	top_lines_free(&l);
	return text;
}

static void is_screen(const struct top_frame *f, const struct top_view *v, const char *want, const char *what)
{
	_cleanup_free_ char *text = draw(f, v);

	is_str(text, want, what);
}

static void test_screen(void)
{
	struct top_frame f = make_frame();
	struct top_view v = { .width = 80, .height = 10, .selected = "12" };

	is_screen(&f, &v,
		  "10:45:05  running jobs of all users: 3, from sstat\n"
		  "power 1623 W (27 % idle)  CPU 3.9 of 12  memory 1.0G  GPU 1.5 of 2  read 1.5M/s\n"
		  "JOBID     USER     NAME          ND CPUS  *POWER  IDLE   CPU   MEM   GPU  READ/s\n"
		  "13        user2    a?[31m?b?cd+   1    4  1500 W  25 %  <1 %   n/a   n/a     n/a\n"
		  "12        user1    burn           1    4   123 W  50 %  98 %  25 %  75 %    1.5M\n"
		  "14        user1    new            1    4     n/a   n/a   n/a   n/a   n/a     n/a\n"
		  "\n\n\n"
		  "q quit  h help  < > sort: power  r reverse  / filter  Enter nodes\n",
		  "80 columns, by power, what is not known last");
	v.width = 20;
	v.height = 5;
	is_screen(&f, &v,
		  "10:45:05  running j+\n"
		  "power 1623 W\n"
		  "JOBID      *POWER\n"
		  "13         1500 W\n"
		  "q quit  h help  < >+\n",
		  "a small one");
	v.width = 1;
	v.height = 1;
	is_screen(&f, &v, "+\n", "the smallest");
	v = (struct top_view){ .width = 160, .sort = top_column_find("user"), .reverse = true };
	is_screen(
		&f, &v,
		"10:45:05  running jobs of all users: 3, from sstat\n"
		"power 1623 W (27 % idle)  CPU 3.9 of 12  memory 1.0G  GPU 1.5 of 2  read 1.5M/s  write 0/s\n"
		"JOBID     USER*    NAME                     ND CPUS   POWER  IDLE   CPU   MEM   MEMORY   "
		"GPU  READ/s WRITE/s    ENERGY     CO2e   TIME\n"
		"13        user2    a?[31m?b?cdefghijklmnop   1    4  1500 W  25 %  <1 %   n/a      n/a   "
		"n/a     n/a     n/a       n/a      n/a  1h02m\n"
		"12        user1    burn                      1    4   123 W  50 %  98 %  25 %     1.0G  "
		"75 %    1.5M       0   2.00 Wh   1.50 g  1h02m\n"
		"14        user1    new                       1    4     n/a   n/a   n/a   n/a      n/a   "
		"n/a     n/a     n/a       n/a      n/a  1h02m\n",
		"a wide one without keys, by user, reversed");
	top_frame_free(&f);
}

static void test_views(void)
{
	struct top_frame f = make_frame();
	struct top_view v = { .width = 60, .height = 8, .filter = "USER1" };
	size_t n = 0;
	size_t *order = top_order(&f, &v, &n);

	is_int((long)n, 2, "a filter, whatever the case");
	is_int((long)f.row[order[0]].job_id, 12, "power first");
	free(order);
	(void)snprintf(f.note, sizeof(f.note), "sstat:\nno");
	v.is_typing = true;
	is_screen(&f, &v,
		  "10:45:05  running jobs of all users: 2 of 3, from sstat\n"
		  "power 1623 W (27 % idle)  CPU 3.9 of 12  memory 1.0G\n"
		  "sstat:?no\n"
		  "JOBID     USER     NAME       CPUS  *POWER  IDLE   CPU   MEM\n"
		  "12        user1    burn          4   123 W  50 %  98 %  25 %\n"
		  "14        user1    new           4     n/a   n/a   n/a   n/a\n"
		  "\n"
		  "filter: USER1_\n",
		  "with a note, and a filter that is typed");
	is_int((long)top_rows_shown(&f, &v), 3, "rows that there is room for");
	ok(top_column_next(&f, &v, 1) == top_column_find("idle"), "the column to the right");
	v.sort = top_column_find("mem");
	ok(top_column_next(&f, &v, 1) == top_column_find("id"), "and around");
	ok(top_column_next(&f, &v, -1) == top_column_find("cpu"), "or back");
	ok(top_column_find("nothing") == NULL && top_column_of_key('Z') == NULL, "columns that are none");
	ok(top_column_of_key('P') == top_column_find("power"), "a column by its key");
	v.is_help = true;
	v.height = 24;
	v.width = 80;
	{
		_cleanup_free_ char *text = draw(&f, &v);
		size_t lines = 0;
		const char *p;

		for (p = text; (p = strchr(p, '\n')); p++)
			lines++;
		is_int((long)lines, 24, "help fills the screen");
		ok(strstr(text, "space        read again now\n") != NULL, "with keys");
	}
	top_frame_free(&f);
}

/* Whatever the size, no line is longer than the screen, and there are not more than fit. */
static void test_sizes(void)
{
	struct top_frame f = make_frame();
	bool is_wide = false, is_high = false;
	size_t width, height, i;

	for (width = 1; width < 250; width++)
		for (height = 1; height < 12; height++) {
			struct top_view v = { .width = width, .height = height };
			struct top_lines l;

			if (top_draw(&f, &v, &l) < 0)
				abort();
			is_high |= l.n > height;
			for (i = 0; i < l.n; i++)
				is_wide |= text_columns(l.line[i].text) > width ||
					   strchr(l.line[i].text, '\033');
			top_lines_free(&l);
		}
	ok(!is_wide, "no line wraps, none has control characters");
	ok(!is_high, "no screen scrolls");
	top_frame_free(&f);
}

static void test_json(void)
{
	struct top_frame f = make_frame();
	_cleanup_free_ char *json = top_frame_json(&f);

	ok(strstr(json, "\"time\":\"2026-11-25T10:45:05Z\",\"what\":\"running jobs of all "
			"users\",\"source\":\"sstat\","
			"\"note\":null,\"total\":{\"power_w\":1623.4,") != NULL,
	   "when, what, and sums");
	ok(strstr(json,
		  "{\"id\":\"14\",\"name\":\"new\",\"user\":\"user1\",\"account\":null,\"partition\":null,"
		  "\"nodelist\":null,\"nodes\":1,\"cpus\":4,\"gpus\":null,"
		  "\"memory_allocated_bytes\":4294967296,"
		  "\"elapsed_s\":3725,\"power_w\":null,") != NULL,
	   "what is not known is null");
	ok(strstr(json, "\"name\":\"a\\u001B[31m\\nb\\\\xffcdefghijklmnop\"") != NULL, "names are whole");
	top_frame_free(&f);
}

/* --- rates ------------------------------------------------------------------------------------- */

static struct values counters(uint64_t joules, uint64_t cpu_s, uint64_t read)
{
	struct values f;

	values_init(&f);
	values_set(&f, METRIC_ENERGY, joules * 1000000);
	values_set(&f, METRIC_CPU_ENERGY, joules * 1000000);
	values_set(&f, METRIC_CPU_ENERGY_STATIC, joules * 250000);
	values_set(&f, METRIC_CPU_TIME, cpu_s * S);
	values_set(&f, METRIC_IO_READ_BYTES, read);
	values_set(&f, METRIC_MEMORY_TIME, cpu_s * 1024);
	return f;
}

static struct top_row read_at(struct top_rates *r, uint64_t t_s, uint64_t since_s, struct values f)
{
	struct top_frame frame = { 0 };
	struct top_row row = *top_frame_add(&frame);

	if (top_rates_set(r, 7, t_s * S, since_s == UINT64_MAX ? UINT64_MAX : since_s * S, &f, &row) < 0)
		abort();
	top_frame_free(&frame);
	return row;
}

static void test_rates(void)
{
	struct top_rates *r = top_rates_create(15 * S);
	struct top_row row = read_at(r, 1000, UINT64_MAX, counters(500, 50, 0));

	ok(isnan(row.value[TOP_POWER]) && isnan(row.value[TOP_CPU]), "one reading has no rate");
	ok(row.value[TOP_ENERGY] == 500, "but a sum");
	ok(isnan(row.value[TOP_CO2E]), "and what is not counted is not known");
	row = read_at(r, 1005, UINT64_MAX, counters(1000, 60, 5000));
	ok(row.value[TOP_POWER] == 100 && row.value[TOP_CPU] == 2 && row.value[TOP_READ] == 1000,
	   "the second has");
	ok(row.value[TOP_IDLE] == 0.25, "with the idle part");
	ok(row.value[TOP_MEMORY] == 2.0 * 1024 * 1024, "memory from KiB seconds");
	row = read_at(r, 1005, UINT64_MAX, counters(1000, 60, 5000));
	ok(row.value[TOP_POWER] == 100, "the same reading again changes nothing");
	(void)read_at(r, 1010, UINT64_MAX, counters(1000, 60, 5000));
	row = read_at(r, 1015, UINT64_MAX, counters(1000, 60, 5000));
	ok(fabs(row.value[TOP_POWER] - 500.0 / 15) < 1e-9, "over a window of 15 s");
	row = read_at(r, 1020, UINT64_MAX, counters(1000, 60, 5000));
	ok(row.value[TOP_POWER] == 0 && isnan(row.value[TOP_IDLE]), "what was before it does not count");
	row = read_at(r, 1025, UINT64_MAX, counters(10, 1, 0));
	ok(isnan(row.value[TOP_POWER]), "counters that fall begin anew");
	row = read_at(r, 1030, UINT64_MAX, counters(20, 2, 0));
	ok(row.value[TOP_POWER] == 2, "and go on");
	top_rates_sweep(r);
	row.value[TOP_POWER] = NAN;
	top_rates_keep(r, 7, &row);
	ok(row.value[TOP_POWER] == 2 && row.value[TOP_ENERGY] == 20, "without a reading, the last values");
	top_rates_sweep(r);
	row.value[TOP_POWER] = 3;
	top_rates_keep(r, 8, &row);
	ok(row.value[TOP_POWER] == 3, "  nothing of a job that was never read");
	top_rates_sweep(r);
	row = read_at(r, 1035, 1000, counters(350, 2, 0));
	ok(row.value[TOP_POWER] == 10, "a job that was away is new: the mean since its start");
	top_rates_destroy(r);
	top_rates_destroy(NULL);
}

/* --- Prometheus -------------------------------------------------------------------------------- */

static int parse(const char *json, uint32_t job_id, struct top_frame *f, struct errmsg *err)
{
	json_t *series = NULL;
	int rc;

	*err = (struct errmsg){ 0 };
	rc = prometheus_answer(json, strlen(json), &series, err);
	if (rc == 0)
		rc = top_prom_set(series, job_id, f, err);
	json_decref(series);
	return rc;
}

static void test_prometheus(void)
{
	static const char jobs[] =
		"{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":["
		"{\"metric\":{\"uuid\":\"14\",\"value\":\"0\"},\"value\":[1795603505.123,\"12.5\"]},"
		"{\"metric\":{\"uuid\":\"99\",\"value\":\"0\"},\"value\":[1795603505,\"1\"]},"
		"{\"metric\":{\"uuid\":\"12\",\"value\":\"2\"},\"value\":[1795603505,\"NaN\"]}]}}";
	static const char nodes[] =
		"{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":["
		"{\"metric\":{\"hostname\":\"n1\",\"value\":\"0\"},\"value\":[1795603505,\"12.5\"]},"
		"{\"metric\":{\"hostname\":\"n1\",\"value\":\"2\"},\"value\":[1795603505,\"2\"]},"
		"{\"metric\":{\"hostname\":\"n2\",\"value\":\"0\"},\"value\":[1795603505,\"7\"]}]}}";
	struct top_frame f = make_frame();
	struct top_frame n = { 0 };
	struct errmsg err;
	char *query = top_prom_query(0);

	ok(strstr(query, "label_replace(sum by (uuid) "
			 "(rate(ceems_compute_unit_energy_joules_total{manager=\"slurm\"}[2m])),"
			 "\"value\",\"0\",\"\",\"\") or ") == query,
	   "one query for all jobs");
	free(query);
	query = top_prom_query(12);
	ok(strstr(query,
		  "sum by (hostname) (rate(ceems_ebpf_ingress_bytes_total{manager=\"slurm\",uuid=\"12\","
		  "proto=\"tcp\"}"
		  "[2m]))") != NULL,
	   "or for the nodes of one");
	free(query);
	is_int(parse(jobs, 0, &f, &err), 0, "an answer");
	ok(f.row[2].job_id == 14 && f.row[2].value[TOP_POWER] == 12.5, "a value finds its job");
	ok(f.row[0].value[TOP_CPU] == 3.9, "what is no number changes nothing");
	is_int((long)f.n, 3, "a job that slurmctld does not show is not there");
	is_int(parse(nodes, 12, &n, &err), 0, "an answer of nodes");
	ok(n.n == 2 && !strcmp(n.row[0].id, "n1") && n.row[0].value[TOP_CPU] == 2 &&
		   n.row[1].value[TOP_POWER] == 7,
	   "a row per node");
	is_int(parse("{\"status\":\"error\",\"error\":\"bad\"}", 0, &f, &err), -EBADMSG, "an error");
	is_str(err.text, "bad", "is said");
	is_int(parse("<html>", 0, &f, &err), -EIO, "something else");
	is_int(parse("{\"status\":\"success\",\"data\":{\"result\":[{\"metric\":{}}]}}", 0, &f, &err),
	       -EINVAL, "a value of another form");
	is_int(parse("{\"status\":\"success\",\"data\":{\"result\":[{\"metric\":{\"uuid\":\"12\","
		     "\"value\":\"77\"},"
		     "\"value\":[1,\"1\"]}]}}",
		     0, &f, &err),
	       -EINVAL, "a value that was not asked for");
	top_frame_free(&f);
	top_frame_free(&n);
}

int main(void)
{
	(void)setenv("TZ", "UTC", 1);
	tzset();
	test_screen();
	test_views();
	test_sizes();
	test_json();
	test_rates();
	test_prometheus();
	return done_testing();
}
