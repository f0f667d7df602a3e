/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_source.h - the sources of `ceems top`: slurmctld with sstat, slurmctld with Prometheus, or the ledger of this node.
 */
#ifndef CEEMS_CMD_TOP_SOURCE_H
#define CEEMS_CMD_TOP_SOURCE_H

#include "src/cmd/top.h"
#include "src/libcore/settings.h"
#include "src/libutil/errmsg.h"

struct top_source;

struct top_source_ops {
	/*
	 * Fills F, which is empty, with all rows or, unless JOB_ID is 0, the nodes of that job.
	 * Waits for answers. -ENOTSUP: this source has no nodes.
	 */
	int (*read)(struct top_source *s, uint32_t job_id, struct top_frame *f, struct errmsg *err);
	void (*close)(struct top_source *s);
};

struct top_source {
	const struct top_source_ops *ops;
	void *ctx;
};

struct top_jobs_options {
	bool all_users;
	uint32_t uid;
	const char *user; /* its name, for people */
	uint64_t window_ns; /* of rates */
	unsigned int whole; /* readings by sstat of all jobs, before it is asked for a few in turn */
	const char *prometheus; /* address; empty: none */
};

/* Opens the source of running jobs. Close *RET by its ops. -ENOMEM. */
int top_jobs_open(const struct top_jobs_options *o, struct top_source **ret, struct errmsg *err);

/* Opens the ledger of NODE as a source; NULL: this node's. */
int top_node_open(const struct settings *s, const char *node, uint64_t window_ns, struct top_source **ret,
		  struct errmsg *err);

#endif
