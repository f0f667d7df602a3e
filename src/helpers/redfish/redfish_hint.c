/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* strcasestr */
#include "src/helpers/redfish/redfish_hint.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "src/libutil/util.h"

/* How many chassis are asked for sensors and the maker's parts. */
#define HINT_MAX 16
/* How many sensors of a chassis are read. */
#define SENSORS_MAX 8

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

static bool has_word(const char *id, const char *const *words, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcasestr(id, words[i]))
			return true;
	return false;
}

/* Whether the Id or Name of a sensor is that of a part. */
static bool is_of_part(const char *name)
{
	static const char *const part[] = { "cpu",   "gpu",	  "accel",     "mem",	"dimm", "fan",
					    "asic",  "vr",	  "regulator", "drive", "disk", "pcie",
					    "board", "subsystem", "outlet",    "phase" };

	return has_word(name, part, ARRAY_SIZE(part));
}

/*
 * How likely the sensor with this Id shows the power of the whole: 3: "total_power"; 2: the input of a
 * chassis (Cray's "ChassisVoltageRegulator0InputPower"); 1: "power"; 0: another thing, or a part's power.
 */
static unsigned int sensor_rank(const char *id)
{
	static const char *const supply[] = { "psu", "supply", "rectifier" };

	if (!strcasestr(id, "power"))
		return 0;
	if (strcasestr(id, "chassis") && strcasestr(id, "input"))
		return 2;
	if (is_of_part(id))
		return 0;
	if (strcasestr(id, "total") || strcasestr(id, "system"))
		return 3;
	return !has_word(id, supply, ARRAY_SIZE(supply));
}

/* What the sensor at PATH shows, if it is watts; with rank 2, the input of the node. */
static bool hint_watts(struct redfish_tree *t, const char *path, unsigned int rank, struct errmsg *hint)
{
	char type[16], unit[16], name[48], watts[32];
	const char *text;
	uint64_t mw = 0;
	size_t len;

	if (redfish_tree_get(t, path, &text, &len, NULL) < 0 ||
	    redfish_json_pointed(text, len, "/Reading", &mw, NULL) < 0)
		return false;
	if (redfish_json_text(text, len, "ReadingType", type, sizeof(type)) && strcmp(type, "Power") != 0)
		return false;
	if (redfish_json_text(text, len, "ReadingUnits", unit, sizeof(unit)) && strcmp(unit, "W") != 0 &&
	    strcasecmp(unit, "Watts") != 0)
		return false;
	(void)redfish_json_text(text, len, "Name", name, sizeof(name));
	if (rank == 2 ? !strcasestr(name, "node") : rank == 1 && is_of_part(name))
		return false;
	(void)errmsg_set(
		hint, 0,
		"sensor %s%s%s%s shows %s; if this is the whole node, PowerAt=\"%s#/Reading\" counts it",
		redfish_id_of(path).text, name[0] ? " (" : "", name, name[0] ? ")" : "",
		show_watts(mw, watts, sizeof(watts)), path);
	return true;
}

/* The sensor of the chassis that most likely shows the whole. */
static bool hint_sensor(struct redfish_tree *t, const struct redfish_chassis *c, struct errmsg *hint)
{
	struct redfish_paths sensors = { 0 };
	unsigned int rank, tries = 0;
	char path[REDFISH_PATH_MAX];
	bool is_found = false;
	struct errmsg bad;
	const char *text;
	size_t i, n, len;

	if (redfish_tree_get(t, c->path, &text, &len, NULL) == 0 &&
	    redfish_json_link(text, len, "Sensors", path, sizeof(path), NULL) == 0 &&
	    redfish_tree_get(t, path, &text, &len, NULL) == 0 &&
	    redfish_json_links(text, len, "Members", &sensors, &n, &bad, NULL) == 0)
		for (rank = 3; !is_found && rank; rank--)
			for (i = 0; !is_found && i < sensors.n && tries < SENSORS_MAX; i++)
				if (sensor_rank(redfish_id_of(sensors.path[i]).text) == rank) {
					tries++;
					is_found = hint_watts(t, sensors.path[i], rank, hint);
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

/* Whether C is of the node's system by a link or by its Id. */
static bool is_likely(const struct redfish_tree *t, const struct redfish_chassis *c)
{
	return c->is_linked || c->names_node ||
	       !strcmp(redfish_id_of(c->path).text, redfish_id_of(t->system).text);
}

/* What is not in its place in the standard; first of the chassis that are likely the node's. */
static bool hint_elsewhere(struct redfish_tree *t, struct errmsg *hint)
{
	size_t i, asked = 0;
	int likely;

	for (likely = 1; likely >= 0; likely--)
		for (i = 0; i < t->nchassis; i++) {
			const struct redfish_chassis *c = &t->chassis[i];

			if (c->is_other || !c->is_asked || is_likely(t, c) != likely || asked++ >= HINT_MAX)
				continue;
			if (hint_oem(t, c, hint) || hint_sensor(t, c, hint))
				return true;
		}
	return false;
}

int redfish_hint_nothing(struct redfish_tree *t, struct errmsg *err)
{
	const struct redfish_chassis *failed = NULL;
	struct errmsg hint = { 0 }, why = { 0 };
	char which[160] = "";
	bool is_hinted = hint_control(t, &hint) || hint_elsewhere(t, &hint);
	size_t i;

	for (i = 0; !failed && i < t->nchassis; i++)
		if (t->chassis[i].why[0] && !t->chassis[i].is_other)
			failed = &t->chassis[i];
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
