/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/report/report_walk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "src/cmd/cmd.h"
#include "src/cmd/job/job_ask.h"
#include "src/cmd/jobs/jobs_walk.h"
#include "src/libsink/db_walk.h"
#include "src/libutil/as_owner.h"
#include "src/libutil/parse.h"

struct walking {
	const struct report_walk *w;
	const struct report_options *o;
};

/* --- slurmdbd ---------------------------------------------------------------------------------- */

static int walk_job(void *arg, struct slurmdb_job *job)
{
	const struct walking *k = arg;
	struct jobs_job j;
	int rc;

	if (!jobs_walk_is_listed(job))
		return 0;
	rc = job_site_finish(k->w->site, job);
	if (rc < 0)
		return rc;
	jobs_job_init(&j, job->record, k->o->now);
	return k->w->each(k->w->arg, &j);
}

/* --- a database -------------------------------------------------------------------------------- */

/*
 * Sets the job's CPU time from CPU_US, the sum of its steps, if the record has none: the row
 * does not have the steps.
 */
static void add_cpu_time(struct record *r, const char *cpu_us)
{
	uint64_t us, ns;

	if (cpu_us && !values_has(&r->values, METRIC_CPU_TIME) && parse_u64(cpu_us, &us) == 0 && us &&
	    !__builtin_mul_overflow(us, UINT64_C(1000), &ns))
		values_set(&r->values, METRIC_CPU_TIME, ns);
}

static bool is_of_cluster(const struct record *r, const char *cluster)
{
	return !cluster || (r->cluster && !strcasecmp(r->cluster, cluster));
}

static int walk_row(void *ctx, const struct db_walk_row *row, struct errmsg *err)
{
	const struct walking *k = ctx;
	const struct report_options *o = k->o;
	struct record *r = NULL;
	struct jobs_job j;
	int rc = record_from_json(row->json, row->len, &r, err);

	if (rc < 0)
		return rc;
	if ((r->start || r->eligible) && is_of_cluster(r, job_ask_cluster(k->w->site, o->choice.cluster)) &&
	    jobs_choice_has(&o->choice, r, k->w->all_users)) {
		add_cpu_time(r, row->cpu_us);
		jobs_job_init(&j, r, o->now);
		rc = k->w->each(k->w->arg, &j);
		if (rc < 0)
			(void)errmsg_set(err, rc, "%s", rc == -ENOMEM ? "out of memory" : strerror(-rc));
	}
	record_destroy(r);
	return rc;
}

/*
 * Sets *RET_LACKS if jobs before the time that must be there are gone. Calls EACH for the
 * jobs of the period.
 */
static int read_database(const struct walking *k,
			 int (*each)(void *ctx, const struct db_walk_row *row, struct errmsg *err), void *ctx,
			 bool *ret_lacks, struct errmsg *err)
{
	const struct sink_db *database = k->o->database->db;
	struct settings *s = &k->w->site->settings;
	struct db_walk walk = { .from = k->w->from, .to = k->w->to, .each = each, .ctx = ctx };
	uint64_t gone = 0;
	int rc = database->gone(s, k->w->need, k->w->to, &gone, err);

	if (rc == 0 && gone)
		rc = errmsg_set(err, -ENODATA,
				"%" PRIu64
				" jobs of that time are no longer in the database (MariadbRetention): "
				"make the report from slurmdbd",
				gone);
	if (rc == 0 && k->w->from < k->w->need)
		rc = database->gone(s, k->w->from, k->w->need, &gone, err);
	if (rc == 0 && gone) {
		*ret_lacks = true;
		walk.from = k->w->need;
	}
	return rc < 0 ? rc : database->walk(s, &walk, err);
}

/* --- a database whose files another account owns: root reads it in a child that is this account -------- */

/* A row on its way from the child; JSON and CPU time follow, each with its NUL. */
struct sent_row {
	uint64_t json_size, cpu_size; /* both 0: no row, jobs are lacking; cpu_size 0: not known */
};
/* Larger rows end the walk. */
#define ROW_MAX (UINT64_C(256) << 20)

static int send_row(void *ctx, const struct db_walk_row *row, struct errmsg *err)
{
	const struct sent_row sent = { row->len + 1, row->cpu_us ? strlen(row->cpu_us) + 1 : 0 };
	FILE *to = ctx;

	if (fwrite(&sent, sizeof(sent), 1, to) != 1 || fwrite(row->json, 1, row->len, to) != row->len ||
	    fputc('\0', to) == EOF ||
	    (row->cpu_us && fwrite(row->cpu_us, 1, sent.cpu_size, to) != sent.cpu_size))
		return errmsg_errno(err, -errno, "cannot send a job");
	return 0;
}

static int run_read(void *ctx, FILE *to, struct errmsg *err)
{
	static const struct sent_row lacking;
	bool lacks = false;
	int rc = read_database(ctx, send_row, to, &lacks, err);

	if (rc == 0 && lacks && fwrite(&lacking, sizeof(lacking), 1, to) != 1)
		return errmsg_errno(err, -errno, "cannot send");
	return rc;
}

static int take_row(const struct walking *k, const struct sent_row *sent, FILE *from, struct errmsg *err)
{
	_cleanup_free_ char *text = NULL;
	const size_t size = sent->json_size + sent->cpu_size;
	struct db_walk_row row = { 0 };

	if (sent->json_size > ROW_MAX || sent->cpu_size > ROW_MAX)
		return errmsg_set(err, -EPROTO, "a job of the database is too long");
	text = malloc(size);
	if (!text)
		return errmsg_errno(err, -ENOMEM, "a job");
	if (!sent->json_size || fread(text, 1, size, from) != size || text[sent->json_size - 1] ||
	    text[size - 1])
		return errmsg_set(err, -EPROTO, "a job of the database is cut");
	row.json = text;
	row.len = sent->json_size - 1;
	row.cpu_us = sent->cpu_size ? text + sent->json_size : NULL;
	return walk_row((void *)(uintptr_t)k, &row, err);
}

static int take_rows(void *ctx, FILE *from, struct errmsg *err)
{
	const struct walking *k = ctx;
	struct sent_row sent;
	int rc = 0;

	while (rc == 0 && fread(&sent, sizeof(sent), 1, from) == 1) {
		if (!sent.json_size && !sent.cpu_size)
			*k->w->lacks = true;
		else
			rc = take_row(k, &sent, from, err);
	}
	return rc;
}

static int walk_database(const struct walking *k, struct errmsg *err)
{
	const struct report_options *o = k->o;
	struct settings *s = &k->w->site->settings;
	void *ctx = (void *)(uintptr_t)k;
	const struct as_owner_task task = { .run = run_read, .take = take_rows, .ctx = ctx };
	uid_t owner;

	if (o->database_file && (size_t)snprintf((char *)s + o->database->db->file.offset, SETTINGS_PATH_MAX,
						 "%s", o->database_file) >= SETTINGS_PATH_MAX)
		return errmsg_set(err, -ENAMETOOLONG, "--from: the path is too long");
	if (sink_is_others(o->database, s, NULL, &owner))
		return as_owner_run(owner, &task, err);
	return read_database(k, walk_row, ctx, k->w->lacks, err);
}

/* --- either ------------------------------------------------------------------------------------ */

int report_walk(const struct report_options *o, const struct report_walk *w)
{
	struct walking walking = { .w = w, .o = o };
	struct errmsg err = { 0 };
	struct jobs_walk walk = { .site = w->site,
				  .filter = jobs_choice_filter(&o->choice),
				  .cluster = o->choice.cluster,
				  .from = w->from,
				  .to = w->to,
				  .saves_memory = w->all_users || o->choice.all_users,
				  .shows_progress = isatty(STDERR_FILENO),
				  .each = walk_job,
				  .arg = &walking };

	if (o->database)
		return walk_database(&walking, &err) < 0 ? cmd_error("%s: %s", o->database_name, err.text) :
							   CMD_OK;
	if (w->all_users)
		walk.filter.uids = (struct slurmdb_texts){ 0 };
	return jobs_walk(&walk);
}

bool report_is_users(const struct report_options *o, const struct record *r)
{
	const struct text_list *users = &o->choice.users;

	return users->n == 1 && r->user_id == strtoull(users->text[0], NULL, 10);
}

const char *report_walk_hides(const struct report_options *o, struct job_site *site)
{
	const struct slurmdb_options options = { .cluster = job_ask_cluster(site, o->choice.cluster),
						 .one_connection = true,
						 .no_qos = true };
	struct slurmdb_rows *rows = NULL;
	struct errmsg err = { 0 };
	char uid[16];
	char *user = NULL;
	int rc;

	if (o->database)
		return NULL;
	rc = slurmdb_rows_create(&options, &rows, &err);
	(void)snprintf(uid, sizeof(uid), "%u", (unsigned int)geteuid());
	if (rc == 0)
		rc = text_list_user_name(uid, &user, &err);
	if (rc == 0)
		rc = slurmdb_rows_shows_all(rows, (uint32_t)geteuid(), user, &err);
	free(user);
	slurmdb_rows_destroy(rows);
	return rc > 0  ? NULL :
	       rc == 0 ? "PrivateData in slurmdbd.conf hides the jobs of other users" :
			 "slurmdbd does not say whether it shows the jobs of all users";
}
