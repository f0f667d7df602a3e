/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/sqlrow.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/librecord/record_field.h"

struct column {
	char name[64];
	enum sqlrow_type type;
};

/* Filled once, from the tables of fields and of metrics. */
static struct table {
	const char *name;
	size_t nkeys; /* leading columns that are the primary key */
	struct column column[SQLROW_COLUMNS_MAX];
	size_t n;
} tables[] = {
	[SQLROW_JOB] = { .name = "job", .nkeys = 2 },
	[SQLROW_STEP] = { .name = "step", .nkeys = 4 },
};
static pthread_once_t tables_made = PTHREAD_ONCE_INIT;

/*
 * Adds a column. If there are too many columns, it is left out, and then no row can be made:
 * end() in sqlrow.c fails.
 */
static void column_add(struct table *t, const char *name, const char *suffix, enum sqlrow_type type)
{
	struct column *c = &t->column[t->n];

	if (t->n == SQLROW_COLUMNS_MAX)
		return;
	(void)snprintf(c->name, sizeof(c->name), "%s%s", name, suffix);
	c->type = type;
	t->n++;
}

static enum sqlrow_type type_of_field(const struct record_field *f)
{
	switch (f->kind) {
	case FIELD_TEXT:
	case FIELD_CHARS:
	case FIELD_TIME:
	case FIELD_CO2E_METHOD:
		return SQLROW_TEXT;
	case FIELD_EXIT:
		return SQLROW_SIGNED;
	default:
		return f->scale && !(f->flags & FIELD_SQL_WHOLE) ? SQLROW_TEXT : SQLROW_UNSIGNED;
	}
}

static void columns_of_fields(struct table *t, const struct record_field *f)
{
	for (; f->path; f++) {
		if (f->column)
			column_add(t, f->column, "", type_of_field(f));
		if (f->signal_column)
			column_add(t, f->signal_column, "", type_of_field(f));
	}
}

static void columns_of_metrics(struct table *t)
{
	unsigned int m;

	metric_foreach(m) {
		const struct unit_info *unit = &unit_table[metric_table[m].unit];

		column_add(t, metric_table[m].name, unit->suffix,
			   unit->is_decimal ? SQLROW_TEXT : SQLROW_UNSIGNED);
	}
}

/* Fills tables[] with the columns in the order in which sqlrow.c puts their values. */
static void tables_make(void)
{
	struct table *job = &tables[SQLROW_JOB];
	struct table *step = &tables[SQLROW_STEP];

	column_add(job, "record_key", "", SQLROW_TEXT);
	column_add(job, "submit_time", "", SQLROW_TEXT);
	columns_of_fields(job, record_job_fields);
	column_add(job, "steps_cpu_s", "", SQLROW_TEXT);
	column_add(job, "record", "", SQLROW_JSON);
	columns_of_metrics(job);
	column_add(step, "record_key", "", SQLROW_TEXT);
	column_add(step, "step_id", "", SQLROW_UNSIGNED);
	column_add(step, "het_component", "", SQLROW_UNSIGNED);
	column_add(step, "submit_time", "", SQLROW_TEXT);
	columns_of_fields(step, record_step_fields);
	columns_of_metrics(step);
}

static const struct table *table_of(enum sqlrow_table t)
{
	(void)pthread_once(&tables_made, tables_make);
	return &tables[t];
}

size_t sqlrow_ncols(enum sqlrow_table t)
{
	return table_of(t)->n;
}

const char *sqlrow_column(enum sqlrow_table t, size_t i)
{
	return table_of(t)->column[i].name;
}

enum sqlrow_type sqlrow_type(enum sqlrow_table t, size_t i)
{
	return table_of(t)->column[i].type;
}

static void set_add(struct sqlrow_set *set, size_t i)
{
	set->bit[i / 64] |= UINT64_C(1) << i % 64;
}

bool sqlrow_set_has(const struct sqlrow_set *set, size_t i)
{
	return set->bit[i / 64] >> i % 64 & 1;
}

void sqlrow_used(const struct sqlrow *rows, enum sqlrow_table t, size_t first, size_t n,
		 struct sqlrow_set *ret)
{
	size_t ncols = sqlrow_ncols(t);
	const struct sqlrow_cell *cell = rows->cell + first * ncols;
	size_t i;

	*ret = (struct sqlrow_set){ 0 };
	for (i = 0; i < tables[t].nkeys; i++)
		set_add(ret, i);
	for (; n; n--)
		for (i = 0; i < ncols; i++, cell++)
			if (!cell->is_null)
				set_add(ret, i);
}

void sqlrow_set_all(enum sqlrow_table t, struct sqlrow_set *ret)
{
	size_t n = sqlrow_ncols(t);

	*ret = (struct sqlrow_set){ 0 };
	while (n)
		set_add(ret, --n);
}

void sqlrow_put_insert(FILE *f, enum sqlrow_table t, const struct sqlrow_set *set)
{
	size_t n = sqlrow_ncols(t);
	const char *comma = "";
	size_t i;

	(void)fprintf(f, "INSERT INTO %s (", tables[t].name);
	for (i = 0; i < n; i++) {
		if (!sqlrow_set_has(set, i))
			continue;
		(void)fprintf(f, "%s%s", comma, sqlrow_column(t, i));
		comma = ",";
	}
	(void)fputs(") VALUES ", f);
}

void sqlrow_put_update(FILE *f, enum sqlrow_table t, enum sqlrow_dialect dialect,
		       const struct sqlrow_set *set)
{
	const struct table *table = table_of(t);
	const char *comma = "";
	size_t i;

	if (dialect == SQLROW_MARIADB) {
		(void)fputs(" ON DUPLICATE KEY UPDATE ", f);
	} else {
		(void)fputs(" ON CONFLICT (", f);
		for (i = 0; i < table->nkeys; i++)
			(void)fprintf(f, "%s%s", i ? "," : "", table->column[i].name);
		(void)fputs(") DO UPDATE SET ", f);
	}
	for (i = table->nkeys; i < table->n; i++) {
		const char *name = table->column[i].name;

		if (!sqlrow_set_has(set, i))
			(void)fprintf(f, "%s%s=NULL", comma, name);
		else if (dialect == SQLROW_MARIADB)
			(void)fprintf(f, "%s%s=VALUES(%s)", comma, name, name);
		else
			(void)fprintf(f, "%s%s=excluded.%s", comma, name, name);
		comma = ",";
	}
}

char *sqlrow_upsert(enum sqlrow_table t, enum sqlrow_dialect dialect, const struct sqlrow_set *set)
{
	size_t n = sqlrow_ncols(t);
	char before = '(';
	char *sql = NULL;
	size_t len;
	size_t i;
	FILE *f = open_memstream(&sql, &len);

	if (!f)
		return NULL;
	sqlrow_put_insert(f, t, set);
	for (i = 0; i < n; i++) {
		if (!sqlrow_set_has(set, i))
			continue;
		(void)fprintf(f, "%c?", before);
		before = ',';
	}
	(void)fputc(')', f);
	sqlrow_put_update(f, t, dialect, set);
	if (fclose(f)) {
		free(sql);
		return NULL;
	}
	return sql;
}
