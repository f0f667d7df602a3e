/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_ids.h - ids of jobs and steps as sacct and squeue write them: "12", "12_3" or "12_[1-4,7]" of an array,
 * "12+1" of a het job. A step may follow each ("12.0", "12_3.batch"). Several ids are separated by commas.
 */
#ifndef CEEMS_CMD_JOB_IDS_H
#define CEEMS_CMD_JOB_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/librecord/record.h"
#include "src/libutil/errmsg.h"

/*
 * The most ids in one command line. slurmdbd is asked for each task, and "5_[0-999999999]" is
 * likely a mistake.
 */
#define JOB_IDS_MAX 10000

enum job_id_kind {
	JOB_ID_WHOLE, /* all tasks of an array, or all components of a het job */
	JOB_ID_TASK,
	JOB_ID_COMPONENT,
};

struct job_id {
	uint32_t job_id;
	enum job_id_kind kind;
	uint32_t part; /* number of the task or component */
	bool has_step;
	uint32_t step_id;
};

struct job_ids {
	struct job_id *id; /* owned */
	size_t n;
};
void job_ids_fini(struct job_ids *ids);

/*
 * Adds the ids in LIST. -EINVAL; -ERANGE: more than JOB_IDS_MAX; -ENOMEM. On error, some of LIST
 * may have been added.
 */
int job_ids_add(struct job_ids *ids, const char *list, struct errmsg *err);

/* Returns true if ID names the job R, or R is a part of what ID names. */
bool job_id_is_of(const struct job_id *id, const struct record *r);

#endif
