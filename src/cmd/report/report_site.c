/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report_site.c - `ceems report --site`: writes a folder of pages for a web server. It writes this and the
 * last month and week, each with a page per account, and an index of all months and weeks in the folder.
 * Pages of earlier months and weeks stay as they are.
 */
#include "src/cmd/report/report.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "ceems_config.h"
#include "src/cmd/cmd.h"
#include "src/cmd/job/job_ask.h"
#include "src/cmd/html.h"
#include "src/cmd/report/report_walk.h"
#include "src/librecord/screen_text.h"
#include "src/cmd/report/summary_set.h"
#include "src/cmd/report/summary_words.h"
#include "src/libutil/fileio.h"

/* this and the last month, this and the last week; the last ones, because records may come late */
#define PERIODS 4
#define JSON_MAX ((size_t)64 << 20)
#define NAME_MAX_LEN 200 /* bytes of a file's name before its suffix */

/* The summary of a period: of all accounts, and of each. */
struct site_period {
	struct summary all;
	struct summary_set accounts;
};

struct site {
	const char *dir;
	const char *cluster, *database;
	struct job_site *job_site;
	struct site_period *period; /* array of PERIODS */
	uint64_t now;
};

/* --- files ------------------------------------------------------------------------------------- */

/*
 * Writes an account's name as part of a file's name: letters, digits and '-' are kept, any other byte becomes
 * _xx in hexadecimal. False: it is too long.
 */
static bool file_name(const char *account, char *buf, size_t size)
{
	size_t used = 0;

	for (; *account && used + 4 < size; account++) {
		unsigned char c = (unsigned char)*account;

		if (isalnum(c) || c == '-')
			buf[used++] = (char)c;
		else
			used += (size_t)snprintf(buf + used, size - used, "_%02x", c);
	}
	buf[used] = '\0';
	return !*account;
}

/*
 * Writes the name of a page without suffix, such as "2026-11-account-physics", or "2026-11" if ACCOUNT is
 * NULL. Returns BUF, or NULL if the account's name is too long.
 */
static const char *page_name(const struct summary *s, const char *account, char *buf, size_t size)
{
	char period[PERIOD_TEXT_MAX], name[NAME_MAX_LEN];

	if (!account)
		(void)snprintf(buf, size, "%s", period_name(&s->period, period));
	else if (file_name(account, name, sizeof(name)))
		(void)snprintf(buf, size, "%s-account-%s", period_name(&s->period, period), name);
	else
		return NULL;
	return buf;
}

static const char *account_link(const struct summary *s, const char *key, char *buf, size_t size)
{
	if (!page_name(s, key, buf, size - 5))
		return NULL;
	(void)strncat(buf, ".html", size - strlen(buf) - 1);
	return buf;
}

/* Writes NAME with SUFFIX in the site's folder. A reader sees the old file or the new one, never a part. */
static int write_file(const struct site *site, const char *name, const char *suffix, const char *data,
		      size_t len)
{
	struct errmsg err = { 0 };
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s%s", site->dir, name, suffix) >= sizeof(path))
		return cmd_error("%s/%s%s: the path is too long", site->dir, name, suffix);
	return fileio_write_atomic(path, data, len, 0640, &err) < 0 ? cmd_error("%s", err.text) : CMD_OK;
}

static int write_summary(const struct site *site, const struct summary *s, const struct summary_links *links,
			 const char *name)
{
	_cleanup_free_ char *html = NULL;
	_cleanup_free_ char *json = NULL;
	size_t html_len = 0;
	size_t json_len = 0;
	FILE *h = open_memstream(&html, &html_len);
	FILE *j = open_memstream(&json, &json_len);
	bool is_whole = h && j && summary_print_html(s, links, h) == 0 && summary_print_json(s, j) == 0;

	if (h && fclose(h) != 0)
		is_whole = false;
	if (j && fclose(j) != 0)
		is_whole = false;
	if (!is_whole)
		return cmd_error("out of memory");
	if (write_file(site, name, ".html", html, html_len) != CMD_OK)
		return CMD_FAILED;
	return write_file(site, name, ".json", json, json_len);
}

/* --- filling ----------------------------------------------------------------------------------- */

static int add_to_period(struct site_period *p, const struct jobs_job *j)
{
	struct summary *account;
	int rc;

	if (j->r->end < p->all.before.from || j->r->end >= p->all.period.to)
		return 0;
	rc = summary_add(&p->all, j);
	account = rc == 0 ? summary_set_get(&p->accounts, j->r->account ? j->r->account : "", &p->all,
					    JOBS_BY_USER) :
			    NULL;
	return account ? summary_add(account, j) : -ENOMEM;
}

static int add_job(void *arg, const struct jobs_job *j)
{
	struct site *site = arg;
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < PERIODS; i++)
		rc = add_to_period(&site->period[i], j);
	return rc;
}

static void period_fini(struct site_period *p)
{
	summary_set_fini(&p->accounts);
	summary_fini(&p->all);
}

/* --- pages ------------------------------------------------------------------------------------- */

static int write_account(const struct site *site, const struct site_period *p, size_t i)
{
	char name[NAME_MAX_LEN + PERIOD_TEXT_MAX + 16], up[PERIOD_TEXT_MAX + 8], title[PERIOD_TEXT_MAX];
	char data[sizeof(name) + 8], whose[300];
	struct summary *s = p->accounts.summary[i];
	const struct summary_links links = { .up = up, .up_title = title, .data = data };

	if (!s->sum.jobs)
		return CMD_OK; /* all jobs of this account are of the period before */
	if (!page_name(s, p->accounts.name[i], name, sizeof(name)))
		return cmd_error("account '%s': its name is too long for a file", p->accounts.name[i]);
	(void)snprintf(up, sizeof(up), "%s", period_name(&s->period, title));
	(void)strncat(up, ".html", sizeof(up) - strlen(up) - 1);
	(void)snprintf(data, sizeof(data), "%s.json", name);
	(void)period_title(&s->period, title);
	(void)snprintf(whose, sizeof(whose), "account %s",
		       *p->accounts.name[i] ? p->accounts.name[i] : "(none)");
	s->whose = whose;
	s->cluster = site->cluster;
	s->database = site->database;
	s->lacks_before = p->all.lacks_before;
	return write_summary(site, s, &links, name);
}

static int write_period(const struct site *site, struct site_period *p)
{
	char name[PERIOD_TEXT_MAX], data[PERIOD_TEXT_MAX + 8];
	const struct summary_links links = {
		.group = account_link, .up = "index.html", .up_title = "All months and weeks", .data = data
	};
	size_t i;
	int rc;

	(void)page_name(&p->all, NULL, name, sizeof(name));
	(void)snprintf(data, sizeof(data), "%s.json", name);
	p->all.whose = "all users";
	p->all.database = site->database;
	p->all.cluster = site->cluster;
	rc = write_summary(site, &p->all, &links, name);
	for (i = 0; rc == CMD_OK && i < p->accounts.n; i++)
		rc = write_account(site, p, i);
	return rc;
}

/* --- index ------------------------------------------------------------------------------------- */

/* An entry of the index: what the JSON of a page says. A negative number is not known. */
struct entry {
	struct period period;
	double jobs, uj, ng, wasted_uj;
	bool is_over;
};

struct entries {
	struct entry *entry; /* owned; the latest first */
	size_t n;
	uint64_t now;
};

static double number_of(const json_t *row, const char *key, double scale)
{
	const json_t *v = json_object_get(row, key);

	return json_is_number(v) && json_number_value(v) >= 0 ? json_number_value(v) * scale : -1;
}

static bool read_entry(const char *path, struct entry *e)
{
	_cleanup_free_ char *text = NULL;
	const json_t *row = NULL;
	json_t *v;
	size_t len;
	bool is_ours;

	if (fileio_read_alloc(path, JSON_MAX, &text, &len, NULL) < 0)
		return false;
	v = json_loadb(text, len, 0, NULL);
	row = json_array_get(json_object_get(v, "rows"), 0);
	is_ours = row && json_is_string(json_object_get(v, "schema")) &&
		  !strcmp(json_string_value(json_object_get(v, "schema")), SUMMARY_SCHEMA);
	if (is_ours) {
		e->jobs = number_of(row, "jobs", 1);
		e->uj = number_of(row, "energy_j", 1e6);
		e->ng = number_of(row, "co2e_g", 1e9);
		e->wasted_uj = number_of(row, "wasted_energy_j", 1e6);
		e->is_over = json_is_true(json_object_get(v, "is_over"));
	}
	json_decref(v);
	return is_ours;
}

/*
 * Adds the page of file NAME to the index, if it is the JSON of a period, such as
 * "2026-11.json" or "2026-W48.json".
 */
static int add_entry(struct entries *all, const char *dir, const char *name)
{
	const char *suffix = strchr(name, '.');
	char path[PATH_MAX], text[PERIOD_TEXT_MAX];
	struct entry e = { 0 };
	struct entry *more;

	if (!suffix || strcmp(suffix, ".json") != 0 || (size_t)(suffix - name) >= sizeof(text))
		return 0;
	(void)snprintf(text, sizeof(text), "%.*s", (int)(suffix - name), name);
	if ((period_parse(PERIOD_MONTH, text, all->now, &e.period) < 0 &&
	     period_parse(PERIOD_WEEK, text, all->now, &e.period) < 0) ||
	    !isdigit((unsigned char)*text) ||
	    (size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) >= sizeof(path) || !read_entry(path, &e))
		return 0;
	more = realloc(all->entry, (all->n + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	all->entry = more;
	all->entry[all->n++] = e;
	return 0;
}

static int compare_entries(const void *x, const void *y)
{
	const struct entry *a = x;
	const struct entry *b = y;

	return (a->period.from < b->period.from) - (a->period.from > b->period.from);
}

static int read_entries(const struct site *site, struct entries *all)
{
	DIR *d = opendir(site->dir);
	struct dirent *e;
	int rc = 0;

	if (!d)
		return cmd_error("%s: %s", site->dir, strerror(errno));
	while (rc == 0 && (e = readdir(d)))
		rc = add_entry(all, site->dir, e->d_name);
	(void)closedir(d);
	if (all->n)
		qsort(all->entry, all->n, sizeof(*all->entry), compare_entries);
	return rc < 0 ? cmd_error("out of memory") : CMD_OK;
}

static void put_entry(const struct entry *e, double most, FILE *out)
{
	char name[PERIOD_TEXT_MAX], link[PERIOD_TEXT_MAX + 8], title[PERIOD_TEXT_MAX], text[SCREEN_TEXT_MAX];

	(void)snprintf(link, sizeof(link), "%s.html", period_name(&e->period, name));
	fputs("<tr>", out);
	html_row_head(out, period_title(&e->period, title), link, e->is_over ? "" : ", so far");
	html_number(out, e->jobs >= 0 ? summary_count((uint64_t)e->jobs, text) : "n/a");
	html_number(out, summary_energy(e->uj >= 0, e->uj, text));
	html_bar(out, most > 0 ? e->uj / most : 0, "used");
	html_number(out, summary_co2e(e->ng >= 0, e->ng, text));
	html_number(out, e->wasted_uj >= 0 ? summary_part(e->wasted_uj, e->uj, text) : "n/a");
	fputs("</tr>\n", out);
}

static void put_entries(const struct entries *all, enum period_kind kind, const char *title, FILE *out)
{
	const char *const titles[] = { title, "#Jobs", "#Energy", "#", "#CO2e", "#Wasted" };
	char name[32];
	double most = 0;
	size_t i;

	for (i = 0; i < all->n; i++)
		if (all->entry[i].period.kind == kind && all->entry[i].uj > most)
			most = all->entry[i].uj;
	(void)snprintf(name, sizeof(name), "%ss", title);
	fputs("<section class=\"long\">\n", out);
	html_element(out, "h2", NULL, "%s", name);
	html_table_begin(out, name, /* caption= */ NULL, titles, ARRAY_SIZE(titles));
	for (i = 0; i < all->n; i++)
		if (all->entry[i].period.kind == kind)
			put_entry(&all->entry[i], most, out);
	html_table_end(out);
	fputs("</section>\n", out);
}

static int write_index(const struct site *site)
{
	struct entries all = { .now = site->now };
	_cleanup_free_ char *html = NULL;
	char made[SCREEN_TEXT_MAX];
	time_t now = (time_t)site->now;
	struct tm tm = { 0 };
	size_t len = 0;
	FILE *out;
	int rc = read_entries(site, &all);

	out = rc == CMD_OK ? open_memstream(&html, &len) : NULL;
	if (!out) {
		free(all.entry);
		return rc == CMD_OK ? cmd_error("out of memory") : rc;
	}
	if (!localtime_r(&now, &tm) || !strftime(made, sizeof(made), "%d %b %Y, %H:%M", &tm))
		made[0] = '\0';
	html_begin(out, "Energy and emissions of jobs", "");
	html_element(out, "h1", NULL, "Energy and emissions of jobs");
	html_element(out, "p", "about", "%s%s%sMade %s.", site->cluster ? "Cluster " : "",
		     site->cluster ? site->cluster : "", site->cluster ? ". " : "", made);
	html_main(out);
	put_entries(&all, PERIOD_MONTH, "Month", out);
	put_entries(&all, PERIOD_WEEK, "Week", out);
	html_end(out, "Made by slurm-ceems " PACKAGE_VERSION ".");
	free(all.entry);
	if (fclose(out) != 0)
		return cmd_error("out of memory");
	return write_file(site, "index", ".html", html, len);
}

/* --- all of it --------------------------------------------------------------------------------- */

static void init_periods(struct site *site)
{
	static const struct {
		enum period_kind kind;
		bool is_last;
	} periods[PERIODS] = {
		{ PERIOD_MONTH, false }, { PERIOD_MONTH, true }, { PERIOD_WEEK, false }, { PERIOD_WEEK, true }
	};
	struct period p;
	size_t i;

	for (i = 0; i < PERIODS; i++) {
		period_of(periods[i].kind, site->now, &p);
		if (periods[i].is_last)
			period_before(&p, &p);
		summary_init(&site->period[i].all, &p, JOBS_BY_ACCOUNT, site->now);
	}
}

static int fill_periods(const struct report_options *o, struct site *site)
{
	bool lacks = false;
	struct report_walk walk = { .site = site->job_site,
				    .from = UINT64_MAX,
				    .need = UINT64_MAX,
				    .to = site->now + 1,
				    .lacks = &lacks,
				    .each = add_job,
				    .arg = site };
	size_t i;
	int rc;

	for (i = 0; i < PERIODS; i++) {
		const struct summary *s = &site->period[i].all;

		walk.from = s->before.from < walk.from ? s->before.from : walk.from;
		walk.need = s->period.from < walk.need ? s->period.from : walk.need;
	}
	rc = report_walk(o, &walk);
	for (i = 0; i < PERIODS; i++)
		site->period[i].all.lacks_before = lacks && site->period[i].all.before.from < walk.need;
	return rc;
}

int report_site(const struct report_options *o)
{
	static struct job_site job_site;
	struct site site = {
		.dir = o->site, .database = o->database_name, .job_site = &job_site, .now = o->now
	};
	struct errmsg err = { 0 };
	size_t i;
	int rc;

	if (fileio_mkdir_p(o->site, 0750, &err) < 0)
		return cmd_error("%s", err.text);
	site.period = calloc(PERIODS, sizeof(*site.period));
	if (!site.period)
		return cmd_error("out of memory");
	job_site_load(&job_site);
	site.cluster = job_ask_cluster(&job_site, o->choice.cluster);
	init_periods(&site);
	rc = fill_periods(o, &site);
	for (i = 0; rc == CMD_OK && i < PERIODS; i++)
		rc = write_period(&site, &site.period[i]);
	if (rc == CMD_OK)
		rc = write_index(&site);
	for (i = 0; i < PERIODS; i++)
		period_fini(&site.period[i]);
	free(site.period);
	job_site_fini(&job_site);
	return rc;
}
