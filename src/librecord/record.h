/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record.h - the record of one run of a job. The recorder fills it; it becomes JSON of schema
 * ceems.job.v1, and SQL columns, and JSON becomes it again. Unknown is NO number: a has_ flag, an
 * empty text, REASON_* in the metric values; null in JSON and SQL.
 */
#ifndef CEEMS_RECORD_H
#define CEEMS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libcore/metric.h"
#include "src/librecord/derived.h"
#include "src/libutil/errmsg.h"

#define RECORD_SCHEMA "ceems.job.v1"
#define RECORD_STEPS_SCHEMA "ceems.steps.v1"
#define RECORD_START_SCHEMA "ceems.job_start.v1"
#define RECORD_KEY_MAX 160
#define RECORD_MIXED "mixed" /* of a kind or scope: there were several */

/* A number that may be unknown. */
struct maybe_u64 {
	uint64_t value;
	bool known;
};

/* How far an energy value can be trusted; see energy.method and energy.source in the schema. */
struct record_energy {
	bool final;	      /* Slurm's own final value; false: FinalEnergyWait ran out */
	struct maybe_u64 total_j; /* sacct's job row, or better: record_fill() */
	char method[16];      /* "cpu-time" ...; empty: unknown */
	char quality[24];     /* record_fill(): "measured", "estimate" ...; empty: unknown */
	char source[128];     /* "rapl", "model", "rapl,model"; empty: unknown */
};

/* How METRIC_CO2E of record.values was computed. */
enum record_co2e_method {
	CO2E_UNKNOWN,
	CO2E_PER_TICK,	 /* on the nodes, with the factor in force at every tick */
	CO2E_MEAN_POWER, /* the job's energy, spread evenly over its life, when the record was made */
};

/* "per-tick", "mean-power"; "" for unknown. */
const char *record_co2e_method_name(enum record_co2e_method method);

#define RECORD_UG_PER_G UINT64_C(1000000)
#define RECORD_NG_PER_G UINT64_C(1000000000)

/* Where METRIC_CO2E and the other emissions in the metric values come from. Empty and 0 are unknown. */
struct record_emissions {
	enum record_co2e_method method;
	struct maybe_u64 factor_ug_per_kwh; /* the mean, weighted by energy */
	char kind[16];	     /* emission_kind_name(), or "mixed": several */
	char scope[16];	     /* emission_scope_name(), or "mixed" */
	char region[96];     /* all that were used, joined by "; " */
	char source[320];    /* whom to cite: all that were used, joined by "; " */
	uint32_t year;	     /* of a static factor */
	uint64_t pue_milli;
	struct maybe_u64 market_ug_per_kwh; /* the site's contract; 0 is an answer */
	char market_source[64];
	struct maybe_u64 embodied_ng; /* the job's share of the machines' making */
	char embodied_source[64];
};

/*
 * How uneven the nodes of a step are in one metric. The mean is the step's value / nnodes; for
 * memory the value is the maximum itself. Unknown for a step on one node, and where one of several
 * nodes did not report.
 */
struct record_spread {
	struct maybe_u64 max; /* the largest of any node, in the metric's unit */
	char max_node[64];    /* empty: unknown */
};

struct record_step {
	uint32_t step_id;     /* LEDGER_STEP_* for batch, extern, interactive */
	struct maybe_u64 het_component; /* of `srun A : B` within one job, which share step_id */
	char *name;	      /* owned; Slurm takes up to 1,024 bytes; NULL: none */
	char state[24];
	char *nodes;	      /* owned; a hostlist has any length */
	uint32_t ntasks;
	uint32_t nnodes, ncpus; /* 0: unknown */
	uint64_t start, end;  /* seconds since the epoch, UTC; 0: unknown */
	int32_t exit_code, exit_signal;
	bool exit_unknown;    /* of a step that was lost, say; null */
	struct maybe_u64 user_cpu_us, system_cpu_us, max_rss_bytes;
	struct values values;
	struct record_spread cpu_time, energy, memory;
};

/* Texts are owned (malloc) unless said otherwise; NULL is null. */
struct record {
	char *cluster;
	uint32_t job_id;
	char *sluid;	      /* sacct's, from 24.11 on; NULL before */
	uint32_t restart_count;
	struct maybe_u64 db_index;
	struct maybe_u64 array_job_id, array_task_id;
	struct maybe_u64 het_job_id, het_job_offset;
	char *job_name, *user_name, *group_name, *account, *partition, *qos, *wckey;
	uint32_t user_id, group_id;
	char *state;	      /* "COMPLETED", "REQUEUED" ... */
	char *nodes, *work_dir, *reservation, *submit_host, *comment;
	char *tres_req, *tres_alloc;
	char *array_tasks;    /* "0-9,12": of an array that was cancelled whole while pending */
	char *script;	      /* RecordScript */
	uint64_t submit, eligible, start, end; /* seconds since the epoch; 0: unknown */
	struct maybe_u64 time_limit_min;
	int32_t exit_code, exit_signal, derived_exit_code, derived_exit_signal;
	uint32_t total_nodes, total_cpus;
	struct maybe_u64 priority;
	struct record_energy energy;
	struct values values;	/* of the job: the extern step's, else the steps' sum */
	struct record_emissions emissions;
	struct record_step *steps;
	size_t nsteps;	      /* of steps[] */
	uint64_t steps_total; /* read from JSON: of all parts; see record_to_parts() */
	bool steps_known;     /* false: no slurmdbd, or it did not answer */
};

/* All unknown. NULL: out of memory. */
struct record *record_create(void);
void record_destroy(struct record *r);
void record_steps_destroy(struct record_step *s, size_t n);

/*
 * "cluster/jobid,submit,restart/<het offset or 0>": the key in Kafka, SQL and the spool. A repeat
 * of a record has the same key and changes nothing. Its SLUID may differ, since a slurmctld that
 * was killed splits an array's task off once more. Bytes of the cluster's name that are not
 * printable ASCII become '?'. -EINVAL: no cluster or job; -ENOSPC: SIZE (RECORD_KEY_MAX does).
 */
int record_key(const struct record *r, char *buf, size_t size);
/* The same of what the key is made of. HET_OFFSET is 0 of a job that is not of a het job. */
int record_key_of(const char *cluster, uint32_t job_id, uint64_t submit, uint32_t restart_count,
		  uint64_t het_offset, char *buf, size_t size);

/*
 * Exit code and signal of STATUS, as Slurm keeps it for jobs and steps. STATUS is a wait status; or
 * 1, Slurm's own exit code of a job that did not start, with no signal; or RECORD_STATUS_UNKNOWN
 * (Slurm's NO_VAL), which gives 0 and 0.
 */
#define RECORD_STATUS_UNKNOWN UINT32_C(0xfffffffe)
void record_exit_status(uint32_t status, int32_t *ret_code, int32_t *ret_signal);

/*
 * "2-4,9" of Slurm's "0x21C", a bit per task; a text in other words as it is. malloc'ed; NULL: out of
 * memory.
 */
char *record_array_tasks(const char *text);

/*
 * How much of NAME ("cpu", "mem", "gres/gpu") is in TRES, "cpu=8,mem=4.50G,node=1"; memory in bytes. TRES may be
 * NULL. False: it is not there.
 */
bool record_tres(const char *tres, const char *name, uint64_t *ret);

/* --- record_derived.c --------------------------------------------------------------------- */

/* CPU time of the job: METRIC_CPU_TIME or, where its TRES is not accounted, what Slurm says of the steps. */
bool record_cpu_time(const struct record *r, uint64_t *ret_ns);
bool record_step_cpu_time(const struct record_step *s, uint64_t *ret_ns);

/*
 * Ratios of the job's or a step's metric values. Where METRIC_CPU_TIME is not known (its TRES is not
 * accounted), Slurm's own CPU time stands in. False: not known.
 */
bool record_derived(const struct record *r, enum derived d, double *ret);
bool record_step_derived(const struct record_step *s, enum derived d, double *ret);

/*
 * Of METRIC_CPU_TIME or METRIC_ENERGY: max / mean - 1 over the step's nodes, 0 when all are alike.
 * False: not known.
 */
bool record_step_imbalance(const struct record_step *s, enum metric m, double *ret);

/* --- record_write.c, record_read.c: with jansson ------------------------------------------- */

/*
 * One line without newline; malloc'ed. In a text that is not UTF-8, each byte outside a well-formed
 * sequence is \xNN, and each backslash is doubled (utf8_escape()). "escaped" of the record or step
 * lists the member's name. So no byte is lost. Joules, grams and seconds are decimals of the
 * integers here, to the last digit.
 */
int record_to_json(const struct record *r, char **ret, size_t *ret_len, struct errmsg *err);

/*
 * The same in one or more parts of at most MAX bytes. The first text is the record with as many of
 * its steps as fit. Its "steps_total" and "parts" tell that there are more. The others have the
 * rest of the steps, in order: {"schema": "ceems.steps.v1", "key": "<key>#1", "job_key": "<key>",
 * "part": 1, "parts": 3, "cluster", "jobid", "@submit", "steps": [...]}. -EMSGSIZE: a single step,
 * or the record without any, is longer than MAX.
 */
struct record_part {
	char key[RECORD_KEY_MAX + 24];
	char *json; /* owned */
	size_t len;
};

int record_to_parts(const struct record *r, size_t max, struct record_part **ret, size_t *ret_n,
		    struct errmsg *err);
void record_parts_destroy(struct record_part *part, size_t n);

/* Schema ceems.job_start.v1: what is known when a job begins. */
int record_start_to_json(const struct record *r, char **ret, size_t *ret_len,
			 struct errmsg *err);

/*
 * Of a part that is not the first: cluster, job_id, submit, the steps, and the key of the job. The
 * record's other members are unknown.
 */
int record_from_steps_json(const char *json, size_t len, struct record **ret,
			   char ret_job_key[RECORD_KEY_MAX], struct errmsg *err);

/*
 * The inverse; -EINVAL names the field. Fields of a later version are ignored, and so are ratios. What
 * JSON does not carry comes back as unknown: a value's reason becomes REASON_NOT_MEASURED.
 */
int record_from_json(const char *json, size_t len, struct record **ret, struct errmsg *err);

#endif
