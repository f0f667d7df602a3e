/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_factors.c - ceems factors: keeps the series of emission factors up to date, and shows it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/cmd/factors/factors.h"
#include "src/libcore/controller_metric.h"
#include "src/libutil/as_owner.h"
#include "src/libutil/rfc3339.h"

#define CONF_NAME "ceems-factors.conf"

static void factors_tell(void *ctx, const struct update_outcome *o)
{
	const struct provider_ask *ask = o->ask;
	const struct points *p = o->points;
	char until[RFC3339_SIZE];
	size_t i;

	(void)ctx;
	if (o->rc < 0) {
		(void)cmd_error("%s%s%s: %s, and the earlier values stay: %s", ask->provider->name,
				*ask->zone.region ? " " : "", ask->zone.region,
				o->rc == -EINVAL ? "refused" : "failed", o->why);
		return;
	}
	if (o->doubts)
		(void)cmd_error("%s %s: %zu values left out: %s; if that is right: ceems factors "
				"update --accept",
				ask->provider->name, ask->zone.region, o->doubts, o->why);
	for (i = 0; i < p->nskipped && i < POINTS_SKIPPED_MAX; i++)
		(void)cmd_error("%s %s: skipped: %s", ask->provider->name, ask->zone.region,
				p->skipped[i].text);
	if (p->nskipped > POINTS_SKIPPED_MAX)
		(void)cmd_error("%s %s: skipped: %zu more", ask->provider->name, ask->zone.region,
				p->nskipped - POINTS_SKIPPED_MAX);
	if (!p->n)
		return;
	rfc3339_utc(p->point[p->n - 1].until_s, until);
	cmd_print("%s %s: %zu values until %s, the last is %" PRIu64 ".%03" PRIu64 " g/kWh",
		  ask->provider->name, ask->zone.region, p->n, until,
		  p->point[p->n - 1].factor.mg_per_kwh / 1000, p->point[p->n - 1].factor.mg_per_kwh % 1000);
}

static int update(const struct factors *f)
{
	const struct update u = {
		.conf = &f->conf, .series_path = f->series_path, .accept = f->accept, .tell = factors_tell
	};
	struct errmsg err = { 0 };
	int rc = update_run(&u, &err);

	if (rc < 0)
		(void)cmd_error("%s", err.text);
	if (rc != -EBUSY && factors_prom_write(f, rc, &err) < 0)
		(void)cmd_error("TextfileDir: %s; " FACTORS_PROM " is not updated", err.text);
	return rc ? CMD_FAILED : CMD_OK;
}

/* Sets the path of the providers' configuration: PATH, or a file beside ceems.conf. */
static void find_conf(struct factors *f, const char *conf, const char *path)
{
	char buf[PATH_MAX];
	char *slash;

	if (path) {
		(void)snprintf(f->conf_path, sizeof(f->conf_path), "%s", path);
		return;
	}
	(void)snprintf(f->conf_path, sizeof(f->conf_path), "%s", cmd_conf_path(conf, buf));
	slash = strrchr(f->conf_path, '/');
	slash = slash ? slash + 1 : f->conf_path;
	(void)snprintf(slash, sizeof(f->conf_path) - (size_t)(slash - f->conf_path), "%s", CONF_NAME);
}

/*
 * Loads ceems.conf and the providers' configuration. The latter may be missing unless NEEDED, that is, if
 * providers will be asked.
 */
static int cmd_factors_load(struct factors *f, const char *conf, const char *path, bool needed)
{
	struct errmsg err = { 0 };
	int rc;

	if (cmd_load_settings(conf, &f->settings) != CMD_OK)
		return CMD_FAILED;
	find_conf(f, conf, path);
	rc = factors_conf_read(f->conf_path, &f->conf, &err);
	if (rc < 0 && (needed || path))
		return cmd_error("%s%s", err.text, rc == -ENOENT ? "; see " CONF_NAME "(5)" : "");
	f->has_conf = rc == 0;
	f->series_path = f->has_conf && *f->conf.series_file ? f->conf.series_file :
							       f->settings.emission_series_file;
	if (!*f->series_path)
		return cmd_error("neither EmissionSeriesFile in ceems.conf nor SeriesFile in %s is set",
				 f->conf_path);
	return CMD_OK;
}

/* Root, which runs the command by hand, becomes the timer's user, whose the series and the tokens are. */
static int become_user(const struct factors *f)
{
	struct errmsg err = { 0 };
	uid_t owner;

	if (as_owner_is_other(f->series_path, &owner) && as_owner_become(owner, &err) < 0)
		return cmd_error("%s", err.text);
	return CMD_OK;
}

static const struct cmd_option factors_options[] = {
	{ NULL, 0, NULL, "Configuration" },
	{ "conf", 'c', "FILE", "read this ceems.conf" },
	{ "factors-conf", 'f', "FILE", "read this ceems-factors.conf" },
	{ NULL, 0, NULL, "update" },
	{ "accept", 'x', NULL, "take values far from the last ones" },
	{ NULL, 0, NULL, "list" },
	{ "all", 'a', NULL, "all factors, not only the last day" },
	{ "json", 'j', NULL, "print JSON" },
	{ "region", 'r', "REGION", "this region only" },
	{ 0 },
};

static int cmd_factors_run(const struct cmd_info *self, int argc, char **argv)
{
	_cleanup_free_ struct factors *f = calloc(1, sizeof(*f));
	const char *conf = NULL, *path = NULL, *action;
	bool is_list;
	int opt;

	if (!f)
		return cmd_error("out of memory");
	while ((opt = cmd_getopt(argc, argv, factors_options, 0)) >= 0) {
		switch (opt) {
		case 'c':
			conf = optarg;
			break;
		case 'f':
			path = optarg;
			break;
		case 'x':
			f->accept = true;
			break;
		case 'a':
			f->all = true;
			break;
		case 'j':
			f->json = true;
			break;
		case 'r':
			f->region = optarg;
			break;
		default:
			return cmd_usage(self, opt == 'h' ? CMD_OK : CMD_USAGE);
		}
	}
	if (optind + 1 != argc)
		return cmd_usage(self, CMD_USAGE);
	action = argv[optind];
	is_list = !strcmp(action, "list");
	if ((!is_list && (f->all || f->json || f->region)) ||
	    (strcmp(action, "update") && (f->accept || (!is_list && strcmp(action, "check")))))
		return cmd_usage(self, CMD_USAGE);
	if (!is_list)
		update_hide_process(); /* before the configuration is read, which has secrets */
	if (cmd_factors_load(f, conf, path, !is_list) != CMD_OK || (!is_list && become_user(f) != CMD_OK))
		return CMD_FAILED;
	return is_list ? factors_list(f) : !strcmp(action, "check") ? factors_check(f) : update(f);
}

const struct cmd_info cmd_factors = {
	"factors",	 "update|list|check [OPTION...]",  cmd_factors_run,
	factors_options, "ceems factors list --region FR",
};
