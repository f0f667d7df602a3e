/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trace files, which a user can edit: one by itself, two in equal intervals, and their plots, which have no
 * control characters.
 */
#include <errno.h>
#include <math.h>

#include "src/libtrace/trace_draw.h"
#include "tests/fuzz/fuzz.h"

static void draw(const struct trace_table *table, size_t n)
{
	struct trace_column *column;
	struct errmsg err = { 0 };
	struct trace_grid g;
	uint64_t begin_ns, end_ns;
	char *text = NULL;
	size_t ncolumns, size;
	FILE *out = open_memstream(&text, &size);

	assert(out && trace_columns_pick(table, n, NULL, &column, &ncolumns, &err) == 0 && ncolumns);
	trace_grid_span(table, n, &begin_ns, &end_ns);
	assert(begin_ns <= end_ns);
	assert(trace_grid_make(table, n, column, ncolumns, (end_ns - begin_ns) / TRACE_PLOT_BINS + 1, &g,
			       &err) == 0);
	assert(g.nrows && g.nrows <= TRACE_PLOT_BINS + 1);
	(void)trace_plot_draw(&g, "title", /* is_utf8= */ true, out);
	(void)trace_svg_draw(&g, "title", out);
	trace_grid_fini(&g);
	assert(fclose(out) == 0);
	(void)fuzz_check_lines(text, 0);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_parts parts = { data, size };
	struct trace_table table[2];
	struct errmsg err = { 0 };
	size_t n = 0, i, len;
	char *text;
	int rc;

	for (i = 0; i < 2; i++) {
		const uint8_t *part = fuzz_next(&parts, &len);

		text = fuzz_text(part, len);
		rc = trace_table_parse("f.csv", text, len, &table[n], &err);
		fuzz_check_error(rc, &err);
		assert(rc == 0 || rc == -EINVAL);
		n += rc == 0;
		free(text);
	}
	if (n)
		draw(table, n);
	for (i = 0; i < n; i++)
		trace_table_fini(&table[i]);
	return 0;
}
