/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_ledger.c - ceems ledger: shows the node's ledger, and whether its sums are right.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "src/cmd/cmd.h"
#include "src/libcore/doubt.h"
#include "src/libcore/metric_text.h"
#include "src/libledger/ledger_book.h"
#include "src/librecord/exactjson.h"
#include "src/libutil/clock.h"
#include "src/libutil/rfc3339.h"
#include "src/libutil/text.h"

struct view {
	struct ledger *ledger;
	struct ledger_page *page;
	uint64_t error_uj; /* ledger_page_error_uj() of the page */
};

/* A line's name in the table and its key in JSON. */
struct line {
	const char *name;
	const struct account *account;
};
#define NLINES 4

static void node_lines(const struct ledger_page *p, struct line line[NLINES])
{
	line[0] = (struct line){ "measured", &p->measured };
	line[1] = (struct line){ "unallocated", &p->unallocated };
	line[2] = (struct line){ "system", &p->system };
	line[3] = (struct line){ "retired", &p->retired }; /* jobs that the ledger does not list any more */
}

/* Returns the step of account I. NULL: there is no step, or a new step has claimed its slot. */
static const struct ledger_identity *step_of(const struct view *v, unsigned int i)
{
	const struct ledger_step_account *a = &v->page->step[i];
	const struct ledger_slot *s = ledger_slot(v->ledger, i);

	return a->job && s && s->claim == a->claim ? &s->id : NULL;
}

static const char *energy_text(uint64_t uj, char *buf)
{
	struct values f;

	values_init(&f);
	values_set(&f, METRIC_ENERGY, uj);
	return metric_text(&f, METRIC_ENERGY, buf, METRIC_TEXT_MAX);
}

/*
 * Returns false if the emissions of A are unknown, because there was no factor. They
 * must not be shown as 0 then.
 */
static bool has_co2e(const struct ledger_page *p, const struct account *a)
{
	return p->factor_known || account_co2e_ng(a);
}

static void print_account(const struct ledger_page *p, const char *first, const char *second,
			  const struct account *a, uint64_t busy_ns)
{
	char total[METRIC_TEXT_MAX];
	char fixed[METRIC_TEXT_MAX];
	char co2e[METRIC_TEXT_MAX];
	char busy[METRIC_TEXT_MAX];
	struct values f;

	values_init(&f);
	values_set(&f, METRIC_CO2E, account_co2e_ng(a));
	values_set(&f, METRIC_CPU_TIME, busy_ns);
	printf("%-12s %-12s %14s %14s %12s %12s\n", first, second, energy_text(account_total_uj(a), total),
	       account_idle_unknown_uj(a) ? "n/a" : energy_text(account_static_uj(a), fixed),
	       has_co2e(p, a) ? metric_text(&f, METRIC_CO2E, co2e, sizeof(co2e)) : "n/a",
	       busy_ns == UINT64_MAX ? "" : metric_text(&f, METRIC_CPU_TIME, busy, sizeof(busy)));
}

static const char *watts(uint64_t mw, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%llu.%03llu W", (unsigned long long)mw / 1000,
		       (unsigned long long)mw % 1000);
	return buf;
}

static void print_part(const struct ledger_part *part)
{
	char now[32];
	char idle[32];
	char unit[8];

	printf("%s", domain_name(part->domain));
	if (part->domain != DOMAIN_OTHER)
		printf(" %s", domain_unit_name(part->domain, part->unit, unit));
	printf(" from %s%s, now %s, ", source_name(part->source),
	       part->quality == QUALITY_ESTIMATE ? " (an estimate)" : "",
	       watts(part->power_mw, now, sizeof(now)));
	if (part->doubt)
		printf("its sensor %s, ", doubt_text(part->doubt));
	if (part->idle == LEDGER_IDLE_NONE)
		printf("idle not known\n");
	else
		printf("idle %s (%s)\n", watts(part->idle_mw, idle, sizeof(idle)),
		       ledger_idle_name(part->idle));
}

static void print_sensors(const struct ledger_page *p)
{
	char text[METRIC_TEXT_MAX];
	unsigned int i;

	for (i = 0; i < p->nparts; i++)
		print_part(&p->part[i]);
	if (p->rejected || p->late)
		printf("sensor readings rejected: %llu, too late: %llu\n", (unsigned long long)p->rejected,
		       (unsigned long long)p->late);
	if (p->disagreement_uj)
		printf("the node's own sensor shows less than the sum of the parts: %s in all\n",
		       energy_text(p->disagreement_uj, text));
}

/* Prints how the dynamic energy of GPUs was split, if MIG divides one. */
static void print_instances(const struct view *v)
{
	const struct account *a = &v->page->measured;
	char part[METRIC_TEXT_MAX];
	char all[METRIC_TEXT_MAX];
	struct gpu_slices slices;

	ledger_slices(v->ledger, &slices);
	if (slices.n)
		printf("GPU energy above idle split by the activity of MIG instances: %s of %s\n",
		       energy_text(a->by_activity_uj, part),
		       a->no_idle_uj[DOMAIN_GPU] ?
			       "n/a" :
			       energy_text(a->total_uj[DOMAIN_GPU] - a->static_uj[DOMAIN_GPU], all));
}

/*
 * Prints "factor 500.000 g CO2e/kWh (fresh, FR, average, until 2026-11-22T10:30:00Z), PUE 1.200" or similar.
 */
static void print_factor(const struct ledger_page *p)
{
	const struct emission_factor *f = &p->factor;
	char region[sizeof(f->region)];
	char until[RFC3339_SIZE];

	if (p->factor_known) {
		printf("factor %" PRIu64 ".%03" PRIu64 " g CO2e/kWh (%s", f->mg_per_kwh / 1000,
		       f->mg_per_kwh % 1000, factor_step_name((enum factor_step)p->factor_step));
		if (f->region[0])
			printf(", %s", text_mask(f->region, region, sizeof(region)));
		if (f->year)
			printf(", %" PRIu32, f->year);
		if (p->factor_until_s) {
			rfc3339_utc(p->factor_until_s, until);
			printf(", until %s", until);
		}
		printf("), PUE %" PRIu64 ".%03" PRIu64 "\n", p->pue_milli / 1000, p->pue_milli % 1000);
	}
	if (p->market_known)
		printf("market %" PRIu64 ".%03" PRIu64 " g CO2e/kWh by contract\n",
		       p->market_mg_per_kwh / 1000, p->market_mg_per_kwh % 1000);
}

static void print_view(const struct view *v)
{
	const struct ledger_page *p = v->page;
	struct line line[NLINES];
	char buf[32];
	unsigned int i;

	cmd_print("node %s: %llu ticks, the last %llu ms ago", ledger_node(v->ledger),
		  (unsigned long long)p->ticks,
		  (unsigned long long)((clock_mono_ns() - p->t_mono_ns) / NSEC_PER_MSEC));
	print_sensors(p);
	print_instances(v);
	print_factor(p);
	printf("%-12s %-12s %14s %14s %12s %12s\n", "JOB", "STEP", "ENERGY", "STATIC", "CO2E", "CPU TIME");
	node_lines(p, line);
	for (i = 0; i < NLINES; i++)
		print_account(p, line[i].name, "", line[i].account, UINT64_MAX);
	for (i = 0; i < LEDGER_JOBS; i++) {
		if (!p->job[i].job_id)
			continue;
		(void)snprintf(buf, sizeof(buf), "%u", p->job[i].job_id);
		print_account(p, buf, "ended steps", &p->job[i].closed, p->job[i].closed_busy_ns);
	}
	for (i = 0; i < LEDGER_STEPS; i++) {
		const struct ledger_identity *id = step_of(v, i);
		char step[16];

		if (!id)
			continue;
		(void)snprintf(buf, sizeof(buf), "%u", id->job_id);
		print_account(p, buf, ledger_step_name(id->step_id, step, sizeof(step)), &p->step[i].energy,
			      p->step[i].busy_ns);
	}
	printf("measured - (steps + ended steps + retired + unallocated + system) = %llu uJ\n",
	       (unsigned long long)v->error_uj);
	printf("booked wrongly since the ledger began: %llu uJ\n",
	       (unsigned long long)p->conservation_error_uj);
}

static json_t *integers(const uint64_t *v, unsigned int n, const char *(*name_of)(unsigned int))
{
	json_t *o = json_object();
	unsigned int i;

	for (i = 0; i < n; i++)
		(void)json_object_set_new(o, name_of(i), json_integer((json_int_t)v[i]));
	return o;
}

static const char *name_of_domain(unsigned int d)
{
	return domain_name((enum domain)d);
}

static const char *name_of_step(unsigned int step)
{
	return factor_step_name((enum factor_step)step);
}

static json_t *integer_or_null(bool known, uint64_t v)
{
	return known ? json_integer((json_int_t)v) : json_null();
}

static json_t *account_json(const struct ledger_page *p, const struct account *a)
{
	bool known = has_co2e(p, a);
	json_t *o = integers(a->total_uj, DOMAIN_N, name_of_domain);

	(void)json_object_set_new(o, "total_uj", json_integer((json_int_t)account_total_uj(a)));
	(void)json_object_set_new(o, "static_uj",
				  integer_or_null(!account_idle_unknown_uj(a), account_static_uj(a)));
	(void)json_object_set_new(o, "by_activity_uj", json_integer((json_int_t)a->by_activity_uj));
	(void)json_object_set_new(o, "co2e_ng", integer_or_null(known, account_co2e_ng(a)));
	(void)json_object_set_new(o, "co2e_by_domain_ng",
				  known ? integers(a->co2e_ng, DOMAIN_N, name_of_domain) : json_null());
	(void)json_object_set_new(o, "market_co2e_ng",
				  integer_or_null(p->market_known || a->market_ng, a->market_ng));
	(void)json_object_set_new(o, "by_factor_uj",
				  known ? integers(a->factor_uj, FACTOR_STEP_N, name_of_step) : json_null());
	return o;
}

/* Returns the factor as a JSON object, or null if there is none. */
static json_t *factor_json(const struct ledger_page *p)
{
	const struct emission_factor *f = &p->factor;
	json_t *o;

	if (!p->factor_known)
		return json_null();
	o = json_pack("{s:I, s:s, s:s, s:s, s:s, s:s, s:I}", "mg_per_kwh", (json_int_t)f->mg_per_kwh, "link",
		      name_of_step(p->factor_step), "kind", emission_kind_name(f->kind), "scope",
		      emission_scope_name(f->scope), "region", f->region, "source", f->source, "pue_milli",
		      (json_int_t)p->pue_milli);
	if (p->factor_until_s)
		(void)json_object_set_new(o, "until", json_integer((json_int_t)p->factor_until_s));
	return o;
}

static json_t *part_json(const struct ledger_part *p)
{
	json_t *o = json_pack("{s:s, s:i, s:s, s:s, s:I, s:I, s:s}", "domain", domain_name(p->domain), "unit",
			      (int)p->unit, "source", source_name(p->source), "quality",
			      reading_quality_name(p->quality), "energy_uj", (json_int_t)p->energy_uj,
			      "power_mw", (json_int_t)p->power_mw, "idle", ledger_idle_name(p->idle));

	(void)json_object_set_new(o, "idle_mw",
				  p->idle == LEDGER_IDLE_NONE ? json_null() :
								json_integer((json_int_t)p->idle_mw));
	(void)json_object_set_new(o, "held_uj", json_integer((json_int_t)p->held_uj));
	(void)json_object_set_new(o, "doubt", p->doubt ? json_string(doubt_text(p->doubt)) : json_null());
	return o;
}

static void add_sensors(json_t *root, const struct ledger_page *p)
{
	json_t *parts = json_array();
	unsigned int i;

	for (i = 0; i < p->nparts; i++)
		(void)json_array_append_new(parts, part_json(&p->part[i]));
	(void)json_object_set_new(root, "parts", parts);
	(void)json_object_set_new(root, "rejected", json_integer((json_int_t)p->rejected));
	(void)json_object_set_new(root, "wraps", json_integer((json_int_t)p->wraps));
	(void)json_object_set_new(root, "late", json_integer((json_int_t)p->late));
	(void)json_object_set_new(root, "disagreement_uj", json_integer((json_int_t)p->disagreement_uj));
}

static int print_json(const struct view *v)
{
	const struct ledger_page *p = v->page;
	_cleanup_free_ char *text = NULL;
	struct line line[NLINES];
	json_t *jobs = json_array();
	json_t *steps = json_array();
	json_t *root = json_object();
	char buf[16];
	unsigned int i;

	/*
	 * only the last result is checked: jansson accepts NULL from a call that failed, and then fails, too
	 */
	(void)json_object_set_new(root, "node", json_string(ledger_node(v->ledger)));
	(void)json_object_set_new(root, "ticks", json_integer((json_int_t)p->ticks));
	(void)json_object_set_new(root, "difference_uj", json_integer((json_int_t)v->error_uj));
	(void)json_object_set_new(root, "conservation_error_uj",
				  json_integer((json_int_t)p->conservation_error_uj));
	add_sensors(root, p);
	(void)json_object_set_new(root, "factor", factor_json(p));
	(void)json_object_set_new(root, "market_mg_per_kwh",
				  integer_or_null(p->market_known, p->market_mg_per_kwh));
	node_lines(p, line);
	for (i = 0; i < NLINES; i++)
		(void)json_object_set_new(root, line[i].name, account_json(p, line[i].account));
	for (i = 0; i < LEDGER_JOBS; i++) {
		json_t *job;

		if (!p->job[i].job_id)
			continue;
		job = account_json(p, &p->job[i].closed);
		(void)json_object_set_new(job, "job", json_integer(p->job[i].job_id));
		(void)json_array_append_new(jobs, job);
	}
	for (i = 0; i < LEDGER_STEPS; i++) {
		const struct ledger_identity *id = step_of(v, i);
		json_t *step;

		if (!id)
			continue;
		step = account_json(p, &p->step[i].energy);
		(void)json_object_set_new(step, "job", json_integer(id->job_id));
		(void)json_object_set_new(step, "step",
					  json_string(ledger_step_name(id->step_id, buf, sizeof(buf))));
		(void)json_array_append_new(steps, step);
	}
	(void)json_object_set_new(root, "ended", jobs);
	(void)json_object_set_new(root, "steps", steps);
	text = exactjson_dump(root, NULL);
	json_decref(root);
	if (!text)
		return cmd_error("out of memory");
	puts(text);
	return CMD_OK;
}

static const struct cmd_option ledger_options[] = {
	{ NULL, 0, NULL, "Which ledger" },
	{ "conf", 'c', "FILE", "read this ceems.conf" },
	{ "node", 'n', "NAME", "ledger of this node" },
	{ NULL, 0, NULL, "Output" },
	{ "json", 'j', NULL, "print one JSON object" },
	{ 0 },
};

static int cmd_ledger_run(const struct cmd_info *self, int argc, char **argv)
{
	const char *conf = NULL;
	const char *asked = NULL;
	struct errmsg err = { 0 };
	struct view v = { 0 };
	struct settings s;
	bool json = false;
	int opt;
	int rc;

	while ((opt = cmd_getopt(argc, argv, ledger_options, 0)) >= 0) {
		if (opt == 'c')
			conf = optarg;
		else if (opt == 'n')
			asked = optarg;
		else if (opt == 'j')
			json = true;
		else
			return cmd_usage(self, opt == 'h' ? CMD_OK : CMD_USAGE);
	}
	if (optind < argc)
		return cmd_usage(self, CMD_USAGE);
	if (cmd_load_settings(conf, &s) != CMD_OK)
		return CMD_FAILED;
	rc = cmd_ledger_open(&s, asked, &v.ledger, &err);
	if (rc < 0)
		return cmd_error("%s", err.text);
	v.page = malloc(sizeof(*v.page));
	rc = v.page ? ledger_snapshot(v.ledger, v.page) : -ENOMEM;
	if (rc < 0) {
		rc = cmd_error("%s: %s", ledger_node(v.ledger), strerror(-rc));
	} else {
		v.error_uj = ledger_page_error_uj(v.page);
		rc = CMD_OK;
		if (json)
			rc = print_json(&v);
		else
			print_view(&v);
		/* energy was lost or made up, which must never happen; scripts see it by the exit status */
		if (v.error_uj || v.page->conservation_error_uj)
			rc = CMD_FAILED;
	}
	free(v.page);
	ledger_close(v.ledger);
	return rc;
}

const struct cmd_info cmd_ledger = {
	"ledger", "[OPTION...]", cmd_ledger_run, ledger_options, "ceems ledger --json | jq .parts",
};
