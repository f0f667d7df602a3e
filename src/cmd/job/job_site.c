/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/job/job_site.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/cmd/cmd.h"
#include "src/cmd/slurmconf.h"
#include "src/libutil/parse.h"

/* Settings with which a job gets no emissions but those that its nodes computed. */
static const struct settings no_settings = { .market_mg_per_kwh = SETTINGS_NO_MARKET };

static bool is_none(const char *type, const char *none)
{
	return !type || !strcasecmp(type, "none") || !strcasecmp(type, none);
}

/* Reads some keys of the slurm.conf beside ceems.conf. */
static void job_site_read_slurm(struct job_site *site, const char *conf)
{
	char path[PATH_MAX];
	struct slurmconf *sc;
	const char *name, *timeout;
	uint64_t s;

	cmd_conf_beside(conf, "slurm.conf", path);
	if (slurmconf_read(path, &sc, NULL) < 0)
		return;
	name = slurmconf_get(sc, "ClusterName");
	(void)snprintf(site->cluster, sizeof(site->cluster), "%s", name ? name : "");
	site->unmeasured = is_none(slurmconf_get(sc, "AcctGatherEnergyType"), "acct_gather_energy/none");
	site->no_usage = is_none(slurmconf_get(sc, "JobAcctGatherType"), "jobacct_gather/none");
	timeout = slurmconf_get(sc, "MessageTimeout");
	if (timeout && parse_u64(timeout, &s) == 0 && s <= UINT16_MAX)
		site->message_timeout_s = (unsigned int)s;
	slurmconf_destroy(sc);
}

static bool job_site_read_settings(const char *conf, struct settings *ret)
{
	struct errmsg err = { 0 };
	int rc = settings_load(conf, ret, &err);

	if (rc < 0 && rc != -ENOENT && rc != -EACCES)
		(void)cmd_error("%s", err.text);
	if (rc < 0)
		*ret = no_settings;
	return rc == 0;
}

static void job_site_read_factors(struct job_site *site)
{
	const struct settings *s = &site->settings;
	struct errmsg err = { 0 };

	if (factor_chain_setup(s, &site->chain, &err) < 0) {
		(void)cmd_error("%s", err.text);
		return;
	}
	site->has_chain = true;
	if (!*s->emission_series_file)
		return;
	if (factor_series_read(s->emission_series_file, &site->series, &err) < 0)
		(void)cmd_error("%s", err.text);
	else
		site->chain.series = &site->series;
}

static void job_site_read_advice(struct job_site *site, const char *conf)
{
	struct errmsg err = { 0 };
	char path[PATH_MAX];

	cmd_conf_beside(conf, ADVICE_FILE, path);
	if (advice_site_read(path, &site->advice, &err) < 0)
		(void)cmd_error("%s; the rules' own limits are used", err.text);
}

static void job_site_setup(struct job_site *site, const char *conf, bool has_settings)
{
	job_site_read_slurm(site, conf);
	if (has_settings)
		job_site_read_factors(site);
	job_site_read_advice(site, conf);
	site->advice.chain = site->has_chain ? &site->chain : NULL;
}

void job_site_load(struct job_site *site)
{
	char buf[PATH_MAX];
	const char *conf = cmd_conf_path(NULL, buf);

	*site = (struct job_site){ 0 };
	job_site_setup(site, conf, job_site_read_settings(conf, &site->settings));
}

void job_site_use(struct job_site *site, const struct settings *settings)
{
	char conf[PATH_MAX];

	*site = (struct job_site){ .settings = *settings };
	job_site_setup(site, cmd_conf_path(NULL, conf), /* has_settings= */ true);
}

void job_site_fini(struct job_site *site)
{
	advice_site_free(&site->advice);
	factor_series_fini(&site->series);
}

int job_site_finish(struct job_site *site, struct slurmdb_job *job)
{
	struct record *r = job->record;
	bool is_own = !*site->cluster || !r->cluster || !strcasecmp(r->cluster, site->cluster);

	r->energy.final = job->state == SLURMDB_FINAL;
	return record_finish(r, is_own && site->unmeasured, is_own && site->has_chain ? &site->chain : NULL,
			     is_own ? &site->settings : &no_settings, &site->names);
}
