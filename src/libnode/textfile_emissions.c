/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "src/libnode/textfile_internal.h"
#include "src/libutil/clock.h"

/* A factor that is written, as two gauges. */
struct shown_factor {
	const struct emission_factor *factor;
	const char *step; /* kind of the factor, or "marginal", which is not used for emissions */
	uint64_t until_s; /* until when it is valid; 0: it is not from a series */
};

static void put_factor(struct prom *p, const struct prom_family *family, const struct shown_factor *s,
		       uint64_t value)
{
	const struct emission_factor *f = s->factor;
	char region[2 * sizeof(f->region)];
	char year[16] = "";

	prom_escape(f->region, region, sizeof(region));
	if (f->year)
		(void)snprintf(year, sizeof(year), "%" PRIu32, f->year);
	prom_put(p, family, value, ",region=\"%s\",year=\"%s\",kind=\"%s\",step=\"%s\"", region, year,
		 emission_kind_name(f->kind), s->step);
}

/* Lists the factor in use and the marginal factor; returns how many. */
static size_t shown_factors(const struct ledger_page *p, const struct textfile_input *in,
			    struct shown_factor ret[2])
{
	const struct factor_point *marginal = NULL;
	size_t n = 0;

	if (p->factor_known)
		ret[n++] = (struct shown_factor){ &p->factor,
						  factor_step_name((enum factor_step)p->factor_step),
						  p->factor_until_s };
	if (in->series)
		marginal = factor_series_at(in->series, in->region, EMISSION_MARGINAL,
					    p->t_wall_ns / NSEC_PER_SEC);
	if (marginal)
		ret[n++] = (struct shown_factor){ &marginal->factor, "", marginal->until_s };
	return n;
}

static void put_factors(struct prom *p, const struct ledger_page *page, const struct textfile_input *in)
{
	static const struct prom_family factor = { "ceems_emission_factor_grams_per_kwh", "gauge",
						   "CO2 equivalent of the electricity used, before PUE",
						   1000 };
	static const struct prom_family age = {
		"ceems_emission_factor_age_seconds", "gauge",
		"Time since the interval of the emission factor ended; 0: it has not ended", 1
	};
	uint64_t now_s = page->t_wall_ns / NSEC_PER_SEC;
	struct shown_factor s[2];
	size_t n = shown_factors(page, in, s);
	size_t i;

	for (i = 0; i < n; i++)
		put_factor(p, &factor, &s[i], s[i].factor->mg_per_kwh);
	for (i = 0; i < n; i++)
		if (s[i].until_s)
			put_factor(p, &age, &s[i], now_s > s[i].until_s ? now_s - s[i].until_s : 0);
}

static void put_domains(struct prom *p, const struct ledger_page *page)
{
	static const struct prom_family f = {
		"ceems_node_emissions_gco2e_total", "counter",
		"Location-based emissions of the node since the ledger began, times PUE", NG_PER_G
	};
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++)
		if (page->domain_source[d] < SOURCE_N)
			prom_put(p, &f, page->measured.co2e_ng[d], ",domain=\"%s\"",
				 domain_name((enum domain)d));
}

static void put_factor_energy(struct prom *p, const struct ledger_page *page)
{
	static const struct prom_family f = { "ceems_node_factor_joules_total", "counter",
					      "Energy of the node by where its emission factor came from",
					      1000000 };
	unsigned int i;

	for (i = 0; i < FACTOR_STEP_N; i++)
		prom_put(p, &f, page->measured.factor_uj[i], ",step=\"%s\"",
			 factor_step_name((enum factor_step)i));
}

void textfile_emissions_put(struct prom *p, const struct ledger_page *page, const struct textfile_input *in)
{
	put_factors(p, page, in);
	if (page->factor_known) {
		put_domains(p, page);
		put_factor_energy(p, page);
	}
	if (page->market_known) {
		prom_put_node(p, "ceems_node_market_emissions_gco2e_total", "counter",
			      "The same by the site's contract for electricity", page->measured.market_ng,
			      NG_PER_G);
		prom_put_node(p, "ceems_market_factor_grams_per_kwh", "gauge",
			      "CO2 equivalent of the electricity by the site's contract, before PUE",
			      page->market_mg_per_kwh, 1000);
	}
	if (page->factor_known || page->market_known)
		prom_put_node(p, "ceems_pue_ratio", "gauge",
			      "Power usage effectiveness that emissions include", page->pue_milli, 1000);
}
