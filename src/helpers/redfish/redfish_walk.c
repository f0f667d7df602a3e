/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/helpers/redfish/redfish_walk.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "src/helpers/redfish/redfish_choice.h"
#include "src/helpers/redfish/redfish_stuck.h"
#include "src/libcore/unit.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

/* When something was missing, the search is repeated after this time, then after twice as long. */
#define AGAIN_NS (10 * NSEC_PER_SEC)
#define AGAIN_MAX_NS (3600 * NSEC_PER_SEC)

struct redfish_walk {
	const struct redfish_conf *conf;
	struct redfish_client *client;
	char uuid[40];
	bool is_found;
	bool is_told;
	struct redfish_tree tree;
	uint64_t set;		 /* counts changes of the chassis in use */
	uint64_t again_ns;	 /* when to search again; 0: never */
	uint64_t again_after_ns; /* the pause before */
	struct redfish_stuck joules;
	bool is_stuck; /* EnergyJoules stood still: PowerWatts is read instead */
};

/* --- asking ------------------------------------------------------------------------------- */

/* Returns true if a chassis that T uses cannot be read in NEW. */
static bool lost_one(const struct redfish_tree *t, const struct redfish_tree *new)
{
	size_t i, k;

	for (i = 0; i < t->nchassis; i++)
		for (k = 0; t->chassis[i].is_used && k < new->nchassis; k++)
			if (new->chassis[k].why[0] &&
			    redfish_path_is_same(t->chassis[i].path, new->chassis[k].path))
				return true;
	return false;
}

static bool is_same_set(const struct redfish_tree *a, const struct redfish_tree *b)
{
	size_t i, k, na = 0, nb = 0, both = 0;

	for (i = 0; i < a->nchassis; i++) {
		na += a->chassis[i].is_used;
		for (k = 0; k < b->nchassis; k++)
			both += a->chassis[i].is_used && b->chassis[k].is_used &&
				redfish_path_is_same(a->chassis[i].path, b->chassis[k].path);
	}
	for (k = 0; k < b->nchassis; k++)
		nb += b->chassis[k].is_used;
	return na == nb && na == both;
}

static int walk_find(struct redfish_walk *w, struct errmsg *err)
{
	bool is_again = w->is_found;
	struct redfish_tree t;
	int rc = redfish_tree_read(w->conf, w->client, w->uuid, &t, err);

	if (rc == 0)
		rc = redfish_choose(&t, err);
	if (is_again && (rc < 0 || lost_one(&w->tree, &t))) {
		redfish_tree_destroy(&t); /* what is known goes on */
		rc = rc == -ECANCELED || rc == -EACCES ? rc : 0;
	} else {
		w->set += rc == 0 && !is_same_set(&w->tree, &t);
		w->is_told &= is_again && is_same_set(&w->tree, &t);
		redfish_tree_destroy(&w->tree);
		w->tree = t;
		w->is_found = rc == 0;
		w->again_after_ns = is_again ? w->again_after_ns : 0;
	}
	w->again_after_ns = !w->again_after_ns			 ? AGAIN_NS :
			    2 * w->again_after_ns < AGAIN_MAX_NS ? 2 * w->again_after_ns :
								   AGAIN_MAX_NS;
	w->again_ns = w->tree.is_incomplete ? clock_mono_ns() + w->again_after_ns : 0;
	return rc;
}

/* Reads PowerWatts instead of EnergyJoules, where both are shown. */
static void use_watts(struct redfish_walk *w)
{
	const unsigned int both = 1u << REDFISH_JOULES | 1u << REDFISH_WATTS;
	size_t i;

	for (i = 0; i < w->tree.nchassis; i++)
		if (w->tree.chassis[i].is_used && (redfish_chassis_kinds(&w->tree.chassis[i]) & both) != both)
			return;
	for (i = 0; i < w->tree.nchassis; i++)
		if (w->tree.chassis[i].is_used)
			w->tree.chassis[i].kind = REDFISH_WATTS;
	w->tree.kind = REDFISH_WATTS;
}

/* *MW grows by the power that C shows beside its energy. */
static int ask_chassis(struct redfish_walk *w, const struct redfish_chassis *c, struct redfish_sample *sum,
		       uint64_t *mw, struct errmsg *err)
{
	enum redfish_kind kind = c->kind;
	const char *path = c->resource[redfish_kind_resource(kind)];
	struct redfish_values v = { 0 };
	struct errmsg why = { 0 };
	const char *text;
	size_t len;
	int rc = redfish_client_get(w->client, path, &text, &len, err);

	if (rc == -ENOENT)
		w->is_found = false; /* another firmware, perhaps: from the root again */
	if (rc < 0)
		return rc;
	rc = redfish_json_values(text, len, redfish_kind_resource(kind), w->conf->controls, &v, &why);
	if (rc < 0)
		return errmsg_set(err, rc, "%s%s: %s", w->conf->url, path, why.text);
	if (!(v.has & 1u << kind))
		return errmsg_set(err, -ENODATA, "%s%s: no %s now%s%s", w->conf->url, path,
				  redfish_kind_name(kind), why.text[0] ? ": " : "", why.text);
	sum->value += v.value[kind];
	*mw += v.has & 1u << REDFISH_WATTS ? v.value[REDFISH_WATTS] : 0;
	if (v.window_ns > sum->window_ns)
		sum->window_ns = v.window_ns;
	return 0;
}

/* What PowerAt names. */
static int ask_pointed(struct redfish_walk *w, struct redfish_sample *ret, struct errmsg *err)
{
	const char *hash = strchr(w->conf->power_at, '#');
	struct redfish_sample s = { .kind = REDFISH_POINTED };
	struct errmsg why = { 0 };
	char path[REDFISH_PATH_MAX], encoded[REDFISH_PATH_MAX];
	const char *text;
	size_t len;
	int rc;

	(void)snprintf(path, sizeof(path), "%.*s", (int)(hash - w->conf->power_at), w->conf->power_at);
	if (redfish_json_encode(path, encoded, sizeof(encoded)) < 0)
		return errmsg_set(err, -EINVAL, "%s: PowerAt is too long", w->conf->url);
	rc = redfish_client_get(w->client, encoded, &text, &len, err);
	if (rc < 0)
		return rc;
	rc = redfish_json_pointed(text, len, hash + 1, &s.value, &why);
	if (rc < 0)
		return errmsg_set(err, rc, "%s%s: %s", w->conf->url, path, why.text);
	s.t_ns = clock_mono_ns();
	*ret = s;
	return 0;
}

int redfish_walk_ask(struct redfish_walk *w, struct redfish_sample *ret, struct errmsg *err)
{
	struct redfish_sample sum = { 0 };
	bool is_due = w->again_ns && clock_mono_ns() > w->again_ns;
	uint64_t mw = 0;
	size_t i;
	int rc;

	if (w->conf->power_at[0]) {
		rc = ask_pointed(w, ret, err);
		return rc == -EPERM ? -EACCES : rc;
	}
	rc = w->is_found && !is_due ? 0 : walk_find(w, err);
	if (rc == 0 && w->is_stuck && w->tree.kind == REDFISH_JOULES)
		use_watts(w); /* a new search has found the counter again */
	sum.kind = w->tree.kind;
	sum.set = w->set;
	sum.is_partial = w->tree.is_incomplete;
	for (i = 0; rc == 0 && i < w->tree.nchassis; i++)
		if (w->tree.chassis[i].is_used)
			rc = ask_chassis(w, &w->tree.chassis[i], &sum, &mw, err);
	if (rc < 0) /* -EPERM: the user or the file is to be changed */
		return rc == -EPERM ? -EACCES : rc;
	sum.t_ns = clock_mono_ns();
	if (sum.kind == REDFISH_JOULES)
		w->is_stuck = redfish_stuck_note(&w->joules, sum.value, mw, sum.t_ns);
	if (w->is_stuck && w->tree.kind == REDFISH_JOULES)
		use_watts(w);
	*ret = sum;
	return 0;
}

/* --- telling ------------------------------------------------------------------------------ */

struct line {
	char text[320];
	size_t used;
};

static void line_add(struct line *l, const char *fmt, ...) _printf_(2, 3);
static void line_add(struct line *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(l->text + l->used, sizeof(l->text) - l->used, fmt, ap);
	va_end(ap);
	l->used = strlen(l->text);
}

/* ": PowerWatts 400.0 W, EnergykWh 12.500 kWh" */
static void line_add_values(struct line *l, const struct redfish_values *v)
{
	const char *sep = ": ";
	unsigned int k;

	for (k = 0; k < REDFISH_KINDS; k++) {
		if (!(v->has & 1u << k))
			continue;
		line_add(l, "%s%s ", sep, redfish_kind_name((enum redfish_kind)k));
		sep = ", ";
		if (redfish_kind_is_power((enum redfish_kind)k))
			line_add(l, "%.1f W", (double)v->value[k] / 1e3);
		else if (k == REDFISH_KWH)
			line_add(l, "%.3f kWh", (double)v->value[k] / (double)UJ_PER_KWH);
		else
			line_add(l, "%.1f J", (double)v->value[k] / (double)UJ_PER_J);
	}
}

static void tell_chassis(const struct redfish_walk *w, const struct redfish_chassis *c,
			 void (*tell)(const char *))
{
	const struct redfish_chassis *around = redfish_choice_around(&w->tree, c);
	const struct redfish_id id = redfish_id_of(c->path);
	struct line l = { 0 };

	line_add(&l, "chassis %s", id.text);
	line_add_values(&l, &c->values[REDFISH_ENVIRONMENT]);
	if (c->is_used)
		line_add(&l, ": counted, by %s", redfish_kind_name(c->kind));
	else if (around)
		line_add(&l, ": not counted, it is within chassis %s", redfish_id_of(around->path).text);
	else if (c->is_other)
		line_add(&l, ": not counted, it belongs to several systems; Chassis=%s counts it", id.text);
	else if (!w->is_found)
		line_add(&l, ": not counted");
	else
		line_add(&l, ": not counted, no link of the system leads to it; Chassis=%s counts it",
			 id.text);
	tell(l.text);
}

static bool is_silent(const struct redfish_chassis *c)
{
	return c->is_asked && !redfish_chassis_kinds(c) && !c->why[0];
}

static bool is_inner(const struct redfish_chassis *c)
{
	return c->is_inner && !c->is_asked;
}

/* Names all chassis for which IS_IT returns true, in one line. */
static void tell_together(const struct redfish_walk *w, bool (*is_it)(const struct redfish_chassis *),
			  const char *what, void (*tell)(const char *))
{
	struct line l = { 0 };
	size_t i, n = 0, more = 0;

	for (i = 0; i < w->tree.nchassis; i++) {
		if (!is_it(&w->tree.chassis[i]))
			continue;
		if (l.used > sizeof(l.text) - 160)
			more++;
		else
			line_add(&l, "%s%s", n++ ? ", " : "chassis ",
				 redfish_id_of(w->tree.chassis[i].path).text);
	}
	if (more)
		line_add(&l, " and %zu more", more);
	line_add(&l, ": %s", what);
	if (n)
		tell(l.text);
}

/* The most lines about chassis that cannot be read. */
#define FAILED_MAX 24

/* Names the chassis that cannot be read, a line each: each may be a part of the node. */
static void tell_failed(const struct redfish_walk *w, void (*tell)(const char *))
{
	struct line l = { 0 };
	size_t i, n = 0;

	for (i = 0; i < w->tree.nchassis; i++) {
		const struct redfish_chassis *c = &w->tree.chassis[i];

		if (!c->why[0] || n++ >= FAILED_MAX)
			continue;
		l = (struct line){ 0 };
		line_add(&l, "chassis %s: %s: %s", redfish_id_of(c->path).text, c->why,
			 w->is_found && redfish_choice_lacks(&w->tree, c) ?
				 "its power, if it has any, is missing in the node's" :
				 "left out");
		tell(l.text);
	}
	if (n <= FAILED_MAX)
		return;
	l = (struct line){ 0 };
	line_add(&l, "%zu more chassis cannot be read and are left out", n - FAILED_MAX);
	tell(l.text);
}

static void tell_control(const struct redfish_walk *w, const struct redfish_control *k,
			 void (*tell)(const char *))
{
	const struct redfish_chassis *c = &w->tree.chassis[k->chassis];
	bool is_read = c->is_used && redfish_kind_resource(c->kind) == REDFISH_POWER;
	bool is_used = is_read && (w->conf->controls & 1u << (k->is_first ? 0 : k->index));
	struct line l = { 0 };

	line_add(&l, "chassis %s PowerControl[%u]%s%s%s", redfish_id_of(c->path).text, k->index,
		 k->name[0] ? " (" : "", k->name, k->name[0] ? ")" : "");
	line_add_values(&l, &k->values);
	if (!k->values.has)
		line_add(&l, ": shows no power");
	line_add(&l, is_used ? ": counted" : ": not counted");
	if (is_read && !is_used)
		line_add(&l, ", usually part of the first entry; PowerControl=%u counts it", k->index);
	tell(l.text);
}

void redfish_walk_tell(struct redfish_walk *w, void (*tell)(const char *line))
{
	char *notes = w->tree.notes;
	struct line l;
	size_t i, k;

	if (w->is_told)
		return;
	w->is_told = true;
	for (; notes && *notes; notes += strcspn(notes, "\n") + 1) {
		(void)snprintf(l.text, sizeof(l.text), "%.*s", (int)strcspn(notes, "\n"), notes);
		tell(l.text);
	}
	if (w->tree.nnotes > REDFISH_NOTES_MAX) {
		l = (struct line){ 0 };
		line_add(&l, "%zu more are left out", w->tree.nnotes - REDFISH_NOTES_MAX);
		tell(l.text);
	}
	tell_failed(w, tell);
	for (i = 0; i < w->tree.nchassis; i++) {
		const struct redfish_chassis *c = &w->tree.chassis[i];

		if (redfish_chassis_kinds(c))
			tell_chassis(w, c, tell);
		for (k = 0; k < w->tree.ncontrols; k++)
			if (w->tree.control[k].chassis == i)
				tell_control(w, &w->tree.control[k], tell);
	}
	tell_together(w, is_silent, "no power shown", tell);
	tell_together(w, is_inner, "not read, within another that is counted", tell);
}

/* What the sum may lack: in front, so that it is not cut off. */
static void add_missing(struct line *l, const struct redfish_tree *t)
{
	const char *sep = " without ";
	size_t i, n = 0;

	if (t->is_chassis_missing)
		line_add(l, "%s", " of a list of chassis that is cut");
	for (i = 0; i < t->nchassis; i++) {
		if (!redfish_choice_lacks(t, &t->chassis[i]) || n++ >= 2)
			continue;
		line_add(l, "%s%s", sep, redfish_id_of(t->chassis[i].path).text);
		sep = ", ";
	}
	if (n > 2)
		line_add(l, " and %zu more", n - 2);
}

void redfish_walk_describe(const struct redfish_walk *w, char *buf, size_t size)
{
	const struct redfish_tree *t = &w->tree;
	bool is_pointed = w->conf->power_at[0];
	const char *sep = " of chassis ";
	struct line l = { 0 };
	unsigned int bit;
	size_t i;

	line_add(&l, "%s", is_pointed ? w->conf->power_at : redfish_kind_name(t->kind));
	add_missing(&l, t);
	for (i = 0; i < t->nchassis; i++) {
		if (!t->chassis[i].is_used)
			continue;
		line_add(&l, "%s%s", sep, redfish_id_of(t->chassis[i].path).text);
		sep = " + ";
		for (bit = 0;
		     redfish_kind_resource(t->chassis[i].kind) == REDFISH_POWER && bit < REDFISH_CONTROLS;
		     bit++)
			if (w->conf->controls & 1u << bit)
				line_add(&l, " PowerControl[%u]", bit);
	}
	(void)snprintf(buf, size, "%s", l.text);
}

/* --- its life ----------------------------------------------------------------------------- */

int redfish_walk_create(const struct redfish_conf *conf, const char *uuid, int stop_fd,
			struct redfish_walk **ret, struct errmsg *err)
{
	struct redfish_walk *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return errmsg_errno(err, -ENOMEM, "%s", conf->url);
	w->conf = conf;
	(void)snprintf(w->uuid, sizeof(w->uuid), "%s", uuid);
	rc = redfish_client_create(conf, stop_fd, &w->client, err);
	if (rc < 0) {
		free(w);
		return rc;
	}
	*ret = w;
	return 0;
}

void redfish_walk_listen(struct redfish_walk *w, redfish_client_heard *heard)
{
	redfish_client_listen(w->client, heard);
}

void redfish_walk_search_now(struct redfish_walk *w)
{
	w->again_ns = 1;
}

void redfish_walk_destroy(struct redfish_walk *w)
{
	if (!w)
		return;
	redfish_tree_destroy(&w->tree);
	redfish_client_destroy(w->client);
	free(w);
}
