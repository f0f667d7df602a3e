/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/textfile_emissions.h"

#include <inttypes.h>
#include <stdbool.h>

#include "src/libnode/prom.h"
#include "src/libutil/clock.h"

#define NG_PER_G UINT64_C(1000000000)

static void put_node(const struct textfile_emissions *e, const char *name, const char *type,
		     const char *help, uint64_t value, uint64_t units)
{
	prom_head(e->out, name, type, help);
	fprintf(e->out, "%s{hostname=\"%s\"}", name, e->host);
	prom_value(e->out, value, units);
}

/* A factor for its two gauges. */
struct shown_factor {
	const struct emission_factor *factor;
	const char *step; /* "marginal" is of no chain */
	uint64_t until_s; /* 0: it is of no time */
};

static void put_factor_labels(const struct textfile_emissions *e, const char *name, const struct shown_factor *s)
{
	const struct emission_factor *f = s->factor;
	char region[2 * sizeof(f->region)];
	char year[16] = "";

	prom_escape(f->region, region, sizeof(region));
	if (f->year)
		(void)snprintf(year, sizeof(year), "%" PRIu32, f->year);
	fprintf(e->out, "%s{hostname=\"%s\",region=\"%s\",year=\"%s\",kind=\"%s\",step=\"%s\"}",
		name, e->host, region, year, emission_kind_name(f->kind), s->step);
}

/* The one in force, and what another kWh would cost; returns how many. */
static size_t shown_factors(const struct textfile_emissions *e, struct shown_factor ret[2])
{
	const struct ledger_page *p = e->page;
	const struct factor_point *marginal = NULL;
	size_t n = 0;

	if (p->factor_known)
		ret[n++] = (struct shown_factor){
			&p->factor, factor_step_name((enum factor_step)p->factor_step),
			p->factor_until_s
		};
	if (e->series)
		marginal = factor_series_at(e->series, e->region, EMISSION_MARGINAL,
					    p->t_wall_ns / NSEC_PER_SEC);
	if (marginal)
		ret[n++] = (struct shown_factor){ &marginal->factor, "", marginal->until_s };
	return n;
}

static void put_factors(const struct textfile_emissions *e)
{
	static const char name[] = "ceems_emission_factor_grams_per_kwh";
	static const char age[] = "ceems_emission_factor_age_seconds";
	uint64_t now_s = e->page->t_wall_ns / NSEC_PER_SEC;
	struct shown_factor s[2];
	size_t n = shown_factors(e, s);
	bool has_head = false;
	size_t i;

	if (n)
		prom_head(e->out, name, "gauge", "CO2 equivalent of the electricity used, before PUE");
	for (i = 0; i < n; i++) {
		put_factor_labels(e, name, &s[i]);
		prom_value(e->out, s[i].factor->mg_per_kwh, 1000);
	}
	for (i = 0; i < n; i++) {
		if (!s[i].until_s)
			continue;
		if (!has_head)
			prom_head(e->out, age, "gauge",
				  "How long ago the time ended that the factor is of; 0: it holds");
		has_head = true;
		put_factor_labels(e, age, &s[i]);
		prom_value(e->out, now_s > s[i].until_s ? now_s - s[i].until_s : 0, 1);
	}
}

static void put_domains(const struct textfile_emissions *e)
{
	static const char name[] = "ceems_node_emissions_gco2e_total";
	bool has_head = false;
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++) {
		if (e->page->domain_source[d] >= SOURCE_N)
			continue;
		if (!has_head)
			prom_head(e->out, name, "counter",
				  "Location-based emissions of the node since the ledger began, "
				  "times PUE");
		has_head = true;
		fprintf(e->out, "%s{hostname=\"%s\",domain=\"%s\"}", name, e->host,
			domain_name((enum domain)d));
		prom_value(e->out, e->page->measured.co2e_ng[d], NG_PER_G);
	}
}

static void put_factor_energy(const struct textfile_emissions *e)
{
	static const char name[] = "ceems_node_factor_joules_total";
	unsigned int i;

	prom_head(e->out, name, "counter", "Energy of the node by where its emission factor came from");
	for (i = 0; i < FACTOR_STEP_N; i++) {
		fprintf(e->out, "%s{hostname=\"%s\",step=\"%s\"}", name, e->host,
			factor_step_name((enum factor_step)i));
		prom_value(e->out, e->page->measured.factor_uj[i], 1000000);
	}
}

void textfile_emissions_put(const struct textfile_emissions *e)
{
	const struct ledger_page *p = e->page;

	put_factors(e);
	if (p->factor_known) {
		put_domains(e);
		put_factor_energy(e);
	}
	if (p->market_known) {
		put_node(e, "ceems_node_market_emissions_gco2e_total", "counter",
			 "The same by the site's contract for electricity", p->measured.market_ng,
			 NG_PER_G);
		put_node(e, "ceems_market_factor_grams_per_kwh", "gauge",
			 "CO2 equivalent of the electricity by the site's contract, before PUE",
			 p->market_mg_per_kwh, 1000);
	}
	if (p->factor_known || p->market_known)
		put_node(e, "ceems_pue_ratio", "gauge",
			 "Power usage effectiveness that emissions include", p->pue_milli, 1000);
}
