/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/record_json.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "src/libutil/clock.h"
#include "src/libutil/util.h"

#define FIELD(name, kind, member)                                                        \
	{                                                                                \
		name, kind, false, offsetof(struct record, member)                       \
	}
#define END_FIELD(name, kind, member)                                                    \
	{                                                                                \
		name, kind, true, offsetof(struct record, member)                        \
	}

const struct record_field record_fields[] = {
	FIELD("cluster", FIELD_TEXT, cluster),
	FIELD("jobid", FIELD_U32, job_id),
	FIELD("sluid", FIELD_TEXT, sluid),
	FIELD("restart_count", FIELD_U32, restart_count),
	FIELD("db_index", FIELD_MAYBE, db_index),
	FIELD("array_job_id", FIELD_MAYBE, array_job_id),
	FIELD("array_task_id", FIELD_MAYBE, array_task_id),
	FIELD("array_tasks", FIELD_TEXT, array_tasks),
	FIELD("het_job_id", FIELD_MAYBE, het_job_id),
	FIELD("het_job_offset", FIELD_MAYBE, het_job_offset),
	FIELD("job_name", FIELD_TEXT, job_name),
	FIELD("username", FIELD_TEXT, user_name),
	FIELD("user_id", FIELD_U32, user_id),
	FIELD("groupname", FIELD_TEXT, group_name),
	FIELD("group_id", FIELD_U32, group_id),
	FIELD("account", FIELD_TEXT, account),
	FIELD("partition", FIELD_TEXT, partition),
	FIELD("qos", FIELD_TEXT, qos),
	FIELD("wc_key", FIELD_TEXT, wckey),
	FIELD("reservation_name", FIELD_TEXT, reservation),
	FIELD("state", FIELD_TEXT, state),
	FIELD("@submit", FIELD_TIME, submit),
	FIELD("@eligible", FIELD_TIME, eligible),
	FIELD("@start", FIELD_TIME, start),
	END_FIELD("@end", FIELD_TIME, end),
	FIELD("nodes", FIELD_TEXT, nodes),
	FIELD("total_nodes", FIELD_U32, total_nodes),
	FIELD("total_cpus", FIELD_U32, total_cpus),
	FIELD("alloc_node", FIELD_TEXT, submit_host),
	FIELD("work_dir", FIELD_TEXT, work_dir),
	FIELD("comment", FIELD_TEXT, comment),
	FIELD("priority", FIELD_MAYBE, priority),
	FIELD("tres_req", FIELD_TEXT, tres_req),
	FIELD("tres_alloc", FIELD_TEXT, tres_alloc),
	END_FIELD("script", FIELD_TEXT, script),
};
const size_t record_nfields = ARRAY_SIZE(record_fields);

static struct record_place places[METRIC_N];
static char objects[METRIC_N][2][24]; /* their names */

/* "usage.io.read_bytes" */
static void place_of(enum metric m, struct record_place *ret)
{
	static const uint64_t scale[] = {
		[UNIT_UJ] = 1000000,	  [UNIT_NG] = RECORD_NG_PER_G, [UNIT_NS] = NSEC_PER_SEC,
		[UNIT_BYTES] = 1, [UNIT_COUNT] = 1,
	};
	const char *name = metric_table[m].json;
	const char *dot;
	size_t depth;

	*ret = (struct record_place){ .metric = m, .scale = scale[metric_table[m].unit] };
	for (depth = 0; depth < 2 && (dot = strchr(name, '.')); depth++) {
		(void)snprintf(objects[m][depth], sizeof(objects[m][depth]), "%.*s",
			       (int)(dot - name), name);
		ret->object[depth] = objects[m][depth];
		name = dot + 1;
	}
	(void)snprintf(ret->name, sizeof(ret->name), "%s", name);
}

static bool is_in(const struct record_place *p, const struct record_place *other, size_t depth)
{
	const char *a = p->object[depth];
	const char *b = other->object[depth];

	if (depth && !is_in(p, other, 0))
		return false;
	return a && b ? !strcmp(a, b) : a == b;
}

/* Behind the last of the first N that P shares its object of DEPTH with; 0: there is none. */
static size_t behind(const struct record_place *p, size_t n, size_t depth)
{
	while (n && !is_in(p, &places[n - 1], depth))
		n--;
	return n;
}

static void insert(const struct record_place *p, size_t n)
{
	size_t at = behind(p, n, 1);

	if (!at)
		at = behind(p, n, 0);
	if (!at)
		at = n;
	memmove(&places[at + 1], &places[at], (n - at) * sizeof(*places));
	places[at] = *p;
}

static void order_places(void)
{
	unsigned int m;
	size_t i;

	metric_foreach(m) {
		struct record_place p;

		place_of((enum metric)m, &p);
		insert(&p, m);
	}
	for (i = 0; i < METRIC_N; i++) {
		places[i].is_first[0] = !i || !is_in(&places[i], &places[i - 1], 0);
		places[i].is_first[1] = places[i].object[1] &&
					(!i || !is_in(&places[i], &places[i - 1], 1));
	}
}

const struct record_place *record_places(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, order_places);
	return places;
}

const char *record_co2e_method_name(enum record_co2e_method method)
{
	switch (method) {
	case CO2E_PER_TICK:
		return "per-tick";
	case CO2E_MEAN_POWER:
		return "mean-power";
	case CO2E_UNKNOWN:
		break;
	}
	return "";
}
