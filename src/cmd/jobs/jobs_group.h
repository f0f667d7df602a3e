/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobs_group.h - sums over jobs for `ceems jobs` and `ceems report`: over all jobs, or by user, account,
 * partition, name, day or month.
 */
#ifndef CEEMS_CMD_JOBS_GROUP_H
#define CEEMS_CMD_JOBS_GROUP_H

#include "src/cmd/cells.h"
#include "src/cmd/jobs/jobs_field.h"
#include "src/libutil/must_check.h"

/* How far the energy of a job can be trusted; record.energy.quality and record.origin. */
enum jobs_quality {
	JOBS_QUALITY_MEASURED,
	JOBS_QUALITY_PARTLY_ESTIMATE,
	JOBS_QUALITY_ESTIMATE,
	JOBS_QUALITY_LOWER_BOUND,
	/* Slurm's own energy, of a record of ceems export; on a shared node it may be too high */
	JOBS_QUALITY_HISTORY,
	JOBS_QUALITY_UNTOLD,  /* the energy is known, but not how it was measured */
	JOBS_QUALITY_UNKNOWN, /* the energy is not known */
	JOBS_QUALITY_N
};

struct jobs_quality_info {
	const char *name;  /* for programs */
	const char *title; /* for people */
};
extern const struct jobs_quality_info jobs_quality_table[JOBS_QUALITY_N];

/* Sums over the N jobs whose waste is known. */
struct jobs_waste_sum {
	double uj, ng;
	size_t n;    /* jobs whose waste is known */
	size_t jobs; /* how many of these wasted something */
};

struct jobs_sum {
	uint64_t jobs, failed;
	uint64_t elapsed_s;
	double cpu_ns, cpu_held_ns; /* CPU time used and allocated, of the jobs for which both are known */
	uint64_t energy_uj, co2e_ng;
	size_t running;		 /* jobs without a known energy that still run */
	size_t energy_n, co2e_n; /* how many jobs have a known energy, known emissions */
	/* idle energy, and the energy of which it is known: that of jobs, of domains and of nodes of a job */
	double idle_uj, idle_of_uj;
	size_t idle_n; /* how many jobs have a known idle energy, if only of a part of their energy */
	/* jobs whose waste is unknown or too low for want of idle power, and their energy */
	size_t waste_lacks_n;
	uint64_t waste_lacks_uj;
	uint64_t failed_uj;
	size_t failed_n;
	struct {
		uint64_t jobs, uj;
	} quality[JOBS_QUALITY_N];
	struct jobs_waste_sum waste[WASTE_N];
};

void jobs_sum_add(struct jobs_sum *sum, const struct jobs_job *j);

/* Whether idle_of_uj is the energy of all jobs whose energy is known. */
bool jobs_sum_idle_is_whole(const struct jobs_sum *sum);

/* Sums the known causes of waste, which is a lower bound. False: the waste of no job is known. */
bool jobs_sum_wasted(const struct jobs_sum *sum, double *ret_uj, double *ret_ng);

/*
 * Returns a line such as "12 jobs, 3h04m12s, CPU 45 %, 1.92 Wh, ...", which the caller frees. NULL:
 * out of memory.
 */
char *jobs_sum_text(const struct jobs_sum *sum);

enum jobs_group_by {
	JOBS_BY_NONE,
	JOBS_BY_USER,
	JOBS_BY_ACCOUNT,
	JOBS_BY_PARTITION,
	JOBS_BY_NAME,
	JOBS_BY_DAY, /* day of the job's end in local time; today for running jobs */
	JOBS_BY_MONTH,
};

/* Finds a group by its name, such as "user". False: there is none. */
bool jobs_group_find(const char *name, enum jobs_group_by *ret) _must_check_;

struct jobs_group {
	char *key; /* owned */
	struct jobs_sum sum;
};

struct jobs_groups {
	enum jobs_group_by by;
	struct jobs_group *group; /* owned, sorted by name */
	size_t n, room;
};
void jobs_groups_free(struct jobs_groups *g);

/* Adds job J to its group, a new one if necessary. -ENOMEM. */
int jobs_groups_add(struct jobs_groups *g, const struct jobs_job *j);

/* Returns the group KEY, borrowed. NULL: there is no such group. */
const struct jobs_group *jobs_groups_find(const struct jobs_groups *g, const char *key);

/* Returns the name for jobs_group_find(), such as "user". */
const char *jobs_group_name(enum jobs_group_by by);

/* The columns of a table of sums: the name of the group, and the rows of jobs_sum.def. */
enum jobs_sum_column {
	SUM_KEY,
#define SUM(id, ...) SUM_##id,
#include "src/cmd/jobs/jobs_sum.def"
	SUM_N
};
void jobs_sum_columns(enum jobs_group_by by, struct cells_column column[SUM_N]);
/* Sets the cells of a row. The first is KEY, which may be empty. */
void jobs_sum_cells(const char *key, const struct jobs_sum *s, struct cell cell[SUM_N]);

/* Finds a column by its name for --sort, such as "energy". False: there is none. */
bool jobs_sum_find(const char *name, enum jobs_sum_column *ret) _must_check_;
/* Writes the names of all columns to BUF, for messages: "key, jobs, ... or wasted". Returns BUF. */
const char *jobs_sum_names(char *buf, size_t size);

/* Prints a line per group, at most TOP lines (0: all), those with the largest SORT first. -ENOMEM. */
int jobs_groups_print(const struct jobs_groups *g, enum jobs_sum_column sort, enum cells_format format,
		      size_t top, bool header, FILE *out);

#endif
