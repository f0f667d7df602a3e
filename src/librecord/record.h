/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record.h - the record of one run of a job. The recorder fills it and writes it as JSON of schema
 * ceems.job.v1 and as SQL columns; JSON can be read back. Unknown is never a number: it is a has_
 * flag, an empty text, or a REASON_* in the metric values; in JSON and SQL, null.
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
#define RECORD_HISTORY "history" /* `ceems export` made it from slurmdbd, of a job from before the recorder */
#define RECORD_MIXED "mixed" /* a kind or scope, if there were several */

/* A number that may be unknown. */
struct maybe_u64 {
	uint64_t value;
	bool known;
};

/* How far an energy value can be trusted; see energy.method and energy.source in the schema. */
struct record_energy {
	bool final;	      /* Slurm's final value; false: FinalEnergyWait ended before it came */
	struct maybe_u64 total_j; /* sacct's job row, or better: record_fill() */
	char method[16];      /* "cpu-time" ...; empty: unknown */
	char quality[24];     /* record_fill(): "measured", "estimate" ...; empty: unknown */
	char source[128];     /* "rapl", "model", "rapl,model"; empty: unknown */
};

/* How METRIC_CO2E of record.values was computed. */
enum record_co2e_method {
	CO2E_UNKNOWN,
	CO2E_PER_TICK,	 /* computed on the nodes, with the factor in use at each tick */
	CO2E_MEAN_POWER, /* computed from the record, with the energy spread evenly over the job's life */
};

/* "per-tick", "mean-power"; "" for unknown. */
const char *record_co2e_method_name(enum record_co2e_method method);

#define RECORD_UG_PER_G UINT64_C(1000000)
#define RECORD_NG_PER_G UINT64_C(1000000000)

/* How METRIC_CO2E and the other emissions were computed. Empty and 0 mean unknown. */
struct record_emissions {
	enum record_co2e_method method;
	struct maybe_u64 factor_ug_per_kwh; /* the mean, weighted by energy */
	char kind[16];	     /* emission_kind_name(), or "mixed": several */
	char scope[16];	     /* emission_scope_name(), or "mixed" */
	char region[96];     /* all regions used, joined by "; " */
	char source[320];    /* all sources used, to be cited; joined by "; " */
	uint32_t year;	     /* of a static factor */
	uint64_t pue_milli;
	struct maybe_u64 market_ug_per_kwh; /* the site's contract; 0 is an answer */
	char market_source[64];
	struct maybe_u64 embodied_ng; /* the job's share of the machines' making */
	char embodied_source[64];
};

/*
 * How much the nodes of a step differ in one metric. The mean is the step's value / nnodes; for
 * memory, the value itself is the maximum. Unknown for a step on one node, and if one of several
 * nodes did not report.
 */
struct record_spread {
	struct maybe_u64 max; /* the largest of any node, in the metric's unit */
	char max_node[64];    /* empty: unknown */
};

struct record_step {
	uint32_t step_id;     /* LEDGER_STEP_* for batch, extern, interactive */
	struct maybe_u64 het_component; /* component of `srun A : B` within one job; both have the same step_id */
	char *name;	      /* owned; Slurm takes up to 1,024 bytes; NULL: none */
	char state[24];
	char *nodes;	      /* owned; a hostlist has any length */
	uint32_t ntasks;
	uint32_t nnodes, ncpus; /* 0: unknown */
	uint64_t start, end;  /* seconds since the epoch, UTC; 0: unknown */
	int32_t exit_code, exit_signal;
	bool exit_unknown;    /* for example if the step was lost; null in JSON */
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
	char *array_tasks;    /* "0-9,12": the tasks of an array that was cancelled while all of it was pending */
	char *script;	      /* RecordScript */
	char origin[16];      /* RECORD_HISTORY; empty: the recorder made it when the job ended */
	uint64_t submit, eligible, start, end; /* seconds since the epoch; 0: unknown */
	struct maybe_u64 time_limit_min;
	int32_t exit_code, exit_signal, derived_exit_code, derived_exit_signal;
	uint32_t total_nodes, total_cpus;
	struct maybe_u64 priority;
	struct record_energy energy;
	struct values values;	/* of the job: those of the extern step, or else the sum of the steps */
	struct record_emissions emissions;
	struct record_step *steps;
	size_t nsteps;	      /* of steps[] */
	uint64_t steps_total; /* after reading JSON: steps in all parts, see record_to_parts() */
	bool steps_known;     /* false: no slurmdbd, or it did not answer */
};

/* All unknown. NULL: out of memory. */
struct record *record_create(void);
void record_destroy(struct record *r);
void record_steps_destroy(struct record_step *s, size_t n);

/*
 * Writes the record's key in Kafka, SQL and the store: "cluster/jobid,submit,restart/<het offset or
 * 0>". A repeated record has the same key and changes nothing. Its SLUID may differ, since a
 * slurmctld that was killed splits an array's task off again. Bytes of the cluster's name that are
 * not printable ASCII become '?'. -EINVAL: no cluster or job; -ENOSPC: SIZE is less than needed;
 * RECORD_KEY_MAX is enough.
 */
int record_key(const struct record *r, char *buf, size_t size);
/*
 * As record_key(), from the parts of the key. HET_OFFSET is 0 if the job is no component of a het
 * job.
 */
int record_key_of(const char *cluster, uint32_t job_id, uint64_t submit, uint32_t restart_count,
		  uint64_t het_offset, char *buf, size_t size);

/*
 * Splits STATUS, as Slurm keeps it for jobs and steps, into exit code and signal. It is a wait
 * status; or 1, Slurm's exit code of a job that did not start, with no signal; or
 * RECORD_STATUS_UNKNOWN (Slurm's NO_VAL), which gives 0 and 0.
 */
#define RECORD_STATUS_UNKNOWN UINT32_C(0xfffffffe)
void record_exit_status(uint32_t status, int32_t *ret_code, int32_t *ret_signal);

/*
 * Converts Slurm's bit mask of tasks, such as "0x21C", to "2-4,9". Another text is copied. The
 * caller frees it; NULL: out of memory.
 */
char *record_array_tasks(const char *text);

/*
 * Reads the amount of NAME ("cpu", "mem", "gres/gpu") in TRES, such as "cpu=8,mem=4.50G,node=1";
 * memory in bytes. TRES may be NULL. False: it is not there.
 */
bool record_tres(const char *tres, const char *name, uint64_t *ret);

/* --- record_derived.c --------------------------------------------------------------------- */

/*
 * The CPU time of a job or step: METRIC_CPU_TIME or, if its TRES is not in AccountingStorageTRES,
 * Slurm's own value.
 */
bool record_cpu_time(const struct record *r, uint64_t *ret_ns);
bool record_step_cpu_time(const struct record_step *s, uint64_t *ret_ns);

/*
 * Compute ratios for a job or step. If METRIC_CPU_TIME is unknown, because its TRES is not in
 * AccountingStorageTRES, Slurm's CPU time is used. False: unknown.
 */
bool record_derived(const struct record *r, enum derived d, double *ret);
bool record_step_derived(const struct record_step *s, enum derived d, double *ret);

/*
 * Computes max / mean - 1 over the step's nodes, for METRIC_CPU_TIME or METRIC_ENERGY; 0 if all
 * nodes are alike. False: unknown.
 */
bool record_step_imbalance(const struct record_step *s, enum metric m, double *ret);

/* --- record_write.c, record_read.c: with jansson ------------------------------------------- */

/*
 * Writes R as one line of JSON, without a newline; the caller frees it. A text that is not UTF-8 is
 * escaped (utf8_escape()): each wrong byte as \xNN, and each backslash doubled. The member's name
 * is then in the list "escaped" of the record or step, so no byte is lost. Joules, grams and
 * seconds are exact decimals.
 */
int record_to_json(const struct record *r, char **ret, size_t *ret_len, struct errmsg *err);

/*
 * Writes R in one or more parts of at most MAX bytes. The first has the record with as many of its
 * steps as fit; if there are more parts, it has "steps_total" and "parts". The others have the rest
 * of the steps, in order: {"schema": "ceems.steps.v1", "key": "<key>#1", "job_key": "<key>",
 * "part": 1, "parts": 3, "cluster", "jobid", "@submit", "steps": [...]}. -EMSGSIZE: a single step,
 * or the record without steps, is longer than MAX.
 */
struct record_part {
	char key[RECORD_KEY_MAX + 24];
	char *json; /* owned */
	size_t len;
};

int record_to_parts(const struct record *r, size_t max, struct record_part **ret, size_t *ret_n,
		    struct errmsg *err);
void record_parts_destroy(struct record_part *part, size_t n);

/* Writes JSON of schema ceems.job_start.v1: the facts known when a job begins. */
int record_start_to_json(const struct record *r, char **ret, size_t *ret_len,
			 struct errmsg *err);

/*
 * Reads a part other than the first: cluster, job_id, submit, the steps, and the key of the job.
 * The other members of the record are unknown.
 */
int record_from_steps_json(const char *json, size_t len, struct record **ret,
			   char ret_job_key[RECORD_KEY_MAX], struct errmsg *err);

/*
 * Reads a record from JSON; -EINVAL names the field. Fields of a later version and ratios are
 * ignored. What JSON does not have is unknown: the reason of a value becomes REASON_NOT_MEASURED.
 */
int record_from_json(const char *json, size_t len, struct record **ret, struct errmsg *err);

#endif
