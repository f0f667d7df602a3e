/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/libstep/stepfile.h"
#include "src/libutil/parse.h"

/*
 * Name of a variable in the step's environment, which has the job id of a component of a heterogeneous job.
 * Slurm's launch message does not say for a batch step that the job is heterogeneous.
 */
static const char component[] = "SLURM_JOB_ID_HET_GROUP_";

/* Parses such a variable: for "SLURM_JOB_ID_HET_GROUP_1=22", gives the component 1 and its job id 22. */
static bool parse_component(const char *text, uint64_t *ret_offset, uint64_t *ret_job_id)
{
	const size_t len = sizeof(component) - 1;
	size_t digits;

	if (strncmp(text, component, len))
		return false;
	text += len;
	digits = strcspn(text, "=");
	return text[digits] == '=' && parse_u64_n(text, digits, ret_offset) == 0 &&
	       parse_u64(text + digits + 1, ret_job_id) == 0 && *ret_offset < UINT32_MAX &&
	       *ret_job_id < UINT32_MAX;
}

static bool find_component(uint32_t job_id, char *const *env, uint64_t *ret_offset, uint64_t *ret_leader)
{
	bool has_leader = false, is_found = false;
	uint64_t offset, id;

	for (; env && *env; env++) {
		if (!parse_component(*env, &offset, &id))
			continue;
		if (offset == 0) {
			*ret_leader = id;
			has_leader = true;
		}
		if (id == job_id) {
			*ret_offset = offset;
			is_found = true;
		}
	}
	return has_leader && is_found;
}

void stepfile_job_name(uint32_t job_id, uint32_t array_job_id, uint32_t array_task_id, char *const *env,
		       char ret[STEPFILE_JOB_MAX])
{
	uint64_t offset = 0, leader = 0;

	if (array_job_id)
		(void)snprintf(ret, STEPFILE_JOB_MAX, "%" PRIu32 "_%" PRIu32 "-%" PRIu32, array_job_id,
			       array_task_id, job_id);
	else if (find_component(job_id, env, &offset, &leader))
		(void)snprintf(ret, STEPFILE_JOB_MAX, "%" PRIu64 "+%" PRIu64 "-%" PRIu32, leader, offset,
			       job_id);
	else
		(void)snprintf(ret, STEPFILE_JOB_MAX, "%" PRIu32, job_id);
}
