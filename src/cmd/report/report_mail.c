/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report_mail.c - sends the report of a month or week by mail. Either one report goes to all addresses, or
 * each user gets the report of that user's own jobs.
 */
#include "src/cmd/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/cmd/job/job_ask.h"
#include "src/cmd/mail/mail.h"
#include "src/cmd/report/report_walk.h"
#include "src/cmd/report/summary_set.h"
#include "src/cmd/report/summary_words.h"
#include "src/libutil/text.h"

#define USER "%u" /* stands in the address for the user's name */

struct report_mail {
	const struct report_options *o;
	const char *prog;
	struct summary all;
	struct summary_set users;
	bool is_each; /* each user gets a mail */
	bool has_place;
	uint64_t nameless; /* number of jobs whose user has no name */
};

static int add_job(void *arg, const struct jobs_job *j)
{
	struct report_mail *m = arg;
	const char *user = j->r->user_name;
	struct summary *s;
	int rc = summary_add(&m->all, j);

	if (rc < 0 || !m->is_each)
		return rc;
	if (!user || !*user) {
		m->nameless++;
		return 0;
	}
	s = summary_set_get(&m->users, user, &m->all, m->o->by == JOBS_BY_USER ? JOBS_BY_ACCOUNT : m->o->by);
	return s ? summary_add(s, j) : -ENOMEM;
}

/* --- one mail ---------------------------------------------------------------------------------- */

/* Returns the report as text or as a page, which the caller frees. NULL: out of memory. */
static char *print_summary(const struct summary *s, bool as_page)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	int rc = !out ? -ENOMEM : as_page ? summary_print_html(s, NULL, out) : summary_print_text(s, out);

	if (out && fclose(out) == 0 && rc == 0)
		return text;
	free(text);
	return NULL;
}

static int send_summary(const struct report_mail *m, const struct summary *s, const char *address)
{
	char subject[MAIL_SUBJECT_MAX], name[PERIOD_TEXT_MAX + 16], period[PERIOD_TEXT_MAX],
		title[SUMMARY_WORDS_MAX];
	_cleanup_free_ char *text = print_summary(s, /* as_page= */ false);
	_cleanup_free_ char *page = print_summary(s, /* as_page= */ true);
	const struct mail mail = {
		.subject = subject, .address = address, .text = text, .page = page, .page_name = name
	};
	struct errmsg err = { 0 };

	if (!text || !page)
		return cmd_error("out of memory");
	(void)snprintf(subject, sizeof(subject), "Energy and emissions: %.100s, %.256s%s%.256s",
		       summary_title(s, title), s->whose, s->cluster ? ", cluster " : "",
		       s->cluster ? s->cluster : "");
	(void)snprintf(name, sizeof(name), "ceems-%s.html", period_name(&s->period, period));
	return mail_send(m->prog, &mail, &err) < 0 ? cmd_error("no mail to %s: %s", address, err.text) :
						     CMD_OK;
}

/* --- a mail to each user ----------------------------------------------------------------------- */

/*
 * Writes RULE to BUF with the name USER for each "%u". False: the result is too long or no address. A name
 * with a comma gives no address, since it would make two.
 */
static bool make_address(const char *rule, const char *user, char *buf, size_t size)
{
	size_t used = 0;
	const char *at;

	while ((at = strstr(rule, USER))) {
		used += (size_t)snprintf(buf + used, size - used, "%.*s%s", (int)(at - rule), rule, user);
		if (used >= size)
			return false;
		rule = at + strlen(USER);
	}
	used += (size_t)snprintf(buf + used, size - used, "%s", rule);
	return used < size && !strpbrk(user, ", ") && mail_is_address(buf);
}

static int send_to_user(const struct report_mail *m, struct summary *s, const char *user)
{
	char address[MAIL_SUBJECT_MAX], whose[REPORT_WHOSE_MAX];
	struct summary_place place;

	if (!s->sum.jobs)
		return CMD_OK; /* all jobs of this user are of the period before */
	if (!make_address(m->o->mail_to, user, address, sizeof(address)))
		return cmd_error("no mail to user '%s': the name does not make an address", user);
	(void)snprintf(whose, sizeof(whose), "user %s", user);
	s->whose = whose;
	s->cluster = m->all.cluster;
	s->database = m->all.database;
	s->lacks_before = m->all.lacks_before;
	if (m->has_place) {
		summary_place_find(&m->all.groups, user, &place);
		s->place = &place;
	}
	return send_summary(m, s, address);
}

/* Sends a mail to each user. If one fails, prints the reason and goes on with the others. */
static int send_to_each(struct report_mail *m)
{
	int rc = CMD_OK;
	size_t i;

	for (i = 0; i < m->users.n; i++)
		if (send_to_user(m, m->users.summary[i], m->users.name[i]) != CMD_OK)
			rc = CMD_FAILED;
	if (m->nameless)
		rc = cmd_error("%" PRIu64 " jobs are in no mail: their users have no name", m->nameless);
	return rc;
}

/* --- all of it --------------------------------------------------------------------------------- */

static bool is_whole(const struct jobs_choice *c)
{
	return !c->users.n && !c->accounts.n && !c->partitions.n;
}

static int check_rule(const struct report_options *o)
{
	char address[MAIL_SUBJECT_MAX];

	if (make_address(o->mail_to, "user", address, sizeof(address)))
		return CMD_OK;
	return cmd_usage_error(o->self, "--mail-to '%s' is not an address", o->mail_to);
}

int report_mail(const struct report_options *o)
{
	static struct job_site site;
	static struct report_mail m; /* static, because it is too large for the stack */
	struct report_walk walk = { .site = &site, .each = add_job, .arg = &m };
	char whose[REPORT_WHOSE_MAX];
	int rc = check_rule(o);

	if (rc != CMD_OK)
		return rc;
	job_site_load(&site);
	m = (struct report_mail){ .o = o,
				  .prog = mail_prog(&site.settings),
				  .is_each = strstr(o->mail_to, USER) != NULL };
	summary_init(&m.all, &o->period, m.is_each ? JOBS_BY_USER : o->by, o->now);
	report_whose(o, whose, sizeof(whose));
	m.all.whose = whose;
	m.all.cluster = job_ask_cluster(&site, o->choice.cluster);
	m.has_place = m.is_each && is_whole(&o->choice) && !report_walk_hides(o, &site);
	m.all.database = o->database_name;
	walk.from = m.all.before.from;
	walk.need = m.all.period.from;
	walk.lacks = &m.all.lacks_before;
	walk.to = report_end(o, &o->period);
	rc = report_walk(o, &walk);
	if (rc == CMD_OK)
		rc = m.is_each ? send_to_each(&m) : send_summary(&m, &m.all, o->mail_to);
	summary_set_fini(&m.users);
	summary_fini(&m.all);
	job_site_fini(&site);
	return rc;
}
