/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports: the calendar, what a summary adds up, and its four forms. With an argument, html or text, it
 * prints the demo's report; a second one adds a place.
 */
#include "src/cmd/report/summary.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <time.h>

#include "src/cmd/html.h"
#include "src/cmd/report/summary_set.h"
#include "src/cmd/report/summary_words.h"

#include "tap.h"

#include "summary_demo.h"

#define T UINT64_C(1764900000) /* Fri 5 Dec 2025 02:00 UTC */
#define J UINT64_C(1000000)

/* --- the calendar ------------------------------------------------------------------------------ */

static void is_period(enum period_kind kind, const char *text, const char *name, unsigned int days)
{
	char buf[PERIOD_TEXT_MAX];
	struct period p;
	int rc = period_parse(kind, text, T, &p);

	ok(rc == 0 && !strcmp(period_name(&p, buf), name) && period_days(&p) == days, "%s is %s of %u days",
	   text, name, days);
}

static void test_periods(void)
{
	static const char *const bad[] = { "",	     "2025",	 "2025-13",  "2025-00",
					   "2025-1", "2025-W54", "2025-W00", "2025-11x",
					   "then",   "1970-01",	 "2025-W53" };
	struct period p, before;
	char buf[PERIOD_TEXT_MAX];
	size_t i;

	is_period(PERIOD_MONTH, "this", "2025-12", 31);
	is_period(PERIOD_MONTH, "last", "2025-11", 30);
	is_period(PERIOD_MONTH, "2024-02", "2024-02", 29);
	is_period(PERIOD_WEEK, "this", "2025-W49", 7);
	is_period(PERIOD_WEEK, "last", "2025-W48", 7);
	is_period(PERIOD_WEEK, "2026-W53", "2026-W53", 7);
	is_period(PERIOD_WEEK, "2025-W01", "2025-W01", 7);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		is_int(period_parse(PERIOD_MONTH, bad[i], T, &p), -EINVAL, bad[i]);
		is_int(period_parse(PERIOD_WEEK, bad[i], T, &p), -EINVAL, bad[i]);
	}
	/* Europe's summer time ends on 26 Oct 2025: a day of 25 hours */
	require(period_parse(PERIOD_MONTH, "2025-10", T, &p) == 0);
	is_u64(p.to - p.from, 31 * 86400 + 3600, "October is an hour longer");
	is_u64(period_day(&p, 26) - period_day(&p, 25), 90000, "its 26th too");
	is_u64(period_day_of(&p, period_day(&p, 26)), 26, "the next day begins after it");
	is_u64(period_day_of(&p, period_day(&p, 26) - 1), 25, "and not before");
	is_u64(period_day_of(&p, p.to), PERIOD_DAYS_MAX, "the next month is none of its days");
	require(period_parse(PERIOD_MONTH, "2025-01", T, &p) == 0);
	period_before(&p, &before);
	is_str(period_title(&before, buf), "December 2024", "the month before January");
	is_u64(before.to, p.from, "ends where it begins");
	require(period_parse(PERIOD_WEEK, "2025-W01", T, &p) == 0);
	period_before(&p, &before);
	is_str(period_title(&before, buf), "Week 52 of 2024", "the week before the first");
	is_u64(before.to, p.from, "ends where it begins");
}

/* --- sums -------------------------------------------------------------------------------------- */

static struct record job(const char *account, const char *state, uint64_t end)
{
	struct record r = { .job_id = 1,
			    .account = (char *)(uintptr_t)account,
			    .state = (char *)(uintptr_t)state,
			    .total_cpus = 4,
			    .total_nodes = 1,
			    .start = end - 100,
			    .end = end,
			    .tres_alloc = (char *)"cpu=4,mem=8G,node=1" };

	values_init(&r.values);
	return r;
}

static void add(struct summary *s, const struct record *r)
{
	struct jobs_job j;

	jobs_job_init(&j, r, s->now);
	ok(summary_add(s, &j) == 0, "a job of %s", r->account);
}

/* A month with a job that used 1 of 4 CPUs, one that failed, and one of which nothing is known. */
static void fill(struct summary *s)
{
	struct period p;
	struct record r;

	require(period_parse(PERIOD_MONTH, "2025-11", T, &p) == 0);
	summary_init(s, &p, JOBS_BY_ACCOUNT, T);
	r = job("physics", "COMPLETED", p.from + 10);
	values_set(&r.values, METRIC_ENERGY, 1000 * J);
	values_set(&r.values, METRIC_CPU_ENERGY, 1000 * J);
	values_set(&r.values, METRIC_CPU_ENERGY_STATIC, 400 * J);
	values_set(&r.values, METRIC_CO2E, 5000000000);
	values_set(&r.values, METRIC_CPU_TIME, UINT64_C(100000000000));
	(void)snprintf(r.energy.quality, sizeof(r.energy.quality), "measured");
	(void)snprintf(r.energy.source, sizeof(r.energy.source), "rapl");
	add(s, &r);
	r = job("chem", "FAILED", p.to - 1);
	values_set(&r.values, METRIC_ENERGY, 2000 * J);
	add(s, &r);
	r = job("chem", "COMPLETED", p.from + 86400);
	add(s, &r);
	r = job("chem", "COMPLETED", p.from - 1); /* of October */
	values_set(&r.values, METRIC_ENERGY, 1400 * J);
	add(s, &r);
	r = job("chem", "COMPLETED", p.from - 2);
	values_set(&r.values, METRIC_ENERGY, 100 * J);
	(void)snprintf(r.origin, sizeof(r.origin), RECORD_HISTORY);
	add(s, &r);
	r = job("chem", "COMPLETED", p.to); /* of neither */
	add(s, &r);
}

static void test_sums(void)
{
	static struct summary s;
	char buf[SUMMARY_WORDS_MAX];
	double uj, ng;

	fill(&s);
	is_u64(s.sum.jobs, 3, "jobs of the month");
	is_u64(s.sum.energy_uj, 3000 * J, "their energy");
	is_u64(s.sum_before.energy_uj, 1500 * J, "that of the month before");
	is_u64(s.sum_before.quality[JOBS_QUALITY_HISTORY].uj, 100 * J, "what ceems export sent of it");
	is_u64(s.day[0].energy_uj, 1000 * J, "of the first day");
	is_u64(s.day[29].energy_uj, 2000 * J, "of the last one");
	is_u64(s.sum.quality[JOBS_QUALITY_MEASURED].jobs, 1, "measured");
	is_u64(s.sum.quality[JOBS_QUALITY_UNTOLD].uj, 2000 * J, "how it was measured is not known");
	is_u64(s.sum.quality[JOBS_QUALITY_UNKNOWN].jobs, 1, "the energy of one job is not known");
	ok(s.sum.waste[WASTE_FAILED].uj == 2e9 && s.sum.waste[WASTE_FAILED].jobs == 1,
	   "failed jobs' energy is wasted");
	ok(s.sum.waste[WASTE_CPU].uj == 3e8, "and idle power of 3 CPUs of 4");
	ok(s.sum.waste[WASTE_MEMORY].n == 1,
	   "of memory it is known where nothing else was: the job that failed");
	ok(jobs_sum_wasted(&s.sum, &uj, &ng) && uj == 2.3e9 && ng == 1.5e9, "together");
	is_u64(summary_rank(&s.groups, jobs_groups_find(&s.groups, "chem")), 1, "most energy, first rank");
	is_u64(summary_rank(&s.groups_before, jobs_groups_find(&s.groups_before, "physics")), 0,
	       "none in October");
	is_str(summary_change(&s, &s.sum, &s.sum_before, buf), "+100 %", "change");
	is_str(summary_lead(&s, buf),
	       "3 jobs used 833 mWh of electricity, 100 % more than in October 2025. That caused 5.00 g "
	       "of CO2e.",
	       "in words");
	is_str(summary_waste_lead(&s, buf),
	       "77 % of the energy (639 mWh) was wasted. The largest cause: jobs that failed (556 mWh).",
	       "waste in words");
	s.now = s.period.to - 1;
	is_str(summary_change(&s, &s.sum, &s.sum_before, buf), "n/a",
	       "no change against a whole month while it goes on");
	is_str(summary_title(&s, buf), "November 2025, so far", "the title says that it goes on");
	summary_fini(&s);
}

/*
 * A cancelled job wastes what it held and did not use, and no more; the notes of a report must say the same.
 */
static void test_cancelled(void)
{
	static const char *const states[] = { "COMPLETED", "CANCELLED" };
	static struct summary s;
	char buf[SUMMARY_WORDS_MAX];
	struct period p;
	struct record r;
	double uj, ng;
	unsigned int i;

	require(period_parse(PERIOD_MONTH, "2025-11", T, &p) == 0);
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		summary_init(&s, &p, JOBS_BY_ACCOUNT, T);
		r = job("physics", states[i], p.from + 10);
		values_set(&r.values, METRIC_ENERGY, 1000 * J);
		values_set(&r.values, METRIC_CPU_ENERGY_STATIC, 400 * J);
		values_set(&r.values, METRIC_CPU_TIME, UINT64_C(100000000000));
		add(&s, &r);
		r = job("physics", states[i], p.from + 20);
		add(&s, &r);
		ok(jobs_sum_wasted(&s.sum, &uj, &ng) && uj == 3e8 && s.sum.waste[WASTE_CPU].uj == 3e8,
		   "%s: idle power of 3 CPUs of 4 is wasted; nothing of a job of unknown energy", states[i]);
		summary_fini(&s);
	}
	for (i = 0; summary_note(&s, i, buf); i++)
		if (!strncmp(buf, "Wasted is", 9))
			break;
	ok(strstr(buf, "A cancelled job counts like one that completed: only what it held and did not use. "
		       "Jobs whose energy is unknown are not counted as waste."),
	   "the notes say so");
}

static void add_user(struct jobs_groups *users, const char *name, uint64_t joules, const char *state)
{
	struct record r = job("physics", state, T);
	struct jobs_job j;

	r.user_name = (char *)(uintptr_t)name;
	if (joules)
		values_set(&r.values, METRIC_ENERGY, joules * J);
	jobs_job_init(&j, &r, T);
	ok(jobs_groups_add(users, &j) == 0, "a job of %s", name);
}

static void is_place(const struct jobs_groups *users, const char *name, size_t energy, size_t wasted,
		     const char *words)
{
	struct summary_place place;
	struct summary s = { .place = &place };
	char buf[SUMMARY_WORDS_MAX];

	summary_place_find(users, name, &place);
	is_u64(place.energy, energy, name);
	is_u64(place.wasted, wasted, "by waste");
	is_str(summary_place_words(&s, buf), words, "in words");
}

static void test_places(void)
{
	struct jobs_groups users = { .by = JOBS_BY_USER };
	struct summary_place hidden = { .why = "PrivateData" };
	struct summary s = { 0 };
	char buf[SUMMARY_WORDS_MAX];

	add_user(&users, "ann", 300, "COMPLETED");
	add_user(&users, "bob", 100, "FAILED");
	add_user(&users, "bob", 100, "COMPLETED");
	add_user(&users, "eve", 200, "COMPLETED");
	add_user(&users, "nil", 0, "COMPLETED");
	/* without idle energy, the waste of jobs that did not fail is not known */
	is_place(&users, "ann", 1, 0, "Place 1 of 3 users by energy. Place 1 is the largest.");
	is_place(&users, "bob", 2, 1,
		 "Place 2 of 3 users by energy, and place 1 of 1 by the part of it that was wasted. "
		 "Place 1 is the largest.");
	is_place(&users, "eve", 2, 0, "Place 2 of 3 users by energy. Place 1 is the largest.");
	is_place(&users, "nil", 0, 0, "Place among all users: n/a (the energy is not known).");
	is_place(&users, "joe", 0, 0, "Place among all users: n/a (the energy is not known).");
	is_str(summary_place_words(&s, buf), "", "no place was asked for");
	s.place = &hidden;
	is_str(summary_place_words(&s, buf), "Place among all users: n/a (PrivateData).", "it is hidden");
	jobs_groups_free(&users);
}

static void test_set(void)
{
	static struct summary like;
	struct summary_set set = { 0 };
	static const char *const names[] = { "m", "b", "z", "", "m", "n", "a" };
	struct period p;
	size_t i;

	require(period_parse(PERIOD_MONTH, "2025-11", T, &p) == 0);
	summary_init(&like, &p, JOBS_BY_ACCOUNT, T);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		ok(summary_set_get(&set, names[i], &like, JOBS_BY_USER) != NULL, "a summary of '%s'",
		   names[i]);
	is_u64(set.n, 6, "each name has one");
	for (i = 1; i < set.n; i++)
		ok(strcmp(set.name[i - 1], set.name[i]) < 0, "'%s' is in order", set.name[i]);
	ok(set.summary[0]->by == JOBS_BY_USER && set.summary[0]->period.from == p.from, "as was asked");
	summary_set_fini(&set);
	summary_fini(&like);
}

/* --- its forms --------------------------------------------------------------------------------- */

enum form { FORM_TEXT, FORM_CSV, FORM_JSON, FORM_HTML };

static char *print(const struct summary *s, enum form form)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int rc;

	if (!f)
		abort();
	rc = form == FORM_TEXT ? summary_print_text(s, f) :
	     form == FORM_CSV  ? summary_print_csv(s, f) :
	     form == FORM_JSON ? summary_print_json(s, f) :
				 summary_print_html(s, NULL, f);
	(void)fclose(f);
	if (rc < 0)
		abort();
	return text;
}

static void test_data(void)
{
	static struct summary s;
	_cleanup_free_ char *csv = NULL, *json = NULL;
	double day = 0, group = 0, method = 0, total = 0;
	json_t *v, *row;
	size_t i;

	fill(&s);
	csv = print(&s, FORM_CSV);
	ok(!strncmp(csv,
		    "section,key,jobs,failed,elapsed_s,cpu_efficiency,energy_j,co2e_g,idle_energy_j,"
		    "idle_known_of_j,failed_energy_j,"
		    "wasted_energy_j,jobs_with_energy,rank\ntotal,2025-11,3,1,300,0.25,3000,5,400,1000,2000,"
		    "2300,2,\n",
		    201),
	   "CSV");
	ok(strstr(csv, "\nday,2025-11-02,1,0,100,,,,,,0,,0,\n"), "what is not known is empty, not 0");
	ok(strstr(csv, "\naccount,chem,2,1,200,,2000,,,0,2000,2000,1,1\n"), "a group with its rank");
	json = print(&s, FORM_JSON);
	v = json_loads(json, 0, NULL);
	is_str(json_string_value(json_object_get(v, "schema")), SUMMARY_SCHEMA, "JSON");
	json_array_foreach(json_object_get(v, "rows"), i, row) {
		const char *section = json_string_value(json_object_get(row, "section"));
		double joules = json_number_value(json_object_get(row, "energy_j"));

		*(!strcmp(section, "day")     ? &day :
		  !strcmp(section, "account") ? &group :
		  !strcmp(section, "method")  ? &method :
		  !strcmp(section, "total")   ? &total :
						&(double){ 0 }) += joules;
	}
	ok(total == 3000 && day == total && group == total && method == total,
	   "days, groups and methods add up to the sum");
	json_decref(v);
	summary_fini(&s);
}

static void test_empty(void)
{
	static struct summary s;
	struct period p;
	enum form form;

	require(period_parse(PERIOD_WEEK, "this", T, &p) == 0);
	summary_init(&s, &p, JOBS_BY_USER, T);
	for (form = FORM_TEXT; form <= FORM_HTML; form++) {
		_cleanup_free_ char *text = print(&s, form);

		ok(*text, "form %d of a week without jobs", (int)form);
	}
	summary_fini(&s);
}

static void test_text(void)
{
	static struct summary s;
	_cleanup_free_ char *text = NULL;

	demo_init(&s, JOBS_BY_ACCOUNT);
	text = print(&s, FORM_TEXT);
	ok(!strchr(text, '\x1b') && !strstr(text, "\xe2\x80\xae"), "no control characters");
	ok(strstr(text, "Measured by sensors"), "the method is said");
	summary_fini(&s);
}

static void is_escaped(const char *in, const char *want)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		abort();
	html_text(f, in);
	(void)fclose(f);
	is_str(text, want, in);
}

static void test_escape(void)
{
	char in[600], want[600];
	unsigned int i;

	is_escaped("<b>&\"'", "&lt;b&gt;&amp;&quot;&#39;");
	is_escaped("a\x1b[31m\n\xff", "a?[31m??");
	is_escaped("\xe2\x80\xaegnp", "?gnp");
	/* a character at each border of the pieces */
	for (i = 0; i < 4; i++) {
		(void)snprintf(in, sizeof(in), "%.*s%s", (int)(252 + i), "", "");
		memset(in, 'x', 252 + i);
		memcpy(in + 252 + i, "\xf0\x9f\x8c\xb3<", 6);
		memcpy(want, in, 252 + i + 4);
		memcpy(want + 252 + i + 4, "&lt;", 5);
		is_escaped(in, want);
	}
}

/* Each tag of the text is one of ours. */
static void test_html(void)
{
	static struct summary s;
	_cleanup_free_ char *html = NULL;
	static const char *const never[] = { "<script",
					     "alert(1)<",
					     "http:",
					     "https:",
					     "url(",
					     "@import",
					     "\x1b",
					     "\xe2\x80\xae",
					     " style=",
					     "src=",
					     (" on"
					      "click"),
					     "javascript:" };
	size_t i;

	demo_init(&s, JOBS_BY_ACCOUNT);
	html = print(&s, FORM_HTML);
	for (i = 0; i < ARRAY_SIZE(never); i++)
		ok(!strstr(html, never[i]), "a page without %s", i < 6 ? never[i] : "that");
	ok(strstr(html, "&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#39;?[31m?"),
	   "the account's name is shown");
	ok(strstr(html, "nan") == NULL && strstr(html, "inf") == NULL, "no nan and no inf");
	ok(strlen(html) < 100000, "%zu bytes", strlen(html));
	summary_fini(&s);
}

int main(int argc, char **argv)
{
	static struct summary s;

	(void)setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	if (argc > 1) {
		static const struct summary_place place = {
			.energy = 3, .energy_of = 41, .wasted = 7, .wasted_of = 40
		};
		_cleanup_free_ char *text = NULL;

		demo_init(&s, JOBS_BY_ACCOUNT);
		s.place = argc > 2 ? &place : NULL;
		text = print(&s, strcmp(argv[1], "text") ? FORM_HTML : FORM_TEXT);
		return fputs(text, stdout) < 0;
	}
	test_periods();
	test_sums();
	test_cancelled();
	test_places();
	test_set();
	test_data();
	test_empty();
	test_text();
	test_escape();
	test_html();
	return done_testing();
}
