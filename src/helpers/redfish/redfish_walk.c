/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/helpers/redfish/redfish_walk.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "src/libcore/settings.h"
#include "src/libcore/unit.h"
#include "src/libutil/clock.h"
#include "src/libutil/items.h"
#include "src/libutil/util.h"

/* A node has a few chassis (board, GPU tray, risers); a manager of a rack some dozen, and as many systems. */
#define MEMBERS_MAX 32
#define UUID_SIZE 40

#define RESOURCES 2

struct chassis {
	char path[REDFISH_PATH_MAX];
	char within[REDFISH_PATH_MAX];		    /* Links.ContainedBy; empty: none */
	size_t nsystems;			    /* that it links to */
	char resource[RESOURCES][REDFISH_PATH_MAX]; /* by enum redfish_resource; empty: none */
	struct redfish_values values[RESOURCES];    /* when it was found; of the entries that count */
	bool is_named;
	bool is_used;
};

/* An entry of PowerControl, for the list. */
struct control {
	size_t chassis;
	unsigned int index;
	char name[48];
	struct redfish_values values;
};

struct redfish_walk {
	const struct redfish_conf *conf;
	struct redfish_client *client;
	char uuid[UUID_SIZE];
	bool is_found;
	bool is_told;
	enum redfish_kind kind;
	char system[REDFISH_PATH_MAX]; /* empty: there is none */
	char note[160];		       /* about it; empty: nothing */
	struct chassis chassis[MEMBERS_MAX];
	size_t nchassis;
	struct control control[MEMBERS_MAX];
	size_t ncontrols;
	char members[MEMBERS_MAX][REDFISH_PATH_MAX];
};

static const char *const resource_link[RESOURCES] = {
	[REDFISH_ENVIRONMENT] = "EnvironmentMetrics",
	[REDFISH_POWER] = "Power",
};

/* --- names -------------------------------------------------------------------------------- */

/* The last part of a path, which is the resource's Id. */
struct id {
	char text[64];
};

static struct id id_of(const char *path)
{
	size_t len = strlen(path);
	struct id id;
	size_t from;

	len -= len && path[len - 1] == '/';
	from = len;
	while (from && path[from - 1] != '/')
		from--;
	(void)snprintf(id.text, sizeof(id.text), "%.*s", (int)(len - from), path + from);
	return id;
}

static bool is_listed(const char *list, const char *path)
{
	const struct id id = id_of(path);
	char item[sizeof(id.text)];

	while (items_next(&list, item, sizeof(item)))
		if (!strcmp(item, id.text))
			return true;
	return false;
}

/*
 * SMBIOS has the first three fields of a UUID in the CPU's order, and some BMCs show them in the network's
 * (SMBIOS 3.x, 7.2.1).
 */
static bool is_same_uuid(const char *a, const char *b)
{
	static const unsigned char swapped[] = {
		6, 7, 4, 5, 2, 3, 0, 1, 8, 11, 12, 9, 10, 13, 16, 17, 14, 15
	};
	size_t i;

	if (strlen(a) != 36 || strlen(b) != 36)
		return false;
	if (!strcasecmp(a, b))
		return true;
	for (i = 0; i < sizeof(swapped); i++)
		if (strncasecmp(a + i, b + swapped[i], 1) != 0)
			return false;
	return !strcasecmp(a + sizeof(swapped), b + sizeof(swapped));
}

/* --- the way there ------------------------------------------------------------------------ */

/* The first MAX links in the array NAME. */
static int read_links(const char *text, size_t len, const char *name, char ret[][REDFISH_PATH_MAX],
		      size_t max, size_t *ret_n, struct errmsg *err)
{
	struct redfish_paths all = { 0 };
	struct errmsg skipped;
	size_t n = 0;
	int rc = redfish_json_links(text, len, name, &all, &n, &skipped, err);

	*ret_n = all.n < max ? all.n : max;
	for (n = 0; n < *ret_n; n++)
		memcpy(ret[n], all.path[n], sizeof(ret[n]));
	redfish_paths_free(&all);
	return rc;
}

/* The members of the collection that the service root's NAME links to; -ENOENT: it has none. */
static int walk_collection(struct redfish_walk *w, const char *name, size_t *ret_n, struct errmsg *err)
{
	struct errmsg why = { 0 };
	char path[REDFISH_PATH_MAX];
	const char *text;
	size_t len;
	int rc = redfish_client_get(w->client, REDFISH_ROOT, &text, &len, err);

	if (rc < 0)
		return rc;
	rc = redfish_json_link(text, len, name, path, sizeof(path), &why);
	if (rc < 0)
		return errmsg_set(err, rc, "%s" REDFISH_ROOT ": %s: %s", w->conf->url, name, why.text);
	rc = redfish_client_get(w->client, path, &text, &len, err);
	if (rc < 0)
		return rc;
	rc = read_links(text, len, "Members", w->members, MEMBERS_MAX, ret_n, &why);
	return rc < 0 ? errmsg_set(err, rc, "%s%s: %s", w->conf->url, path, why.text) : 0;
}

static void join_ids(char (*paths)[REDFISH_PATH_MAX], size_t n, char *buf, size_t size)
{
	size_t used = 0;
	size_t i;

	buf[0] = '\0';
	for (i = 0; i < n && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "",
					 id_of(paths[i]).text);
}

/* Of N systems: the only one, or that of this machine's UUID. */
static int pick_system(struct redfish_walk *w, size_t n, struct errmsg *err)
{
	char uuid[UUID_SIZE];
	char ids[128];
	const char *text;
	size_t len;
	size_t i;

	for (i = 0; i < n; i++) {
		int rc = redfish_client_get(w->client, w->members[i], &text, &len, err);

		if (rc < 0)
			return rc;
		(void)redfish_json_text(text, len, "UUID", uuid, sizeof(uuid));
		if (!is_same_uuid(uuid, w->uuid) && n > 1)
			continue;
		memcpy(w->system, w->members[i], sizeof(w->system));
		if (uuid[0] && w->uuid[0] && !is_same_uuid(uuid, w->uuid))
			(void)snprintf(w->note, sizeof(w->note),
				       "system %s has UUID %s, this machine %s: is URL this node's own BMC?",
				       id_of(w->system).text, uuid, w->uuid);
		return 0;
	}
	join_ids(w->members, n, ids, sizeof(ids));
	return errmsg_set(err, -ENODEV,
			  "%s: none of its %zu systems (%s) has this machine's UUID %s: set System",
			  w->conf->url, n, ids, w->uuid[0] ? w->uuid : "(not known)");
}

static int find_system(struct redfish_walk *w, struct errmsg *err)
{
	char ids[128];
	size_t n = 0;
	size_t i;
	int rc = walk_collection(w, "Systems", &n, err);

	if (rc < 0 && rc != -ENOENT)
		return rc;
	if (!w->conf->system[0])
		return n ? pick_system(w, n, err) : 0;
	for (i = 0; i < n; i++)
		if (is_listed(w->conf->system, w->members[i])) {
			memcpy(w->system, w->members[i], sizeof(w->system));
			return 0;
		}
	join_ids(w->members, n, ids, sizeof(ids));
	return errmsg_set(err, -ENODEV, "%s: no system %s; it has %s", w->conf->url, w->conf->system,
			  n ? ids : "none");
}

/* Those that may count, in w->members: named, of the system, or all. */
static int find_candidates(struct redfish_walk *w, size_t *ret_n, struct errmsg *err)
{
	struct errmsg why = { 0 };
	size_t n = 0, named = 0;
	const char *text;
	size_t len;
	size_t i;
	int rc = w->conf->chassis[0] ? 0 : find_system(w, err);

	if (rc == 0 && w->system[0]) {
		rc = redfish_client_get(w->client, w->system, &text, &len, err);
		if (rc < 0)
			return rc;
		rc = read_links(text, len, "Links.Chassis", w->members, MEMBERS_MAX, &n, &why);
		if (rc < 0)
			return errmsg_set(err, rc, "%s%s: %s", w->conf->url, w->system, why.text);
	}
	if (rc == 0 && !n)
		rc = walk_collection(w, "Chassis", &n, err);
	for (i = 0; rc == 0 && w->conf->chassis[0] && i < n; i++)
		if (is_listed(w->conf->chassis, w->members[i]))
			memmove(w->members[named++], w->members[i], sizeof(w->members[i]));
	*ret_n = w->conf->chassis[0] ? named : n;
	return rc;
}

/* --- what there is ------------------------------------------------------------------------ */

static void note_controls(struct redfish_walk *w, const char *text, size_t len)
{
	unsigned int first;
	size_t n = redfish_json_controls(text, len, &first);
	unsigned int i;

	for (i = first; i < n && i < REDFISH_CONTROLS && w->ncontrols < ARRAY_SIZE(w->control); i++) {
		struct control *c = &w->control[w->ncontrols++];
		char name[32];

		*c = (struct control){ .chassis = w->nchassis, .index = i };
		(void)snprintf(name, sizeof(name), "PowerControl.%u.Name", i);
		(void)redfish_json_text(text, len, name, c->name, sizeof(c->name));
		if (redfish_json_values(text, len, REDFISH_POWER, 1u << i, &c->values, NULL) < 0)
			c->values = (struct redfish_values){ 0 }; /* a control without a value now */
	}
}

/* What a resource that is missing or shows nothing of use has is not an error: another may. */
static bool is_nothing(int rc)
{
	return rc == -ENOENT || rc == -ENODATA || rc == -ERANGE;
}

static int get_values(struct redfish_walk *w, const char *path, enum redfish_resource resource,
		      struct redfish_values *ret, bool wants_list, struct errmsg *err)
{
	struct errmsg why = { 0 };
	const char *text;
	size_t len;
	int rc = redfish_client_get(w->client, path, &text, &len, err);

	if (rc < 0)
		return rc;
	if (wants_list && resource == REDFISH_POWER)
		note_controls(w, text, len);
	rc = redfish_json_values(text, len, resource, w->conf->controls, ret, &why);
	return rc < 0 ? errmsg_set(err, rc, "%s%s: %s", w->conf->url, path, why.text) : 0;
}

static int add_chassis(struct redfish_walk *w, const char *path, struct errmsg *err)
{
	struct chassis *c = &w->chassis[w->nchassis];
	char systems[2][REDFISH_PATH_MAX]; /* more than one is all that matters */
	const char *text;
	size_t len;
	unsigned int i;
	int rc = redfish_client_get(w->client, path, &text, &len, err);

	if (rc < 0)
		return is_nothing(rc) ? 0 : rc;
	*c = (struct chassis){ .is_named = is_listed(w->conf->chassis, path) };
	(void)snprintf(c->path, sizeof(c->path), "%s", path);
	if (redfish_json_link(text, len, "Links.ContainedBy", c->within, sizeof(c->within), NULL) < 0)
		c->within[0] = '\0';
	if (read_links(text, len, "Links.ComputerSystems", systems, ARRAY_SIZE(systems), &c->nsystems, NULL) <
	    0)
		c->nsystems = 0;
	for (i = 0; i < RESOURCES; i++) {
		rc = redfish_json_link(text, len, resource_link[i], c->resource[i], REDFISH_PATH_MAX, err);
		if (rc < 0 && rc != -ENOENT)
			return rc;
	}
	for (i = 0; i < RESOURCES; i++) {
		rc = c->resource[i][0] ? get_values(w, c->resource[i], (enum redfish_resource)i,
						    &c->values[i], /* wants_list= */ true, err) :
					 0;
		if (rc < 0 && !is_nothing(rc))
			return rc;
	}
	w->nchassis++;
	return 0;
}

static unsigned int kinds_of(const struct chassis *c)
{
	return c->values[REDFISH_ENVIRONMENT].has | c->values[REDFISH_POWER].has;
}

static bool is_shared(const struct chassis *c)
{
	return c->nsystems > 1 && !c->is_named;
}

/* The chassis around C that shows its power as well; NULL. Links may go in circles. */
static const struct chassis *container_of_power(const struct redfish_walk *w, const struct chassis *c)
{
	const char *within = c->within;
	size_t hops, i;

	for (hops = 0; hops < MEMBERS_MAX && within[0]; hops++) {
		for (i = 0; i < w->nchassis && !redfish_path_is_same(w->chassis[i].path, within); i++)
			;
		if (i == w->nchassis || &w->chassis[i] == c)
			return NULL;
		if (kinds_of(&w->chassis[i]) && !is_shared(&w->chassis[i]))
			return &w->chassis[i];
		within = w->chassis[i].within;
	}
	return NULL;
}

static int choose_chassis(struct redfish_walk *w, struct errmsg *err)
{
	unsigned int common = ~0u;
	bool is_any = false;
	unsigned int kind = 0;
	size_t i;

	for (i = 0; i < w->nchassis; i++) {
		struct chassis *c = &w->chassis[i];

		c->is_used = kinds_of(c) && !is_shared(c) && !container_of_power(w, c);
		if (c->is_used)
			common &= kinds_of(c);
		is_any |= c->is_used;
	}
	if (!is_any)
		return errmsg_set(err, -ENODEV,
				  "%s: no chassis%s%s%s%s shows power or energy of this node alone",
				  w->conf->url, w->conf->chassis[0] ? " " : "", w->conf->chassis,
				  w->system[0] ? " of system " : "",
				  w->system[0] ? id_of(w->system).text : "");
	while (kind < REDFISH_KINDS && !(common & 1u << kind))
		kind++;
	if (kind == REDFISH_KINDS)
		return errmsg_set(err, -ENODEV,
				  "%s: the node's chassis show no property in common: set Chassis",
				  w->conf->url);
	w->kind = (enum redfish_kind)kind;
	return 0;
}

static int walk_find(struct redfish_walk *w, struct errmsg *err)
{
	size_t n = 0;
	size_t i;
	int rc;

	w->nchassis = w->ncontrols = 0;
	w->system[0] = w->note[0] = '\0';
	w->is_told = false;
	rc = find_candidates(w, &n, err);
	for (i = 0; rc == 0 && i < n; i++)
		rc = add_chassis(w, w->members[i], err);
	if (rc == 0)
		rc = choose_chassis(w, err);
	w->is_found = rc == 0;
	return rc;
}

/* --- asking ------------------------------------------------------------------------------- */

int redfish_walk_ask(struct redfish_walk *w, struct redfish_sample *ret, struct errmsg *err)
{
	struct redfish_sample sum = { 0 };
	size_t i;
	int rc = w->is_found ? 0 : walk_find(w, err);

	if (rc < 0) /* -EPERM: the user or the file is to be changed */
		return rc == -EPERM ? -EACCES : rc;
	sum.kind = w->kind;
	for (i = 0; i < w->nchassis; i++) {
		struct redfish_values v = { 0 };
		const char *path = w->chassis[i].resource[redfish_kind_resource(w->kind)];

		if (!w->chassis[i].is_used)
			continue;
		rc = get_values(w, path, redfish_kind_resource(w->kind), &v, /* wants_list= */ false, err);
		if (rc == -ENOENT)
			w->is_found = false; /* another firmware, perhaps: from the root again */
		if (rc < 0)
			return rc;
		if (!(v.has & 1u << w->kind))
			return errmsg_set(err, -ENODATA, "%s%s: no %s now", w->conf->url, path,
					  redfish_kind_name(w->kind));
		sum.value += v.value[w->kind];
		if (v.window_ns > sum.window_ns)
			sum.window_ns = v.window_ns;
	}
	sum.t_ns = clock_mono_ns();
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

static void tell_chassis(const struct redfish_walk *w, const struct chassis *c, void (*tell)(const char *))
{
	const struct chassis *around = container_of_power(w, c);
	struct line l = { 0 };

	line_add(&l, "chassis %s", id_of(c->path).text);
	line_add_values(&l, &c->values[REDFISH_ENVIRONMENT]);
	if (!kinds_of(c))
		line_add(&l, ": shows no power");
	else if (is_shared(c))
		line_add(&l, ": not counted, it belongs to several systems; Chassis=%s counts it",
			 id_of(c->path).text);
	else if (around)
		line_add(&l, ": not counted, it is within chassis %s", id_of(around->path).text);
	else
		line_add(&l, ": counted, by %s", redfish_kind_name(w->kind));
	tell(l.text);
}

static void tell_control(const struct redfish_walk *w, const struct control *k, void (*tell)(const char *))
{
	const struct chassis *c = &w->chassis[k->chassis];
	bool is_used = c->is_used && redfish_kind_resource(w->kind) == REDFISH_POWER &&
		       (w->conf->controls & 1u << k->index);
	struct line l = { 0 };

	line_add(&l, "chassis %s PowerControl[%u]%s%s%s", id_of(c->path).text, k->index,
		 k->name[0] ? " (" : "", k->name, k->name[0] ? ")" : "");
	line_add_values(&l, &k->values);
	if (!k->values.has)
		line_add(&l, ": shows no power");
	line_add(&l, is_used ? ": counted" : ": not counted");
	if (c->is_used && redfish_kind_resource(w->kind) == REDFISH_POWER && !is_used)
		line_add(&l, ", usually part of the first entry; PowerControl=%u counts it", k->index);
	tell(l.text);
}

void redfish_walk_tell(struct redfish_walk *w, void (*tell)(const char *line))
{
	size_t i, k;

	if (w->is_told)
		return;
	w->is_told = true;
	if (w->note[0])
		tell(w->note);
	for (i = 0; i < w->nchassis; i++) {
		tell_chassis(w, &w->chassis[i], tell);
		for (k = 0; k < w->ncontrols; k++)
			if (w->control[k].chassis == i)
				tell_control(w, &w->control[k], tell);
	}
}

void redfish_walk_describe(const struct redfish_walk *w, char *buf, size_t size)
{
	struct line l = { 0 };
	const char *sep = " of chassis ";
	unsigned int bit;
	size_t i;

	line_add(&l, "%s", redfish_kind_name(w->kind));
	for (i = 0; i < w->nchassis; i++) {
		if (!w->chassis[i].is_used)
			continue;
		line_add(&l, "%s%s", sep, id_of(w->chassis[i].path).text);
		sep = " + ";
		for (bit = 0; redfish_kind_resource(w->kind) == REDFISH_POWER && bit < REDFISH_CONTROLS;
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
	w->is_told = true; /* nothing was found yet */
	(void)snprintf(w->uuid, sizeof(w->uuid), "%s", uuid);
	rc = redfish_client_create(conf, stop_fd, &w->client, err);
	if (rc < 0) {
		free(w);
		return rc;
	}
	*ret = w;
	return 0;
}

void redfish_walk_destroy(struct redfish_walk *w)
{
	if (!w)
		return;
	redfish_client_destroy(w->client);
	free(w);
}
