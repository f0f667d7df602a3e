/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/metric_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "src/libcore/domain.h"
#include "src/libutil/util.h"

const char *metric_text_value(enum metric_unit unit, uint64_t value, char *buf, size_t size)
{
	unit_table[unit].text(value, buf, size);
	return buf;
}

const char *metric_text_kwh(uint64_t energy_uj, char *buf, size_t size)
{
	double kwh = (double)energy_uj / (double)UJ_PER_KWH;
	double limit = 9.95;
	int digits = 1;

	if (energy_uj && kwh < 1e-6) {
		(void)snprintf(buf, size, "<0.000001 kWh");
		return buf;
	}
	for (; digits < 6 && kwh < limit; digits++)
		limit /= 10;
	(void)snprintf(buf, size, "%.*f kWh", energy_uj ? digits : 0, kwh);
	return buf;
}

const char *metric_text_wh(uint64_t energy_uj, char *buf, size_t size)
{
	unit_text_watt_hours(energy_uj, buf, size);
	return buf;
}

const char *metric_text(const struct values *f, enum metric m, char *buf, size_t size)
{
	if (values_has(f, m))
		return metric_text_value(metric_table[m].unit, f->value[m], buf, size);
	(void)snprintf(buf, size, "n/a (%s)", metric_reason_text(f->reason[m]));
	return buf;
}

const char *metric_text_sources(const struct values *f, const char *estimate, char *buf, size_t size)
{
	size_t used = 0;
	unsigned int m;

	buf[0] = '\0';
	metric_foreach(m) {
		int n;

		if (metric_table[m].kind != KIND_SOURCE || !values_has(f, (enum metric)m) || !f->value[m])
			continue;
		n = snprintf(buf + used, size - used, "%s%s%s", used ? "," : "",
			     metric_source_name((enum metric)m), m == METRIC_SOURCE_MODEL ? estimate : "");
		used += n > 0 ? (size_t)n : 0;
		if (used >= size)
			break;
	}
	return buf;
}

/* Writes "85 %"; a part above 0 is at least "<1 %", and less than the whole is at most ">99 %". */
static void percent(uint64_t part, uint64_t whole, char *buf, size_t size)
{
	double v = 100.0 * (double)part / (double)whole;

	if (v < 1)
		(void)snprintf(buf, size, "<1 %%");
	else if (part < whole && v > 99)
		(void)snprintf(buf, size, ">99 %%");
	else
		(void)snprintf(buf, size, "%.0f %%", v);
}

const char *metric_text_factors(const struct values *f, char *buf, size_t size)
{
	static const struct {
		enum metric m;
		const char *name;
	} links[] = {
		{ METRIC_FRESH_FACTOR, "fresh" },
		{ METRIC_LAST_FACTOR, "last known" },
		{ METRIC_STATIC_FACTOR, "yearly mean" },
		{ METRIC_DEFAULT_FACTOR, "world mean" },
	};
	uint64_t whole = 0;
	size_t used = 0;
	size_t i;

	buf[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(links); i++)
		if (values_has(f, links[i].m) && __builtin_add_overflow(whole, f->value[links[i].m], &whole))
			return buf;
	for (i = 0; i < ARRAY_SIZE(links) && used < size; i++) {
		char share[16];
		int n;

		if (!values_has(f, links[i].m) || !f->value[links[i].m])
			continue;
		percent(f->value[links[i].m], whole, share, sizeof(share));
		n = snprintf(buf + used, size - used, "%s%s %s", used ? ", " : "", share, links[i].name);
		used += n > 0 ? (size_t)n : 0;
	}
	return buf;
}

const char *metric_text_method(const struct values *f)
{
	uint64_t dynamic = values_has(f, METRIC_ENERGY) ? f->value[METRIC_ENERGY] : 0;
	size_t i;

	for (i = 0; i < DOMAIN_N; i++) {
		uint64_t uj = values_has(f, domain_table[i].fixed) ? f->value[domain_table[i].fixed] : 0;

		dynamic -= uj < dynamic ? uj : dynamic;
	}
	return values_has(f, METRIC_BY_COUNTERS) && f->value[METRIC_BY_COUNTERS] > dynamic / 2 ? "counters" :
												 "cpu-time";
}
