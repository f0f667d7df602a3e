/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * textfile.h - writes ceems.prom for node_exporter's textfile collector, in Prometheus's text
 * format. Names and labels are those of CEEMS's dashboards (hostname, manager="slurm", uuid=<job
 * id>). The file has no user and no account, since everybody who can scrape can read it. All names
 * pass `promtool check metrics`; CEEMS's ceems_cpu_count is left out because it does not.
 */
#ifndef CEEMS_TEXTFILE_H
#define CEEMS_TEXTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libemission/factor_series.h"
#include "src/libledger/ledger.h"
#include "src/libnode/membook.h"
#include "src/libnode/nodeprobes.h"
#include "src/libutil/errmsg.h"

struct textfile_input {
	const struct ledger *ledger;	    /* NULL: running steps show only energy and CPU time */
	const struct membook *memory;	    /* NULL: running steps show no memory */
	const struct factor_series *series; /* for the marginal factor of REGION; NULL: not shown */
	const char *region;
	const struct gpu_reading *gpu;
	size_t ngpus;
	const struct gpu_instance_reading *instance;
	size_t ninstances;
	const struct source_zone *zone;
	size_t nzones;
	const struct nodeprobes_lost *lost; /* NULL: no BPF programs are loaded */
	bool no_jobs;			    /* TextfileJobs=no */
	bool has_rapl;			    /* TextfileRapl=yes */
	/* slurmd ends: write that, but no values of jobs or sensors, which would stay for ever */
	bool has_ended;
};

/*
 * Makes the text of ceems.prom from the ledger's current page. For the sampler's thread. The caller
 * frees *RET.
 */
int textfile_make(const struct textfile_input *in, char **ret, size_t *ret_len,
		  struct errmsg *err) _must_check_;

/* As textfile_make(), but from PAGE. Each value has the label hostname="HOSTNAME". */
int textfile_format(const char *hostname, const struct ledger_page *page, const struct textfile_input *in,
		    char **ret, size_t *ret_len, struct errmsg *err) _must_check_;

#endif
