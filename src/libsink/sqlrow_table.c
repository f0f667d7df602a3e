/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/sqlrow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libutil/util.h"

struct column {
	const char *name;
	enum sqlrow_type type;
};

#define T(name) { name, SQLROW_TEXT }
#define U(name) { name, SQLROW_UNSIGNED }
#define S(name) { name, SQLROW_SIGNED }

/* Columns before the metrics, in the order in which sqlrow.c fills them. */
static const struct column job_columns[] = {
	T("record_key"), T("submit_time"), T("cluster"), U("jobid"), T("sluid"),
	U("restart_count"), U("db_index"), U("array_job_id"), U("array_task_id"),
	T("array_tasks"), U("het_job_id"), U("het_job_offset"), T("job_name"), T("username"),
	U("user_id"), T("groupname"), U("group_id"), T("account"), T("partition_name"), T("qos"),
	T("wckey"), T("reservation"), T("state"), T("eligible_time"), T("start_time"),
	T("end_time"), U("elapsed_s"), U("time_limit_s"), T("nodes"), U("total_nodes"),
	U("total_cpus"), T("submit_host"), T("work_dir"), T("comment"), T("script"),
	U("priority"), S("exit_code"), S("exit_signal"), S("derived_exit_code"), T("tres_req"),
	T("tres_alloc"), U("energy_final"), T("energy_method"), T("energy_source"),
	T("co2e_method"), T("factor_g_per_kwh"), T("factor_kind"), T("factor_scope"),
	T("factor_region"), T("factor_source"), U("factor_year"), T("pue"), T("market_g_per_kwh"),
	T("market_source"), T("embodied_g"), T("embodied_source"), U("steps_total"),
	T("steps_cpu_s"), { "record", SQLROW_JSON },
};
static const struct column step_columns[] = {
	T("record_key"), U("step_id"), U("het_component"), T("submit_time"), T("step_name"),
	T("state"), T("nodes"), U("ntasks"), U("nnodes"), U("ncpus"), T("start_time"),
	T("end_time"), U("elapsed_s"), S("exit_code"), S("exit_signal"), T("user_cpu_s"),
	T("system_cpu_s"), U("max_rss_bytes"), T("cpu_time_max_s"), T("cpu_time_max_node"),
	U("energy_max_j"), T("energy_max_node"),
};

static const struct {
	const char *name;
	const struct column *columns;
	size_t n;
	size_t nkeys; /* leading columns that are the primary key */
} tables[] = {
	[SQLROW_JOB] = { "job", job_columns, ARRAY_SIZE(job_columns), 2 },
	[SQLROW_STEP] = { "step", step_columns, ARRAY_SIZE(step_columns), 4 },
};

_Static_assert(ARRAY_SIZE(job_columns) + METRIC_N <= SQLROW_COLUMNS_MAX, "SQLROW_COLUMNS_MAX");
_Static_assert(ARRAY_SIZE(step_columns) + METRIC_N <= SQLROW_COLUMNS_MAX, "SQLROW_COLUMNS_MAX");

size_t sqlrow_ncols(enum sqlrow_table t)
{
	return tables[t].n + METRIC_N;
}

void sqlrow_column(enum sqlrow_table t, size_t i, char *ret, size_t size)
{
	static const char *const suffix[] = {
		[UNIT_UJ] = "_j", [UNIT_NG] = "_g", [UNIT_NS] = "_s",
		[UNIT_BYTES] = "", [UNIT_COUNT] = "",
	};

	if (i < tables[t].n)
		(void)snprintf(ret, size, "%s", tables[t].columns[i].name);
	else
		(void)snprintf(ret, size, "%s%s", metric_table[i - tables[t].n].name,
			       suffix[metric_table[i - tables[t].n].unit]);
}

enum sqlrow_type sqlrow_type(enum sqlrow_table t, size_t i)
{
	if (i < tables[t].n)
		return tables[t].columns[i].type;
	switch (metric_table[i - tables[t].n].unit) {
	case UNIT_NG:
	case UNIT_NS:
		return SQLROW_TEXT;
	case UNIT_UJ:
	case UNIT_BYTES:
	case UNIT_COUNT:
		break;
	}
	return SQLROW_UNSIGNED;
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

char *sqlrow_upsert(enum sqlrow_table t, const struct sqlrow_set *set)
{
	size_t n = sqlrow_ncols(t);
	const char *comma = "";
	char *sql = NULL;
	char name[64];
	size_t len;
	size_t i;
	FILE *f = open_memstream(&sql, &len);

	if (!f)
		return NULL;
	(void)fprintf(f, "INSERT INTO %s (", tables[t].name);
	for (i = 0; i < n; i++) {
		if (!sqlrow_set_has(set, i))
			continue;
		sqlrow_column(t, i, name, sizeof(name));
		(void)fprintf(f, "%s%s", comma, name);
		comma = ",";
	}
	(void)fputs(") VALUES (", f);
	comma = "?";
	for (i = 0; i < n; i++) {
		if (!sqlrow_set_has(set, i))
			continue;
		(void)fputs(comma, f);
		comma = ",?";
	}
	(void)fputs(") ON DUPLICATE KEY UPDATE ", f);
	comma = "";
	for (i = tables[t].nkeys; i < n; i++) {
		sqlrow_column(t, i, name, sizeof(name));
		if (sqlrow_set_has(set, i))
			(void)fprintf(f, "%s%s=VALUES(%s)", comma, name, name);
		else
			(void)fprintf(f, "%s%s=NULL", comma, name);
		comma = ",";
	}
	if (fclose(f)) {
		free(sql);
		return NULL;
	}
	return sql;
}
