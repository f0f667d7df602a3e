/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_facts.h - the facts that slurmctld's plugin knows of a job, as inbox and store keep them. They
 * are numbers, and texts one behind the other in a buffer of fixed size. So the copy needs no
 * allocation, and only the used part is queued. No pointer into Slurm leaves the hook. If you change
 * these structs, raise INBOX_LAYOUT.
 */
#ifndef CEEMS_JOB_FACTS_H
#define CEEMS_JOB_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record;

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
	FACT_ARRAY_TASKS,
	FACT_TEXT_N
};

/*
 * A text longer than its bound is left out, never cut. The recorder reads the text from slurmdbd, like a
 * text that slurmctld does not have. So the hook copies at most the sum of the bounds. sbatch refuses names
 * over 1024 and paths over 4096 bytes; a list of 9,000 nodes without regularity has some 54,000.
 */
#define FACT_NODES_MAX 65535
#define FACT_TEXT_MAX 4096
#define FACT_BUFFER (FACT_NODES_MAX + (FACT_TEXT_N - 1) * FACT_TEXT_MAX)

#define FACT_UNKNOWN UINT32_C(0xffffffff) /* of the uint32_t below that may be missing */

#define FACT_HAS_NSTEPS UINT32_C(1) /* not under a stepmgr, whose numbers slurmctld does not know */
#define FACT_HAS_BATCH UINT32_C(2)  /* a batch job */
#define FACT_IS_START UINT32_C(4)   /* it begins: not INBOX_END, INBOX_START */
#define FACT_NO_STEPS UINT32_C(8)   /* a later part of a resized job whose steps are all in the first part's row */

struct job_facts {
	uint32_t job_id;
	uint32_t restart_count;
	uint32_t state;			       /* Slurm's, with its flags */
	uint32_t user_id, group_id;
	uint32_t array_job_id, array_task_id;  /* FACT_UNKNOWN: not of an array */
	uint32_t het_job_id, het_job_offset;   /* FACT_UNKNOWN: not of a het job */
	uint32_t time_limit_min;	       /* FACT_UNKNOWN: none */
	uint32_t priority;
	uint32_t total_nodes, total_cpus;
	uint32_t exit_status, derived_status;  /* Slurm's: record_exit_status() */
	uint32_t nsteps;		       /* slurmctld's next_step_id: 0 to nsteps - 1 were made */
	uint32_t flags;			       /* FACT_HAS_*, FACT_IS_START */
	uint32_t left_out;		       /* 1 << enum fact_text: to be read from slurmdbd */
	uint32_t text_used;
	uint64_t db_index;		       /* 0: slurmdbd has not told it yet */
	uint64_t submit, eligible, start, end; /* 0: never */
	uint16_t text_len[FACT_TEXT_N];
	char text[FACT_BUFFER];
};

/* Bytes to queue. */
static inline size_t job_facts_size(const struct job_facts *f)
{
	return offsetof(struct job_facts, text) + f->text_used;
}

/* Whether the SIZE bytes at F, as they were queued, are facts: the texts end within them. */
bool job_facts_is_whole(const struct job_facts *f, size_t size);

/* The next text, in the order of enum fact_text; NULL or "": unknown. */
void job_facts_add_text(struct job_facts *f, enum fact_text which, const char *text);

/* A text that there is and that is not copied. */
void job_facts_leave_out(struct job_facts *f, enum fact_text which);

/* Of an end that the queue had no room for; the rest is in slurmdbd. */
struct job_key {
	uint32_t job_id, restart_count;
	uint32_t array_job_id, array_task_id; /* FACT_UNKNOWN: not of an array */
	uint32_t het_job_id, het_job_offset;  /* FACT_UNKNOWN: not of a het job */
	uint32_t user_id;
	uint32_t state;			      /* Slurm's, with its flags */
	uint64_t submit, start, end;	      /* 0: never */
};

/* Facts with nothing but KEY. */
void job_facts_from_key(const struct job_key *key, struct job_facts *ret);

/* Of the whole cluster, as slurmctld has it when it loads the plugin. */
struct job_site {
	char cluster[256];
	char state_dir[1024]; /* StateSaveLocation */
	uint32_t flags;	      /* SITE_* */
	uint32_t zero;
};
#define SITE_UNMEASURED UINT32_C(1)  /* AcctGatherEnergyType is none */
#define SITE_NO_USAGE UINT32_C(2)    /* JobAcctGatherType is none */
#define SITE_HAS_SLURMDBD UINT32_C(4)
#define SITE_HAS_EXTERN UINT32_C(8)  /* PrologFlags=Contain: a job that started has an extern step */

/* What job ends cost slurmctld since it loaded the plugin. */
#define HOOK_COST_BUCKETS 8
struct hook_cost {
	uint64_t n, sum_ns, max_ns;
	uint64_t upto[HOOK_COST_BUCKETS]; /* calls that took less than hook_cost_bound_ns() */
};
static inline uint64_t hook_cost_bound_ns(unsigned int bucket)
{
	return UINT64_C(4096) << (2 * bucket);
}

/*
 * Makes a record of SIZE bytes of facts as they were queued. Members that are not in the facts are
 * unknown. -EINVAL: not facts. -ENOMEM. In libstore, not in libinbox.
 */
int job_facts_to_record(const struct job_facts *f, size_t size, const char *cluster,
			struct record **ret);
/* The record_key() of that record, without making it. -EINVAL: not facts, or no job's; -ENOSPC: ROOM. */
int job_facts_record_key(const struct job_facts *f, size_t size, const char *cluster, char *buf, size_t room);

#endif
