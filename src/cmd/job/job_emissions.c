/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/job/job_emissions.h"

#include <stdio.h>

#include "src/cmd/cmd.h"
#include "src/libcore/domain.h"
#include "src/libcore/metric_text.h"
#include "src/librecord/equivalent.h"

#define UM_PER_KM UINT64_C(1000000000)

static void print_row(const char *label, const char *value, const char *note)
{
	cmd_print("  %-22s %s%s%s", label, value, *note ? ", " : "", note);
}

static void print_metric(const struct values *f, enum metric m, const char *label, const char *note)
{
	char value[METRIC_TEXT_MAX];

	if (values_has(f, m))
		print_row(label, metric_text(f, m, value, sizeof(value)), note);
}

static void print_factor(const struct values *f, const struct record_emissions *e)
{
	char shares[METRIC_FACTORS_MAX];
	char factor[64] = "";
	char note[sizeof(e->source) + sizeof(e->scope) + sizeof(e->region) + 8];
	size_t used = 0;
	size_t i;
	const char *const part[] = { e->scope, e->region, e->source };

	metric_text_factors(f, shares, sizeof(shares));
	if (e->factor_ug_per_kwh.known)
		(void)snprintf(factor, sizeof(factor), "%.1f g/kWh",
			       (double)e->factor_ug_per_kwh.value / (double)UG_PER_G);
	note[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(part); i++)
		if (*part[i])
			used += (size_t)snprintf(note + used, sizeof(note) - used, "%s%s", used ? ", " : "",
						 part[i]);
	if (*factor || *shares)
		print_row("emission factor", *factor ? factor : shares, *factor ? shares : "");
	if (*note)
		print_row("  of", note, "");
	if (e->pue_milli) {
		(void)snprintf(factor, sizeof(factor), "%g", (double)e->pue_milli / 1e3);
		print_row("  times PUE", factor, "");
	}
}

void job_emissions_print(const struct values *f, const struct record_emissions *e)
{
	static const enum metric factor[] = { METRIC_FRESH_FACTOR, METRIC_LAST_FACTOR, METRIC_STATIC_FACTOR,
					      METRIC_DEFAULT_FACTOR };
	char way[EQUIVALENT_TEXT_MAX];
	char value[METRIC_TEXT_MAX];
	size_t i;

	if (!values_has(f, METRIC_CO2E))
		return;
	if (e->method == CO2E_MEAN_POWER)
		print_row("  an estimate", "the energy spread evenly over the job's life", "");
	/* a comparison with a few metres by car would make no sense */
	if (equivalent_car_um(f->value[METRIC_CO2E]) >= UM_PER_KM)
		print_row(EQUIVALENT_LABEL, equivalent_text(f->value[METRIC_CO2E], way, sizeof(way)),
			  EQUIVALENT_SOURCE);
	print_factor(f, e);
	print_metric(f, METRIC_CO2E_MARKET, "emissions, by contract", e->market_source);
	if (e->embodied_ng.known)
		print_row("embodied emissions",
			  metric_text_value(UNIT_NG, e->embodied_ng.value, value, sizeof(value)),
			  e->embodied_source);
	for (i = 0; i < DOMAIN_N; i++)
		print_metric(f, domain_table[i].co2e, metric_table[domain_table[i].co2e].label, "");
	for (i = 0; i < ARRAY_SIZE(factor); i++)
		print_metric(f, factor[i], metric_table[factor[i]].label, "");
}
