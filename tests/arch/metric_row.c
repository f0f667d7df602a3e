/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints where a metric appears that programs fill at run time: a record, its row in SQL, ceems.prom. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libnode/textfile.h"
#include "src/librecord/record.h"
#include "src/libsink/sqlrow.h"

static struct ledger_page page;

static void set_all(struct values *f)
{
	unsigned int m;

	values_init(f);
	metric_foreach(m)
		values_set(f, (enum metric)m, 4711000000);
}

int main(void)
{
	struct textfile_input in = { 0 };
	struct record *r = record_create();
	struct errmsg err = { 0 };
	char *text;
	size_t len, i;

	r->cluster = strdup("c");
	r->job_id = 7;
	r->submit = 1700000000;
	set_all(&r->values);
	if (record_to_json(r, &text, &len, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	printf("json %s\n", text);
	free(text);
	record_destroy(r);
	for (i = 0; i < sqlrow_ncols(SQLROW_STEP); i++)
		printf("column %s\n", sqlrow_column(SQLROW_STEP, i));
	page.t_mono_ns = 1;
	page.njobs = 1;
	page.job[0].job_id = 7;
	set_all(&page.job[0].values);
	if (textfile_format("n1", &page, &in, &text, &len, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	printf("%s", text);
	free(text);
	return 0;
}
