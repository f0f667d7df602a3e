/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * summary.h - the values of `ceems report` for a month or week. Jobs are added one by one, and the
 * sums written as text, JSON, CSV or HTML. A job counts on the day on which it ended, so that days,
 * weeks and months add up.
 */
#ifndef CEEMS_CMD_SUMMARY_H
#define CEEMS_CMD_SUMMARY_H

#include "src/cmd/jobs/jobs_group.h"
#include "src/cmd/report/period.h"

#define SUMMARY_SCHEMA "ceems.report.v1"
#define SUMMARY_NAMES 6
#define SUMMARY_NAME_MAX 512

/*
 * Up to SUMMARY_NAMES different texts of the jobs, and how many jobs have each. OTHERS counts jobs
 * with further texts.
 */
struct summary_names {
	char text[SUMMARY_NAMES][SUMMARY_NAME_MAX];
	uint64_t jobs[SUMMARY_NAMES];
	size_t n;
	uint64_t others;
};

/* The place of one user among all users. Place 1 has the largest value. */
struct summary_place {
	const char *why; /* borrowed: why the place is not known; NULL: it is known */
	/* place by energy among ENERGY_OF users; 0: the user's energy is not known */
	size_t energy, energy_of;
	size_t wasted, wasted_of; /* place by the share of energy that was wasted, among WASTED_OF users */
};

struct summary {
	struct period period, before;
	enum jobs_group_by by;
	const char *cluster; /* borrowed; NULL: unknown, or all clusters */
	const char *whose;   /* borrowed; whose jobs these are: "all users", "user ann", "account physics" */
	/* borrowed: name of the sink whose database has the jobs; NULL: slurmdbd has them */
	const char *database;
	const struct summary_place *place; /* borrowed; NULL: --rank was not given */
	/* jobs of the period before were deleted, so it is not compared with that period */
	bool lacks_before;
	uint64_t now;

	struct jobs_sum sum, sum_before;
	struct jobs_groups groups, groups_before;
	struct jobs_sum day[PERIOD_DAYS_MAX];
	struct summary_names sources; /* energy sources, such as "rapl" */
	struct summary_names factors; /* emission factors, such as "FR 2024, life-cycle; Ember; PUE 1.3" */
	uint64_t spread;	      /* number of jobs whose emissions are mean-power, not per-tick */
};

/* Sets the period of S and the one before it. The caller sets the rest. */
void summary_init(struct summary *s, const struct period *period, enum jobs_group_by by, uint64_t now);
void summary_fini(struct summary *s);

/* Adds a job that ended in the period or the one before; ignores others. -ENOMEM. */
int summary_add(struct summary *s, const struct jobs_job *j);

bool summary_is_over(const struct summary *s);

/* Returns the rank of GROUP by energy, from 1; 0: its energy is unknown. */
size_t summary_rank(const struct jobs_groups *groups, const struct jobs_group *group);

/* Finds the place of USER among GROUPS, which are grouped by user. */
void summary_place_find(const struct jobs_groups *groups, const char *user, struct summary_place *ret);

/*
 * Returns the groups sorted by energy, the largest first; the caller frees the array. NULL: out of
 * memory.
 */
const struct jobs_group **summary_sorted(const struct jobs_groups *groups);

/*
 * Writes the change from BEFORE to SUM, such as "+12 %"; "n/a" if one is unknown, or the period is
 * not over. Returns BUF.
 */
const char *summary_change(const struct summary *s, const struct jobs_sum *sum, const struct jobs_sum *before,
			   char *buf);

/* --- writers: each -ENOMEM -------------------------------------------------------------------- */

int summary_print_text(const struct summary *s, FILE *out);
/* Writes one table; its column "section" tells what a row sums up. */
int summary_print_csv(const struct summary *s, FILE *out);
/* Writes one JSON object: the period, the cluster, whose jobs, the sources and factors, and the same rows. */
int summary_print_json(const struct summary *s, FILE *out);

struct summary_links {
	/* Writes the name of a group's page to BUF; NULL: groups have no pages. */
	const char *(*group)(const struct summary *s, const char *key, char *buf, size_t size);
	const char *up, *up_title; /* the page above this one; NULL: none */
	const char *data;	   /* the page's data as JSON; NULL: none */
};
/* Writes one HTML file, which loads nothing. */
int summary_print_html(const struct summary *s, const struct summary_links *links, FILE *out);

#endif
