/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/helpers/redfish/redfish_hint.h"

#include <errno.h>
#include <string.h>

#include "src/libutil/util.h"

static uint64_t watts_of(const struct redfish_values *v)
{
	static const enum redfish_kind kinds[] = { REDFISH_WATTS, REDFISH_CONSUMED, REDFISH_AVERAGE };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (v->has & 1u << kinds[i])
			return v->value[kinds[i]];
	return 0;
}

/* "312.0 W", or "energy" of what shows a counter only. */
static const char *show_watts(uint64_t mw, char *buf, size_t size)
{
	if (mw)
		(void)snprintf(buf, size, "%.1f W", (double)mw / 1e3);
	else
		(void)snprintf(buf, size, "energy");
	return buf;
}

static const char *show_power(const struct redfish_chassis *c, char *buf, size_t size)
{
	uint64_t mw = watts_of(&c->values[REDFISH_ENVIRONMENT]);

	return show_watts(mw ? mw : watts_of(&c->values[REDFISH_POWER]), buf, size);
}

static bool hint_control(const struct redfish_tree *t, struct errmsg *hint)
{
	char watts[32];
	size_t i;

	for (i = 0; i < t->ncontrols; i++) {
		const struct redfish_control *k = &t->control[i];
		const struct redfish_chassis *c = &t->chassis[k->chassis];

		if (!k->values.has || redfish_chassis_kinds(c) || c->is_other)
			continue;
		(void)errmsg_set(hint, 0,
				 "chassis %s PowerControl[%u]%s%s%s shows %s: PowerControl=%u counts it",
				 redfish_id_of(c->path).text, k->index, k->name[0] ? " (" : "", k->name,
				 k->name[0] ? ")" : "",
				 show_watts(watts_of(&k->values), watts, sizeof(watts)), k->index);
		return true;
	}
	return false;
}

static bool hint_chassis(struct redfish_tree *t, struct errmsg *hint)
{
	struct errmsg unused;
	char watts[32];
	size_t i;

	for (i = 0; i < t->nchassis; i++) {
		const struct redfish_chassis *c = &t->chassis[i];

		if (redfish_tree_ask(t, i, &unused) < 0)
			return false;

		if (!redfish_chassis_kinds(c))
			continue;
		(void)errmsg_set(hint, 0, "chassis %s shows %s%s: Chassis=%s counts it",
				 redfish_id_of(c->path).text, show_power(c, watts, sizeof(watts)),
				 c->is_other ? ", but belongs to several systems" :
					       ", but no link says that it is this node",
				 redfish_id_of(c->path).text);
		return true;
	}
	return false;
}

int redfish_hint_nothing(struct redfish_tree *t, struct errmsg *err)
{
	const struct redfish_chassis *failed = NULL;
	struct errmsg hint = { 0 }, why = { 0 };
	char which[160] = "";
	bool is_hinted = hint_control(t, &hint);
	size_t i;

	for (i = 0; i < t->nchassis; i++) {
		const struct redfish_chassis *c = &t->chassis[i];

		if (!failed && c->why[0] && !c->is_other)
			failed = c;
	}
	if (t->conf->chassis[0])
		(void)snprintf(which, sizeof(which), " %s", t->conf->chassis);
	else if (t->system[0])
		(void)snprintf(which, sizeof(which), " of system %s", redfish_id_of(t->system).text);
	if (!is_hinted && !t->conf->chassis[0])
		(void)hint_chassis(t, &hint);
	if (failed)
		(void)errmsg_set(&why, 0, "; chassis %s: %s", redfish_id_of(failed->path).text, failed->why);
	return errmsg_set(err, -ENODEV, "%s: no chassis%s shows power or energy of this node alone%s%s%s",
			  t->conf->url, which, hint.text[0] ? "; " : "", hint.text, why.text);
}

int redfish_hint_too_many(struct redfish_tree *t, struct errmsg *err)
{
	char list[200] = "", watts[32];
	size_t i, n = 0, used = 0;

	for (i = 0; i < t->nchassis; i++) {
		if (!t->chassis[i].is_used)
			continue;
		if (used < sizeof(list) - 80)
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s (%s)",
						 used ? ", " : "", redfish_id_of(t->chassis[i].path).text,
						 show_power(&t->chassis[i], watts, sizeof(watts)));
		n++;
	}
	return errmsg_set(
		err, -ENODEV,
		"%s: %zu chassis show power, and no link says which are this node: %s%s: set Chassis",
		t->conf->url, n, list, used >= sizeof(list) - 80 ? ", .." : "");
}
