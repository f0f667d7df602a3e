/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/report/summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/librecord/screen_text.h"

void summary_init(struct summary *s, const struct period *period, enum jobs_group_by by, uint64_t now)
{
	*s = (struct summary){ .period = *period, .by = by, .now = now };
	period_before(period, &s->before);
	s->groups.by = by;
	s->groups_before.by = by;
}

void summary_fini(struct summary *s)
{
	jobs_groups_free(&s->groups);
	jobs_groups_free(&s->groups_before);
}

static void add_name(struct summary_names *names, const char *text)
{
	size_t i;

	if (!*text)
		return;
	for (i = 0; i < names->n && strcmp(names->text[i], text) != 0; i++)
		;
	if (i == SUMMARY_NAMES) {
		names->others++;
		return;
	}
	if (i == names->n)
		(void)snprintf(names->text[names->n++], SUMMARY_NAME_MAX, "%s", text);
	names->jobs[i]++;
}

static void add_method(struct summary *s, const struct record *r)
{
	const struct record_emissions *e = &r->emissions;
	char year[16] = "", pue[24] = "", text[SUMMARY_NAME_MAX];

	add_name(&s->sources, r->energy.source);
	if (!values_has(&r->values, METRIC_CO2E))
		return;
	s->spread += e->method == CO2E_MEAN_POWER;
	if (e->year)
		(void)snprintf(year, sizeof(year), " %" PRIu32, e->year);
	if (e->pue_milli)
		(void)snprintf(pue, sizeof(pue), ", PUE %g", (double)e->pue_milli / 1e3);
	(void)snprintf(text, sizeof(text), "%s%s%s%s%s%s%s", e->region, year, *e->scope ? ", " : "", e->scope,
		       *e->source ? "; " : "", e->source, pue);
	add_name(&s->factors, text);
}

int summary_add(struct summary *s, const struct jobs_job *j)
{
	uint64_t end = j->r->end;
	unsigned int day;

	if (end >= s->before.from && end < s->before.to) {
		jobs_sum_add(&s->sum_before, j);
		return jobs_groups_add(&s->groups_before, j);
	}
	day = period_day_of(&s->period, end);
	if (day >= PERIOD_DAYS_MAX)
		return 0;
	jobs_sum_add(&s->sum, j);
	jobs_sum_add(&s->day[day], j);
	add_method(s, j->r);
	return jobs_groups_add(&s->groups, j);
}

bool summary_is_over(const struct summary *s)
{
	return s->now >= s->period.to;
}

static bool is_before(const struct jobs_group *a, const struct jobs_group *b)
{
	if (!a->sum.energy_n != !b->sum.energy_n)
		return a->sum.energy_n != 0;
	return a->sum.energy_uj != b->sum.energy_uj ? a->sum.energy_uj > b->sum.energy_uj :
						      strcmp(a->key, b->key) < 0;
}

size_t summary_rank(const struct jobs_groups *groups, const struct jobs_group *group)
{
	size_t rank = 1;
	size_t i;

	if (!group || !group->sum.energy_n)
		return 0;
	for (i = 0; i < groups->n; i++)
		rank += is_before(&groups->group[i], group);
	return rank;
}

/* Gives the share of the energy that was wasted. False: it is not known. */
static bool wasted_share(const struct jobs_sum *sum, double *ret)
{
	double uj, ng;

	if (sum->energy_uj <= sum->waste_lacks_uj || !jobs_sum_wasted(sum, &uj, &ng))
		return false;
	*ret = uj / (double)(sum->energy_uj - sum->waste_lacks_uj);
	return true;
}

void summary_place_find(const struct jobs_groups *groups, const char *user, struct summary_place *ret)
{
	const struct jobs_group *own = jobs_groups_find(groups, user);
	bool is_known = own && own->sum.energy_n;
	double own_share = 0;
	bool has_share = own && wasted_share(&own->sum, &own_share);
	double share;
	size_t i;

	*ret = (struct summary_place){ .energy = is_known, .wasted = has_share };
	for (i = 0; i < groups->n; i++) {
		const struct jobs_sum *sum = &groups->group[i].sum;

		ret->energy_of += sum->energy_n != 0;
		ret->energy += is_known && sum->energy_n && sum->energy_uj > own->sum.energy_uj;
		if (!wasted_share(sum, &share))
			continue;
		ret->wasted_of++;
		ret->wasted += has_share && share > own_share;
	}
}

static int compare_groups(const void *x, const void *y)
{
	const struct jobs_group *const *a = x;
	const struct jobs_group *const *b = y;

	return is_before(*a, *b) ? -1 : is_before(*b, *a);
}

const struct jobs_group **summary_sorted(const struct jobs_groups *groups)
{
	const struct jobs_group **ret = calloc(groups->n + 1, sizeof(struct jobs_group *));
	size_t i;

	for (i = 0; ret && i < groups->n; i++)
		ret[i] = &groups->group[i];
	if (ret && groups->n)
		qsort(ret, groups->n, sizeof(*ret), compare_groups);
	return ret;
}

const char *summary_change(const struct summary *s, const struct jobs_sum *sum, const struct jobs_sum *before,
			   char *buf)
{
	double now = (double)sum->energy_uj;
	double then = before ? (double)before->energy_uj : 0;
	double percent = then > 0 ? 100 * (now - then) / then : 0;

	if (!sum->energy_n || !(then > 0) || !summary_is_over(s))
		(void)snprintf(buf, SCREEN_TEXT_MAX, "n/a");
	else if (percent >= 999.5)
		(void)snprintf(buf, SCREEN_TEXT_MAX, "x%.0f", now / then);
	else
		(void)snprintf(buf, SCREEN_TEXT_MAX, "%+.0f %%", percent);
	return buf;
}
