/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_advise.c - ceems advise: suggests what to request for a job. It reads the user's last runs of jobs with
 * the same name from slurmdbd.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "src/cmd/cmd.h"
#include "src/cmd/job/dbd_deadline.h"
#include "src/cmd/job/job_ask.h"
#include "src/cmd/advise/run_advice.h"
#include "src/cmd/advise/sbatch_name.h"
#include "src/cmd/text_list.h"
#include "src/cmd/when.h"
#include "src/libutil/clock.h"

#define RUNS_MOST 100 /* only so many of the last runs are used */
#define SINCE "now-180days"
/*
 * slurmdbd is asked for growing windows of time, the latest first, because most jobs last ran some days ago.
 */
#define WINDOW_FIRST_S UINT64_C(3600)
#define WINDOW_GROWTH 4

struct advise_request {
	char *name;
	const char *user, *cluster;
	uint64_t now, from;
	bool json;
};

/* Adds the jobs named NAME to the runs. The name is compared again, because slurmdbd ignores its case. */
static int add_runs(struct run_history *h, struct job_site *site, const char *name, struct slurmdb_jobs *jobs)
{
	int rc = 0;
	size_t i;

	for (i = 0; rc == 0 && i < jobs->n; i++) {
		const struct record *r = jobs->job[i].record;

		if (jobs->job[i].is_half || !r->job_name || strcmp(r->job_name, name) != 0)
			continue;
		rc = job_site_finish(site, &jobs->job[i]);
		if (rc == 0)
			rc = run_history_add(h, r);
	}
	return rc;
}

static int find_runs(const struct advise_request *o, struct slurmdb_rows *rows, struct job_site *site,
		     struct run_history *h, struct errmsg *err)
{
	const char *const name = o->name;
	const struct slurmdb_filter filter = { .uids = { &o->user, 1 }, .names = { &name, 1 } };
	uint64_t window = WINDOW_FIRST_S;
	uint64_t to = o->now;
	int rc = 0;

	while (rc == 0 && h->n < RUNS_MOST && to > o->from) {
		uint64_t from = to - o->from > window ? to - window : o->from;
		struct slurmdb_jobs jobs = { 0 };

		rc = slurmdb_rows_ended(rows, &filter, from, to - 1, &jobs, err);
		if (rc == 0 && add_runs(h, site, name, &jobs) < 0)
			rc = errmsg_set(err, -ENOMEM, "out of memory");
		slurmdb_jobs_free(&jobs);
		to = from;
		window *= WINDOW_GROWTH;
	}
	return rc;
}

static int print_advice(const struct advise_request *o, struct run_history *h)
{
	_cleanup_free_ char *json = NULL;
	struct run_advice a;
	int rc = run_history_advise(h, RUNS_MOST, &a);

	if (rc < 0)
		return cmd_error("out of memory");
	if (o->json)
		json = run_advice_json(o->name, &a);
	else
		rc = run_advice_print(o->name, &a, o->now, stdout);
	if (json)
		puts(json);
	if (rc < 0 || (o->json && !json))
		rc = cmd_error("out of memory");
	else
		rc = a.is_enough ? CMD_OK : CMD_FAILED;
	run_advice_free(&a);
	return rc;
}

static int advise(const struct advise_request *o)
{
	static struct job_site site;
	struct slurmdb_options options = { .one_connection = true, .no_qos = true };
	struct run_history history = { 0 };
	struct slurmdb_rows *rows = NULL;
	struct errmsg err = { 0 };
	int rc;

	job_site_load(&site);
	options.cluster = job_ask_cluster(&site, o->cluster);
	options.no_usage = site.no_usage;
	options.limit = dbd_deadline(&site);
	rc = slurmdb_rows_create(&options, &rows, &err);
	if (rc == 0)
		rc = find_runs(o, rows, &site, &history, &err);
	if (rc < 0)
		rc = cmd_error("%s", err.text);
	else
		rc = history.n ? CMD_OK : job_ask_check_cluster(rows, options.cluster);
	if (rc == CMD_OK)
		rc = print_advice(o, &history);
	run_history_free(&history);
	slurmdb_rows_destroy(rows);
	job_site_fini(&site);
	return rc;
}

/* --- arguments --------------------------------------------------------------------------------- */

/*
 * Takes ARG as a batch script if it has a slash or is an existing file, and reads the job's name
 * from it. Else ARG is the name.
 */
static int set_name(struct advise_request *o, const char *arg)
{
	struct errmsg err = { 0 };
	struct stat st;

	if (strchr(arg, '/') || (stat(arg, &st) == 0 && S_ISREG(st.st_mode)))
		return sbatch_name_read(arg, &o->name, &err) < 0 ? cmd_error("%s", err.text) : CMD_OK;
	if (!*arg)
		return cmd_usage_error(&cmd_advise, "'' is not a name");
	o->name = strdup(arg);
	return o->name ? CMD_OK : cmd_error("out of memory");
}

/* Writes the user's number, by which slurmdbd knows users, to BUF. */
static int set_user(struct advise_request *o, const char *name, char *buf, size_t size)
{
	uint64_t uid = geteuid();

	if (name && !text_list_uid(name, &uid))
		return cmd_usage_error(&cmd_advise, "there is no user '%s'", name);
	(void)snprintf(buf, size, "%" PRIu64, uid);
	o->user = buf;
	return CMD_OK;
}

enum { OPT_JSON = 256 };

static const struct cmd_option advise_options[] = {
	{ NULL, 0, NULL, "Which runs" },
	{ "cluster", 'M', "NAME", "of this cluster" },
	{ "clusters", 'M', "NAME", NULL }, /* sacct's name */
	{ "starttime", 'S', "TIME", "since this time (" SINCE ")" },
	{ "user", 'u', "USER", "of this user, not your own" },
	{ NULL, 0, NULL, "Output" },
	{ "json", OPT_JSON, NULL, "print one JSON object" },
	{ 0 },
};

static int cmd_advise_run(const struct cmd_info *self, int argc, char **argv)
{
	struct advise_request o = { .now = clock_wall_ns() / NSEC_PER_SEC };
	const char *user = NULL;
	const char *since = SINCE;
	char uid[24];
	int rc, c;

	while ((c = cmd_getopt(argc, argv, advise_options, 0)) >= 0) {
		if (c == 'M')
			o.cluster = optarg;
		else if (c == 'S')
			since = optarg;
		else if (c == 'u')
			user = optarg;
		else if (c == OPT_JSON)
			o.json = true;
		else
			return cmd_usage(self, c == 'h' ? CMD_OK : CMD_USAGE);
	}
	if (argc - optind != 1)
		return cmd_usage(self, CMD_USAGE);
	if (when_parse(since, o.now, &o.from) < 0)
		return cmd_usage_error(self, "'%s' is not a time: write " WHEN_FORMS, since);
	rc = set_user(&o, user, uid, sizeof(uid));
	if (rc == CMD_OK)
		rc = set_name(&o, argv[optind]);
	if (rc == CMD_OK)
		rc = job_ask_check_conf();
	if (rc == CMD_OK)
		rc = advise(&o);
	free(o.name);
	return rc;
}

const struct cmd_info cmd_advise = {
	"advise", "[OPTION...] NAME|SCRIPT", cmd_advise_run, advise_options, "ceems advise train.sh",
};
