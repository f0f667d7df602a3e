/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/record_field.h"

#include "src/libcore/idle_energy.h"
#include "src/libutil/clock.h"

#define US_PER_S UINT64_C(1000000)

/* --- computed members -------------------------------------------------------------------- */

static bool seconds_between(uint64_t start, uint64_t end, uint64_t *ret)
{
	*ret = end - start;
	return start && end >= start;
}

static bool job_queue_wait(const void *object, uint64_t *ret)
{
	const struct record *r = object;

	return seconds_between(r->eligible, r->start, ret);
}

static bool job_elapsed(const void *object, uint64_t *ret)
{
	return record_run_s(object, /* now= */ 0, ret);
}

/* CPU hours as jobcomp/kafka computes them, but without suspended time, in millionths. */
static bool job_cpu_hours(const void *object, uint64_t *ret)
{
	const struct record *r = object;

	if (!job_elapsed(r, ret) || !r->total_cpus ||
	    __builtin_mul_overflow(*ret, r->total_cpus * US_PER_S, ret))
		return false;
	*ret /= 3600;
	return true;
}

/* Unknown if the idle part of some energy is not known: it would look like the whole. */
static bool static_uj(const struct values *f, uint64_t *ret)
{
	struct idle_energy idle;

	if (!idle_energy_of(f, &idle) || !idle.is_whole)
		return false;
	*ret = idle.idle_uj;
	return true;
}

static bool job_static_uj(const void *object, uint64_t *ret)
{
	return static_uj(&((const struct record *)object)->values, ret);
}

static bool job_ratio(const void *object, unsigned int which, double *ret)
{
	return record_derived(object, (enum derived)which, ret);
}

static bool job_steps_total(const void *object, uint64_t *ret)
{
	const struct record *r = object;

	*ret = r->steps_total > r->nsteps ? r->steps_total : r->nsteps;
	return r->steps_known;
}

static bool step_elapsed(const void *object, uint64_t *ret)
{
	return record_step_run_s(object, ret);
}

static bool step_has_exit(const void *object)
{
	return !((const struct record_step *)object)->exit_unknown;
}

static bool step_static_uj(const void *object, uint64_t *ret)
{
	return static_uj(&((const struct record_step *)object)->values, ret);
}

static bool step_ratio(const void *object, unsigned int which, double *ret)
{
	return record_step_derived(object, (enum derived)which, ret);
}

static bool step_imbalance(const void *object, unsigned int which, double *ret)
{
	return record_step_imbalance(object, (enum metric)which, ret);
}

static bool step_cpu_is_uneven(const void *object)
{
	double v;

	return record_step_imbalance(object, METRIC_CPU_TIME, &v);
}

static bool step_energy_is_uneven(const void *object)
{
	double v;

	return record_step_imbalance(object, METRIC_ENERGY, &v);
}

static bool step_memory_is_spread(const void *object)
{
	const struct record_step *s = object;

	return s->memory.max.known && s->nnodes > 1;
}

/* --- the tables -------------------------------------------------------------------------- */

#define MEMBER(type, name, kind_, member, ...)                                           \
	{                                                                                \
		.path = (name), .kind = FIELD_##kind_, .offset = offsetof(type, member), \
		.size = sizeof(((type *)0)->member), ##__VA_ARGS__                       \
	}
#define JOB(name, kind, ...) MEMBER(struct record, name, kind, __VA_ARGS__)
#define STEP(name, kind, ...) MEMBER(struct record_step, name, kind, __VA_ARGS__)
#define MADE(name, function, ...)                                                     \
	{                                                                             \
		.path = (name), .kind = FIELD_MADE, .make = (function), ##__VA_ARGS__ \
	}
#define OBJECT(name)                                 \
	{                                            \
		.path = (name), .kind = FIELD_OBJECT \
	}
#define AT_END .flags = FIELD_AT_END
#define BY_DBD .flags = FIELD_OF_SLURMDBD
#define SQL(name) .column = (name)

/* Where jobcomp/elasticsearch and jobcomp/kafka have a member, it has their name here. */
const struct record_field record_job_fields[] = {
	JOB("cluster", TEXT, cluster, .flags = FIELD_IN_PART, SQL("cluster")),
	JOB("jobid", U32, job_id, .flags = FIELD_IN_PART, SQL("jobid")),
	JOB("sluid", TEXT, sluid, BY_DBD, SQL("sluid")),
	JOB("restart_count", U32, restart_count, SQL("restart_count")),
	JOB("db_index", MAYBE, db_index, BY_DBD, SQL("db_index")),
	JOB("array_job_id", MAYBE, array_job_id, BY_DBD, SQL("array_job_id")),
	JOB("array_task_id", MAYBE, array_task_id, BY_DBD, SQL("array_task_id")),
	JOB("array_tasks", TEXT, array_tasks, BY_DBD, SQL("array_tasks")),
	JOB("het_job_id", MAYBE, het_job_id, BY_DBD, SQL("het_job_id")),
	JOB("het_job_offset", MAYBE, het_job_offset, BY_DBD, SQL("het_job_offset")),
	JOB("job_name", TEXT, job_name, BY_DBD, SQL("job_name")),
	JOB("username", TEXT, user_name, BY_DBD, SQL("username")),
	JOB("user_id", U32, user_id, BY_DBD, SQL("user_id")),
	JOB("groupname", TEXT, group_name, BY_DBD, SQL("groupname")),
	JOB("group_id", U32, group_id, BY_DBD, SQL("group_id")),
	JOB("account", TEXT, account, BY_DBD, SQL("account")),
	JOB("partition", TEXT, partition, BY_DBD, SQL("partition_name")),
	JOB("qos", TEXT, qos, BY_DBD, SQL("qos")),
	JOB("wc_key", TEXT, wckey, BY_DBD, SQL("wckey")),
	JOB("reservation_name", TEXT, reservation, BY_DBD, SQL("reservation")),
	JOB("state", TEXT, state, BY_DBD, SQL("state")),
	JOB("@submit", TIME, submit, .flags = FIELD_IN_PART),
	JOB("@eligible", TIME, eligible, BY_DBD, SQL("eligible_time")),
	JOB("@start", TIME, start, BY_DBD, SQL("start_time")),
	JOB("@end", TIME, end, AT_END, SQL("end_time")),
	JOB("nodes", TEXT, nodes, BY_DBD, SQL("nodes")),
	JOB("total_nodes", U32, total_nodes, BY_DBD, SQL("total_nodes")),
	JOB("total_cpus", U32, total_cpus, BY_DBD, SQL("total_cpus")),
	JOB("alloc_node", TEXT, submit_host, BY_DBD, SQL("submit_host")),
	JOB("work_dir", TEXT, work_dir, BY_DBD, SQL("work_dir")),
	JOB("comment", TEXT, comment, BY_DBD, SQL("comment")),
	JOB("priority", MAYBE, priority, BY_DBD, SQL("priority")),
	JOB("tres_req", TEXT, tres_req, BY_DBD, SQL("tres_req")),
	JOB("tres_alloc", TEXT, tres_alloc, BY_DBD, SQL("tres_alloc")),
	JOB("trace_parent", TEXT, trace_parent, .flags = FIELD_IN_PART),
	JOB("script", TEXT, script, .flags = FIELD_AT_END | FIELD_OF_SLURMDBD, SQL("script")),
	JOB("origin", CHARS, origin, AT_END, SQL("origin")),
	MADE("@queue_wait", job_queue_wait),
	JOB("elapsed", MAYBE, suspended_s, .make = job_elapsed, .flags = FIELD_AT_END | FIELD_OF_SLURMDBD,
	    SQL("elapsed_s")),
	MADE("cpu_hours", job_cpu_hours, AT_END, .scale = US_PER_S),
	JOB("exit_code", EXIT, exit_code, AT_END, SQL("exit_code"), .signal_column = "exit_signal"),
	JOB("derived_ec", EXIT, derived_exit_code, AT_END, SQL("derived_exit_code"),
	    .signal_column = "derived_exit_signal"),
	JOB("time_limit", MINUTES, time_limit_min, BY_DBD, SQL("time_limit_s")),
	/* Slurm's value, as in sacct, even if the nodes' metric values are more precise */
	JOB("energy.total_j", MAYBE, energy.total_j, AT_END),
	JOB("", VALUES, values, .flags = FIELD_AT_END | FIELD_NO_ENERGY),
	MADE("energy.static_j", job_static_uj, AT_END, .scale = UJ_PER_J),
	JOB("energy.final", BOOL, energy.final, AT_END, SQL("energy_final")),
	JOB("energy.method", CHARS, energy.method, AT_END, SQL("energy_method")),
	JOB("energy.source", CHARS, energy.source, AT_END, SQL("energy_source")),
	JOB("energy.quality", CHARS, energy.quality, AT_END, SQL("energy_quality")),
	JOB("energy.missing", CHARS, energy.missing, AT_END),
	JOB("emissions.method", CO2E_METHOD, emissions.method, AT_END, SQL("co2e_method")),
	JOB("emissions.factor_g_per_kwh", MAYBE, emissions.factor_ug_per_kwh, AT_END, .scale = UG_PER_G,
	    SQL("factor_g_per_kwh")),
	JOB("emissions.kind", CHARS, emissions.kind, AT_END, SQL("factor_kind")),
	JOB("emissions.scope", CHARS, emissions.scope, AT_END, SQL("factor_scope")),
	JOB("emissions.region", CHARS, emissions.region, AT_END, SQL("factor_region")),
	JOB("emissions.source", CHARS, emissions.source, AT_END, SQL("factor_source")),
	JOB("emissions.year", COUNT, emissions.year, AT_END, SQL("factor_year")),
	JOB("emissions.pue", U64, emissions.pue_milli, AT_END, .scale = 1000, SQL("pue")),
	JOB("emissions.market_factor_g_per_kwh", MAYBE, emissions.market_ug_per_kwh, AT_END,
	    .scale = UG_PER_G, SQL("market_g_per_kwh")),
	JOB("emissions.market_source", CHARS, emissions.market_source, AT_END, SQL("market_source")),
	JOB("emissions.embodied_g", MAYBE, emissions.embodied_ng, AT_END, .scale = NG_PER_G,
	    SQL("embodied_g")),
	JOB("emissions.embodied_source", CHARS, emissions.embodied_source, AT_END, SQL("embodied_source")),
	{ .path = "derived.", .kind = FIELD_RATIOS, AT_END, .ratio = job_ratio },
	JOB("steps_total", U64, steps_total, AT_END, .make = job_steps_total, SQL("steps_total")),
	{ 0 },
};

const struct record_field record_step_fields[] = {
	STEP("stepid", U32, step_id),
	STEP("het_component", MAYBE, het_component),
	STEP("name", TEXT, name, SQL("step_name")),
	STEP("state", CHARS, state, SQL("state")),
	STEP("nodes", TEXT, nodes, SQL("nodes")),
	STEP("ntasks", COUNT, ntasks, SQL("ntasks"), .flags = FIELD_SQL_ZERO),
	STEP("nnodes", COUNT, nnodes, SQL("nnodes")),
	STEP("ncpus", COUNT, ncpus, SQL("ncpus")),
	STEP("@start", TIME, start, SQL("start_time")),
	STEP("@end", TIME, end, SQL("end_time")),
	STEP("elapsed", MAYBE, suspended_s, .make = step_elapsed, SQL("elapsed_s")),
	STEP("exit_code", EXIT, exit_code, .has = step_has_exit, SQL("exit_code"),
	     .signal_column = "exit_signal"),
	STEP("user_cpu_s", MAYBE, user_cpu_us, .scale = US_PER_S, SQL("user_cpu_s")),
	STEP("system_cpu_s", MAYBE, system_cpu_us, .scale = US_PER_S, SQL("system_cpu_s")),
	STEP("max_rss_bytes", MAYBE, max_rss_bytes, SQL("max_rss_bytes")),
	OBJECT("energy."),
	OBJECT("emissions."),
	OBJECT("usage."),
	STEP("", VALUES, values),
	MADE("energy.static_j", step_static_uj, .scale = UJ_PER_J),
	OBJECT("derived."),
	{ .path = "derived.", .kind = FIELD_RATIOS, .ratio = step_ratio },
	{ .path = "load_imbalance.cpu_time.imbalance",
	  .kind = FIELD_RATIO,
	  .which = METRIC_CPU_TIME,
	  .ratio = step_imbalance },
	STEP("load_imbalance.cpu_time.max_s", MAYBE, cpu_time.max, .scale = NSEC_PER_SEC,
	     .has = step_cpu_is_uneven, SQL("cpu_time_max_s")),
	STEP("load_imbalance.cpu_time.max_node", CHARS, cpu_time.max_node, .has = step_cpu_is_uneven,
	     SQL("cpu_time_max_node")),
	{ .path = "load_imbalance.energy.imbalance",
	  .kind = FIELD_RATIO,
	  .which = METRIC_ENERGY,
	  .ratio = step_imbalance },
	STEP("load_imbalance.energy.max_j", MAYBE, energy.max, .scale = UJ_PER_J,
	     .has = step_energy_is_uneven, SQL("energy_max_j"), .flags = FIELD_SQL_WHOLE),
	STEP("load_imbalance.energy.max_node", CHARS, energy.max_node, .has = step_energy_is_uneven,
	     SQL("energy_max_node")),
	STEP("load_imbalance.memory.max_bytes", MAYBE, memory.max, .has = step_memory_is_spread),
	STEP("load_imbalance.memory.max_node", CHARS, memory.max_node, .has = step_memory_is_spread,
	     SQL("memory_max_node")),
	{ 0 },
};

bool record_field_number(const struct record_field *f, const void *object, uint64_t *ret)
{
	const void *p = (const char *)object + f->offset;
	const struct maybe_u64 *maybe = p;

	if (f->make)
		return f->make(object, ret);
	switch (f->kind) {
	case FIELD_U32:
	case FIELD_COUNT:
		*ret = *(const uint32_t *)p;
		return f->kind == FIELD_U32 || *ret;
	case FIELD_U64:
		*ret = *(const uint64_t *)p;
		return *ret;
	case FIELD_MAYBE:
		*ret = maybe->value;
		return maybe->known;
	case FIELD_MINUTES:
		*ret = maybe->value * 60;
		return maybe->known && maybe->value <= UINT32_MAX;
	default:
		return false;
	}
}

uint64_t record_metric_scale(enum metric m)
{
	return unit_table[metric_table[m].unit].scale;
}
