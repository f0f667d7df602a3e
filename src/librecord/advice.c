/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/advice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libcore/metric_text.h"
#include "src/libutil/kvconf.h"
#include "src/libutil/round.h"

const struct advice_rule advice_rules[] = {
#define IF(fact, op, limit)                     \
	{                                       \
		FACT_##fact, ADVICE_##op, limit \
	}
#define ADVICE(name, severity, saving, what, type, why, show, ...) \
	{ name, ADVICE_##severity, ADVICE_##saving, what, type, why, ADVICE_##show, { __VA_ARGS__ } },
#include "src/librecord/advice.def"
#undef ADVICE
#undef IF
};
const size_t advice_nrules = ARRAY_SIZE(advice_rules);

/* --- the site's file ------------------------------------------------------------------------------ */

#define KEYS_OF_RULE 5
#define KEY_NAME_MAX 48

static int parse_number(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	char *end;
	double v = strtod(value, &end);

	(void)key;
	if (end == value || *end || !(v >= 0 && v < 1e18))
		return errmsg_set(err, -EINVAL, "'%s' is not a number", value);
	*(double *)field = v;
	return 0;
}

/* Refuses a VALUE that contains a {fact} that does not exist. */
static int parse_template(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err)
{
	const char *p, *end;

	for (p = strchr(value, '{'); p; p = strchr(end, '{')) {
		end = strchr(p, '}');
		if (!end)
			return errmsg_set(err, -EINVAL, "'{' without '}'");
		if (advice_fact_find(p + 1, (size_t)(end - p - 1)) == FACT_N)
			return errmsg_set(err, -EINVAL, "'%.*s' is not a fact, see ceems-advice.conf(5)",
					  (int)(end - p - 1), p + 1);
	}
	return kvconf_text(value, field, key, err);
}

static const struct {
	const char *suffix;
	int (*parse)(const char *value, void *field, const struct kvconf_key *key, struct errmsg *err);
	size_t offset, size;
} rule_keys[KEYS_OF_RULE] = {
#define FIELD(name) offsetof(struct advice_site_rule, name), sizeof(((struct advice_site_rule *)0)->name)
	{ "show", kvconf_bool, FIELD(show) },	 { "threshold", parse_number, FIELD(threshold) },
	{ "what", parse_template, FIELD(what) }, { "type", parse_template, FIELD(type) },
	{ "link", kvconf_text, FIELD(link) },
#undef FIELD
};

static int read_file(const char *path, struct advice_site *s, struct errmsg *err)
{
	const size_t n = advice_nrules * KEYS_OF_RULE;
	_cleanup_free_ struct kvconf_key *keys = calloc(n + 1, sizeof(*keys));
	_cleanup_free_ char(*names)[KEY_NAME_MAX] = calloc(n, sizeof(*names));
	_cleanup_free_ struct advice_site_rule *rules = calloc(advice_nrules + 1, sizeof(*rules));
	size_t i, k;
	int rc;

	if (!keys || !names || !rules)
		return errmsg_errno(err, -ENOMEM, "%s", path);
	for (i = 0; i < n; i++) {
		k = i % KEYS_OF_RULE;
		(void)snprintf(names[i], KEY_NAME_MAX, "%s.%s", advice_rules[i / KEYS_OF_RULE].name,
			       rule_keys[k].suffix);
		keys[i] = (struct kvconf_key){ .name = names[i],
					       .parse = rule_keys[k].parse,
					       .offset = i / KEYS_OF_RULE * sizeof(*rules) +
							 rule_keys[k].offset,
					       .size = rule_keys[k].size };
	}
	/*
	 * min-elapsed is no key of a rule; it is parsed into the threshold of one extra element
	 * behind the rules
	 */
	keys[n] = (struct kvconf_key){ .name = "min-elapsed",
				       .parse = parse_number,
				       .offset = advice_nrules * sizeof(*rules) +
						 offsetof(struct advice_site_rule, threshold),
				       .size = sizeof(double) };
	memcpy(rules, s->rule, advice_nrules * sizeof(*rules));
	rules[advice_nrules].threshold = s->min_elapsed_s;
	rc = kvconf_read(path, keys, n + 1, rules, err);
	if (rc == -ENOENT)
		return 0;
	if (rc < 0)
		return rc;
	memcpy(s->rule, rules, advice_nrules * sizeof(*rules));
	s->min_elapsed_s = rules[advice_nrules].threshold;
	return 0;
}

int advice_site_read(const char *path, struct advice_site *ret, struct errmsg *err)
{
	size_t i;

	*ret = (struct advice_site){ .min_elapsed_s = ADVICE_MIN_ELAPSED_S,
				     .rule = calloc(advice_nrules, sizeof(*ret->rule)) };
	if (!ret->rule)
		return errmsg_errno(err, -ENOMEM, "%s", path);
	for (i = 0; i < advice_nrules; i++) {
		ret->rule[i].show = advice_rules[i].show != ADVICE_OFF;
		ret->rule[i].threshold = advice_rules[i].when[0].limit;
	}
	return read_file(path, ret, err);
}

void advice_site_free(struct advice_site *s)
{
	free(s->rule);
	s->rule = NULL;
}

/*
 * --- which rules apply
 * ----------------------------------------------------------------------------
 */

static const struct advice_site_rule *site_rule(const struct advice_site *site,
						const struct advice_rule *rule)
{
	return site && site->rule ? &site->rule[rule - advice_rules] : NULL;
}

static double limit_of(const struct advice_rule *rule, const struct advice_site_rule *s, size_t condition)
{
	return s && !condition ? s->threshold : rule->when[condition].limit;
}

static bool is_shown(const struct advice_rule *rule, const struct advice_site_rule *s)
{
	return s ? s->show : rule->show != ADVICE_OFF;
}

static bool is_true(const struct advice_rule *rule, const struct advice_site_rule *s,
		    const struct advice_facts *f)
{
	size_t i;

	for (i = 0; i < ADVICE_CONDITIONS && rule->when[i].op != ADVICE_END; i++) {
		const struct advice_condition *c = &rule->when[i];
		double limit = limit_of(rule, s, i);

		if (!f->known[c->fact])
			return false;
		if (c->op == ADVICE_BELOW ? f->value[c->fact] >= limit : f->value[c->fact] <= limit)
			return false;
	}
	return true;
}

/* Fills the facts into TEMPLATE. False: a fact is unknown, or RET is too small. */
static bool fill_template(const char *template, const struct advice_facts *f, char *ret, size_t size)
{
	char text[ADVICE_FACT_TEXT_MAX];
	const char *p = template;
	size_t used = 0;

	while (*p) {
		size_t len = strcspn(p, "{");
		enum advice_fact fact;

		if (used + len >= size)
			return false;
		memcpy(ret + used, p, len);
		used += len;
		p += len;
		if (!*p)
			break;
		len = strcspn(++p, "}");
		fact = advice_fact_find(p, len);
		if (!p[len] || fact == FACT_N || !f->known[fact])
			return false;
		len = strlen(advice_fact_text(f, fact, text));
		if (used + len >= size)
			return false;
		memcpy(ret + used, text, len);
		used += len;
		p = strchr(p, '}') + 1;
	}
	ret[used] = '\0';
	return true;
}

/*
 * --- what the change would have saved
 * --------------------------------------------------------------
 */

static bool part(const struct values *f, enum metric m, double share, double *ret)
{
	if (!values_has(f, m) || !(share > 0) || share > 1)
		return false;
	*ret = (double)f->value[m] * share;
	return true;
}

static bool saved_uj(const struct record *r, enum advice_saving saving, const struct advice_facts *f,
		     double *ret)
{
	const struct values *values = &r->values;

	switch (saving) {
	case ADVICE_SAVES_ALL:
		return part(values, METRIC_ENERGY, 1, ret);
	case ADVICE_SAVES_CPU:
		return f->known[FACT_CPUS_USED] &&
		       part(values, METRIC_CPU_ENERGY_STATIC,
			    1 - f->value[FACT_CPUS_USED] / f->value[FACT_CPUS], ret);
	case ADVICE_SAVES_MEMORY:
		return f->known[FACT_MEMORY_SPARE] &&
		       part(values, METRIC_DRAM_ENERGY_STATIC,
			    f->value[FACT_MEMORY_SPARE] / f->value[FACT_MEMORY_ALLOCATED], ret);
	case ADVICE_SAVES_GPU:
		return part(values, METRIC_GPU_ENERGY,
			    f->known[FACT_GPU_NO_PROCESS] && f->value[FACT_GPU_NO_PROCESS] > 0 ?
				    f->value[FACT_GPU_NO_PROCESS] :
				    1,
			    ret);
	case ADVICE_SAVES_CO2E:
	case ADVICE_SAVES_NONE:
		break;
	}
	return false;
}

static void set_saving(const struct record *r, const struct advice_facts *f, struct advice *a)
{
	double uj, ng;

	if (a->rule->saving == ADVICE_SAVES_CO2E &&
	    part(&r->values, METRIC_CO2E, f->value[FACT_CLEANER_SHARE], &ng))
		a->co2e_ng = (struct maybe_u64){ round_u64(ng), true };
	if (!saved_uj(r, a->rule->saving, f, &uj))
		return;
	a->energy_uj = (struct maybe_u64){ round_u64(uj), true };
	if (values_has(&r->values, METRIC_CO2E) && values_has(&r->values, METRIC_ENERGY) &&
	    r->values.value[METRIC_ENERGY])
		a->co2e_ng = (struct maybe_u64){ round_u64((double)r->values.value[METRIC_CO2E] * uj /
							   (double)r->values.value[METRIC_ENERGY]),
						 true };
}

/* Sorts by severity, then by energy saved (most first), then by order of the rules. */
static int by_weight(const void *a, const void *b)
{
	const struct advice *x = a, *y = b;

	if (x->rule->severity != y->rule->severity)
		return x->rule->severity < y->rule->severity ? -1 : 1;
	if (x->energy_uj.value != y->energy_uj.value)
		return x->energy_uj.value > y->energy_uj.value ? -1 : 1;
	return x->rule < y->rule ? -1 : x->rule > y->rule;
}

static bool give(const struct record *r, const struct advice_rule *rule, const struct advice_site_rule *s,
		 const struct advice_facts *f, struct advice *ret)
{
	if (!is_shown(rule, s) || (f->value[FACT_IS_RUNNING] > 0 && rule->show != ADVICE_RUNNING) ||
	    !is_true(rule, s, f))
		return false;
	*ret = (struct advice){ .rule = rule, .link = s ? s->link : "" };
	if (!fill_template(s && *s->what ? s->what : rule->what, f, ret->what, sizeof(ret->what)))
		return false;
	if (!fill_template(s && *s->type ? s->type : rule->type, f, ret->type, sizeof(ret->type)))
		ret->type[0] = '\0';
	set_saving(r, f, ret);
	return true;
}

size_t advice_find(const struct record *r, const struct advice_site *site, uint64_t now, struct advice *ret,
		   size_t max)
{
	struct advice all[ARRAY_SIZE(advice_rules)];
	struct advice_facts f;
	size_t i, n = 0;

	advice_facts_of(r, site ? site->chain : NULL, now, &f);
	if (!f.known[FACT_ELAPSED] ||
	    f.value[FACT_ELAPSED] < (site ? site->min_elapsed_s : ADVICE_MIN_ELAPSED_S))
		return 0;
	for (i = 0; i < advice_nrules; i++)
		n += give(r, &advice_rules[i], site_rule(site, &advice_rules[i]), &f, &all[n]);
	qsort(all, n, sizeof(*all), by_weight);
	if (n > max)
		n = max;
	memcpy(ret, all, n * sizeof(*ret));
	return n;
}

const char *advice_saving_text(const struct advice *a, bool with_co2e, char *buf, size_t size)
{
	char energy[METRIC_TEXT_MAX], co2e[METRIC_TEXT_MAX] = "";

	with_co2e &= a->co2e_ng.known;
	buf[0] = '\0';
	if (a->rule->saving == ADVICE_SAVES_CO2E && a->co2e_ng.known)
		(void)snprintf(buf, size, "saves %s CO2e",
			       metric_text_value(UNIT_NG, a->co2e_ng.value, co2e, sizeof(co2e)));
	if (!a->energy_uj.known || !a->energy_uj.value)
		return buf;
	if (with_co2e)
		(void)metric_text_value(UNIT_NG, a->co2e_ng.value, co2e, sizeof(co2e));
	(void)snprintf(buf, size, "%s %s%s%s", a->rule->saving == ADVICE_SAVES_ALL ? "cost" : "saves",
		       metric_text_wh(a->energy_uj.value, energy, sizeof(energy)), with_co2e ? ", " : "",
		       co2e);
	return buf;
}

const char *advice_explain(const struct advice *a, const struct record *r, const struct advice_site *site,
			   uint64_t now, char *buf, size_t size)
{
	const struct advice_site_rule *s = site_rule(site, a->rule);
	char value[ADVICE_FACT_TEXT_MAX], limit[ADVICE_FACT_TEXT_MAX];
	struct advice_facts f, limits = { 0 };
	size_t i, used = 0;
	int n;

	advice_facts_of(r, site ? site->chain : NULL, now, &f);
	buf[0] = '\0';
	for (i = 0; i < ADVICE_CONDITIONS && a->rule->when[i].op != ADVICE_END && used < size; i++) {
		const struct advice_condition *c = &a->rule->when[i];

		limits.known[c->fact] = true;
		limits.value[c->fact] = limit_of(a->rule, s, i);
		n = snprintf(buf + used, size - used, "%s%s %s %c %s", used ? ", " : "",
			     advice_fact_name(c->fact), advice_fact_text(&f, c->fact, value),
			     c->op == ADVICE_BELOW ? '<' : '>', advice_fact_text(&limits, c->fact, limit));
		used += n > 0 ? (size_t)n : 0;
	}
	return buf;
}
