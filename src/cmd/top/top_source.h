/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_source.h - the sources of `ceems top`: slurmctld with sstat, slurmctld with Prometheus, or the ledger
 * of this node.
 */
#ifndef CEEMS_CMD_TOP_SOURCE_H
#define CEEMS_CMD_TOP_SOURCE_H

#include "src/cmd/top/top.h"
#include "src/libcore/settings.h"
#include "src/libutil/errmsg.h"

struct top_source;

struct top_source_ops {
	/*
	 * Fills F, which is empty: with the nodes of job JOB_ID, or with all rows if JOB_ID is 0.
	 * Waits for the answer of a daemon. -ENOTSUP: this source does not know nodes.
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
	const char *user;	/* its name, for people */
	uint64_t window_ns;	/* of rates */
	unsigned int whole;	/* readings by sstat of all jobs, before it is asked for a few in turn */
	const char *prometheus; /* address; empty: none */
};

/* Opens the source of running jobs. Close it with (*RET)->ops->close(). -ENOMEM. */
int top_jobs_open(const struct top_jobs_options *o, struct top_source **ret, struct errmsg *err) _must_check_;

/*
 * Opens the ledger of NODE as a source; NULL: the ledger of this machine. Close it as above.
 * Errors as ledger_open().
 */
int top_node_open(const struct settings *s, const char *node, uint64_t window_ns, struct top_source **ret,
		  struct errmsg *err) _must_check_;

#endif
