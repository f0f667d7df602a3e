/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * factors_check.c - ceems factors check: checks the configuration, the secrets and the series, and
 * asks each provider once. Writes nothing.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/cmd/factors/factors.h"
#include "src/libemission/factor_chain.h"
#include "src/libutil/clock.h"
#include "src/libutil/items.h"
#include "src/libutil/rfc3339.h"

#define TIMER_HINT "systemctl status ceems-factors.timer"

struct findings {
	unsigned int errors, warnings;
};

static void check_secrets(const struct factors *f, struct findings *n)
{
	const char *list = f->conf.providers;
	char name[64];

	while (items_next(&list, name, sizeof(name))) {
		const struct provider *o = provider_find(name);
		struct errmsg err = { 0 };

		if (!o->ready)
			continue;
		if (o->ready(provider_conf_of(o, &f->conf), &err) == 0) {
			cmd_print(
				"ok     %-16s its credentials are complete, and no other user can read them",
				o->name);
			continue;
		}
		n->errors++;
		cmd_print("error  %-16s %s", o->name, err.text);
	}
}

/* Warns if factors of one region and kind have different scopes, since they would alternate. */
static void check_scopes(const struct factor_series *s, struct findings *n)
{
	size_t i;

	for (i = 1; i < s->n; i++) {
		const struct emission_factor *a = &s->point[i - 1].factor;
		const struct emission_factor *b = &s->point[i].factor;

		if (strcasecmp(a->region, b->region) || a->kind != b->kind || a->scope == b->scope)
			continue;
		n->warnings++;
		cmd_print("warn   %-16s life-cycle and direct factors alternate: %s, %s", b->region,
			  a->source, b->source);
		return;
	}
}

static void check_group(const struct factor_series *s, size_t first, size_t end, struct findings *n)
{
	const struct factor_point *last = &s->point[end - 1];
	uint64_t now_s = clock_wall_ns() / NSEC_PER_SEC;
	uint64_t age = last->until_s < now_s ? now_s - last->until_s : 0;
	uint64_t gap_s = 0, gap_from_s = 0;
	const char *kind = emission_kind_name(last->factor.kind);
	char at[RFC3339_SIZE];
	size_t i;

	for (i = first + 1; i < end; i++) {
		uint64_t before_s = s->point[i - 1].until_s;

		if (s->point[i].from_s - before_s <= gap_s)
			continue;
		gap_s = s->point[i].from_s - before_s;
		gap_from_s = before_s;
	}
	if (age >= FACTOR_FRESH_AGE_S) {
		n->warnings++;
		cmd_print("warn   %-16s %s: the newest value ended %" PRIu64 " s ago", last->factor.region,
			  kind, age);
		cmd_print("%24s-> %s", "", TIMER_HINT);
	} else if (age) {
		cmd_print("ok     %-16s %s: the newest value ended %" PRIu64 " s ago", last->factor.region,
			  kind, age);
	} else {
		cmd_print("ok     %-16s %s: the newest value holds now", last->factor.region, kind);
	}
	if (!gap_s)
		return;
	rfc3339_utc(gap_from_s, at);
	cmd_print("note   %-16s %s: the longest gap is %" PRIu64 " s, from %s", last->factor.region, kind,
		  gap_s, at);
}

static void check_series(const struct factors *f, struct findings *n)
{
	struct factor_series s = { 0 };
	struct errmsg err = { 0 };
	size_t first = 0;
	size_t i;
	int rc = factor_series_read(f->series_path, &s, &err);

	if (rc == -ENOENT) {
		n->warnings++;
		cmd_print("warn   %-16s %s does not exist yet", "series", f->series_path);
		cmd_print("%24s-> ceems factors update", "");
		return;
	}
	if (rc < 0) {
		n->errors++;
		cmd_print("error  %-16s %s", "series", err.text);
		return;
	}
	cmd_print("ok     %-16s %s: %zu values", "series", f->series_path, s.n);
	for (i = 1; i <= s.n; i++) {
		const struct emission_factor *a = &s.point[i - 1].factor;

		if (i < s.n && s.point[i].factor.kind == a->kind &&
		    !strcasecmp(s.point[i].factor.region, a->region))
			continue;
		check_group(&s, first, i, n);
		first = i;
	}
	check_scopes(&s, n);
	factor_series_fini(&s);
}

static void check_paths(const struct factors *f, struct findings *n)
{
	const char *nodes = f->settings.emission_series_file;

	if (!*nodes) {
		n->warnings++;
		cmd_print("warn   %-16s EmissionSeriesFile is not set: nobody reads %s", "ceems.conf",
			  f->series_path);
	} else if (strcmp(nodes, f->series_path)) {
		cmd_print("note   %-16s nodes read EmissionSeriesFile, %s; ceems factors update writes %s",
			  "ceems.conf", nodes, f->series_path);
	}
}

/*
 * Warns if Keep is shorter than EmissionMaxAge. In an outage, nodes use the last factor as long as
 * EmissionMaxAge says, but the series has it only as long as Keep says.
 */
static void check_keep(const struct factors *f, struct findings *n)
{
	if (f->conf.keep_ns >= f->settings.emission_max_age_ns)
		return;
	n->warnings++;
	cmd_print("warn   %-16s Keep is shorter than EmissionMaxAge in ceems.conf, which has no effect "
		  "beyond it",
		  "conf");
	cmd_print("%24s-> a longer Keep in %s", "", f->conf_path);
}

static void factors_check_tell(void *ctx, const struct update_outcome *o)
{
	struct findings *n = ctx;
	const struct provider *p = o->ask->provider;
	const char *what = p->name;

	if (p->ready && p->ready(o->ask->conf, NULL) < 0)
		return; /* this was reported before */
	if (o->rc < 0 || o->doubts) {
		n->errors++;
		cmd_print("error  %-16s %s%s%s", what, o->ask->zone.region, *o->ask->zone.region ? ": " : "",
			  o->why);
		return;
	}
	cmd_print("ok     %-16s %s: %zu values", what, o->ask->zone.region, o->points->n);
	if (!o->points->nskipped)
		return;
	n->warnings++;
	cmd_print("warn   %-16s %s: %zu skipped, the first: %s", what, o->ask->zone.region,
		  o->points->nskipped, o->points->skipped[0].text);
}

int factors_check(const struct factors *f)
{
	struct findings n = { 0 };
	const struct update u = { .conf = &f->conf,
				  .series_path = f->series_path,
				  .is_trial = true,
				  .tell = factors_check_tell,
				  .ctx = &n };
	struct errmsg err = { 0 };

	cmd_print("ok     %-16s %s", "configuration", f->conf_path);
	check_keep(f, &n);
	check_paths(f, &n);
	check_secrets(f, &n);
	check_series(f, &n);
	if (update_run(&u, &err) < 0) {
		n.errors++;
		cmd_print("error  %-16s %s", "providers", err.text);
	}
	cmd_print("%u errors, %u warnings", n.errors, n.warnings);
	return n.errors ? CMD_FAILED : CMD_OK;
}
