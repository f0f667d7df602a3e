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
	j->waste_lacks_idle = jobs_waste_lacks_idle(r);
	if (r->total_cpus && j->elapsed_s && record_cpu_time(r, &cpu_ns)) {
		j->cpu_ns = (double)cpu_ns;
		j->cpu_held_ns = (double)j->elapsed_s * (double)NSEC_PER_SEC * r->total_cpus;
	}
}

/* --- values ------------------------------------------------------------------------------------ */

static void put_text(struct cell *cell, const char *text)
{
	if (text && *text)
		*cell = (struct cell){ .kind = CELL_TEXT, .text = text };
}

static void put_share(struct cell *cell, double share)
{
	if (share < 0)
		return;
	*cell = (struct cell){ .kind = CELL_RATIO, .ratio = share };
	(void)screen_share(share, cell->shown);
}

/* Sets a duration; people see it as in sacct: [D-]HH:MM:SS. */
static void put_time(struct cell *cell, uint64_t s)
{
	cell_count(cell, s);
	if (s >= 86400)
		(void)snprintf(cell->shown, sizeof(cell->shown), "%" PRIu64 "-%02u:%02u:%02u", s / 86400,
			       (unsigned int)(s / 3600 % 24), (unsigned int)(s / 60 % 60),
			       (unsigned int)(s % 60));
	else
		(void)snprintf(cell->shown, sizeof(cell->shown), "%02u:%02u:%02u", (unsigned int)(s / 3600),
			       (unsigned int)(s / 60 % 60), (unsigned int)(s % 60));
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

/*
 * A setter sets CELL to J's value, from the member at OFFSET if the column's row names one. BUF has
 * JOBS_TEXT_MAX bytes for a text. CELL stays unknown if the value is not known.
 */
#define SETTER(name)                                                                                         \
	static void name(struct cell *cell, const struct jobs_job *j, __attribute__((unused)) size_t offset, \
			 __attribute__((unused)) char *buf)
#define MEMBER(type, of) (*(const type *)((const char *)(of) + offset))

SETTER(set_text)
{
	put_text(cell, MEMBER(char *, j->r));
}

/* 0 means that the number is not known. */
SETTER(set_known)
{
	if (MEMBER(uint32_t, j->r))
		cell_count(cell, MEMBER(uint32_t, j->r));
}

SETTER(set_share)
{
	put_share(cell, MEMBER(double, j));
}

/* People see local time, programs UTC; the rank is the time. */
SETTER(set_date)
{
	uint64_t t = MEMBER(uint64_t, j->r);
	time_t when = (time_t)t;
	struct tm tm;

	if (!t)
		return;
	rfc3339_utc(t, buf);
	*cell = (struct cell){ .kind = CELL_TEXT, .text = buf, .number = t, .scale = 1 };
	if (localtime_r(&when, &tm))
		(void)strftime(cell->shown, sizeof(cell->shown), "%Y-%m-%dT%H:%M:%S", &tm);
}

SETTER(set_job_id)
{
	job_id_text(j->r, buf, JOBS_TEXT_MAX);
	put_text(cell, buf);
	cell->number = j->r->job_id;
	cell->scale = 1;
}

SETTER(set_job_number)
{
	cell_count(cell, j->r->job_id);
}

SETTER(set_exit)
{
	if (!j->r->end)
		return;
	(void)snprintf(buf, JOBS_TEXT_MAX, "%" PRId32 ":%" PRId32, j->r->exit_code, j->r->exit_signal);
	put_text(cell, buf);
}

SETTER(set_elapsed)
{
	put_time(cell, j->elapsed_s);
}

SETTER(set_elapsed_raw)
{
	cell_count(cell, j->elapsed_s);
}

SETTER(set_limit)
{
	if (j->r->time_limit_min.known)
		put_time(cell, 60 * j->r->time_limit_min.value);
}

SETTER(set_gpus)
{
	uint64_t n;

	if (j->r->tres_alloc)
		cell_count(cell, record_tres(j->r->tres_alloc, "gres/gpu", &n) ? n : 0);
}

SETTER(set_cpu)
{
	put_share(cell, j->cpu_held_ns > 0 ? j->cpu_ns / j->cpu_held_ns : -1);
}

SETTER(set_memory)
{
	struct job_memory m;

	job_memory_find(j->r, &m);
	if (m.peak && m.allocated)
		put_share(cell, m.share);
}

SETTER(set_cpu_time)
{
	uint64_t ns;

	if (!record_cpu_time(j->r, &ns))
		return;
	*cell = (struct cell){ .kind = CELL_DECIMAL, .number = ns, .scale = NSEC_PER_SEC };
	(void)screen_time(ns, cell->shown);
}

static bool energy_of(const struct jobs_job *j, uint64_t *ret_uj)
{
	*ret_uj = j->r->values.value[METRIC_ENERGY];
	return values_has(&j->r->values, METRIC_ENERGY);
}

SETTER(set_energy)
{
	uint64_t uj;

	if (energy_of(j, &uj))
		cell_wh(cell, uj);
}

SETTER(set_joules)
{
	uint64_t uj;

	if (energy_of(j, &uj))
		cell_count(cell, uj / UJ_PER_J);
}

SETTER(set_idle_energy)
{
	uint64_t uj;

	if (energy_of(j, &uj) && j->idle_share >= 0)
		cell_wh(cell, round_u64(j->idle_share * (double)uj));
}

SETTER(set_power)
{
	uint64_t uj;

	if (!energy_of(j, &uj) || !j->elapsed_s)
		return;
	*cell = (struct cell){ .kind = CELL_RATIO,
			       .ratio = (double)uj / (double)UJ_PER_J / (double)j->elapsed_s };
	(void)screen_watts(cell->ratio, cell->shown);
}

/*
 * The wasted energy: the sum of all causes whose waste is known. n/a if a cause is not known for want of idle
 * power; the sums of groups and reports say of how much energy that is so.
 */
SETTER(set_wasted)
{
	const double *waste_uj = j->waste_uj;
	double sum = 0;
	unsigned int w;
	uint64_t uj;

	for (w = 0; w < WASTE_N; w++)
		sum += isnan(waste_uj[w]) ? 0 : waste_uj[w];
	/* n/a if no cause of waste is known: energy, idle energy, or the use of CPUs and memory is missing */
	if (energy_of(j, &uj) && !j->waste_lacks_idle &&
	    (!isnan(waste_uj[WASTE_CPU]) || !isnan(waste_uj[WASTE_MEMORY]) || sum > 0))
		cell_wh(cell, round_u64(sum));
}

/* --- the table --------------------------------------------------------------------------------- */

/* The looks of a column. A rank puts the smallest value first, or the largest if DESCENDING. */
enum { LEFT = 1, IF_ANY = 2, SORTABLE = 4, DESCENDING = 8 };
#define NUMBER (SORTABLE | DESCENDING)
#define RECORD(member) offsetof(struct record, member)
#define JOB(member) offsetof(struct jobs_job, member)

/* A column: everything but its value is in the row, and its value is what SET sets. */
struct jobs_field {
	const char *name, *alias; /* for --format and --sort */
	const char *title;	  /* for people */
	const char *key;	  /* for programs */
	size_t width;
	unsigned int flags;
	void (*set)(struct cell *cell, const struct jobs_job *j, size_t offset, char *buf);
	size_t offset; /* the member that SET reads */
	const char *help;
};

static const struct jobs_field fields[] = {
	{ "JobID", NULL, "JobID", "jobid", 14, LEFT | SORTABLE, set_job_id, 0, "id as sacct writes it" },
	{ "JobIDRaw", NULL, "JobIDRaw", "jobid_raw", 12, SORTABLE, set_job_number, 0, "number of the job" },
	{ "JobName", "name", "Name", "name", 16, LEFT, set_text, RECORD(job_name), "name of the job" },
	{ "User", NULL, "User", "user", 10, LEFT, set_text, RECORD(user_name), "user" },
	{ "Group", NULL, "Group", "group", 10, LEFT, set_text, RECORD(group_name), "group" },
	{ "Account", NULL, "Account", "account", 10, LEFT, set_text, RECORD(account), "account" },
	{ "Cluster", NULL, "Cluster", "cluster", 10, LEFT, set_text, RECORD(cluster), "cluster" },
	{ "Partition", NULL, "Partition", "partition", 10, LEFT, set_text, RECORD(partition), "partition" },
	{ "QOS", NULL, "QOS", "qos", 10, LEFT, set_text, RECORD(qos), "quality of service" },
	{ "State", NULL, "State", "state", 13, LEFT, set_text, RECORD(state), "state" },
	{ "ExitCode", NULL, "ExitCode", "exitcode", 8, 0, set_exit, 0, "exit code:signal" },
	{ "Submit", NULL, "Submit", "submit", 20, LEFT | SORTABLE, set_date, RECORD(submit),
	  "time of submission" },
	{ "Eligible", NULL, "Eligible", "eligible", 20, LEFT | SORTABLE, set_date, RECORD(eligible),
	  "since when it could start" },
	{ "Start", NULL, "Start", "start", 20, LEFT | SORTABLE, set_date, RECORD(start), "start" },
	{ "End", NULL, "End", "end", 20, LEFT | SORTABLE, set_date, RECORD(end), "end" },
	{ "Elapsed", NULL, "Elapsed", "elapsed_s", 11, NUMBER, set_elapsed, 0, "run time" },
	{ "ElapsedRaw", NULL, "ElapsedRaw", "elapsed_raw", 10, NUMBER, set_elapsed_raw, 0,
	  "run time in seconds" },
	{ "Timelimit", NULL, "Timelimit", "timelimit_s", 11, NUMBER, set_limit, 0, "time limit" },
	{ "NNodes", NULL, "NNodes", "nodes", 6, NUMBER, set_known, RECORD(total_nodes), "nodes allocated" },
	{ "NCPUS", "AllocCPUS", "NCPUS", "cpus", 8, NUMBER, set_known, RECORD(total_cpus), "CPUs allocated" },
	{ "NGPUs", NULL, "NGPUs", "gpus", 6, NUMBER, set_gpus, 0, "GPUs allocated" },
	{ "NodeList", NULL, "NodeList", "nodelist", 20, LEFT, set_text, RECORD(nodes), "names of the nodes" },
	{ "AllocTRES", NULL, "AllocTRES", "tres_alloc", 40, LEFT, set_text, RECORD(tres_alloc),
	  "all that was allocated" },
	{ "CPUEff", "cpu", "CPU %", "cpu_efficiency", 7, NUMBER, set_cpu, 0, "CPU time / (run time x CPUs)" },
	{ "MemEff", "mem", "Mem %", "memory_efficiency", 7, NUMBER, set_memory, 0,
	  "largest memory of a node / allocated there" },
	{ "GPUEff", "gpu", "GPU %", "gpu_utilization", 7, IF_ANY | NUMBER, set_share, JOB(gpu_busy),
	  "GPU time busy / held" },
	{ "TimeEff", "time", "Time %", "time_efficiency", 7, NUMBER, set_share, JOB(time_share),
	  "run time / time limit" },
	{ "Energy", NULL, "Energy", "energy_j", 9, NUMBER, set_energy, 0, "energy, in Wh" },
	{ "ConsumedEnergyRaw", NULL, "ConsumedEnergyRaw", "consumed_energy_raw", 17, NUMBER, set_joules, 0,
	  "energy in joules, sacct's" },
	{ "IdleShare", "idle", "Idle %", "idle_share", 7, NUMBER, set_share, JOB(idle_share),
	  "part of the energy that is idle power" },
	{ "MeanPower", "power", "Power", "mean_power_w", 8, NUMBER, set_power, 0, "energy / run time, in W" },
	{ "TotalCPU", NULL, "TotalCPU", "total_cpu_s", 11, NUMBER, set_cpu_time, 0, "CPU time used" },
	{ "IdleEnergy", NULL, "Idle", "idle_energy_j", 9, NUMBER, set_idle_energy, 0, "that part, in Wh" },
	{ "Wasted", NULL, "Wasted", "wasted_energy_j", 9, NUMBER, set_wasted, 0,
	  "energy of a failed job; of others, idle energy of what was held and not used; in Wh" },
};

void jobs_cell(const struct jobs_job *j, const struct jobs_column *column, struct cell *cell,
	       char buf[JOBS_TEXT_MAX])
{
	*cell = (struct cell){ .kind = CELL_UNKNOWN };
	if (column->field)
		column->field->set(cell, j, column->field->offset, buf);
	else
		set_metric(cell, &j->r->values, column->metric);
}

bool jobs_is_sortable(const struct jobs_column *column)
{
	return !column->field || column->field->flags & SORTABLE;
}

double jobs_rank(const struct jobs_job *j, const struct jobs_column *column)
{
	char buf[JOBS_TEXT_MAX];
	struct cell cell;
	double v;

	jobs_cell(j, column, &cell, buf);
	v = cell_rank(&cell);
	return !column->field || column->field->flags & DESCENDING ? -v : v;
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
		if (is_name(name, fields[i].name) || is_name(name, fields[i].alias) ||
		    is_name(name, fields[i].key)) {
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
		if (jobs_column_find(p, &usual) && usual.field == column->field &&
		    usual.metric == column->metric)
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
		return errmsg_set(err, -EINVAL, "'%s%%%s': the width is 1 to %d", name, width,
				  CELLS_WIDTH_MAX);
	if (column->field) {
		const struct jobs_field *f = column->field;

		(void)snprintf(c->key[c->n], sizeof(c->key[0]), "%s", f->key);
		*cells = (struct cells_column){ .title = f->title,
						.width = f->width,
						.is_left = f->flags & LEFT,
						.if_any = f->flags & IF_ANY };
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
		(void)fprintf(out, "%-18s %s%s%s\n", fields[i].name, fields[i].help,
			      fields[i].alias ? "; also " : "", fields[i].alias ? fields[i].alias : "");
	(void)fputs("Metrics:\n", out);
	metric_foreach(m)
		if (m != METRIC_ENERGY) /* energy is listed above as a field */
			(void)fprintf(out, "%-28s %s\n", metric_table[m].name, metric_table[m].help);
}
