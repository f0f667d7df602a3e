/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hold_jobs N: allocates N jobs of one CPU for its user, like `salloc --no-shell` but ten times as fast. The
 * jobs have no step and no process, and run until they are cancelled.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

static int hold_job(long n)
{
	resource_allocation_response_msg_t *response = NULL;
	job_desc_msg_t job;
	char name[32];

	(void)snprintf(name, sizeof(name), "held%ld", n);
	slurm_init_job_desc_msg(&job);
	job.name = name;
	job.user_id = getuid();
	job.group_id = getgid();
	job.min_nodes = 1;
	job.min_cpus = 1;
	job.num_tasks = 1;
	job.immediate = 1;
	job.work_dir = (char *)"/";
	if (slurm_allocate_resources(&job, &response) != SLURM_SUCCESS) {
		(void)fprintf(stderr, "hold_jobs: job %ld: %s\n", n, slurm_strerror(errno));
		return -1;
	}
	slurm_free_resource_allocation_response_msg(response);
	return 0;
}

int main(int argc, char **argv)
{
	long jobs = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
	long i;

	if (jobs < 1) {
		(void)fprintf(stderr, "usage: hold_jobs N\n");
		return 2;
	}
	slurm_init(NULL);
	for (i = 0; i < jobs; i++)
		if (hold_job(i) < 0)
			return 1;
	return 0;
}
