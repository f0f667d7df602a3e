/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints where the field "colour" is, which record-field.t adds to the record. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/job_record.h"
#include "src/libsink/sqlrow.h"

static struct record *record_of(const char *colour)
{
	struct record *r = record_create();

	r->cluster = strdup("c");
	r->job_id = 7;
	r->submit = 1700000000;
	r->colour = colour ? strdup(colour) : NULL;
	return r;
}

static void print_json(const char *what, const struct record *r)
{
	struct record *again;
	struct errmsg err = { 0 };
	const char *member;
	char *text;
	size_t len;

	if (record_to_json(r, &text, &len, &err) < 0) {
		printf("%s\n", err.text);
		return;
	}
	member = strstr(text, "\"colour\":");
	printf("%s: %.*s\n", what, member ? (int)strcspn(member, ",") : 0, member ? member : "");
	if (r->colour && record_from_json(text, len, &again, &err) == 0) {
		printf("read: %s\n", again->colour ? again->colour : "none");
		record_destroy(again);
	}
	free(text);
}

int main(void)
{
	struct record *none = record_of(NULL);
	struct record *red = record_of("red");
	struct record *row = record_of("blue");
	size_t i;

	job_record_complete(red, row);
	job_record_complete(none, row);
	printf("slurmdbd: %s\nthe hook knows better: %s\n", none->colour, red->colour);
	print_json("json", none);
	for (i = 0; i < sqlrow_ncols(SQLROW_JOB); i++)
		if (!strcmp(sqlrow_column(SQLROW_JOB, i), "colour"))
			printf("column: colour\n");
	print_json("null", row); /* its text was moved */
	record_destroy(none);
	record_destroy(red);
	record_destroy(row);
	return 0;
}
