/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_sums.h - the numbers on a job's screen, added up over the parts of an array or het job.
 */
#ifndef CEEMS_JOB_SUMS_H
#define CEEMS_JOB_SUMS_H

#include "src/librecord/job_screen.h"

/*
 * Sums over all parts of an array or het job. Members that end in `_n` count the parts
 * in which a value is known.
 */
struct job_sums {
	struct values f;
	size_t started, running;
	/* first_start is seconds since the epoch; elapsed_s is the sum over parts */
	uint64_t first_start, elapsed_s, longest_s;
	/* used and allocated CPU time of the parts in which both are known */
	double cpu_ns, cpu_held_ns;
	size_t cpu_n, energy_n, co2e_n;
	double energy_ns; /* run time of the parts whose energy is known */
	/* idle energy, and the energy of which it is known; energy is there of which it is not known */
	double idle_uj, idle_of_uj;
	bool idle_lacks;
	uint64_t gpus;
};
void job_sums_add(const struct job_screen *s, struct job_sums *sum);

/*
 * Writes a job's id: "12"; "5_3" (array task); "5_[1-4]" (tasks that never ran); "21+1" (het
 * component).
 */
void job_id_text(const struct record *r, char *buf, size_t size);

/* record_run_s() until s->now; 0 if the job has not started. */
uint64_t job_elapsed_s(const struct job_screen *s, const struct record *r);

/* Returns the share of the allocated CPU time that was used; -1: unknown. */
double job_cpu_share(const struct job_screen *s, const struct record *r);

enum job_memory_kind {
	JOB_MEMORY_SAMPLED,
	JOB_MEMORY_KERNEL, /* the kernel's peak, with page cache: no sample was taken */
	JOB_MEMORY_TASK,   /* Slurm's MaxRSS of one task: the node's memory was not measured */
};

struct job_memory {
	uint64_t peak, allocated; /* bytes of the node with the largest peak; 0: unknown */
	enum job_memory_kind kind;
	double share;
};
/* Finds the largest memory peak of a node of R, and how much memory a node of R had. */
void job_memory_find(const struct record *r, struct job_memory *m);

#endif
