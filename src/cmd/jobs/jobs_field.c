/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/jobs/jobs_field.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "src/librecord/job_sums.h"
#include "src/librecord/screen_text.h"
#include "src/libcore/metric_text.h"
#include "src/librecord/advice_facts.h"
#include "src/libutil/clock.h"
#include "src/libutil/parse.h"
#include "src/libutil/rfc3339.h"
#include "src/libutil/round.h"


void jobs_job_init(struct jobs_job *j, const struct record *r, uint64_t now)
{
	const struct job_screen at = { .now = now };
	struct advice_facts f;
	uint64_t cpu_ns;

	advice_facts_of(r, /* chain= */ NULL, now, &f);
	*j = (struct jobs_job){ .r = r,
				.now = now,
				.elapsed_s = job_elapsed_s(&at, r),
				.gpu_busy = f.known[FACT_GPU_BUSY] ? f.value[FACT_GPU_BUSY] : -1,
				.time_share = f.known[FACT_TIME_SHARE] ? f.value[FACT_TIME_SHARE] : -1,
				.idle_share = f.known[FACT_IDLE_SHARE] ? f.value[FACT_IDLE_SHARE] : -1 };
	jobs_waste_find(r, &f, j->waste_uj);
	if (r->total_cpus && j->elapsed_s && record_cpu_time(r, &cpu_ns)) {
		j->cpu_ns = (double)cpu_ns;
		j->cpu_held_ns = (double)j->elapsed_s * (double)NSEC_PER_SEC * r->total_cpus;
	}
}

/* --- values ------------------------------------------------------------------------------------ */

static void set_text(struct cell *cell, const char *text)
{
	if (text && *text)
		*cell = (struct cell){ .kind = CELL_TEXT, .text = text };
}

static void set_count(struct cell *cell, uint64_t n)
{
	*cell = (struct cell){ .kind = CELL_DECIMAL, .number = n, .scale = 1 };
	(void)snprintf(cell->shown, sizeof(cell->shown), "%" PRIu64, n);
}

/* Sets a number; 0 means that it is not known. */
static void set_known(struct cell *cell, uint64_t n)
{
	if (n)
		set_count(cell, n);
}

static void set_share(struct cell *cell, double share)
{
	if (share < 0)
		return;
	*cell = (struct cell){ .kind = CELL_RATIO, .ratio = share };
	(void)screen_share(share, cell->shown);
}

/* Sets a duration; people see it as in sacct: [D-]HH:MM:SS. */
static void set_time(struct cell *cell, uint64_t s)
{
	set_count(cell, s);
	if (s >= 86400)
		(void)snprintf(cell->shown, sizeof(cell->shown), "%" PRIu64 "-%02u:%02u:%02u", s / 86400,
			       (unsigned int)(s / 3600 % 24), (unsigned int)(s / 60 % 60), (unsigned int)(s % 60));
	else
		(void)snprintf(cell->shown, sizeof(cell->shown), "%02u:%02u:%02u", (unsigned int)(s / 3600),
			       (unsigned int)(s / 60 % 60), (unsigned int)(s % 60));
}

/* Sets a time; people see local time, programs UTC. */
static void set_date(struct cell *cell, uint64_t t, char *buf)
{
	time_t when = (time_t)t;
	struct tm tm;

	if (!t)
		return;
	rfc3339_utc(t, buf);
	*cell = (struct cell){ .kind = CELL_TEXT, .text = buf };
	if (localtime_r(&when, &tm))
		(void)strftime(cell->shown, sizeof(cell->shown), "%Y-%m-%dT%H:%M:%S", &tm);
}

static void set_metric(struct cell *cell, const struct values *f, enum metric m)
{
	if (!values_has(f, m))
		return;
	*cell = (struct cell){ .kind = CELL_DECIMAL,
			       .number = f->value[m],
			       .scale = unit_table[metric_table[m].unit].scale };
	(void)metric_text(f, m, cell->shown, sizeof(cell->shown));
}

/* --- the table --------------------------------------------------------------------------------- */

enum field_id {
	FIELD_JOBID, FIELD_JOBIDRAW, FIELD_NAME, FIELD_USER, FIELD_GROUP, FIELD_ACCOUNT, FIELD_CLUSTER,
	FIELD_PARTITION, FIELD_QOS, FIELD_STATE, FIELD_EXITCODE, FIELD_SUBMIT, FIELD_ELIGIBLE, FIELD_START,
	FIELD_END, FIELD_ELAPSED, FIELD_ELAPSEDRAW, FIELD_TIMELIMIT, FIELD_NNODES, FIELD_NCPUS, FIELD_NGPUS,
	FIELD_NODELIST, FIELD_TRES, FIELD_CPU, FIELD_MEM, FIELD_GPU, FIELD_TIME, FIELD_ENERGY, FIELD_JOULES,
	FIELD_IDLE, FIELD_IDLE_ENERGY, FIELD_WASTED, FIELD_POWER, FIELD_TOTALCPU,
};

struct jobs_field {
	enum field_id id;
	const char *name, *alias, *title, *key, *help;
	size_t width;
	bool is_left, if_any, is_descending;
};

static const struct jobs_field fields[] = {
	{ FIELD_JOBID, "JobID", NULL, "JobID", "jobid", "id as sacct writes it", 14, true, false, false },
	{ FIELD_JOBIDRAW, "JobIDRaw", NULL, "JobIDRaw", "jobid_raw", "number of the job", 12, false, false, false },
	{ FIELD_NAME, "JobName", "name", "Name", "name", "name of the job", 16, true, false, false },
	{ FIELD_USER, "User", NULL, "User", "user", "user", 10, true, false, false },
	{ FIELD_GROUP, "Group", NULL, "Group", "group", "group", 10, true, false, false },
	{ FIELD_ACCOUNT, "Account", NULL, "Account", "account", "account", 10, true, false, false },
	{ FIELD_CLUSTER, "Cluster", NULL, "Cluster", "cluster", "cluster", 10, true, false, false },
	{ FIELD_PARTITION, "Partition", NULL, "Partition", "partition", "partition", 10, true, false, false },
	{ FIELD_QOS, "QOS", NULL, "QOS", "qos", "quality of service", 10, true, false, false },
	{ FIELD_STATE, "State", NULL, "State", "state", "state", 13, true, false, false },
	{ FIELD_EXITCODE, "ExitCode", NULL, "ExitCode", "exitcode", "exit code:signal", 8, false, false, false },
	{ FIELD_SUBMIT, "Submit", NULL, "Submit", "submit", "time of submission", 20, true, false, false },
	{ FIELD_ELIGIBLE, "Eligible", NULL, "Eligible", "eligible", "since when it could start", 20, true, false, false },
	{ FIELD_START, "Start", NULL, "Start", "start", "start", 20, true, false, false },
	{ FIELD_END, "End", NULL, "End", "end", "end", 20, true, false, false },
	{ FIELD_ELAPSED, "Elapsed", NULL, "Elapsed", "elapsed_s", "run time", 11, false, false, true },
	{ FIELD_ELAPSEDRAW, "ElapsedRaw", NULL, "ElapsedRaw", "elapsed_raw", "run time in seconds", 10, false, false, true },
	{ FIELD_TIMELIMIT, "Timelimit", NULL, "Timelimit", "timelimit_s", "time limit", 11, false, false, true },
	{ FIELD_NNODES, "NNodes", NULL, "NNodes", "nodes", "nodes allocated", 6, false, false, true },
	{ FIELD_NCPUS, "NCPUS", "AllocCPUS", "NCPUS", "cpus", "CPUs allocated", 8, false, false, true },
	{ FIELD_NGPUS, "NGPUs", NULL, "NGPUs", "gpus", "GPUs allocated", 6, false, false, true },
	{ FIELD_NODELIST, "NodeList", NULL, "NodeList", "nodelist", "names of the nodes", 20, true, false, false },
	{ FIELD_TRES, "AllocTRES", NULL, "AllocTRES", "tres_alloc", "all that was allocated", 40, true, false, false },
	{ FIELD_CPU, "CPUEff", "cpu", "CPU %", "cpu_efficiency", "CPU time / (run time x CPUs)", 7, false, false, true },
	{ FIELD_MEM, "MemEff", "mem", "Mem %", "memory_efficiency", "largest memory of a node / allocated there", 7, false, false, true },
	{ FIELD_GPU, "GPUEff", "gpu", "GPU %", "gpu_utilization", "GPU time busy / held", 7, false, true, true },
	{ FIELD_TIME, "TimeEff", "time", "Time %", "time_efficiency", "run time / time limit", 7, false, false, true },
	{ FIELD_ENERGY, "Energy", NULL, "Energy", "energy_j", "energy, in Wh", 9, false, false, true },
	{ FIELD_JOULES, "ConsumedEnergyRaw", NULL, "ConsumedEnergyRaw", "consumed_energy_raw", "energy in joules, sacct's", 17, false, false, true },
	{ FIELD_IDLE, "IdleShare", "idle", "Idle %", "idle_share", "part of the energy that is idle power", 7, false, false, true },
	{ FIELD_POWER, "MeanPower", "power", "Power", "mean_power_w", "energy / run time, in W", 8, false, false, true },
	{ FIELD_TOTALCPU, "TotalCPU", NULL, "TotalCPU", "total_cpu_s", "CPU time used", 11, false, false, true },
	{ FIELD_IDLE_ENERGY, "IdleEnergy", NULL, "Idle", "idle_energy_j", "that part, in Wh", 9, false, false, true },
	{ FIELD_WASTED, "Wasted", NULL, "Wasted", "wasted_energy_j", "energy of a failed job; of others, idle energy of what was held and not used; in Wh", 9, false, false, true },
};

static void set_exit(struct cell *cell, const struct record *r, char *buf)
{
	if (!r->end)
		return;
	(void)snprintf(buf, JOBS_TEXT_MAX, "%" PRId32 ":%" PRId32, r->exit_code, r->exit_signal);
	set_text(cell, buf);
}

static void set_memory(struct cell *cell, const struct record *r)
{
	struct job_memory m;

	job_memory_find(r, &m);
	if (m.peak && m.allocated)
		set_share(cell, m.share);
}

static void set_wh(struct cell *cell, uint64_t uj)
{
	*cell = (struct cell){ .kind = CELL_DECIMAL, .number = uj, .scale = UJ_PER_J };
	(void)screen_wh(uj, cell->shown);
}

/* Sets the wasted energy: the sum of all causes whose waste is known, as in the sums of groups and reports. */
static void set_wasted(struct cell *cell, const struct jobs_job *j)
{
	const double *waste_uj = j->waste_uj;
	double uj = 0;
	unsigned int w;

	for (w = 0; w < WASTE_N; w++)
		uj += isnan(waste_uj[w]) ? 0 : waste_uj[w];
	/* n/a if no cause of waste is known: energy, idle energy, or the use of CPUs and memory is missing */
	if (!isnan(waste_uj[WASTE_CPU]) || !isnan(waste_uj[WASTE_MEMORY]) || uj > 0)
		set_wh(cell, round_u64(uj));
}

static void set_energy(struct cell *cell, const struct jobs_job *j, enum field_id id)
{
	const struct values *f = &j->r->values;

	if (!values_has(f, METRIC_ENERGY))
		return;
	if (id == FIELD_ENERGY)
		set_wh(cell, f->value[METRIC_ENERGY]);
	else if (id == FIELD_JOULES)
		set_count(cell, f->value[METRIC_ENERGY] / UJ_PER_J);
	else if (id == FIELD_WASTED)
		set_wasted(cell, j);
	else if (j->idle_share >= 0)
		set_wh(cell, round_u64(j->idle_share * (double)f->value[METRIC_ENERGY]));
}

static void set_power(struct cell *cell, const struct jobs_job *j)
{
	const struct values *f = &j->r->values;

	if (!values_has(f, METRIC_ENERGY) || !j->elapsed_s)
		return;
	*cell = (struct cell){ .kind = CELL_RATIO,
			       .ratio = (double)f->value[METRIC_ENERGY] / (double)UJ_PER_J / (double)j->elapsed_s };
	(void)screen_watts(cell->ratio, cell->shown);
}

static void set_cpu_time(struct cell *cell, const struct record *r)
{
	uint64_t ns;

	if (!record_cpu_time(r, &ns))
		return;
	*cell = (struct cell){ .kind = CELL_DECIMAL, .number = ns, .scale = NSEC_PER_SEC };
	(void)screen_time(ns, cell->shown);
}

static void set_field(const struct jobs_job *j, enum field_id id, struct cell *cell, char *buf)
{
	const struct record *r = j->r;
	uint64_t n;

	switch (id) {
	case FIELD_JOBID:
		job_id_text(r, buf, JOBS_TEXT_MAX);
		return set_text(cell, buf);
	case FIELD_JOBIDRAW:
		return set_count(cell, r->job_id);
	case FIELD_NAME:
		return set_text(cell, r->job_name);
	case FIELD_USER:
		return set_text(cell, r->user_name);
	case FIELD_GROUP:
		return set_text(cell, r->group_name);
	case FIELD_ACCOUNT:
		return set_text(cell, r->account);
	case FIELD_CLUSTER:
		return set_text(cell, r->cluster);
	case FIELD_PARTITION:
		return set_text(cell, r->partition);
	case FIELD_QOS:
		return set_text(cell, r->qos);
	case FIELD_STATE:
		return set_text(cell, r->state);
	case FIELD_EXITCODE:
		return set_exit(cell, r, buf);
	case FIELD_SUBMIT:
		return set_date(cell, r->submit, buf);
	case FIELD_ELIGIBLE:
		return set_date(cell, r->eligible, buf);
	case FIELD_START:
		return set_date(cell, r->start, buf);
	case FIELD_END:
		return set_date(cell, r->end, buf);
	case FIELD_ELAPSED:
		return set_time(cell, j->elapsed_s);
	case FIELD_ELAPSEDRAW:
		return set_count(cell, j->elapsed_s);
	case FIELD_TIMELIMIT:
		if (r->time_limit_min.known)
			set_time(cell, 60 * r->time_limit_min.value);
		return;
	case FIELD_NNODES:
		return set_known(cell, r->total_nodes);
	case FIELD_NCPUS:
		return set_known(cell, r->total_cpus);
	case FIELD_NGPUS:
		if (r->tres_alloc)
			set_count(cell, record_tres(r->tres_alloc, "gres/gpu", &n) ? n : 0);
		return;
	case FIELD_NODELIST:
		return set_text(cell, r->nodes);
	case FIELD_TRES:
		return set_text(cell, r->tres_alloc);
	case FIELD_CPU:
		return set_share(cell, j->cpu_held_ns > 0 ? j->cpu_ns / j->cpu_held_ns : -1);
	case FIELD_MEM:
		return set_memory(cell, r);
	case FIELD_GPU:
		return set_share(cell, j->gpu_busy);
	case FIELD_TIME:
		return set_share(cell, j->time_share);
	case FIELD_IDLE:
		return set_share(cell, j->idle_share);
	case FIELD_POWER:
		return set_power(cell, j);
	case FIELD_TOTALCPU:
		return set_cpu_time(cell, r);
	case FIELD_ENERGY:
	case FIELD_JOULES:
	case FIELD_IDLE_ENERGY:
	case FIELD_WASTED:
		return set_energy(cell, j, id);
	}
}

void jobs_cell(const struct jobs_job *j, const struct jobs_column *column, struct cell *cell, char buf[JOBS_TEXT_MAX])
{
	*cell = (struct cell){ .kind = CELL_UNKNOWN };
	if (column->field)
		set_field(j, column->field->id, cell, buf);
	else
		set_metric(cell, &j->r->values, column->metric);
}

static uint64_t date_of(const struct record *r, enum field_id id)
{
	switch (id) {
	case FIELD_SUBMIT:
		return r->submit;
	case FIELD_ELIGIBLE:
		return r->eligible;
	case FIELD_START:
		return r->start;
	case FIELD_END:
		return r->end;
	default:
		return 0;
	}
}

bool jobs_is_sortable(const struct jobs_column *column)
{
	if (!column->field)
		return true;
	switch (column->field->id) {
	case FIELD_JOBID:
	case FIELD_SUBMIT:
	case FIELD_ELIGIBLE:
	case FIELD_START:
	case FIELD_END:
		return true;
	case FIELD_EXITCODE:
		return false;
	default:
		return !column->field->is_left;
	}
}

double jobs_rank(const struct jobs_job *j, const struct jobs_column *column)
{
	uint64_t date = column->field ? date_of(j->r, column->field->id) : 0;
	char buf[JOBS_TEXT_MAX];
	struct cell cell;
	double v = NAN;

	jobs_cell(j, column, &cell, buf);
	if (date)
		v = (double)date;
	else if (column->field && column->field->id == FIELD_JOBID)
		v = (double)j->r->job_id;
	else if (cell.kind == CELL_DECIMAL)
		v = (double)cell.number / (double)cell.scale;
	else if (cell.kind == CELL_RATIO)
		v = cell.ratio;
	return !column->field || column->field->is_descending ? -v : v;
}

/* --- names ------------------------------------------------------------------------------------- */

static bool is_name(const char *name, const char *other)
{
	return other && !strcasecmp(name, other);
}

bool jobs_column_find(const char *name, struct jobs_column *ret)
{
	unsigned int m;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if (is_name(name, fields[i].name) || is_name(name, fields[i].alias) || is_name(name, fields[i].key)) {
			*ret = (struct jobs_column){ .field = &fields[i] };
			return true;
		}
	metric_foreach(m)
		if (is_name(name, metric_table[m].name)) {
			*ret = (struct jobs_column){ .metric = (enum metric)m };
			return true;
		}
	return false;
}

bool jobs_is_usual(const struct jobs_column *column)
{
	char name[] = JOBS_FORMAT;
	struct jobs_column usual;
	char *rest = NULL;
	char *p;

	for (p = strtok_r(name, ",", &rest); p; p = strtok_r(NULL, ",", &rest))
		if (jobs_column_find(p, &usual) && usual.field == column->field && usual.metric == column->metric)
			return true;
	return false;
}

void jobs_columns_free(struct jobs_columns *c)
{
	free(c->column);
	free(c->cells);
	free(c->key);
	*c = (struct jobs_columns){ 0 };
}

static int add_column(struct jobs_columns *c, const char *name, const char *width, struct errmsg *err)
{
	struct cells_column *cells = &c->cells[c->n];
	struct jobs_column *column = &c->column[c->n];
	uint64_t n = 0;

	if (!jobs_column_find(name, column))
		return errmsg_set(err, -EINVAL, "no field '%s': --helpformat lists them", name);
	if (width && (parse_u64(width + (*width == '-'), &n) < 0 || !n || n > CELLS_WIDTH_MAX))
		return errmsg_set(err, -EINVAL, "'%s%%%s': the width is 1 to %d", name, width, CELLS_WIDTH_MAX);
	if (column->field) {
		const struct jobs_field *f = column->field;

		(void)snprintf(c->key[c->n], sizeof(c->key[0]), "%s", f->key);
		*cells = (struct cells_column){ .title = f->title, .width = f->width, .is_left = f->is_left,
						.if_any = f->if_any };
	} else {
		const struct metric_info *m = &metric_table[column->metric];

		(void)snprintf(c->key[c->n], sizeof(c->key[0]), "%s%s", m->name, unit_table[m->unit].suffix);
		*cells = (struct cells_column){ .title = m->name, .width = sizeof(m->name) };
		if (column->metric == METRIC_CO2E)
			cells->title = "CO2e";
	}
	cells->key = c->key[c->n];
	if (width) {
		cells->width = n;
		cells->is_fixed = true;
		cells->if_any = false;
		cells->is_left |= *width == '-';
	}
	c->n++;
	return 0;
}

int jobs_columns_parse(const char *format, struct jobs_columns *ret, struct errmsg *err)
{
	_cleanup_free_ char *text = strdup(format);
	size_t room = strlen(format) + 1;
	struct jobs_columns c = { 0 };
	char *rest = text;
	char *item;
	int rc = 0;

	c.column = calloc(room, sizeof(*c.column));
	c.cells = calloc(room, sizeof(*c.cells));
	c.key = calloc(room, sizeof(*c.key));
	if (!text || !c.column || !c.cells || !c.key)
		rc = errmsg_set(err, -ENOMEM, "out of memory");
	while (rc == 0 && (item = strsep(&rest, ","))) {
		char *width = strchr(item, '%');

		if (width)
			*width++ = '\0';
		rc = add_column(&c, item, width, err);
	}
	if (rc < 0)
		jobs_columns_free(&c);
	else
		*ret = c;
	return rc;
}

void jobs_fields_print(FILE *out)
{
	unsigned int m;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		(void)fprintf(out, "%-18s %s%s%s\n", fields[i].name, fields[i].help, fields[i].alias ? "; also " : "",
			      fields[i].alias ? fields[i].alias : "");
	(void)fputs("Metrics:\n", out);
	metric_foreach(m)
		if (m != METRIC_ENERGY) /* energy is listed above as a field */
			(void)fprintf(out, "%-28s %s\n", metric_table[m].name, metric_table[m].help);
}
