/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces as `ceems trace` has them: CSV and what is no CSV, several nodes in equal intervals, drawings. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "src/libtrace/csv.h"
#include "src/libtrace/trace_axis.h"
#include "src/libtrace/trace_draw.h"
#include "src/libutil/clock.h"
#include "tap.h"

#define HEAD "node,time_utc,monotonic_s,event,dropped_samples,missed_samples"
#define T0 "2026-11-25T10:00:00.000000Z"
#define T0_S UINT64_C(1795600800)

/* --- CSV ---------------------------------------------------------------------------------- */

/* Fields with '|' between them and '/' behind the last of a record; or the error. */
static const char *read_all(const char *text, size_t len)
{
	static char got[512];
	char *copy = malloc(len + 1);
	struct errmsg err = { 0 };
	bool ends = false;
	struct csv csv;
	char *field;
	size_t used = 0;
	int rc;

	if (!copy)
		exit(99);
	memcpy(copy, text, len);
	copy[len] = '\0';
	got[0] = '\0';
	csv_init(&csv, "f.csv", copy, len);
	while ((rc = csv_next(&csv, &field, &ends, &err)) == 1)
		used += (size_t)snprintf(got + used, sizeof(got) - used, "%s%s", field, ends ? "/" : "|");
	if (rc < 0)
		(void)snprintf(got, sizeof(got), "%s", err.text);
	free(copy);
	return got;
}

static void test_csv(void)
{
	static const struct {
		const char *text, *want;
	} t[] = {
		{ "a\"b\n", "f.csv:1:2: a quote or CR within a field" },
		{ "a,b\r\n\"c\"d\n", "f.csv:2:4: a quote or CR within a field" },
		{ "a,b\n\"c\nd\",e\n\"f", "f.csv:4:1: a quote that does not end" },
		{ "a\rb\n", "f.csv:1:2: a quote or CR within a field" },
		{ "\xef\xbb\xbf\"", "f.csv:1:1: a quote that does not end" },
		{ "\"", "f.csv:1:1: a quote that does not end" },
		{ "", "" },
		{ "\n", "/" },
		{ "a", "a/" },
		{ "a,", "a|/" },
		{ ",", "|/" },
		{ "a,b\r\nc,d\r\n", "a|b/c|d/" },
		{ "\"a,\"\"b\"\"\",\"\"\n", "a,\"b\"|/" },
		{ "\"a\"", "a/" },
		{ "\xef\xbb\xbf\"a\",b\n", "a|b/" },
	};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		is_str(read_all(t[i].text, strlen(t[i].text)), t[i].want, "CSV");
	is_str(read_all("a\0b\n", 4), "f.csv:1:2: a NUL byte", "a NUL byte");
	is_str(read_all("\"a\0b\"\n", 6), "f.csv:1:3: a NUL byte", "one in quotes");
}

/* --- tables ------------------------------------------------------------------------------- */

static int parse(const char *text, struct trace_table *ret, struct errmsg *err)
{
	char *copy = strdup(text);
	int rc = copy ? trace_table_parse("f.csv", copy, strlen(copy), ret, err) : -ENOMEM;

	free(copy);
	return rc;
}

static void test_bad_tables(void)
{
	static const struct {
		const char *text, *want;
	} t[] = {
		{ "", "f.csv:1:1: the file is empty" },
		{ "a,b\n1,2\n", "f.csv:1:1: not a trace: another column is expected here" },
		{ HEAD "\n", "f.csv:1:49: not a trace: it has no values" },
		{ "node,time_utc,monotonic_s,event,dropped_samples\n",
		  "f.csv:1:33: not a trace: it has no values" },
		{ HEAD ",a b\n", "f.csv:1:64: not the name of a column" },
		{ HEAD ",a,a\n", "f.csv:1:66: an earlier column has the same name" },
		{ HEAD ",energy_j\n", "f.csv:2:1: the trace has no rows yet" },
		{ HEAD ",energy_j\nn1," T0 ",1,,0,0,2J\n", "f.csv:2:39: not a number" },
		{ HEAD ",energy_j\nn1," T0 ",1,,0,0,nan\n", "f.csv:2:39: not a number" },
		{ HEAD ",energy_j\nn1,yesterday,1,,0,0,2\n", "f.csv:2:4: not a time in UTC" },
		{ HEAD ",energy_j\nn1," T0 ",-1,,0,0,2\n", "f.csv:2:32: not a time in seconds" },
		{ HEAD ",energy_j\nn1," T0 ",1,,x,0,2\n", "f.csv:2:35: not the number of samples" },
		{ HEAD ",energy_j\nn1," T0 ",1,,0,x,2\n", "f.csv:2:37: not the number of samples" },
		{ HEAD ",energy_j\nn1," T0 ",1,,0,0\n", "f.csv:2:37: fewer fields than columns" },
		{ HEAD ",energy_j\nn1," T0 ",1,,0,0,2,3\n", "f.csv:2:41: more fields than columns" },
		{ HEAD ",energy_j\nn1," T0 ",2,,0,0,2\nn1," T0 ",1,,0,0,3\n",
		  "f.csv:3:32: a time before the first row's" },
		{ HEAD ",energy_j\nn1," T0 ",2,,0,0,2\nn2," T0 ",3,,0,0,3\n",
		  "f.csv:3:1: another node: a trace file is of one node" },
	};
	struct trace_table table;
	struct errmsg err;
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		err.text[0] = '\0';
		is_int(parse(t[i].text, &table, &err), -EINVAL, "no trace");
		is_str(err.text, t[i].want, "  says where and why");
	}
}

static const char n1_text[] = HEAD ",working_set_bytes,energy_j,power_w,memory_peak_bytes,new_thing\r\n"
				   "n1," T0 ",100,start,0,0,,0,,,\r\n"
				   "n1,2026-11-25T10:00:01.000000Z,101,,0,0,1000,10,10,500,7\r\n"
				   /* the clock was set: it does not count */
				   "n1,2026-11-25T11:00:02.000000Z,102,,0,1,3000,30,20,700,\r\n"
				   "n1,2026-11-25T11:00:04.000000Z,104,end,2,5,,50,10,700,9\r\n";
static const char n2_text[] = HEAD ",energy_j,power_w,cpu_time_s,cpu_time_s_per_s\r\n"
				   "n2,2026-11-25T10:00:00.500000Z,7,start,0,0,0,,,\r\n"
				   "n2,2026-11-25T10:00:02.500000Z,9,,0,0,4,2,2,\r\n"
				   "n2,2026-11-25T10:00:03.500000Z,10,,0,"; /* is being written */
static const char old_text[] = "node,time_utc,monotonic_s,event,dropped_samples,energy_j,power_w\r\n"
			       "n1," T0 ",100,start,0,0,\r\n"
			       "n1,2026-11-25T10:00:01.000000Z,101,end,2,3,4\r\n";

static void test_tables(void)
{
	struct trace_table t;
	struct errmsg err = { 0 };

	is_int(parse(n1_text, &t, &err), 0, "a trace");
	is_u64(t.nrows, 4, "  rows");
	is_u64(t.ncolumns, 5, "  columns");
	is_u64(t.t_ns[0], T0_S * NSEC_PER_SEC, "  the wall clock of the first row");
	is_u64(t.t_ns[3], (T0_S + 4) * NSEC_PER_SEC, "  the monotonic clock from there on");
	is_str(t.node, "n1", "  its node");
	ok(t.is_whole, "  has its end");
	is_u64(t.dropped, 2, "  samples that were dropped");
	is_u64(t.missed, 5, "  and that were not taken");
	ok(isnan(t.value[0]) && t.value[5] == 1000, "  what is not known, and what is");
	is_int(t.column[trace_table_find(&t, "energy_j")].kind, TRACE_SUM, "  a sum");
	is_int(t.column[trace_table_find(&t, "power_w")].kind, TRACE_RATE, "  a rate");
	is_int(t.column[trace_table_find(&t, "memory_peak_bytes")].kind, TRACE_PEAK, "  a peak");
	is_int(t.column[trace_table_find(&t, "new_thing")].kind, TRACE_LEVEL, "  a column that is not known");
	is_int(trace_table_find(&t, "nothing"), -1, "  one that is not there");
	trace_table_fini(&t);
	is_int(parse(n2_text, &t, &err), 0, "one that is being written");
	is_u64(t.nrows, 2, "  whole rows alone");
	ok(!t.is_whole, "  has no end");
	trace_table_fini(&t);
	is_int(parse(old_text, &t, &err), 0, "an old one, without missed_samples");
	is_u64(t.ncolumns, 2, "  columns");
	ok(t.nrows == 2 && t.value[2] == 3 && t.value[3] == 4, "  and values");
	ok(t.dropped == 2 && !t.missed, "  samples that were dropped");
	trace_table_fini(&t);
}

/* --- grids -------------------------------------------------------------------------------- */

static void is_near(double got, double want, const char *what)
{
	if (!ok(fabs(got - want) < 1e-9, "%s", what))
		diag("got %.12g, want %.12g", got, want);
}

static double at(const struct trace_grid *g, size_t row, const char *name)
{
	size_t k;

	for (k = 0; k < g->ncolumns; k++)
		if (!strcmp(g->column[k].name, name))
			return g->value[row * g->ncolumns + k];
	return NAN;
}

static void test_pick(const struct trace_table t[2])
{
	struct trace_column *c;
	struct errmsg err = { 0 };
	size_t n;

	is_int(trace_columns_pick(t, 2, NULL, &c, &n, &err), 0, "all columns");
	is_u64(n, 7, "  each once");
	free(c);
	is_int(trace_columns_pick(t, 2, "cpu_time_s,energy,energy_j", &c, &n, &err), 0, "some");
	is_u64(n, 3, "  a metric has a sum and a rate");
	is_str(c[0].name, "cpu_time_s", "  in the order asked for");
	is_str(c[2].name, "power_w", "  of the metric energy");
	free(c);
	is_int(trace_columns_pick(t, 1, "cpu_time", &c, &n, &err), -ENOENT, "one that is not there");
	is_str(err.text,
	       "'cpu_time' is not in the trace; there are working_set_bytes, energy_j, power_w, "
	       "memory_peak_bytes, new_thing",
	       "  lists what there is");
	is_int(trace_columns_pick(t, 1, ",", &c, &n, &err), -ENOENT, "no name");
	is_int(trace_columns_pick(t, 1, "", &c, &n, &err), -EINVAL, "nothing at all");
}

static void test_grid(void)
{
	struct trace_table t[2];
	struct trace_column *c;
	struct errmsg err = { 0 };
	struct trace_grid g;
	double sum = 0;
	size_t n, i;

	if (parse(n1_text, &t[0], &err) < 0 || parse(n2_text, &t[1], &err) < 0)
		exit(99);
	test_pick(t);
	require(trace_columns_pick(t, 2, NULL, &c, &n, &err) == 0);
	is_int(trace_grid_make(t, 2, c, n, 1, &g, &err), -ERANGE, "too many intervals");
	is_int(trace_grid_make(t, 2, c, n, 1500 * NSEC_PER_MSEC, &g, &err), 0, "intervals of 1.5 s");
	is_u64(g.nrows, 3, "  three of them");
	is_u64(trace_grid_end(&g, 2), (T0_S + 4) * NSEC_PER_SEC, "  the last is shorter");
	/* at 1.5 s: 20 J of n1, 2 J of n2; at 3 s: 40 J and 4 J */
	is_near(at(&g, 0, "energy_j"), 22, "  energy of both at the end of the first");
	is_near(at(&g, 1, "energy_j"), 44, "  of the second");
	is_near(at(&g, 2, "energy_j"), 54, "  of the third");
	is_near(at(&g, 1, "power_w"), 22 / 1.5, "  power is of the interval");
	for (i = 0; i < g.nrows; i++)
		sum += at(&g, i, "power_w") * (double)(trace_grid_end(&g, i) - trace_grid_begin(&g, i)) / 1e9;
	is_near(sum, 54, "  and adds up to the energy");
	is_near(at(&g, 2, "memory_peak_bytes"), 700, "  a peak");
	is_near(at(&g, 0, "memory_peak_bytes"), 500, "  one before");
	is_near(at(&g, 0, "working_set_bytes"), 1500,
		"  the mean of what is known: 1000 to 2000 in half a second");
	ok(isnan(at(&g, 2, "working_set_bytes")), "  after the last that is known nothing is");
	is_near(at(&g, 0, "cpu_time_s"), 1, "  a sum that was first read later began at 0");
	is_near(at(&g, 2, "cpu_time_s_per_s"), 0, "  and does not grow when its trace has ended");
	trace_grid_fini(&g);
	trace_table_fini(&t[0]);
	trace_table_fini(&t[1]);
}

/* --- drawings ------------------------------------------------------------------------------- */

static void test_axis(void)
{
	static const struct trace_column watts = { "power_w", TRACE_RATE, METRIC_ENERGY };
	static const struct trace_column bytes = { "working_set_bytes", TRACE_LEVEL, METRIC_N };
	static const struct trace_column cpus = { "cpu_time_s_per_s", TRACE_RATE, METRIC_CPU_TIME };
	static const struct trace_column calls = { "read_calls_per_s", TRACE_RATE, METRIC_IO_READ_CALLS };
	char buf[TRACE_AXIS_TEXT];

	is_str(trace_axis_value(&watts, 1234.5, buf), "1.23 kW", "watts");
	is_str(trace_axis_value(&watts, 0.0125, buf), "12.5 mW", "few of them");
	is_str(trace_axis_value(&watts, 250, buf), "250 W", "a whole number");
	is_str(trace_axis_value(&watts, 0, buf), "0", "none");
	is_str(trace_axis_value(&bytes, 1.5 * 1073741824, buf), "1.50 GiB", "bytes");
	is_str(trace_axis_value(&cpus, 31.5, buf), "31.5", "CPUs");
	is_str(trace_axis_value(&cpus, 0.00312, buf), "0.0031", "a small part of one");
	is_str(trace_axis_value(&calls, 2e6, buf), "2 M/s", "calls");
	is_str(trace_axis_time(0.25, buf), "250 ms", "time below a second");
	is_str(trace_axis_time(90, buf), "90 s", "seconds");
	is_str(trace_axis_time(600, buf), "10 min", "minutes");
	is_str(trace_axis_time(5400, buf), "1 h 30", "hours");
	is_near(trace_axis_tick(900, 5), 300, "a tick each 5 minutes");
	is_near(trace_axis_tick(1e7, 5), 2764800, "of months, days");
}

static char *draw(const struct trace_grid *g, bool is_svg, bool is_utf8)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		exit(99);
	if (is_svg)
		ok(trace_svg_draw(g, "job <7> & \"more\"\n", f), "a picture");
	else
		ok(trace_plot_draw(g, "job 7", is_utf8, f), "a plot");
	(void)fclose(f);
	return text;
}

/* Of a text in UTF-8. */
static size_t widest(const char *text)
{
	size_t max = 0, n = 0;

	for (; *text; text++) {
		if (*text == '\n')
			n = 0;
		else
			n += ((unsigned char)*text & 0xc0) != 0x80;
		max = n > max ? n : max;
	}
	return max;
}

static void test_draw(void)
{
	struct trace_table t;
	struct trace_column *c;
	struct errmsg err = { 0 };
	struct trace_grid g;
	char *text;
	size_t n;

	if (parse(n1_text, &t, &err) < 0 || trace_columns_pick(&t, 1, NULL, &c, &n, &err) < 0 ||
	    trace_grid_make(&t, 1, c, n, 4 * NSEC_PER_SEC / TRACE_PLOT_BINS + 1, &g, &err) < 0)
		exit(99);
	text = draw(&g, false, false);
	ok(strstr(text, "\npower: max 20 W, mean 12.5 W\n") != NULL, "  names what it shows");
	ok(strstr(text, "     20 W |") != NULL, "  has an axis");
	ok(widest(text) < 80, "  of less than 80 columns: %zu", widest(text));
	free(text);
	text = draw(&g, false, true);
	ok(strstr(text, "\u2588") != NULL && widest(text) < 80, "  with blocks of UTF-8");
	free(text);
	text = draw(&g, true, false);
	ok(!strncmp(text, "<svg xmlns=\"http://www.w3.org/2000/svg\"", 39) &&
		   !strcmp(text + strlen(text) - 7, "</svg>\n"),
	   "  is SVG");
	ok(strstr(text, "job &lt;7&gt; &amp; \"more\"?</text>") != NULL, "  with its title, masked");
	ok(strstr(text, "prefers-color-scheme:dark") != NULL && !strstr(text, "href"),
	   "  dark and light, of its own");
	ok(!strstr(text, "nan") && !strstr(text, "inf"), "  without nan and inf");
	free(text);
	trace_grid_fini(&g);
	trace_table_fini(&t);
}

int main(void)
{
	test_csv();
	test_bad_tables();
	test_tables();
	test_grid();
	test_axis();
	test_draw();
	return done_testing();
}
