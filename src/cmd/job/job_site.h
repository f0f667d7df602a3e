/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_site.h - the settings with which `ceems job` makes the same records from slurmdbd's rows as
 * the recorder: ceems.conf, the emission factors, and a few lines of slurm.conf.
 */
#ifndef CEEMS_JOB_SITE_H
#define CEEMS_JOB_SITE_H

#include <stdbool.h>

#include "slurmdb/slurmdb_rows.h"
#include "src/libcore/settings.h"
#include "src/libemission/factor_chain.h"
#include "src/libemission/factor_series.h"
#include "src/librecord/advice.h"
#include "src/librecord/record_fill.h"

struct job_site {
	struct settings settings;
	struct factor_chain chain;
	struct factor_series series;
	bool has_chain;
	struct record_names names;
	char cluster[256];		/* ClusterName; empty: not known */
	bool unmeasured;		/* AcctGatherEnergyType is none */
	bool no_usage;			/* JobAcctGatherType is none */
	unsigned int message_timeout_s; /* MessageTimeout; 0: not set */
	struct advice_site advice;
};

/*
 * Loads the settings. A file that is missing, or that this user may not read, counts as empty. Other
 * errors are printed on stderr.
 */
void job_site_load(struct job_site *site);
/* As job_site_load(), with a copy of SETTINGS, which the caller has read from ceems.conf. */
void job_site_use(struct job_site *site, const struct settings *settings);
void job_site_fini(struct job_site *site);

/*
 * Completes JOB as the recorder does. A job of another cluster gets only the emissions that its nodes
 * computed, because that cluster may be in another region. -ENOMEM.
 */
int job_site_finish(struct job_site *site, struct slurmdb_job *job);

#endif
