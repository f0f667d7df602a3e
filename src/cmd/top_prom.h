/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_prom.h - gets the values of running jobs, with one query, from a Prometheus server that scrapes ceems.prom.
 */
#ifndef CEEMS_CMD_TOP_PROM_H
#define CEEMS_CMD_TOP_PROM_H

#include "src/cmd/prometheus.h"
#include "src/cmd/top.h"

/* Sets the values of F's rows, which are jobs; or, unless JOB_ID is 0, adds a row per node of that job. -errno */
int top_prom_read(struct prometheus *p, uint32_t job_id, struct top_frame *f, struct errmsg *err);

/* The query. malloc'ed; NULL: out of memory. */
char *top_prom_query(uint32_t job_id);

/* The same as top_prom_read(), from the series of an answer. -EINVAL: they are of another form. */
int top_prom_set(json_t *samples, uint32_t job_id, struct top_frame *f, struct errmsg *err);

#endif
