/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/helpers/redfish/redfish_choice.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "src/helpers/redfish/redfish_hint.h"
#include "src/libutil/util.h"

/* With more chassis than this, those within others are not read. */
#define LIST_MAX 16

static bool is_of_node(const struct redfish_chassis *c)
{
	return (c->is_linked || c->names_node) && !c->is_other;
}

/* Uses the outermost chassis around I, or I, that shows power and is the node's; else what is within I. */
static void use_from(struct redfish_tree *t, size_t i)
{
	size_t j, best = t->nchassis;

	for (j = 0; j < t->nchassis; j++)
		if ((j == i || redfish_tree_is_in(t, i, j)) && is_of_node(&t->chassis[j]) &&
		    redfish_chassis_kinds(&t->chassis[j]) &&
		    (best == t->nchassis || redfish_tree_is_in(t, best, j)))
			best = j;
	if (best < t->nchassis) {
		t->chassis[best].is_used = true;
		return;
	}
	for (j = 0; j < t->nchassis; j++)
		if (redfish_tree_is_in(t, j, i) && !t->chassis[j].is_other &&
		    redfish_chassis_kinds(&t->chassis[j]))
			t->chassis[j].is_used = true;
}

/*
 * Of what is used keeps the outermost, or with INNER the innermost. Of chassis that contain each other none
 * is kept: nobody knows which is the whole.
 */
static size_t keep_some(struct redfish_tree *t, bool inner)
{
	size_t i, j, n = 0;

	for (i = 0; i < t->nchassis; i++) {
		t->chassis[i].is_dropped = false;
		for (j = 0; t->chassis[i].is_used && j < t->nchassis; j++)
			t->chassis[i].is_dropped |= t->chassis[j].is_used &&
						    (inner ? redfish_tree_is_in(t, j, i) :
							     redfish_tree_is_in(t, i, j));
	}
	for (i = 0; i < t->nchassis; i++) {
		t->chassis[i].is_used &= !t->chassis[i].is_dropped;
		n += t->chassis[i].is_used;
	}
	return n;
}

/* Types that hold the chassis of several nodes, of which this BMC may know one only. */
static bool is_enclosure(const struct redfish_chassis *c)
{
	static const char *const types[] = { "Enclosure", "Rack",    "Row",	  "Pod",
					     "Zone",	  "Sidecar", "RackGroup", "StorageEnclosure",
					     "PowerStrip" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcasecmp(c->type, types[i]))
			return true;
	return false;
}

/* Whether the power of I cannot count, since a chassis of the node around it shows power. */
static bool is_inner(const struct redfish_tree *t, size_t i)
{
	size_t j;

	for (j = 0; j < t->nchassis; j++)
		if (redfish_tree_is_in(t, i, j) && !redfish_tree_is_in(t, j, i) &&
		    is_of_node(&t->chassis[j]) && redfish_chassis_kinds(&t->chassis[j]))
			return true;
	return false;
}

static size_t depth_of(const struct redfish_tree *t, size_t i)
{
	size_t j, n = 0;

	for (j = 0; j < t->nchassis; j++)
		n += redfish_tree_is_in(t, i, j);
	return n;
}

/*
 * Asks the outer ones first. Of a BMC with many chassis, the inner ones are not asked if the outer one
 * shows power: a slow BMC would need minutes.
 */
static int ask_all(struct redfish_tree *t, bool (*is_wanted)(const struct redfish_tree *, size_t),
		   struct errmsg *err)
{
	size_t i, depth;
	int rc = 0;

	for (i = 0; i < t->nchassis; i++)
		t->chassis[i].depth = depth_of(t, i);
	for (depth = 0; depth < t->nchassis; depth++)
		for (i = 0; rc == 0 && i < t->nchassis; i++) {
			if (t->chassis[i].depth != depth || !is_wanted(t, i))
				continue;
			t->chassis[i].is_inner = t->nchassis > LIST_MAX && is_inner(t, i);
			if (!t->chassis[i].is_inner)
				rc = redfish_tree_ask(t, i, err);
		}
	return rc;
}

/* Returns true if I is a chassis of the node, contains one, or is within one. */
static bool is_near(const struct redfish_tree *t, size_t i)
{
	size_t j;

	if (t->chassis[i].is_linked || t->chassis[i].names_node)
		return true;
	for (j = 0; j < t->nchassis; j++)
		if ((t->chassis[j].is_linked || t->chassis[j].names_node) &&
		    (redfish_tree_is_in(t, i, j) || redfish_tree_is_in(t, j, i)))
			return true;
	return false;
}

static bool is_named(const struct redfish_tree *t, size_t i)
{
	return t->chassis[i].is_linked;
}

static bool is_any(const struct redfish_tree *t, size_t i)
{
	return !t->chassis[i].is_other;
}

static size_t use_around(struct redfish_tree *t)
{
	size_t i, j;

	if (t->systems.n > 1 || t->is_system_missing)
		return 0;
	for (i = 0; i < t->nchassis; i++)
		for (j = 0; j < t->nchassis; j++) {
			struct redfish_chassis *c = &t->chassis[j];

			if (is_of_node(&t->chassis[i]) && redfish_tree_is_in(t, i, j) && !c->is_other &&
			    !is_enclosure(c) && redfish_chassis_kinds(c))
				c->is_used = true;
		}
	return keep_some(t, /* inner= */ true);
}

/* Marks what counts, and returns how many. */
static size_t use_linked(struct redfish_tree *t)
{
	size_t i, n;

	t->reason = REDFISH_BY_LINK;
	for (i = 0; i < t->nchassis; i++)
		if (is_of_node(&t->chassis[i]) && t->chassis[i].is_linked)
			use_from(t, i);
	n = keep_some(t, /* inner= */ false);
	if (n)
		return n;
	t->reason = REDFISH_BY_SYSTEM;
	for (i = 0; i < t->nchassis; i++)
		if (is_of_node(&t->chassis[i]))
			use_from(t, i);
	n = keep_some(t, /* inner= */ false);
	if (n)
		return n;
	t->reason = REDFISH_AROUND;
	return use_around(t);
}

/* Does use_linked() for a BMC without any link between chassis and systems. */
static size_t use_unlinked(struct redfish_tree *t)
{
	const struct redfish_id id = redfish_id_of(t->system);
	size_t i;

	t->reason = t->systems.n > 1 || t->is_system_missing ? REDFISH_BY_ID : REDFISH_BY_GUESS;
	for (i = 0; i < t->nchassis; i++) {
		struct redfish_chassis *c = &t->chassis[i];

		c->is_used = redfish_chassis_kinds(c) && !c->is_other &&
			     (t->reason == REDFISH_BY_GUESS || !strcmp(redfish_id_of(c->path).text, id.text));
	}
	return keep_some(t, /* inner= */ false);
}

/* --- what is not known -------------------------------------------------------------------- */

const struct redfish_chassis *redfish_choice_around(const struct redfish_tree *t,
						    const struct redfish_chassis *c)
{
	size_t i;

	for (i = 0; i < t->nchassis; i++)
		if (t->chassis[i].is_used && redfish_tree_is_in(t, (size_t)(c - t->chassis), i))
			return &t->chassis[i];
	return NULL;
}

static bool is_around_used(const struct redfish_tree *t, const struct redfish_chassis *c)
{
	size_t i;

	for (i = 0; i < t->nchassis; i++)
		if (t->chassis[i].is_used && redfish_tree_is_in(t, i, (size_t)(c - t->chassis)))
			return true;
	return false;
}

bool redfish_choice_lacks(const struct redfish_tree *t, const struct redfish_chassis *c)
{
	if (!c->why[0] || c->is_absent || c->is_other || redfish_choice_around(t, c) || is_around_used(t, c))
		return false;
	return c->is_linked || c->names_node || c->is_asked || (!c->is_read && t->reason != REDFISH_BY_LINK);
}

/* What was chosen may be false if a chassis is not known that would take its place, or stand beside it. */
static int check_choice(const struct redfish_tree *t, size_t n, struct errmsg *err)
{
	size_t i;

	for (i = 0; i < t->nchassis; i++) {
		const struct redfish_chassis *c = &t->chassis[i];

		if (!c->why[0] || c->is_absent || c->is_other)
			continue;
		if (t->reason == REDFISH_BY_NAME && c->is_linked)
			return errmsg_set(err, -EREMOTEIO, "%s: chassis %s: %s", t->conf->url,
					  redfish_id_of(c->path).text, c->why);
		/* in place of what it contains, or between that and another that counts */
		if ((c->is_linked || c->names_node || (n > 1 && !c->is_read)) && is_around_used(t, c))
			return errmsg_set(
				err, -EREMOTEIO,
				"%s: chassis %s, which contains others of the node, cannot be read: %s; "
				"name the node's in Chassis if it is not needed",
				t->conf->url, redfish_id_of(c->path).text, c->why);
	}
	if (t->is_chassis_missing && t->reason != REDFISH_BY_NAME && (t->reason != REDFISH_BY_LINK || n > 1))
		return errmsg_set(
			err, -ENODEV,
			"%s: its list of chassis is not whole, so others may belong to this node (%.*s): "
			"set Chassis",
			t->conf->url, (int)strcspn(t->notes ? t->notes : "", "\n"), t->notes ? t->notes : "");
	return 0;
}

/* The first property that all show; or, of some, PowerWatts and of the others PowerConsumedWatts. */
static int choose_kind(struct redfish_tree *t, struct errmsg *err)
{
	const unsigned int now = 1u << REDFISH_WATTS | 1u << REDFISH_CONSUMED;
	unsigned int common = ~0u;
	bool is_now = true;
	unsigned int kind = 0;
	size_t i;

	for (i = 0; i < t->nchassis; i++)
		if (t->chassis[i].is_used) {
			common &= redfish_chassis_kinds(&t->chassis[i]);
			is_now &= (redfish_chassis_kinds(&t->chassis[i]) & now) != 0;
		}
	while (kind < REDFISH_KINDS && !(common & 1u << kind))
		kind++;
	if (kind == REDFISH_KINDS && !is_now)
		return errmsg_set(err, -ENODEV,
				  "%s: the node's chassis show no property in common: set Chassis",
				  t->conf->url);
	t->kind = kind < REDFISH_KINDS ? (enum redfish_kind)kind : REDFISH_CONSUMED;
	for (i = 0; i < t->nchassis; i++) {
		struct redfish_chassis *c = &t->chassis[i];

		c->kind = redfish_chassis_kinds(c) & 1u << t->kind ? t->kind : REDFISH_WATTS;
	}
	return 0;
}

static int choose_chassis(struct redfish_tree *t, struct errmsg *err)
{
	bool is_linked = false;
	size_t i, n = 0;
	int rc;

	for (i = 0; i < t->nchassis; i++)
		is_linked |= is_of_node(&t->chassis[i]);
	rc = ask_all(t, t->conf->chassis[0] ? is_named : is_linked ? is_near : is_any, err);
	if (rc < 0)
		return rc;
	if (t->conf->chassis[0]) {
		t->reason = REDFISH_BY_NAME;
		for (i = 0; i < t->nchassis; i++)
			t->chassis[i].is_used = redfish_chassis_kinds(&t->chassis[i]);
		n = keep_some(t, /* inner= */ false);
	} else {
		n = is_linked ? use_linked(t) : use_unlinked(t);
	}
	if (n)
		rc = check_choice(t, n, err);
	if (rc < 0)
		return rc;
	if (!n)
		return redfish_hint_nothing(t, err);
	if (t->reason == REDFISH_BY_GUESS && n > 1)
		return redfish_hint_too_many(t, err);
	if (t->reason == REDFISH_BY_ID)
		redfish_tree_note(t, "no chassis is linked with system %s; the one with its Id is taken",
				  redfish_id_of(t->system).text);
	return choose_kind(t, err);
}

int redfish_choose(struct redfish_tree *t, struct errmsg *err)
{
	int rc = choose_chassis(t, err);
	size_t i;

	t->is_incomplete = t->is_chassis_missing;
	for (i = 0; i < t->nchassis; i++)
		if (rc == 0)
			t->is_incomplete |= redfish_choice_lacks(t, &t->chassis[i]);
		else
			t->chassis[i].is_used = false;
	return rc;
}
