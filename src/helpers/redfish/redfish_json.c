/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* strcasestr */
#include "src/helpers/redfish/redfish_json.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/libcore/unit.h"
#include "src/libmeter/sensor/counter.h"
#include "src/libutil/clock.h"
#include "src/libutil/utf8.h"
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
	[REDFISH_POINTED] = { "PowerAt", REDFISH_ENVIRONMENT, true },
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

/* --- text --------------------------------------------------------------------------------- */

/* How many members of one answer may be there twice. */
#define TWICE_MAX 26

/* Replaces each byte that is not UTF-8: one in a name would make the whole answer unreadable. */
static void mask_bytes(char *text, size_t len)
{
	size_t i, n;

	for (i = 0; i < len; i += n) {
		n = utf8_sequence(text + i, len - i);
		if (!n) {
			text[i] = '_';
			n = 1;
		}
	}
}

/*
 * Some firmware writes an annotation ("@odata.type") twice. Gives the second, which ends at END, a new name
 * by NUMBER. False: it is a link or no annotation, and its two values may differ.
 */
static bool rename_annotation(char *text, size_t end, unsigned int number)
{
	char name[64];
	size_t from = end - 2; /* the last byte of the name */

	while (from && text[from] != '"')
		from--;
	if (end < 4 || (size_t)snprintf(name, sizeof(name), "%.*s", (int)(end - from - 2), text + from + 1) >=
			       sizeof(name))
		return false;
	if (strlen(name) < 2 || !strchr(name, '@') || strstr(name, "odata.id") ||
	    strstr(name, "odata.nextLink"))
		return false;
	text[from + 1] = '#';
	text[from + 2] = (char)('A' + number);
	return true;
}

static int json_parse(const char *text, size_t len, json_t **ret, struct errmsg *err)
{
	_cleanup_free_ char *copy = malloc(len + 1);
	json_error_t why = { 0 };
	json_t *root = NULL;
	unsigned int tries;

	if (!copy)
		return errmsg_set(err, -ENOMEM, "out of memory");
	memcpy(copy, text, len);
	mask_bytes(copy, len);
	for (tries = 0; !root && tries < TWICE_MAX; tries++) {
		root = json_loadb(copy, len, JSON_REJECT_DUPLICATES, &why);
		if (!root && (json_error_code(&why) != json_error_duplicate_key || why.position < 4 ||
			      !rename_annotation(copy, (size_t)why.position, tries)))
			break;
	}
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

int redfish_json_encode(const char *path, char *ret, size_t size)
{
	size_t used = 0;

	for (; *path; path++) {
		bool is_plain = *path > ' ' && *path <= '~' && !strchr("\"<>\\^`{|}", *path);
		int n = snprintf(ret + used, size - used, is_plain ? "%c" : "%%%02X", (unsigned char)*path);

		used += (size_t)n;
		if (used >= size)
			return -ENAMETOOLONG;
	}
	ret[used] = '\0';
	return 0;
}

static int copy_path(const char *path, char *ret, size_t size, struct errmsg *err)
{
	const char *p;
	int rc;

	for (p = path; *p; p++)
		if ((unsigned char)*p < ' ' || *p == '\x7f')
			return errmsg_set(err, -EINVAL, "a link is not printable");
	if (redfish_json_encode(path, ret, size) < 0)
		return errmsg_set(err, -EINVAL, "a link is too long");
	rc = redfish_json_check_path(ret, err);
	if (rc < 0)
		ret[0] = '\0';
	return rc;
}

static int copy_link(const json_t *object, char *ret, size_t size, struct errmsg *err)
{
	const char *path = json_string_value(json_object_get(object, "@odata.id"));

	return path ? copy_path(path, ret, size, err) : errmsg_set(err, -ENOENT, "no link");
}

static size_t path_length(const char *path)
{
	size_t len = strlen(path);

	return len && path[len - 1] == '/' ? len - 1 : len;
}

bool redfish_path_is_same(const char *a, const char *b)
{
	return path_length(a) == path_length(b) && !strncmp(a, b, path_length(a));
}

int redfish_paths_add(struct redfish_paths *p, const char *path, size_t *ret)
{
	size_t i;

	for (i = 0; i < p->n && !redfish_path_is_same(p->path[i], path); i++)
		;
	if (i == p->n) {
		void *more = p->n & (p->n - 1) ? p->path :
						 realloc(p->path, (p->n ? 2 * p->n : 1) * sizeof(*p->path));

		if (!more)
			return -ENOMEM;
		p->path = more;
		(void)snprintf(p->path[p->n++], sizeof(*p->path), "%s", path);
	}
	if (ret)
		*ret = i;
	return 0;
}

void redfish_paths_free(struct redfish_paths *p)
{
	free(p->path);
	*p = (struct redfish_paths){ 0 };
}

static const json_t *json_child(const json_t *parent, const char *name)
{
	if (json_is_array(parent))
		return json_array_get(parent, strtoul(name, NULL, 10));
	if (json_is_object(parent) && !strcmp(name, "0") && !json_object_get(parent, name))
		return parent; /* one object in place of an array */
	return json_object_get(parent, name);
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

/* Of an array or of one object in its place. */
static size_t list_size(const json_t *list)
{
	return json_is_object(list) ? 1 : json_array_size(list);
}

static const json_t *list_entry(const json_t *list, size_t i)
{
	return json_is_object(list) ? (i == 0 ? list : NULL) : json_array_get(list, i);
}

int redfish_json_links(const char *text, size_t len, const char *name, struct redfish_paths *ret,
		       size_t *ret_skipped, struct errmsg *skipped, struct errmsg *err)
{
	json_t *root = NULL;
	int rc = json_parse(text, len, &root, err);
	const json_t *links = rc == 0 ? json_find(root, name) : NULL;
	size_t i, bad = 0;

	skipped->text[0] = '\0';
	if (links && !json_is_null(links) && !json_is_array(links) && !json_is_object(links)) {
		(void)errmsg_set(skipped, 0, "%s is not a list", name);
		bad = 1;
	}
	for (i = 0; rc == 0 && i < list_size(links); i++) {
		struct errmsg why = { 0 };
		char path[REDFISH_PATH_MAX];

		if (copy_link(list_entry(links, i), path, sizeof(path), &why) == 0)
			rc = redfish_paths_add(ret, path, NULL);
		else if (!bad++)
			(void)errmsg_set(skipped, 0, "%s[%zu]: %s", name, i, why.text);
	}
	if (bad > 1)
		(void)errmsg_set(skipped, 0, "%zu entries of %s are not links", bad, name);
	json_decref(root);
	*ret_skipped = bad;
	return rc == -ENOMEM ? errmsg_set(err, rc, "out of memory") : rc;
}

int redfish_json_next(const char *text, size_t len, char *ret, size_t size, struct errmsg *err)
{
	json_t *root = NULL;
	int rc = json_parse(text, len, &root, err);
	const json_t *next;

	if (rc < 0)
		return rc;
	next = json_object_get(root, "Members@odata.nextLink");
	if (json_is_object(next))
		next = json_object_get(next, "@odata.id");
	if (!next || json_is_null(next))
		rc = errmsg_set(err, -ENOENT, "no next page");
	else if (json_is_string(next))
		rc = copy_path(json_string_value(next), ret, size, err);
	else
		rc = errmsg_set(err, -EINVAL, "Members@odata.nextLink is not a link");
	json_decref(root);
	return rc;
}

long redfish_json_count(const char *text, size_t len, size_t *ret_listed)
{
	json_t *root = NULL;
	const json_t *count;
	long n = -1;

	*ret_listed = 0;
	if (json_parse(text, len, &root, NULL) < 0)
		return -1;
	*ret_listed = list_size(json_object_get(root, "Members"));
	count = json_object_get(root, "Members@odata.count");
	if (json_is_integer(count) && json_integer_value(count) >= 0 && json_integer_value(count) < INT32_MAX)
		n = (long)json_integer_value(count);
	json_decref(root);
	return n;
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

/* The whole text a decimal number, as some BMCs write one: "312", "312.5". */
static bool parse_number(const json_t *v, double *ret)
{
	const char *text = json_string_value(v);
	char *end;

	if (json_is_number(v)) {
		*ret = json_number_value(v);
		return true;
	}
	if (!text || !*text || text[strspn(text, "0123456789.")])
		return false;
	*ret = strtod(text, &end);
	return !*end;
}

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
	if (!parse_number(v, &value))
		return errmsg_set(err, -ERANGE, "%s is not a number", name);
	if (!(value >= 0 && value <= max)) /* a NaN too */
		return errmsg_set(err, -ERANGE, "%s is %g, which cannot be", name, value);
	*ret = (uint64_t)(value * scale + 0.5);
	return *ret > 0;
}

static void get_value(const json_t *v, enum redfish_kind kind, struct redfish_values *ret, struct errmsg *err)
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
	else if (v)
		ret->unknown |= 1u << kind;
}

static void environment_values(const json_t *root, struct redfish_values *ret, struct errmsg *err)
{
	get_value(json_find(root, "EnergyJoules.Reading"), REDFISH_JOULES, ret, err);
	get_value(json_find(root, "EnergykWh.Reading"), REDFISH_KWH, ret, err);
	get_value(json_find(root, "PowerWatts.Reading"), REDFISH_WATTS, ret, err);
}

static void control_values(const json_t *control, struct redfish_values *ret, struct errmsg *err)
{
	double minutes;

	get_value(json_object_get(control, "PowerConsumedWatts"), REDFISH_CONSUMED, ret, err);
	if (ret->has)
		return;
	/* the same in the long run */
	get_value(json_find(control, "PowerMetrics.AverageConsumedWatts"), REDFISH_AVERAGE, ret, err);
	if (parse_number(json_find(control, "PowerMetrics.IntervalInMin"), &minutes) && minutes > 0 &&
	    minutes <= WINDOW_MAX_MIN)
		ret->window_ns = (uint64_t)(minutes * 60 * (double)NSEC_PER_SEC);
}

/*
 * The first entry of PowerControl. Some firmware has a null before the only entry, which then is the first.
 * Of several none takes the place of the null: they may be parts.
 */
static size_t first_control(const json_t *all)
{
	size_t i, only = 0, n = 0;

	for (i = 0; i < list_size(all) && !json_is_object(list_entry(all, 0)); i++)
		if (json_is_object(list_entry(all, i))) {
			only = i;
			n++;
		}
	return n == 1 ? only : 0;
}

static void power_values(const json_t *root, unsigned int controls, struct redfish_values *ret,
			 struct errmsg *err)
{
	const json_t *all = json_object_get(root, "PowerControl");
	struct redfish_values sum = { .has = ~0u };
	unsigned int i, k;

	for (i = 0; i < REDFISH_CONTROLS; i++) {
		struct redfish_values v = { 0 };

		if (!(controls & 1u << i))
			continue;
		control_values(list_entry(all, i ? i : first_control(all)), &v, err);
		sum.has &= v.has;
		sum.unknown |= v.unknown;
		for (k = 0; k < REDFISH_KINDS; k++)
			sum.value[k] += v.value[k];
		if (v.window_ns > sum.window_ns)
			sum.window_ns = v.window_ns;
	}
	if (controls)
		*ret = sum;
}

int redfish_json_values(const char *text, size_t len, enum redfish_resource resource, unsigned int controls,
			struct redfish_values *ret, struct errmsg *err)
{
	struct redfish_values v = { 0 };
	struct errmsg bad = { 0 };
	json_t *root = NULL;
	int rc = json_parse(text, len, &root, err);

	if (rc < 0)
		return rc;
	if (resource == REDFISH_ENVIRONMENT)
		environment_values(root, &v, &bad);
	else
		power_values(root, controls, &v, &bad);
	json_decref(root);
	*ret = v;
	if (bad.text[0])
		return errmsg_set(err, v.has ? 0 : -ERANGE, "%s", bad.text);
	return v.has ? 0 : errmsg_set(err, -ENODATA, "neither power nor energy in the answer");
}

size_t redfish_json_controls(const char *text, size_t len, unsigned int *ret_first)
{
	json_t *root = NULL;
	size_t n = 0;

	*ret_first = 0;
	if (json_parse(text, len, &root, NULL) == 0) {
		n = list_size(json_object_get(root, "PowerControl"));
		*ret_first = (unsigned int)first_control(json_object_get(root, "PowerControl"));
	}
	json_decref(root);
	return n;
}

/* --- where the standard has no place ------------------------------------------------------- */

/* The next name of a JSON pointer, without the escapes ~0 and ~1. False: at its end, or it is too long. */
static bool pointer_next(const char **pointer, char *name, size_t size)
{
	const char *p = *pointer;
	size_t n = 0;

	if (*p != '/')
		return false;
	for (p++; *p && *p != '/'; p++) {
		if (n + 1 == size)
			return false;
		name[n] = *p;
		if (*p == '~' && (p[1] == '0' || p[1] == '1'))
			name[n] = *++p == '0' ? '~' : '/';
		n++;
	}
	name[n] = '\0';
	*pointer = p;
	return true;
}

int redfish_json_pointed(const char *text, size_t len, const char *pointer, uint64_t *ret, struct errmsg *err)
{
	const char *rest = pointer;
	json_t *root = NULL;
	const json_t *v;
	uint64_t mw = 0;
	char name[128];
	int rc = json_parse(text, len, &root, err);

	if (rc < 0)
		return rc;
	for (v = root; v && pointer_next(&rest, name, sizeof(name));)
		v = json_child(v, name);
	if (*rest)
		v = NULL;
	if (json_is_object(v))
		v = json_object_get(v, "Reading");
	rc = get_number(v, pointer, (double)COUNTER_PLATFORM_MAX_W, MW_PER_W, &mw, err);
	json_decref(root);
	if (rc > 0)
		*ret = mw;
	return rc > 0 ? 0 : rc < 0 ? rc : errmsg_set(err, -ENODATA, "no value at %s now", pointer);
}

/* "CurrentPowerConsumptionW", "PresentWatts": power now, not a limit, nor a mean or the most of some time. */
static bool is_power_name(const char *name)
{
	static const char *const other[] = { "Max",   "Min",   "Avg", "Average", "Peak",  "Cap",
					     "Limit", "Rated", "Set", "Thresh",	 "Alloc", "Interval" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(other); i++)
		if (strcasestr(name, other[i]))
			return false;
	return strcasestr(name, "Watt") || strcasestr(name, "Power") || strcasestr(name, "Consum");
}

/* How deep makers nest. */
#define OEM_DEPTH 8

static bool find_oem(const json_t *at, unsigned int depth, bool is_oem, char *pointer, size_t size,
		     uint64_t *ret_mw)
{
	size_t used = strlen(pointer);
	const char *name;
	json_t *v;

	if (depth > OEM_DEPTH)
		return false;
	json_object_foreach((json_t *)at, name, v)
	{
		if (strpbrk(name, "/~@#, ") || strlen(name) >= 64 || (!is_oem && strcasecmp(name, "Oem")))
			continue;
		if ((size_t)snprintf(pointer + used, size - used, "/%s", name) < size - used &&
		    (json_is_object(v) ? find_oem(v, depth + 1, true, pointer, size, ret_mw) :
					 json_is_number(v) && is_power_name(name) &&
						 get_number(v, name, (double)COUNTER_PLATFORM_MAX_W, MW_PER_W,
							    ret_mw, NULL) > 0))
			return true;
		pointer[used] = '\0';
	}
	return false;
}

bool redfish_json_find_oem(const char *text, size_t len, char *ret_pointer, size_t size, uint64_t *ret_mw)
{
	json_t *root = NULL;
	bool is_found;

	ret_pointer[0] = '\0';
	if (json_parse(text, len, &root, NULL) < 0)
		return false;
	is_found = find_oem(root, 0, false, ret_pointer, size, ret_mw);
	json_decref(root);
	return is_found;
}
