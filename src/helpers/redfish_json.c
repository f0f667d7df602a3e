/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/helpers/redfish_json.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "src/libmeter/sensor/counter.h"
#include "src/libutil/util.h"

/* Twelve years at 25 kW, and in microjoules within 64 bits: beyond it a counter is garbled. */
#define ENERGY_MAX_J 1e13
#define UJ_PER_J 1e6
#define UJ_PER_KWH 3.6e12
#define MW_PER_W 1e3

const char *redfish_kind_name(enum redfish_kind kind)
{
	static const char *const names[REDFISH_KINDS] = {
		[REDFISH_JOULES] = "EnergyJoules",
		[REDFISH_WATTS] = "PowerWatts",
		[REDFISH_KWH] = "EnergykWh",
	};

	return (size_t)kind < ARRAY_SIZE(names) ? names[kind] : "?";
}

static int json_parse(const char *text, size_t len, json_t **ret, struct errmsg *err)
{
	json_error_t why;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);

	if (!root)
		return errmsg_set(err, -EINVAL, "no JSON: %s in line %d", why.text, why.line);
	if (!json_is_object(root)) {
		json_decref(root);
		return errmsg_set(err, -EINVAL, "no JSON object");
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

/* "a.b" of ROOT; NULL. */
static const json_t *json_find(const json_t *root, const char *name)
{
	const char *dot;

	for (; root && (dot = strchr(name, '.')); name = dot + 1) {
		char first[32];

		if ((size_t)snprintf(first, sizeof(first), "%.*s", (int)(dot - name), name) >=
		    sizeof(first))
			return NULL;
		root = json_object_get(root, first);
	}
	return json_object_get(root, name);
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

int redfish_json_member(const char *text, size_t len, size_t index, char *ret, size_t size,
			struct errmsg *err)
{
	json_t *root = NULL;
	int rc = json_parse(text, len, &root, err);

	if (rc == 0)
		rc = copy_link(json_array_get(json_object_get(root, "Members"), index), ret, size,
			       err);
	json_decref(root);
	return rc;
}

/* --- values ------------------------------------------------------------------------------- */

/*
 * 1: there is a number in *ret, times SCALE; 0: none. 0 is none: a node that asks draws power and
 * has used energy, and BMCs that do not know it, as after a reset of theirs, show 0.
 */
static int get_number(const json_t *v, const char *name, double max, double scale,
		      uint64_t *ret, struct errmsg *err)
{
	double value;

	if (!v || json_is_null(v))
		return 0;
	if (!json_is_number(v))
		return errmsg_set(err, -ERANGE, "%s is no number", name);
	value = json_number_value(v);
	if (!(value >= 0 && value <= max)) /* a NaN too */
		return errmsg_set(err, -ERANGE, "%s is %g, which cannot be", name, value);
	*ret = (uint64_t)(value * scale + 0.5);
	return *ret > 0;
}

static int get_power(const json_t *v, const char *name, struct redfish_values *ret,
		     struct errmsg *err)
{
	int rc = get_number(v, name, (double)COUNTER_PLATFORM_MAX_W, MW_PER_W, &ret->power_mw,
			    err);

	if (rc > 0)
		ret->has |= 1u << REDFISH_WATTS;
	return rc < 0 ? rc : 0;
}

static int environment_values(const json_t *root, struct redfish_values *ret,
			      struct errmsg *err)
{
	int rc = get_number(json_find(root, "EnergyJoules.Reading"), "EnergyJoules", ENERGY_MAX_J,
			    UJ_PER_J, &ret->energy_uj, err);

	if (rc > 0)
		ret->has |= 1u << REDFISH_JOULES;
	if (rc >= 0)
		rc = get_number(json_find(root, "EnergykWh.Reading"), "EnergykWh",
				ENERGY_MAX_J * UJ_PER_J / UJ_PER_KWH, UJ_PER_KWH, &ret->kwh_uj,
				err);
	if (rc > 0)
		ret->has |= 1u << REDFISH_KWH;
	return rc < 0 ? rc : get_power(json_find(root, "PowerWatts.Reading"), "PowerWatts", ret, err);
}

/* The first entry is the whole chassis; those after it are parts of it, as CPUs or memory. */
static int power_values(const json_t *root, struct redfish_values *ret, struct errmsg *err)
{
	const json_t *control = json_array_get(json_object_get(root, "PowerControl"), 0);
	int rc = get_power(json_object_get(control, "PowerConsumedWatts"), "PowerConsumedWatts",
			   ret, err);

	if (rc == 0 && !ret->has) /* a mean over the last minutes: the same in the long run */
		rc = get_power(json_find(control, "PowerMetrics.AverageConsumedWatts"),
			       "AverageConsumedWatts", ret, err);
	return rc;
}

int redfish_json_values(const char *text, size_t len, enum redfish_resource resource,
			struct redfish_values *ret, struct errmsg *err)
{
	struct redfish_values v = { 0 };
	json_t *root = NULL;
	int rc = json_parse(text, len, &root, err);

	if (rc == 0)
		rc = resource == REDFISH_ENVIRONMENT ? environment_values(root, &v, err) :
						       power_values(root, &v, err);
	json_decref(root);
	if (rc < 0)
		return rc;
	if (!v.has)
		return errmsg_set(err, -ENODATA, "neither power nor energy in the answer");
	*ret = v;
	return 0;
}
