/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_facts.h - the facts about a job that slurmctld's plugin copies, in the form that inbox and
 * store keep. They are numbers, and texts one behind the other in a buffer of fixed size. So the
 * copy needs no allocation, and only the used part is queued. No pointer into Slurm leaves the
 * hook. Raise INBOX_LAYOUT when you change these structs.
 */
#ifndef CEEMS_JOB_FACTS_H
#define CEEMS_JOB_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fact_text {
	FACT_JOB_NAME,
	FACT_USER,
	FACT_ACCOUNT,
	FACT_PARTITION,
	FACT_QOS,
	FACT_WCKEY,
	FACT_STATE,
	FACT_NODES,
	FACT_WORK_DIR,
	FACT_RESERVATION,
	FACT_SUBMIT_HOST,
	FACT_COMMENT,
	FACT_TRES_REQ,
	FACT_TRES_ALLOC,
	FACT_SLUID,
	FACT_TRACE_PARENT,
	FACT_ARRAY_TASKS,
	FACT_TEXT_N
};

/*
 * Longest texts that are copied; bounds the time in the hook. A longer text is left out, never cut;
 * the recorder reads it from slurmdbd. sbatch refuses names over 1,024 and paths over 4,096 bytes.
 * A list of 9,000 irregular node names has some 54,000 bytes.
 */
#define FACT_NODES_MAX 65535
#define FACT_TEXT_MAX 4096
#define FACT_BUFFER (FACT_NODES_MAX + (FACT_TEXT_N - 1) * FACT_TEXT_MAX)

#define FACT_UNKNOWN UINT32_C(0xffffffff) /* value of a uint32_t member that may be unknown */

/* nsteps is valid; not so under a stepmgr, whose step numbers slurmctld does not know */
#define FACT_HAS_NSTEPS UINT32_C(1)
#define FACT_HAS_BATCH UINT32_C(2) /* a batch job */
#define FACT_IS_START UINT32_C(4)  /* the job starts: the entry is INBOX_START, not INBOX_END */
/* a later part of a resized job: slurmdbd has all its steps under the first part */
#define FACT_NO_STEPS UINT32_C(8)
#define FACT_IS_RESIZED UINT32_C(16) /* a later part of a resized job */

struct job_facts {
	uint32_t job_id;
	uint32_t restart_count;
	uint32_t state; /* Slurm's job_state, with its flags */
	uint32_t user_id, group_id;
	uint32_t array_job_id, array_task_id; /* FACT_UNKNOWN: not in an array */
	uint32_t het_job_id, het_job_offset;  /* FACT_UNKNOWN: not in a het job */
	uint32_t time_limit_min;	      /* FACT_UNKNOWN: no limit */
	uint32_t priority;
	uint32_t total_nodes, total_cpus;
	uint32_t exit_status, derived_status; /* Slurm's; see record_exit_status() */
	/* slurmctld's next_step_id: steps 0 to nsteps - 1 were created */
	uint32_t nsteps;
	uint32_t flags; /* FACT_HAS_*, FACT_IS_*, FACT_NO_STEPS */
	/* bit mask, 1 << enum fact_text: texts to read from slurmdbd */
	uint32_t left_out;
	uint32_t text_used;
	uint64_t db_index;		       /* 0: slurmdbd has not assigned it yet */
	uint64_t submit, eligible, start, end; /* seconds since the epoch; 0: never */
	uint64_t suspended_s;		       /* of the time from start to end; UINT64_MAX: unknown */
	uint16_t text_len[FACT_TEXT_N];
	char text[FACT_BUFFER];
};

/* Returns how many bytes of F to queue. */
static inline size_t job_facts_size(const struct job_facts *f)
{
	return offsetof(struct job_facts, text) + f->text_used;
}

/* Whether the SIZE bytes at F are complete facts: their texts end within them. */
bool job_facts_is_whole(const struct job_facts *f, size_t size);

/* Appends a text; call in the order of enum fact_text. NULL or "": unknown. */
void job_facts_add_text(struct job_facts *f, enum fact_text which, const char *text);

/* Notes that a text exists but is not copied; the recorder reads it from slurmdbd. */
void job_facts_leave_out(struct job_facts *f, enum fact_text which);

/* All that is kept of a job's end when the queue had no room; slurmdbd has the rest. */
struct job_key {
	uint32_t job_id, restart_count;
	uint32_t array_job_id, array_task_id; /* FACT_UNKNOWN: not in an array */
	uint32_t het_job_id, het_job_offset;  /* FACT_UNKNOWN: not in a het job */
	uint32_t user_id;
	uint32_t state;		     /* Slurm's job_state, with its flags */
	uint64_t submit, start, end; /* seconds since the epoch; 0: never */
};

/* Makes facts from KEY; all texts are marked as left out, all other numbers are unknown. */
void job_facts_from_key(const struct job_key *key, struct job_facts *ret);

/* Facts about the cluster, as slurmctld has them when it loads the plugin. */
struct cluster_facts {
	char cluster[256];
	char state_dir[1024]; /* StateSaveLocation */
	uint32_t flags;	      /* SITE_* */
	uint32_t zero;
};
#define SITE_UNMEASURED UINT32_C(1) /* AcctGatherEnergyType is none */
#define SITE_NO_USAGE UINT32_C(2)   /* JobAcctGatherType is none */
#define SITE_HAS_SLURMDBD UINT32_C(4)
#define SITE_HAS_EXTERN UINT32_C(8) /* PrologFlags=Contain: a job that started has an extern step */

/* What the hook cost slurmctld since it loaded the plugin, in ns. */
#define HOOK_COST_BUCKETS 8
struct hook_cost {
	uint64_t n, sum_ns, max_ns;
	uint64_t upto[HOOK_COST_BUCKETS]; /* calls that took less than hook_cost_bound_ns(i) */
};
static inline uint64_t hook_cost_bound_ns(unsigned int bucket)
{
	return UINT64_C(4096) << (2 * bucket);
}

#endif
