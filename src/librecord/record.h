/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record.h - the record of one run of a job. The recorder fills it in and writes it as JSON (schema
 * ceems.job.v1) and as SQL columns; the JSON can be read back. An unknown value is never a number:
 * here it is a flag `known`, an empty text or a REASON_* in the metric values; in JSON and SQL it
 * is null.
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
#define RECORD_MIXED "mixed"	 /* a kind or scope, if there were several */

/* A number that may be unknown. */
struct maybe_u64 {
	uint64_t value;
	bool known;
};

/* The energy of a job, and how far it can be trusted. JSON schema: energy.method, energy.source. */
struct record_energy {
	/* the energy cannot change any more; false: FinalEnergyWait ended first. Set before record_fill() */
	bool final;
	struct maybe_u64 total_j; /* whole joules, chosen by record_fill() */
	char method[16];	  /* "cpu-time" ...; empty: unknown */
	char quality[24];	  /* "measured", "estimate" ..., by record_fill(); empty: unknown */
	char source[128];	  /* "rapl", "model", "rapl,model"; empty: unknown */
	/* what is missing, by domain, and why: "cpu: stood still" (doubt.h); empty: nothing is known to be */
	char missing[160];
	/* of the job's row in slurmdbd, as in sacct; in neither JSON nor SQL */
	struct maybe_u64 row_j;
};

/* How METRIC_CO2E of a record was computed. */
enum record_co2e_method {
	CO2E_UNKNOWN,
	CO2E_PER_TICK,	 /* on the nodes, with the factor in use at each tick */
	CO2E_MEAN_POWER, /* for the record, as if the energy were spread evenly over the run time */
};

/* Returns "per-tick" or "mean-power"; "" for CO2E_UNKNOWN. */
const char *record_co2e_method_name(enum record_co2e_method method);

/* How the emissions of a record were computed. An empty text or 0 means unknown. */
struct record_emissions {
	enum record_co2e_method method;
	struct maybe_u64 factor_ug_per_kwh; /* mean, weighted by energy */
	char kind[16];			    /* emission_kind_name(); RECORD_MIXED: several kinds */
	char scope[16];			    /* emission_scope_name(); RECORD_MIXED: several scopes */
	char region[96];		    /* all regions used, joined by "; " */
	char source[320];		    /* all sources used, for citation, joined by "; " */
	uint32_t year;			    /* year of a static factor */
	uint64_t pue_milli;
	/* factor of the site's contract; a known 0 is possible */
	struct maybe_u64 market_ug_per_kwh;
	char market_source[64];
	struct maybe_u64 embodied_ng; /* the job's share of making the machines */
	char embodied_source[64];
	/*
	 * nodes that charged the world mean although the site has a factor, a hostlist; "some of LIST": not
	 * known which; empty: none. In neither JSON nor SQL
	 */
	char default_nodes[128];
};

/*
 * The largest value of one metric on any node of a step. Unknown if the step had one node, or if a
 * node did not report. The mean is the step's value / nnodes. For memory it is unknown: the step's
 * value is itself the maximum.
 */
struct record_spread {
	struct maybe_u64 max; /* in the metric's unit */
	char max_node[64];    /* empty: unknown */
};

/* equals LEDGER_STEP_EXTERN and Slurm's SLURM_EXTERN_CONT */
#define RECORD_STEP_EXTERN UINT32_C(0xfffffffc)

struct record_step {
	uint32_t step_id; /* LEDGER_STEP_* for the batch, extern and interactive step */
	/* component of `srun A : B` in one job; all components have the same step_id */
	struct maybe_u64 het_component;
	char *name; /* owned; up to 1,024 bytes in Slurm; NULL: none */
	char state[24];
	char *nodes; /* owned; a hostlist of any length */
	uint32_t ntasks;
	uint32_t nnodes, ncpus; /* 0: unknown */
	uint64_t start, end;	/* seconds since the epoch, UTC; 0: unknown */
	/* seconds of these in which Slurm had suspended the step; JSON has them as what "elapsed" lacks */
	struct maybe_u64 suspended_s;
	int32_t exit_code, exit_signal;
	bool exit_unknown; /* no exit status, for example of a lost step; null in JSON */
	struct maybe_u64 user_cpu_us, system_cpu_us, max_rss_bytes;
	struct values values;
	struct record_spread cpu_time, energy, memory;
};

/* Texts are owned (malloc'ed) unless said otherwise; a text of NULL is null in JSON. */
struct record {
	char *cluster;
	uint32_t job_id;
	char *sluid; /* as sacct has it, from Slurm 24.11 on; NULL before */
	uint32_t restart_count;
	struct maybe_u64 db_index;
	struct maybe_u64 array_job_id, array_task_id;
	struct maybe_u64 het_job_id, het_job_offset;
	char *job_name, *user_name, *group_name, *account, *partition, *qos, *wckey;
	uint32_t user_id, group_id;
	char *state; /* "COMPLETED", "REQUEUED" ... */
	char *nodes, *work_dir, *reservation, *submit_host, *comment;
	char *tres_req, *tres_alloc;
	/* "0-9,12": the tasks of an array that was cancelled while all of it was pending */
	char *array_tasks;
	/* TRACEPARENT that the job came with; a span of zeros: the trace begins with the job */
	char *trace_parent;
	char *script;	 /* RecordScript */
	char origin[16]; /* RECORD_HISTORY; empty: the recorder made it when the job ended */
	/* seconds since the epoch; 0: unknown. A later part of a resized job has the resize as SUBMIT */
	uint64_t submit, eligible, start, end;
	bool is_resized; /* a later part of a resized job; in neither JSON nor SQL */
	/* seconds between start and end in which Slurm had suspended the job; JSON: as of a step */
	struct maybe_u64 suspended_s;
	struct maybe_u64 time_limit_min;
	int32_t exit_code, exit_signal, derived_exit_code, derived_exit_signal;
	uint32_t total_nodes, total_cpus;
	struct maybe_u64 priority;
	struct record_energy energy;
	/* of the job: the extern step's values, else the sum of the steps */
	struct values values;
	struct record_emissions emissions;
	struct record_step *steps;
	size_t nsteps; /* elements of steps */
	/* only after reading JSON: steps in all parts of the record, see record_write_parts() */
	uint64_t steps_total;
	bool steps_known; /* false: no slurmdbd is configured, or it did not answer */
};

/* Creates a record in which all is unknown. NULL: out of memory. */
struct record *record_create(void);
void record_destroy(struct record *r);
void record_steps_destroy(struct record_step *s, size_t n);

/*
 * Writes the record's key, used in Kafka, SQL and the store:
 * "cluster/jobid,submit,restarts/offset", where offset is 0 if the job is no het component. A
 * record that is sent again has the same key and so changes nothing. The SLUID is not part of the
 * key: after slurmctld was killed, an array task may get another one. Bytes of the cluster's name
 * that are not printable ASCII become '?'. Returns 0; -EINVAL: no cluster or job id; -ENOSPC: SIZE
 * is too small; RECORD_KEY_MAX always fits.
 */
int record_key(const struct record *r, char *buf, size_t size) _must_check_;
/* record_key() from its components; HET_OFFSET is 0 if the job is no het component. */
int record_key_of(const char *cluster, uint32_t job_id, uint64_t submit, uint32_t restart_count,
		  uint64_t het_offset, char *buf, size_t size) _must_check_;

/*
 * Splits STATUS, as Slurm keeps it for jobs and steps, into exit code and signal. STATUS is a wait
 * status, with two exceptions: 1 is exit code 1 without signal (the job did not start), and
 * RECORD_STATUS_UNKNOWN (Slurm's NO_VAL) gives 0 and 0.
 */
#define RECORD_STATUS_UNKNOWN UINT32_C(0xfffffffe)
void record_exit_status(uint32_t status, int32_t *ret_code, int32_t *ret_signal);

/*
 * Converts Slurm's bit mask of array tasks, such as "0x21C", to "2-4,9"; any other text is copied.
 * The caller frees the result. NULL: out of memory.
 */
char *record_array_tasks(const char *text);

/*
 * Finds the amount of NAME ("cpu", "mem", "gres/gpu") in TRES ("cpu=8,mem=4.50G,node=1"); memory is
 * in bytes. TRES may be NULL. False: NAME is not in TRES.
 */
bool record_tres(const char *tres, const char *name, uint64_t *ret) _must_check_;

/* --- record_derived.c --------------------------------------------------------------------- */

/*
 * Run time of a job or step in seconds, as sacct's Elapsed: from start to end without suspended time. A job
 * that has not ended runs until NOW. All shares, rates and hours are of this time. False: not known, as of
 * a job that did not start, or that did not end if NOW is 0.
 */
bool record_run_s(const struct record *r, uint64_t now, uint64_t *ret_s);
bool record_step_run_s(const struct record_step *s, uint64_t *ret_s);

/*
 * CPU time of a job or step in ns: METRIC_CPU_TIME, else Slurm's own value. METRIC_CPU_TIME is
 * unknown if its TRES is not in AccountingStorageTRES. False: both are unknown.
 */
bool record_cpu_time(const struct record *r, uint64_t *ret_ns) _must_check_;
bool record_step_cpu_time(const struct record_step *s, uint64_t *ret_ns) _must_check_;

/* Compute ratio D for a job or step, with the CPU time of record_cpu_time(). False: unknown. */
bool record_derived(const struct record *r, enum derived d, double *ret) _must_check_;
bool record_step_derived(const struct record_step *s, enum derived d, double *ret) _must_check_;

/*
 * Computes max / mean - 1 over the step's nodes, for METRIC_CPU_TIME or METRIC_ENERGY; 0 if all
 * nodes are equal. False: unknown.
 */
bool record_step_imbalance(const struct record_step *s, enum metric m, double *ret) _must_check_;

/* --- record_write.c, record_read.c: the files that use jansson ----------------------------- */

/*
 * Writes R as one line of JSON, without a newline; the caller frees *RET. Joules, grams and seconds
 * are exact decimals. A text that is not UTF-8 is escaped by utf8_escape(), so no byte is lost. Its
 * member's name is then in the list "escaped" of the record or step. Returns 0 or -errno: as
 * record_key(), or -ENOMEM.
 */
int record_to_json(const struct record *r, char **ret, size_t *ret_len, struct errmsg *err) _must_check_;

/*
 * Writes R in one or more parts of at most MAX bytes, and calls FN for each, in order. The first part,
 * number 0, is the record with as many steps as fit, and has "parts" (how many) and "steps_total". The
 * other parts have the remaining steps:
 * {"schema": "ceems.steps.v1", "key": "<key>#1", "job_key": "<key>", "part": 1, "parts": 3,
 * "cluster", "jobid", "@submit", "steps": [...]}
 * KEY and JSON of a part are valid until FN returns. A negative result of FN ends the walk and is
 * returned. Else returns 0 or -errno. -EMSGSIZE: the record without steps, or a single step, is longer
 * than MAX; FN was not called.
 */
typedef int record_part_fn(void *ctx, size_t part, const char *key, const char *json, size_t len,
			   struct errmsg *err);
int record_write_parts(const struct record *r, size_t max, record_part_fn *fn, void *ctx,
		       struct errmsg *err) _must_check_;

/*
 * Writes the facts known when a job starts as JSON of schema ceems.job_start.v1; the caller frees
 * *RET.
 */
int record_start_to_json(const struct record *r, char **ret, size_t *ret_len,
			 struct errmsg *err) _must_check_;

/*
 * Reads a part other than the first: cluster, job_id, submit, the steps and the job's key. All else
 * in the record is unknown. Errors are those of record_from_json().
 */
int record_from_steps_json(const char *json, size_t len, struct record **ret,
			   char ret_job_key[RECORD_KEY_MAX], struct errmsg *err) _must_check_;

/*
 * Reads a record from JSON; free *RET with record_destroy(). Ratios and members that a later
 * version added are ignored. A missing member is unknown; in metric values with
 * REASON_NOT_MEASURED. Returns 0, -ENOMEM or -EINVAL (ERR names the member).
 */
int record_from_json(const char *json, size_t len, struct record **ret, struct errmsg *err) _must_check_;

#endif
