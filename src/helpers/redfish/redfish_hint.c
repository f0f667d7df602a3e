/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* strcasestr */
#include "src/helpers/redfish/redfish_hint.h"

#include <errno.h>
#include <string.h>

#include "src/libutil/util.h"

/* How many chassis are asked for sensors and the maker's parts. */
#define HINT_MAX 16

static uint64_t watts_of(const struct redfish_values *v)
{
	static const enum redfish_kind kinds[] = { REDFISH_WATTS, REDFISH_CONSUMED, REDFISH_AVERAGE };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (v->has & 1u << kinds[i])
			return v->value[kinds[i]];
	return 0;
}

/* Writes "312.0 W"; "energy" if the chassis shows a counter but no power. */
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

/* What the maker's part of a resource shows. */
static bool hint_oem(struct redfish_tree *t, const struct redfish_chassis *c, struct errmsg *hint)
{
	char pointer[160], watts[32];
	const char *text;
	uint64_t mw = 0;
	unsigned int r;
	size_t len;

	for (r = 0; r < REDFISH_RESOURCES; r++) {
		if (!c->resource[r][0] || redfish_tree_get(t, c->resource[r], &text, &len, NULL) < 0 ||
		    !redfish_json_find_oem(text, len, pointer, sizeof(pointer), &mw))
			continue;
		(void)errmsg_set(hint, 0,
				 "the maker's part shows %s; if this is the whole node, "
				 "PowerAt=\"%s#%s\" counts it",
				 show_watts(mw, watts, sizeof(watts)), c->resource[r], pointer);
		return true;
	}
	return false;
}

/* A sensor of the chassis whose name says power, at best the total. */
static bool hint_sensor(struct redfish_tree *t, const struct redfish_chassis *c, struct errmsg *hint)
{
	struct redfish_paths sensors = { 0 };
	char path[REDFISH_PATH_MAX], watts[32];
	size_t i, n = 0, best = 0, len;
	bool is_found = false;
	const char *text;
	struct errmsg bad;
	uint64_t mw = 0;

	if (redfish_tree_get(t, c->path, &text, &len, NULL) < 0 ||
	    redfish_json_link(text, len, "Sensors", path, sizeof(path), NULL) < 0 ||
	    redfish_tree_get(t, path, &text, &len, NULL) < 0 ||
	    redfish_json_links(text, len, "Members", &sensors, &n, &bad, NULL) < 0) {
		redfish_paths_free(&sensors);
		return false;
	}
	for (i = 0, best = sensors.n; i < sensors.n; i++) {
		const struct redfish_id id = redfish_id_of(sensors.path[i]);
		bool is_total = strcasestr(id.text, "total") || strcasestr(id.text, "system");

		if (strcasestr(id.text, "power") && (best == sensors.n || is_total))
			best = i;
		if (best == i && is_total)
			break;
	}
	if (best < sensors.n && redfish_tree_get(t, sensors.path[best], &text, &len, NULL) == 0 &&
	    redfish_json_pointed(text, len, "/Reading", &mw, NULL) == 0) {
		(void)errmsg_set(
			hint, 0,
			"sensor %s shows %s; if this is the whole node, PowerAt=\"%s#/Reading\" counts "
			"it",
			redfish_id_of(sensors.path[best]).text, show_watts(mw, watts, sizeof(watts)),
			sensors.path[best]);
		is_found = true;
	}
	redfish_paths_free(&sensors);
	return is_found;
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
	size_t i, asked = 0;

	for (i = 0; i < t->nchassis; i++) {
		const struct redfish_chassis *c = &t->chassis[i];

		if (!is_hinted && !c->is_other && c->is_asked && asked++ < HINT_MAX)
			is_hinted = hint_oem(t, c, &hint) || hint_sensor(t, c, &hint);
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
