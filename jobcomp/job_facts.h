/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_facts.h - what the hook takes of a job: numbers, and texts one behind the other in a buffer of
 * fixed size, so that the copy needs no allocation and only the used part is queued. No pointer
 * into Slurm leaves the hook.
 */
#ifndef CEEMS_JOB_FACTS_H
#define CEEMS_JOB_FACTS_H

#include <stddef.h>
#include <stdint.h>

#include "src/librecord/record.h"

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
 * A longer text is left out, never cut, and read from slurmdbd like one that Slurm does not have at
 * hand: the sum of the bounds is what the hook may copy at most. sbatch refuses names over 1024 and
 * paths over 4096 bytes; a list of 9,000 nodes without regularity has some 54,000.
 */
#define FACT_NODES_MAX 65535
#define FACT_TEXT_MAX 4096
#define FACT_BUFFER (FACT_NODES_MAX + (FACT_TEXT_N - 1) * FACT_TEXT_MAX)

#define FACT_UNKNOWN UINT32_C(0xffffffff) /* of the uint32_t below that may be missing */

enum fact_event {
	FACT_END,
	FACT_START,
};

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
	int32_t exit_code, exit_signal, derived_exit_code;
	uint32_t event;			       /* enum fact_event */
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

/* The next text, in the order of enum fact_text; NULL or "": unknown. */
void job_facts_add_text(struct job_facts *f, enum fact_text which, const char *text);

/*
 * "2-4,9" of Slurm's "0x21C", a bit per task; a text in other words as it is. malloc'ed; NULL: out of
 * memory.
 */
char *job_facts_tasks(const char *text);

/* A text that there is and that is not copied. */
void job_facts_leave_out(struct job_facts *f, enum fact_text which);

/*
 * Slurm's half, job_copy.c: fills the used part of *RET. Called under slurmctld's job lock; no
 * allocation, no system call.
 *
 * slurmdbd has a row for each size that a job had, and so it has a record for each: a part, whose
 * submit, eligible and start time are the time of the resize before it. RESIZED is that of a job that
 * is being resized now (resizes.h), 0: it never was.
 */
struct job_record;
void job_facts_copy(const struct job_record *job, enum fact_event event, uint64_t resized,
		    struct job_facts *ret);

/* Slurm's, too: "COMPLETED" of a job's state with its flags. A constant. */
const char *job_state_name(uint32_t state);

/* sacct's SLUID of a row of slurmdbd's; "" before 24.11. BUF is JOB_SLUID_SIZE bytes. */
void job_sluid(uint64_t db_index, char *buf);
#define JOB_SLUID_SIZE 15

/*
 * The record of SIZE bytes of facts as queued; what is not in them is unknown. -EINVAL: not facts,
 * -ENOMEM.
 */
int job_facts_to_record(const struct job_facts *f, size_t size, const char *cluster,
			struct record **ret);

#endif
