/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_prom.h - reads the values of running jobs from a Prometheus server that scrapes ceems.prom, with one
 * query.
 */
#ifndef CEEMS_CMD_TOP_PROM_H
#define CEEMS_CMD_TOP_PROM_H

#include "src/cmd/prometheus.h"
#include "src/cmd/top/top.h"

/*
 * If JOB_ID is 0, sets the values of F's rows, which are jobs. Otherwise adds a row for each
 * node of that job. -errno
 */
int top_prom_read(struct prometheus *p, uint32_t job_id, struct top_frame *f, struct errmsg *err);

/* Returns the query of top_prom_read(), which the caller frees. NULL: out of memory. */
char *top_prom_query(uint32_t job_id);

/*
 * Does the second half of top_prom_read(): fills F from the answer SAMPLES. -EINVAL: the
 * answer has another form.
 */
int top_prom_set(json_t *samples, uint32_t job_id, struct top_frame *f, struct errmsg *err);

#endif
