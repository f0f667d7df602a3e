/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report_period.c - the report of a month or a week. */
#include "src/cmd/report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/cmd/job/job_ask.h"
#include "src/cmd/report/report_walk.h"
#include "src/cmd/report/summary.h"

struct filling {
	const struct report_options *o;
	struct summary *summary;
	struct jobs_groups users; /* --rank: the jobs of all users in the period, by user */
	/* owned; --rank: name of the user whose place is shown, as the jobs have it */
	char *user;
};

static int add_job(void *arg, const struct jobs_job *j)
{
	struct filling *f = arg;
	int rc = 0;

	if (f->o->rank && period_day_of(&f->summary->period, j->r->end) < PERIOD_DAYS_MAX)
		rc = jobs_groups_add(&f->users, j);
	if (rc < 0 || (f->o->rank && !report_is_users(f->o, j->r)))
		return rc;
	if (f->o->rank && !f->user && j->r->user_name) {
		f->user = strdup(j->r->user_name);
		if (!f->user)
			return -ENOMEM;
	}
	return summary_add(f->summary, j);
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
	used += (size_t)snprintf(buf + used, size - used, "%s%s%s", used ? ", " : "", what,
				 list->n > 1 ? "s" : "");
	for (i = 0; i < list->n && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s %s", i ? "," : "", list->text[i]);
	return used;
}

/* Converts the user numbers UIDS to names. */
static int user_names(const struct text_list *uids, struct text_list *ret, struct errmsg *err)
{
	int rc = 0;
	size_t i;

	for (i = 0; rc == 0 && i < uids->n; i++)
		rc = text_list_add(ret, uids->text[i], text_list_user_name, err);
	return rc;
}

void report_whose(const struct report_options *o, char *buf, size_t size)
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

uint64_t report_end(const struct report_options *o, const struct period *p)
{
	return p->to < o->now ? p->to : o->now + 1;
}

static int fill_summary(struct filling *f, struct job_site *site)
{
	const struct summary *s = f->summary;
	const struct report_walk walk = { .site = site,
					  .from = s->before.from,
					  .need = s->period.from,
					  .to = report_end(f->o, &s->period),
					  .lacks = &f->summary->lacks_before,
					  .all_users = f->o->rank,
					  .each = add_job,
					  .arg = f };

	return report_walk(f->o, &walk);
}

int report_period(const struct report_options *options)
{
	static struct job_site site;
	static struct summary s; /* static, because it is too large for the stack */
	struct report_options o = *options;
	struct filling filling = { .o = &o, .summary = &s, .users = { .by = JOBS_BY_USER } };
	struct summary_place place = { 0 };
	char whose[REPORT_WHOSE_MAX];
	FILE *out;
	int rc;

	job_site_load(&site);
	summary_init(&s, &o.period, o.by, o.now);
	report_whose(&o, whose, sizeof(whose));
	s.whose = whose;
	s.cluster = job_ask_cluster(&site, o.choice.cluster);
	s.database = o.database_name;
	if (o.rank) {
		place.why = report_walk_hides(&o, &site);
		s.place = &place;
		o.rank = !place.why;
	}
	rc = fill_summary(&filling, &site);
	if (rc == CMD_OK && o.rank)
		summary_place_find(&filling.users, filling.user ? filling.user : "", &place);
	if (rc == CMD_OK) {
		out = report_open(&o);
		rc = out ? report_close(&o, out, print_summary(&s, o.form, out)) : CMD_FAILED;
	}
	jobs_groups_free(&filling.users);
	free(filling.user);
	summary_fini(&s);
	job_site_fini(&site);
	return rc;
}
