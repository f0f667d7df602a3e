/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report_period.c - the report of a month or a week. */
#include "src/cmd/report.h"

#include <string.h>
#include <unistd.h>

#include "src/cmd/cmd.h"
#include "src/cmd/job_ask.h"
#include "src/cmd/jobs_walk.h"
#include "src/cmd/summary.h"

struct filling {
	struct summary *summary;
	struct job_site *site;
	uint64_t now;
};

static int add_job(void *arg, struct slurmdb_job *job)
{
	struct filling *f = arg;
	struct jobs_job j;
	int rc;

	if (!jobs_walk_is_listed(job))
		return 0;
	rc = job_site_finish(f->site, job);
	if (rc < 0)
		return rc;
	jobs_job_init(&j, job->record, f->now);
	return summary_add(f->summary, &j);
}

static int print_summary(const struct summary *s, enum report_form form, FILE *out)
{
	switch (form) {
	case REPORT_JSON:
		return summary_print_json(s, out);
	case REPORT_CSV:
		return summary_print_csv(s, out);
	case REPORT_HTML:
		return summary_print_html(s, NULL, out);
	case REPORT_TEXT:
		break;
	}
	return summary_print_text(s, out);
}

static size_t put_list(char *buf, size_t size, size_t used, const char *what, const struct text_list *list)
{
	size_t i;

	if (!list->n || used >= size)
		return used;
	used += (size_t)snprintf(buf + used, size - used, "%s%s%s", used ? ", " : "", what, list->n > 1 ? "s" : "");
	for (i = 0; i < list->n && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s %s", i ? "," : "", list->text[i]);
	return used;
}

/* Of users their numbers were asked for. */
static int user_names(const struct text_list *uids, struct text_list *ret, struct errmsg *err)
{
	int rc = 0;
	size_t i;

	for (i = 0; rc == 0 && i < uids->n; i++)
		rc = text_list_add(ret, uids->text[i], text_list_user_name, err);
	return rc;
}

static void put_whose(const struct report_options *o, char *buf, size_t size)
{
	struct text_list names = { 0 };
	struct errmsg err = { 0 };
	size_t used = 0;

	buf[0] = '\0';
	if (user_names(&o->choice.users, &names, &err) == 0)
		used = put_list(buf, size, used, "user", &names);
	used = put_list(buf, size, used, "account", &o->choice.accounts);
	used = put_list(buf, size, used, "partition", &o->choice.partitions);
	if (!used)
		(void)snprintf(buf, size, "all users");
	text_list_fini(&names);
}

static int fill_summary(const struct report_options *o, struct job_site *site, struct summary *s)
{
	struct filling filling = { .summary = s, .site = site, .now = o->now };
	const struct jobs_walk walk = { .site = site,
					.filter = jobs_choice_filter(&o->choice),
					.cluster = o->choice.cluster,
					.from = s->before.from,
					.to = s->period.to < o->now ? s->period.to : o->now + 1,
					.shows_progress = isatty(STDERR_FILENO),
					.each = add_job,
					.arg = &filling };

	return jobs_walk(&walk);
}

int report_period(const struct report_options *o)
{
	static struct job_site site;
	static struct summary s; /* too large for a stack */
	char whose[512];
	FILE *out;
	int rc;

	if (o->period.from > o->now)
		return cmd_error("report: that time has not come yet");
	job_site_load(&site);
	summary_init(&s, &o->period, o->by, o->now);
	put_whose(o, whose, sizeof(whose));
	s.whose = whose;
	s.cluster = job_ask_cluster(&site, o->choice.cluster);
	rc = fill_summary(o, &site, &s);
	if (rc == CMD_OK) {
		out = report_open(o);
		rc = out ? report_close(o, out, print_summary(&s, o->form, out)) : CMD_FAILED;
	}
	summary_fini(&s);
	job_site_fini(&site);
	return rc;
}
