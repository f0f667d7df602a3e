/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/helpers/redfish/redfish_json.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "src/libcore/unit.h"
#include "src/libmeter/sensor/counter.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

/* Twelve years at 25 kW, and in microjoules within 64 bits: beyond it a counter is garbled. */
#define ENERGY_MAX_J 1e13
#define MW_PER_W 1e3

/* A longer mean than a day says nothing about a job. */
#define WINDOW_MAX_MIN 1440

static const struct {
	char name[24];
	enum redfish_resource resource;
	bool is_power;
} kinds[REDFISH_KINDS] = {
	[REDFISH_JOULES] = { "EnergyJoules", REDFISH_ENVIRONMENT, false },
	[REDFISH_WATTS] = { "PowerWatts", REDFISH_ENVIRONMENT, true },
	[REDFISH_CONSUMED] = { "PowerConsumedWatts", REDFISH_POWER, true },
	[REDFISH_AVERAGE] = { "AverageConsumedWatts", REDFISH_POWER, true },
	[REDFISH_KWH] = { "EnergykWh", REDFISH_ENVIRONMENT, false },
};

const char *redfish_kind_name(enum redfish_kind kind)
{
	return (size_t)kind < ARRAY_SIZE(kinds) ? kinds[kind].name : "?";
}

bool redfish_kind_is_power(enum redfish_kind kind)
{
	return kinds[kind].is_power;
}

enum redfish_resource redfish_kind_resource(enum redfish_kind kind)
{
	return kinds[kind].resource;
}

static int json_parse(const char *text, size_t len, json_t **ret, struct errmsg *err)
{
	json_error_t why;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);

	if (!root)
		return errmsg_set(err, -EINVAL, "not JSON: %s in line %d", why.text, why.line);
	if (!json_is_object(root)) {
		json_decref(root);
		return errmsg_set(err, -EINVAL, "not a JSON object");
	}
	*ret = root;
	return 0;
}

/* --- links -------------------------------------------------------------------------------- */

int redfish_json_check_path(const char *path, struct errmsg *err)
{
	const char *p;

	if (strncmp(path, "/redfish/", 9) || strlen(path) >= REDFISH_PATH_MAX)
		return errmsg_set(err, -EINVAL, "a link leads out of /redfish/");
	for (p = path; *p; p++)
		if (*p <= ' ' || *p > '~')
			return errmsg_set(err, -EINVAL, "a link is not printable");
	return strstr(path, "/../") ? errmsg_set(err, -EINVAL, "a link leads upwards") : 0;
}

static int copy_link(const json_t *object, char *ret, size_t size, struct errmsg *err)
{
	const char *path = json_string_value(json_object_get(object, "@odata.id"));
	int rc;

	if (!path)
		return errmsg_set(err, -ENOENT, "no link");
	rc = redfish_json_check_path(path, err);
	if (rc < 0)
		return rc;
	if (strlen(path) >= size)
		return errmsg_set(err, -EINVAL, "a link is too long");
	memcpy(ret, path, strlen(path) + 1);
	return 0;
}

static const json_t *json_child(const json_t *parent, const char *name)
{
	return json_is_array(parent) ? json_array_get(parent, strtoul(name, NULL, 10)) :
				       json_object_get(parent, name);
}

/* "a.b" or, of an array, "a.0.b" of ROOT; NULL. */
static const json_t *json_find(const json_t *root, const char *name)
{
	const char *dot;

	for (; root && (dot = strchr(name, '.')); name = dot + 1) {
		char first[32];

		if ((size_t)snprintf(first, sizeof(first), "%.*s", (int)(dot - name), name) >= sizeof(first))
			return NULL;
		root = json_child(root, first);
	}
	return json_child(root, name);
}

int redfish_json_link(const char *text, size_t len, const char *name, char *ret, size_t size,
		      struct errmsg *err)
{
	json_t *root = NULL;
	int rc = json_parse(text, len, &root, err);

	if (rc == 0)
		rc = copy_link(json_find(root, name), ret, size, err);
	json_decref(root);
	return rc;
}

int redfish_json_links(const char *text, size_t len, const char *name, char ret[][REDFISH_PATH_MAX],
		       size_t max, size_t *ret_n, struct errmsg *err)
{
	json_t *root = NULL;
	int rc = json_parse(text, len, &root, err);
	const json_t *links = rc == 0 ? json_find(root, name) : NULL;
	size_t n = 0;

	while (rc == 0 && n < max && n < json_array_size(links)) {
		rc = copy_link(json_array_get(links, n), ret[n], REDFISH_PATH_MAX, err);
		n += rc == 0;
	}
	json_decref(root);
	if (rc == 0)
		*ret_n = n;
	return rc == -ENOENT ? errmsg_set(err, -EINVAL, "%s has an entry without a link", name) : rc;
}

bool redfish_json_text(const char *text, size_t len, const char *name, char *ret, size_t size)
{
	json_t *root = NULL;
	const char *value;
	char *p;

	ret[0] = '\0';
	if (json_parse(text, len, &root, NULL) < 0)
		return false;
	value = json_string_value(json_find(root, name));
	(void)snprintf(ret, size, "%s", value ? value : "");
	json_decref(root);
	for (p = ret; *p; p++) /* it goes into lines of the helper's protocol */
		if (*p < ' ' || *p > '~')
			*p = '?';
	return ret[0];
}

/* --- values ------------------------------------------------------------------------------- */

/*
 * 1: there is a number in *ret, times SCALE; 0: none. 0 is none: a node that asks draws power and
 * has used energy, and BMCs that do not know it, as after a reset of theirs, show 0.
 */
static int get_number(const json_t *v, const char *name, double max, double scale, uint64_t *ret,
		      struct errmsg *err)
{
	double value;

	if (!v || json_is_null(v))
		return 0;
	if (!json_is_number(v))
		return errmsg_set(err, -ERANGE, "%s is not a number", name);
	value = json_number_value(v);
	if (!(value >= 0 && value <= max)) /* a NaN too */
		return errmsg_set(err, -ERANGE, "%s is %g, which cannot be", name, value);
	*ret = (uint64_t)(value * scale + 0.5);
	return *ret > 0;
}

static int get_value(const json_t *v, enum redfish_kind kind, struct redfish_values *ret, struct errmsg *err)
{
	static const struct {
		double max, scale;
	} of[REDFISH_KINDS] = {
		[REDFISH_JOULES] = { ENERGY_MAX_J, UJ_PER_J },
		[REDFISH_WATTS] = { (double)COUNTER_PLATFORM_MAX_W, MW_PER_W },
		[REDFISH_CONSUMED] = { (double)COUNTER_PLATFORM_MAX_W, MW_PER_W },
		[REDFISH_AVERAGE] = { (double)COUNTER_PLATFORM_MAX_W, MW_PER_W },
		[REDFISH_KWH] = { ENERGY_MAX_J * UJ_PER_J / UJ_PER_KWH, UJ_PER_KWH },
	};
	int rc = get_number(v, redfish_kind_name(kind), of[kind].max, of[kind].scale, &ret->value[kind], err);

	if (rc > 0)
		ret->has |= 1u << kind;
	return rc < 0 ? rc : 0;
}

static int environment_values(const json_t *root, struct redfish_values *ret, struct errmsg *err)
{
	int rc = get_value(json_find(root, "EnergyJoules.Reading"), REDFISH_JOULES, ret, err);

	if (rc == 0)
		rc = get_value(json_find(root, "EnergykWh.Reading"), REDFISH_KWH, ret, err);
	return rc == 0 ? get_value(json_find(root, "PowerWatts.Reading"), REDFISH_WATTS, ret, err) : rc;
}

static int control_values(const json_t *control, struct redfish_values *ret, struct errmsg *err)
{
	const json_t *minutes = json_find(control, "PowerMetrics.IntervalInMin");
	int rc = get_value(json_object_get(control, "PowerConsumedWatts"), REDFISH_CONSUMED, ret, err);

	if (rc < 0 || ret->has)
		return rc;
	/* the same in the long run */
	rc = get_value(json_find(control, "PowerMetrics.AverageConsumedWatts"), REDFISH_AVERAGE, ret, err);
	if (rc == 0 && json_is_integer(minutes) && json_integer_value(minutes) > 0 &&
	    json_integer_value(minutes) <= WINDOW_MAX_MIN)
		ret->window_ns = (uint64_t)json_integer_value(minutes) * 60 * NSEC_PER_SEC;
	return rc;
}

static int power_values(const json_t *root, unsigned int controls, struct redfish_values *ret,
			struct errmsg *err)
{
	const json_t *all = json_object_get(root, "PowerControl");
	struct redfish_values sum = { .has = ~0u };
	unsigned int i, k;

	for (i = 0; i < REDFISH_CONTROLS; i++) {
		struct redfish_values v = { 0 };
		int rc = controls & 1u << i ? control_values(json_array_get(all, i), &v, err) : 0;

		if (rc < 0)
			return rc;
		if (!(controls & 1u << i))
			continue;
		sum.has &= v.has;
		for (k = 0; k < REDFISH_KINDS; k++)
			sum.value[k] += v.value[k];
		if (v.window_ns > sum.window_ns)
			sum.window_ns = v.window_ns;
	}
	if (controls)
		*ret = sum;
	return 0;
}

int redfish_json_values(const char *text, size_t len, enum redfish_resource resource, unsigned int controls,
			struct redfish_values *ret, struct errmsg *err)
{
	struct redfish_values v = { 0 };
	json_t *root = NULL;
	int rc = json_parse(text, len, &root, err);

	if (rc == 0)
		rc = resource == REDFISH_ENVIRONMENT ? environment_values(root, &v, err) :
						       power_values(root, controls, &v, err);
	json_decref(root);
	if (rc < 0)
		return rc;
	if (!v.has)
		return errmsg_set(err, -ENODATA, "neither power nor energy in the answer");
	*ret = v;
	return 0;
}

size_t redfish_json_controls(const char *text, size_t len)
{
	json_t *root = NULL;
	size_t n = 0;

	if (json_parse(text, len, &root, NULL) == 0)
		n = json_array_size(json_object_get(root, "PowerControl"));
	json_decref(root);
	return n;
}
