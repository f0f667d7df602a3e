/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_export.c - ceems export: sends records of jobs that ended before ceems-recorder was
 * installed. The jobs are slurmdbd's.
 *
 * Records are delivered as by the recorder, from a separate store in StoreDir/export. So the
 * command loses nothing if it is interrupted, and goes on where it was. One transaction stores the
 * records of a slice of time together with the slice's end, so a slice is stored whole or not at
 * all.
 *
 * The recorder sends jobs that ended after its store was made, and this command jobs that ended
 * before. So a record of this command, which has fewer values, never replaces one of the recorder.
 */
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/cmd/cmd.h"
#include "src/cmd/jobs/jobs_walk.h"
#include "src/cmd/store/store_access.h"
#include "src/cmd/when.h"
#include "src/libsink/deliver.h"
#include "src/libstore/store_view.h"
#include "src/libutil/clock.h"
#include "src/libutil/items.h"
#include "src/libutil/logger.h"

/* Key in the table `meta` of the export's store. The value is struct export_done. */
#define META_DONE "exported"
#define NAP_NS (NSEC_PER_SEC / 10)  /* between two looks at the queues of the sinks */
#define STOP_NS (10 * NSEC_PER_SEC) /* longest wait for the sinks at the end */

/*
 * All jobs that ended at FROM or later and before TO are in the store or delivered. Seconds since
 * 1970.
 */
struct export_done {
	uint64_t from, to;
};

struct export
{
	struct job_site site;
	uint64_t since, until; /* the period; at first as the arguments say */
	bool again;	       /* --again */
	char dir[SETTINGS_PATH_MAX + 8];
	struct store *store;
	struct store_view *view;
	struct deliveries *sinks;
	struct export_done done;
	bool in_slice; /* the slice's transaction is open */
	uint64_t jobs; /* stored by this run */
	struct errmsg err;
};

static volatile sig_atomic_t is_stopped;

static void stop(int signal)
{
	(void)signal;
	is_stopped = 1;
}

/* The first signal stops the command cleanly; SA_RESETHAND lets a second one kill it. */
static void catch_signals(void)
{
	const struct sigaction action = { .sa_handler = stop, .sa_flags = SA_RESETHAND };

	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
}

/* --- a slice of time ------------------------------------------------------------------------------ */

static int begin_slice(struct export *e)
{
	int rc = e->in_slice ? 0 : store_begin(e->store, &e->err);

	e->in_slice |= rc == 0;
	return rc;
}

static int export_job(void *arg, struct slurmdb_job *job)
{
	struct export *e = arg;
	struct record *r = job->record;
	char key[RECORD_KEY_MAX];
	int rc;

	if (is_stopped)
		return -ECANCELED;
	if (!r->end || record_key(r, key, sizeof(key)) < 0)
		return 0;
	job->state = SLURMDB_FINAL; /* the job has ended, so slurmdbd's row is final */
	rc = job_site_finish(&e->site, job);
	(void)snprintf(r->origin, sizeof(r->origin), "%s", RECORD_HISTORY);
	if (rc == 0)
		rc = begin_slice(e);
	if (rc == 0)
		rc = store_put_record(e->store, key, r, &e->err);
	e->jobs += rc == 0;
	return rc;
}

/* Calls FN for each sink in the setting Sinks, until one fails. FN may add to *SUM. */
static int each_sink(struct export *e, int (*fn)(struct export *e, const char *name, uint64_t *sum),
		     uint64_t *sum)
{
	const char *list = e->site.settings.sinks;
	char name[STORE_SINK_NAME_MAX];
	int rc = 0;

	while (rc == 0 && items_next(&list, name, sizeof(name)))
		rc = fn(e, name, sum);
	return rc;
}

/* Adds the number of records that sink NAME has not taken yet to *SUM. */
static int add_waiting(struct export *e, const char *name, uint64_t *sum)
{
	struct store_sink_status status;
	int rc = store_view_sink(e->view, name, store_sink_kinds(name), &status, &e->err);

	*sum += rc == 0 ? status.waiting : 0;
	return rc;
}

/* Adds the number of records that sink NAME refuses to *SUM, and prints it. */
static int add_refused(struct export *e, const char *name, uint64_t *sum)
{
	struct store_sink_status status;
	int rc = store_view_sink(e->view, name, store_sink_kinds(name), &status, &e->err);

	if (rc == 0 && status.refused)
		(void)cmd_error("%s refuses %" PRIu64 " records", name, status.refused);
	*sum += rc == 0 ? status.refused : 0;
	return rc;
}

/* Waits until every sink has taken all records in the store. -ECANCELED: a signal came. */
static int wait_delivered(struct export *e)
{
	const struct timespec nap = clock_ns_to_timespec(NAP_NS);
	uint64_t waiting = 0;
	int rc = each_sink(e, add_waiting, &waiting);

	while (rc == 0 && waiting && !is_stopped) {
		(void)nanosleep(&nap, NULL);
		waiting = 0;
		rc = each_sink(e, add_waiting, &waiting);
	}
	return rc < 0 ? rc : waiting ? -ECANCELED : 0;
}

/*
 * Ends the slice up to time AT: commits it, waits for the sinks, and frees the records. A slice
 * without jobs costs no transaction, unless it is the last.
 */
static int export_reached(void *arg, uint64_t at)
{
	struct export *e = arg;
	int rc;

	if (!e->in_slice && at < e->until)
		return is_stopped ? -ECANCELED : 0;
	rc = begin_slice(e);
	if (rc < 0)
		return rc;
	e->done.to = at;
	rc = store_meta_set(e->store, META_DONE, &e->done, sizeof(e->done), &e->err);
	if (rc < 0)
		return rc;
	e->in_slice = false;
	rc = store_commit(e->store, &e->err);
	if (rc == 0)
		rc = wait_delivered(e);
	while (rc == 0 && (rc = store_reclaim(e->store, 0, &e->err)) >= STORE_RECLAIM_MAX)
		rc = 0;
	return rc < 0 ? rc : 0;
}

/* --- the period ----------------------------------------------------------------------------------- */

/*
 * Returns whether a corrupt store was set aside in DIR. If so, the present store is not the
 * recorder's first.
 */
static bool was_corrupt(const char *dir)
{
	char pattern[SETTINGS_PATH_MAX + 32];
	glob_t found = { 0 };
	bool is_found;

	(void)snprintf(pattern, sizeof(pattern), "%s/" STORE_FILE ".corrupt-*", dir);
	is_found = glob(pattern, 0, NULL, &found) == 0;
	globfree(&found);
	return is_found;
}

/*
 * Sets *RET to the time at which the recorder's first store was made. Returns 0; -ENODATA: unknown;
 * or -errno.
 */
static int read_begun(const char *dir, uint64_t *ret, struct errmsg *err)
{
	struct store_view *view;
	size_t len = 0;
	int rc = store_view_open(dir, /* writable= */ false, &view, err);

	if (rc < 0)
		return rc == -ENOENT ? errmsg_set(err, rc,
						  "%s: ceems-recorder has not run yet: start it first", dir) :
				       rc;
	rc = store_view_meta(view, STORE_META_BEGUN, ret, sizeof(*ret), &len, err);
	store_view_close(view);
	return rc < 0 ? rc : len == sizeof(*ret) && !was_corrupt(dir) ? 0 : -ENODATA;
}

/* Sets the end of the period to --until or, without it, to the time at which the recorder began. */
static int set_until(struct export *e)
{
	uint64_t begun = 0;
	int rc = read_begun(e->site.settings.store_dir, &begun, &e->err);

	if (rc == -ENODATA)
		return e->until ? 0 :
				  errmsg_set(&e->err, rc,
					     "the store does not say since when ceems-recorder "
					     "has the jobs: give --until");
	if (rc < 0)
		return rc;
	if (e->until > begun)
		return errmsg_set(&e->err, -EINVAL,
				  "ceems-recorder has the jobs that ended since @%" PRIu64 ": "
				  "--until must not be later",
				  begun);
	if (!e->until)
		e->until = begun;
	return 0;
}

/*
 * If the period begins within the period that was exported before, begins at that one's end
 * instead. --again turns this off.
 */
static int set_since(struct export *e)
{
	size_t len = 0;
	int rc = store_begin_read(e->store, &e->err);

	if (rc < 0)
		return rc;
	rc = store_meta_get(e->store, META_DONE, &e->done, sizeof(e->done), &len, &e->err);
	store_rollback(e->store);
	if (rc < 0)
		return rc;
	if (!e->again && len == sizeof(e->done) && e->since >= e->done.from && e->since <= e->done.to)
		e->since = e->done.to;
	else
		e->done = (struct export_done){ e->since, e->since };
	return 0;
}

/* Checks that this build has the sink NAME, and that it keeps jobs for long enough. */
static int check_sink(struct export *e, const char *name, uint64_t *sum)
{
	uint64_t retention_s = e->site.settings.mariadb_retention_ns / NSEC_PER_SEC;
	const struct sink_ops *ops = sink_find(name);

	(void)sum;
	if (!ops)
		return errmsg_set(&e->err, -EINVAL, "this build has no sink %s, which Sinks names", name);
	if (ops->db && retention_s && e->since + retention_s < clock_wall_ns() / NSEC_PER_SEC)
		return errmsg_set(&e->err, -EINVAL,
				  "the sink %s keeps jobs for %" PRIu64 " days (MariadbRetention): "
				  "--since must be later",
				  name, retention_s / 86400);
	return 0;
}

/* --- the command ---------------------------------------------------------------------------------- */

static int export_open(struct export *e)
{
	struct settings *s = &e->site.settings;
	struct store_options options = { .dir = e->dir, .max_bytes = s->store_max_bytes };
	size_t len = strlen(s->record_file);
	int rc = store_become_owner(s->store_dir, &e->err);

	if (rc == 0)
		rc = set_until(e);
	if (rc == 0)
		rc = each_sink(e, check_sink, NULL);
	if (rc < 0)
		return rc;
	/*
	 * the recorder may truncate RecordFile to remove an incomplete last line, so write to
	 * another file
	 */
	if (len && len + sizeof(".history") <= sizeof(s->record_file))
		memcpy(s->record_file + len, ".history", sizeof(".history"));
	(void)snprintf(e->dir, sizeof(e->dir), "%s/export", s->store_dir);
	rc = store_open(&options, &e->store, &e->err);
	if (rc == -EBUSY)
		return errmsg_set(&e->err, rc, "another ceems export runs");
	if (rc == 0)
		rc = set_since(e);
	if (rc == 0)
		rc = store_view_open(e->dir, /* writable= */ false, &e->view, &e->err);
	if (rc == 0)
		rc = deliveries_start(e->store, e->dir, s, &e->sinks, &e->err);
	return rc;
}

static void export_close(struct export *e)
{
	if (e->in_slice)
		store_rollback(e->store);
	store_view_close(e->view);
	/* a sink that hangs still uses the store: leave it open, as the process ends now */
	if (!e->sinks || deliveries_stop(e->sinks, STOP_NS))
		store_close(e->store);
	job_site_fini(&e->site);
}

static int export_walk(struct export *e)
{
	const struct jobs_walk walk = { .site = &e->site,
					.from = e->since,
					.to = e->until,
					.saves_memory = true, /* a slice is one transaction too */
					.with_qos = true,
					.shows_progress = isatty(STDERR_FILENO),
					.each = export_job,
					.reached = export_reached,
					.arg = e };
	uint64_t refused = 0;
	/* first deliver what an earlier run stored */
	int rc = wait_delivered(e);

	if (rc == 0 && e->since < e->until)
		rc = jobs_walk(&walk) == CMD_OK ? 0 : -EIO;
	if (rc == 0)
		rc = each_sink(e, add_refused, &refused);
	if (rc < 0 && e->err.text[0])
		(void)cmd_error("%s", e->err.text);
	if (rc < 0 || is_stopped)
		return cmd_error("stopped after %" PRIu64 " jobs; run the same command again to continue",
				 e->jobs);
	printf("%" PRIu64 " jobs exported to %s\n", e->jobs, e->site.settings.sinks);
	return refused ? CMD_FAILED : CMD_OK;
}

enum { OPT_AGAIN = 256 };

static const struct cmd_option export_options[] = {
	{ NULL, 0, NULL, "Which jobs" },
	{ "since", 'S', "TIME", "that ended since" },
	{ "until", 'E', "TIME", "that ended before; default: when the recorder began" },
	{ "again", OPT_AGAIN, NULL, "also those that were exported before" },
	{ 0 },
};

static int cmd_export_run(const struct cmd_info *self, int argc, char **argv)
{
	static struct settings settings;
	static struct export e;
	uint64_t now = clock_wall_ns() / NSEC_PER_SEC;
	int rc;
	int c;

	while ((c = cmd_getopt(argc, argv, export_options, 0)) >= 0) {
		if (c == 'h')
			return cmd_usage(self, CMD_OK);
		if (c == OPT_AGAIN)
			e.again = true;
		else if (c != 'S' && c != 'E')
			return cmd_usage(self, CMD_USAGE);
		else if (when_parse(optarg, now, c == 'S' ? &e.since : &e.until) < 0)
			return cmd_usage_error(self, "'%s' is not a time: write " WHEN_FORMS, optarg);
	}
	if (optind < argc)
		return cmd_usage_error(self, "'%s': ceems export takes only options", argv[optind]);
	if (!e.since)
		return cmd_usage_error(self, "--since is required");
	if (e.until && e.until <= e.since)
		return cmd_usage_error(self, "--until is not after --since");
	/* not job_site_load(): it makes do without ceems.conf, but only that names the store and the sinks */
	if (cmd_load_settings(NULL, &settings) != CMD_OK)
		return CMD_FAILED;
	job_site_use(&e.site, &settings);
	e.site.unmeasured = true; /* Slurm stores 0 J for times without sensors: take it as unknown */
	catch_signals();
	rc = export_open(&e);
	rc = rc < 0 ? store_cmd_error(rc, &e.err) : export_walk(&e);
	export_close(&e);
	return rc;
}

const struct cmd_info cmd_export = {
	"export",	"--since TIME [OPTION...]",	   cmd_export_run,
	export_options, "ceems export --since 2026-01-01",
};
