/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_sums.h - the numbers of a job's screen, summed over the parts of an array or het job.
 */
#ifndef CEEMS_JOB_SUMS_H
#define CEEMS_JOB_SUMS_H

#include "src/librecord/job_screen.h"

/* All parts added up. */
struct job_sums {
	struct values f;
	size_t started, running;
	uint64_t first_start, elapsed_s, longest_s;
	double cpu_ns, cpu_held_ns; /* over the parts of which both are known */
	size_t cpu_n, energy_n, co2e_n;
	double energy_ns; /* the time of the parts whose energy is known */
	uint64_t gpus;
};
void job_sums_add(const struct job_screen *s, struct job_sums *sum);

/* Writes a job's id: "12"; "5_3"; "5_[1-4]" for tasks that never ran; "21+1". */
void job_id_text(const struct record *r, char *buf, size_t size);

/* Until now, of one that runs. */
uint64_t job_elapsed_s(const struct job_screen *s, const struct record *r);

/* The share of the allocated CPU time that the job used; -1: unknown. */
double job_cpu_share(const struct job_screen *s, const struct record *r);

struct job_memory {
	uint64_t peak, allocated; /* of a node; 0: not known */
	bool is_of_task;	  /* Slurm's MaxRSS of one task, because the node's memory was not measured */
	double share;
};
void job_memory_find(const struct record *r, struct job_memory *m);

#endif
