/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* strcasestr */
#include "src/helpers/redfish/redfish_tree.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "src/libutil/clock.h"
#include "src/libutil/items.h"
#include "src/libutil/util.h"

/* More than this is not a node, nor a rack: a search without end must not fill the memory. */
#define CHASSIS_MAX 1024
#define PAGES_MAX 256
#define SEARCH_S 120
#define TIMEOUTS_MAX 2
#define UUID_SIZE 40

static const char *const resource_link[REDFISH_RESOURCES] = {
	[REDFISH_ENVIRONMENT] = "EnvironmentMetrics",
	[REDFISH_POWER] = "Power",
};

/* --- names -------------------------------------------------------------------------------- */

struct redfish_id redfish_id_of(const char *path)
{
	size_t len = strlen(path);
	struct redfish_id id;
	size_t from;

	len -= len && path[len - 1] == '/';
	for (from = len; from && path[from - 1] != '/'; from--)
		;
	(void)snprintf(id.text, sizeof(id.text), "%.*s", (int)(len - from), path + from);
	return id;
}

static bool is_listed(const char *list, const char *path)
{
	const struct redfish_id id = redfish_id_of(path);
	char item[sizeof(id.text)], encoded[3 * sizeof(id.text)];

	while (items_next(&list, item, sizeof(item)))
		if (!strcmp(item, id.text) ||
		    (redfish_json_encode(item, encoded, sizeof(encoded)) == 0 && !strcmp(encoded, id.text)))
			return true;
	return false;
}

static bool paths_have(const struct redfish_paths *p, const char *path)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (redfish_path_is_same(p->path[i], path))
			return true;
	return false;
}

/* "A, B and 43 more" */
static void join_ids(const struct redfish_paths *p, char *buf, size_t size)
{
	size_t used = 0;
	size_t i;

	(void)snprintf(buf, size, "none");
	for (i = 0; i < p->n; i++) {
		const struct redfish_id id = redfish_id_of(p->path[i]);

		if (used + strlen(id.text) + sizeof(" and 1024 more") > size) {
			(void)snprintf(buf + used, size - used, " and %zu more", p->n - i);
			return;
		}
		used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "", id.text);
	}
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

/* Whether UUID is one. All zeros or ones are a firmware's default (SMBIOS 3.x, 7.2.1). */
static bool is_uuid(const char *uuid)
{
	return strlen(uuid) == 36 && strspn(uuid, "0-") != 36 && strspn(uuid, "Ff-") != 36;
}

/* --- what is left out --------------------------------------------------------------------- */

void redfish_tree_note(struct redfish_tree *t, const char *fmt, ...)
{
	size_t used = t->notes ? strlen(t->notes) : 0;
	char line[300];
	va_list ap;
	char *more;

	if (t->nnotes++ >= REDFISH_NOTES_MAX)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	more = realloc(t->notes, used + strlen(line) + 2);
	if (!more)
		return;
	(void)snprintf(more + used, strlen(line) + 2, "%s\n", line);
	t->notes = more;
}

/* The reason in ERR without the address, which the client puts before it. */
static const char *short_why(const struct errmsg *err, const char *path)
{
	const char *at = strstr(err->text, path);

	return at && at[strlen(path)] == ':' ? at + strlen(path) + 2 : err->text;
}

int redfish_tree_get(struct redfish_tree *t, const char *path, const char **ret_text, size_t *ret_len,
		     struct errmsg *err)
{
	if (clock_mono_ns() > t->until_ns)
		return errmsg_set(
			err, -ETIMEDOUT,
			"%s: the search took longer than %d s, with %zu chassis: name the node's in "
			"Chassis",
			t->conf->url, SEARCH_S, t->nchassis);
	return redfish_client_get(t->client, path, ret_text, ret_len, err);
}

/* Whether the error RC is of one resource only, so that the rest can be used. */
static bool is_of_resource(struct redfish_tree *t, int rc)
{
	if (rc == -ETIMEDOUT) /* a resource may hang; a BMC that does not answer is not asked for all */
		return clock_mono_ns() <= t->until_ns && ++t->timeouts <= TIMEOUTS_MAX;
	return rc == -ENOENT || rc == -EPERM || rc == -EREMOTEIO || rc == -EINVAL || rc == -EMSGSIZE ||
	       rc == -ERANGE || rc == -ENODATA;
}

/* --- collections -------------------------------------------------------------------------- */

/* Adds the members of the page at PATH; PATH becomes that of the next page, "" is the end. */
static int read_page(struct redfish_tree *t, char *path, size_t size, struct redfish_paths *ret,
		     size_t *listed, long *count, struct errmsg *err)
{
	struct errmsg bad = { 0 }, why = { 0 };
	const char *text;
	size_t n = 0;
	size_t len;
	long total;
	int rc = redfish_tree_get(t, path, &text, &len, err);

	if (rc < 0)
		return rc;
	rc = redfish_json_links(text, len, "Members", ret, &n, &bad, &why);
	if (rc < 0)
		return errmsg_set(err, rc, "%s%s: %s", t->conf->url, path, why.text);
	if (n)
		redfish_tree_note(t, "%s: %s; left out", path, bad.text);
	total = redfish_json_count(text, len, &n);
	*listed += n;
	if (*count < 0)
		*count = total;
	rc = redfish_json_next(text, len, path, size, &why);
	if (rc == -ENOENT)
		path[0] = '\0';
	return rc == -ENOENT ? 0 : rc < 0 ? errmsg_set(err, rc, "%s%s: %s", t->conf->url, path, why.text) : 0;
}

/*
 * All members of the collection that the service root's NAME links to. -ENOENT: it has none. *RET_LACKS:
 * some are not listed, which is noted.
 */
static int read_collection(struct redfish_tree *t, const char *name, struct redfish_paths *ret,
			   bool *ret_lacks, struct errmsg *err)
{
	struct redfish_paths pages = { 0 };
	struct errmsg why = { 0 };
	char path[REDFISH_PATH_MAX];
	const char *text;
	size_t listed = 0;
	long count = -1;
	size_t len, at = 0;
	int rc = redfish_tree_get(t, REDFISH_ROOT, &text, &len, err);

	if (rc < 0)
		return rc;
	rc = redfish_json_link(text, len, name, path, sizeof(path), &why);
	if (rc < 0)
		return errmsg_set(err, rc, "%s" REDFISH_ROOT ": %s: %s", t->conf->url, name, why.text);
	while (path[0] && at == pages.n && at < PAGES_MAX) {
		rc = redfish_paths_add(&pages, path, NULL);
		if (rc == 0)
			rc = read_page(t, path, sizeof(path), ret, &listed, &count, &why);
		if (rc < 0)
			break;
		for (at = 0; at < pages.n && !redfish_path_is_same(pages.path[at], path); at++)
			;
	}
	if (rc < 0 && (!ret->n || !is_of_resource(t, rc))) {
		redfish_paths_free(&pages);
		return errmsg_set(err, rc == -ENOENT ? -EREMOTEIO : rc, "%s", why.text);
	}
	if (rc < 0 || path[0]) {
		redfish_tree_note(t, "the list of %s is cut after page %zu: %s", name, pages.n,
				  rc < 0 ? why.text : "its pages have no end");
		*ret_lacks = true;
	} else if (count > (long)listed) {
		redfish_tree_note(t, "the list of %s is cut: it has %zu of %ld members", name, listed, count);
		*ret_lacks = true;
	}
	redfish_paths_free(&pages);
	return 0;
}

/* --- the system --------------------------------------------------------------------------- */

/* Whether a system of the SystemType TYPE runs within another system's hardware, and with its power. */
static bool is_part_type(const char *type)
{
	return !strcmp(type, "DPU") || !strcmp(type, "Virtual") || !strcmp(type, "OS");
}

/* Reads the system with the index I: its chassis, UUID and type. */
static int read_system(struct redfish_tree *t, size_t i, char *uuid, struct errmsg *err)
{
	const char *path = t->systems.path[i];
	struct errmsg bad = { 0 };
	size_t skipped = 0, len;
	char type[16];
	const char *text;
	int rc = redfish_tree_get(t, path, &text, &len, err);

	if (rc == 0)
		rc = redfish_json_links(text, len, "Links.Chassis", &t->system_chassis[i], &skipped, &bad,
					err);
	if (rc < 0)
		return rc;
	if (skipped)
		redfish_tree_note(t, "system %s: %s; left out", redfish_id_of(path).text, bad.text);
	if (redfish_json_text(text, len, "UUID", uuid, UUID_SIZE) && !is_uuid(uuid))
		uuid[0] = '\0';
	(void)redfish_json_text(text, len, "SystemType", type, sizeof(type));
	t->is_system_part[i] = is_part_type(type);
	return 0;
}

/*
 * Chooses of the systems MATCHING, which have the machine's UUID: the only one, or the only one that is no
 * part. Some BMCs give the same UUID to several.
 */
static int choose_by_uuid(struct redfish_tree *t, const bool *matching, struct errmsg *err)
{
	struct redfish_paths whole = { 0 }, part = { 0 };
	struct redfish_paths *of;
	char ids[128];
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < t->systems.n; i++)
		if (matching[i])
			rc = redfish_paths_add(t->is_system_part[i] ? &part : &whole, t->systems.path[i],
					       NULL);
	of = whole.n ? &whole : &part;
	if (rc == 0 && of->n == 1)
		(void)snprintf(t->system, sizeof(t->system), "%s", of->path[0]);
	join_ids(of, ids, sizeof(ids));
	if (rc == 0 && of->n > 1)
		rc = errmsg_set(err, -ENODEV,
				"%s: %zu of its %zu systems (%s) have this machine's UUID %s: set System",
				t->conf->url, of->n, t->systems.n, ids, t->uuid);
	redfish_paths_free(&whole);
	redfish_paths_free(&part);
	return rc == -ENOMEM ? errmsg_errno(err, rc, "%s", t->conf->url) : rc;
}

static int find_among(struct redfish_tree *t, bool *matching, struct errmsg *err)
{
	const char *wanted = t->conf->system;
	bool is_only = t->systems.n == 1 && !t->is_system_missing;
	struct errmsg why = { 0 };
	char uuid[UUID_SIZE];
	char ids[128];
	size_t i;
	int rc;

	for (i = 0; i < t->systems.n; i++) {
		const char *path = t->systems.path[i];

		rc = read_system(t, i, uuid, err);
		if (rc < 0 && (!is_of_resource(t, rc) || is_only || (wanted[0] && is_listed(wanted, path))))
			return rc;
		if (rc < 0) {
			t->is_system_missing = true;
			why = *err;
			redfish_tree_note(t, "system %s is left out: %s", redfish_id_of(path).text,
					  short_why(err, path));
			continue;
		}
		matching[i] = !wanted[0] && !is_only && is_same_uuid(uuid, t->uuid);
		if (!t->system[0] && (wanted[0] ? is_listed(wanted, path) : is_only))
			(void)snprintf(t->system, sizeof(t->system), "%s", path);
		if (!wanted[0] && is_only && uuid[0] && t->uuid[0] && !is_same_uuid(uuid, t->uuid))
			redfish_tree_note(
				t, "system %s has UUID %s, this machine %s: is URL this node's own BMC?",
				redfish_id_of(path).text, uuid, t->uuid);
	}
	rc = choose_by_uuid(t, matching, err);
	if (rc < 0)
		return rc;
	join_ids(&t->systems, ids, sizeof(ids));
	if (wanted[0] && !t->system[0])
		return errmsg_set(err, -ENODEV, "%s: no system %s; it has %s", t->conf->url, wanted, ids);
	if (t->systems.n && !t->system[0])
		return errmsg_set(
			err, -ENODEV,
			"%s: none of its %zu systems (%s) has this machine's UUID %s: set System%s%s",
			t->conf->url, t->systems.n, ids, t->uuid[0] ? t->uuid : "(not known)",
			why.text[0] ? "; one cannot be read: " : "", why.text);
	return 0;
}

/* Reads all systems, since each tells which chassis are not this node's. */
static int find_system(struct redfish_tree *t, struct errmsg *err)
{
	_cleanup_free_ bool *matching = NULL;
	int rc = read_collection(t, "Systems", &t->systems, &t->is_system_missing, err);

	if (rc < 0 && rc != -ENOENT)
		return rc;
	t->system_chassis = calloc(t->systems.n + 1, sizeof(*t->system_chassis));
	t->is_system_part = calloc(t->systems.n + 1, sizeof(*t->is_system_part));
	matching = calloc(t->systems.n + 1, sizeof(*matching));
	if (!t->system_chassis || !t->is_system_part || !matching)
		return errmsg_errno(err, -ENOMEM, "%s", t->conf->url);
	return find_among(t, matching, err);
}

/* --- the chassis -------------------------------------------------------------------------- */

/* Adds the chassis at PATH to the list, once. */
static int add_chassis(struct redfish_tree *t, const char *path, bool is_linked, struct errmsg *err)
{
	struct redfish_chassis *c;
	size_t i;

	for (i = 0; i < t->nchassis; i++)
		if (redfish_path_is_same(t->chassis[i].path, path))
			return 0;
	if (t->nchassis == CHASSIS_MAX)
		return errmsg_set(err, -ENODEV, "%s: has more than %d chassis: name the node's in Chassis",
				  t->conf->url, CHASSIS_MAX);
	c = realloc(t->chassis, (t->nchassis + 1) * sizeof(*c));
	if (!c)
		return errmsg_errno(err, -ENOMEM, "%s", t->conf->url);
	t->chassis = c;
	c = &t->chassis[t->nchassis++];
	*c = (struct redfish_chassis){ .is_linked = is_linked };
	(void)snprintf(c->path, sizeof(c->path), "%s", path);
	return 0;
}

static int add_all(struct redfish_tree *t, const struct redfish_paths *p, bool is_linked, struct errmsg *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < p->n; i++)
		rc = add_chassis(t, p->path[i], is_linked, err);
	return rc;
}

/* Keeps why C, or its resource WHAT, is not known. */
static void leave_out(struct redfish_chassis *c, const char *what, const char *why)
{
	(void)snprintf(c->why, sizeof(c->why), "%s%s%s", what, what[0] ? ": " : "", why);
}

/*
 * What the chassis with index I links to. IS_SINGLE: Chassis names it alone, so what is around it does not
 * matter.
 */
static int read_chassis(struct redfish_tree *t, size_t i, bool is_single, struct errmsg *err)
{
	struct redfish_chassis *c = &t->chassis[i];
	struct errmsg bad = { 0 };
	char path[REDFISH_PATH_MAX];
	size_t skipped = 0, len;
	const char *text;
	unsigned int r;
	int rc = redfish_tree_get(t, c->path, &text, &len, err);

	if (rc == 0)
		rc = redfish_json_links(text, len, "Links.ComputerSystems", &c->systems, &skipped, &bad, err);
	if (rc < 0 && (!is_of_resource(t, rc) || (t->conf->chassis[0] && c->is_linked)))
		return rc;
	if (rc < 0) {
		leave_out(c, "", short_why(err, c->path));
		c->is_absent = rc == -ENOENT;
		return 0;
	}
	if (skipped)
		redfish_tree_note(t, "chassis %s: %s; left out", redfish_id_of(c->path).text, bad.text);
	c->is_read = true;
	(void)redfish_json_text(text, len, "ChassisType", c->type, sizeof(c->type));
	if (redfish_json_link(text, len, "Links.ContainedBy", c->within, sizeof(c->within), NULL) < 0)
		c->within[0] = '\0';
	rc = redfish_json_links(text, len, "Links.Contains", &c->contains, &skipped, &bad, err);
	if (rc == 0 && skipped)
		redfish_tree_note(t, "chassis %s: %s; left out", redfish_id_of(c->path).text, bad.text);
	for (r = 0; rc == 0 && r < REDFISH_RESOURCES; r++) {
		if (redfish_json_link(text, len, resource_link[r], c->resource[r], REDFISH_PATH_MAX, &bad) ==
		    -EINVAL)
			leave_out(c, resource_link[r], bad.text);
	}
	if (rc < 0 || is_single)
		return rc;
	(void)snprintf(path, sizeof(path), "%s", c->within); /* adding moves C */
	if (path[0])
		rc = add_chassis(t, path, false, err);
	for (skipped = 0; rc == 0 && skipped < t->chassis[i].contains.n; skipped++)
		rc = add_chassis(t, t->chassis[i].contains.path[skipped], false, err);
	return rc;
}

static int find_named(struct redfish_tree *t, const struct redfish_paths *all, struct errmsg *err)
{
	const char *list = t->conf->chassis;
	char name[64], ids[256];
	size_t i;
	int rc = 0;

	join_ids(all, ids, sizeof(ids));
	while (rc == 0 && items_next(&list, name, sizeof(name))) {
		bool is_there = false;

		for (i = 0; rc == 0 && i < all->n; i++) {
			if (!is_listed(name, all->path[i]))
				continue;
			is_there = true;
			rc = add_chassis(t, all->path[i], true, err);
		}
		if (rc == 0 && !is_there)
			rc = errmsg_set(err, -ENODEV, "%s: no chassis %s; it has %s%s", t->conf->url, name,
					ids, t->is_chassis_missing ? ", and its list is not whole" : "");
	}
	return rc;
}

static int find_chassis(struct redfish_tree *t, struct errmsg *err)
{
	struct redfish_paths all = { 0 };
	bool is_single;
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < t->systems.n; i++)
		if (!strcmp(t->systems.path[i], t->system))
			rc = add_all(t, &t->system_chassis[i], true, err);
	if (rc == 0)
		rc = read_collection(t, "Chassis", &all, &t->is_chassis_missing, err);
	if (rc < 0 && t->nchassis && is_of_resource(t, rc)) {
		redfish_tree_note(t, "the list of chassis is left out: %s", err->text);
		t->is_chassis_missing = true;
		rc = 0;
	}
	if (rc == 0)
		rc = t->conf->chassis[0] ? find_named(t, &all, err) : add_all(t, &all, false, err);
	redfish_paths_free(&all);
	is_single = t->conf->chassis[0] && t->nchassis == 1;
	for (i = 0; rc == 0 && i < t->nchassis; i++)
		rc = read_chassis(t, i, is_single, err);
	return rc;
}

/* --- what contains what ------------------------------------------------------------------- */

/* Whether OUTER says it contains INNER, or INNER that it is within OUTER, or INNER's path does. */
static bool is_directly_in(const struct redfish_chassis *inner, const struct redfish_chassis *outer)
{
	size_t len = strlen(outer->path);

	len -= len && outer->path[len - 1] == '/';
	return (inner->within[0] && redfish_path_is_same(inner->within, outer->path)) ||
	       paths_have(&outer->contains, inner->path) ||
	       (!strncmp(inner->path, outer->path, len) && inner->path[len] == '/' && inner->path[len + 1]);
}

/* Marks the chassis around I, at any distance. Links may go in circles. */
static void mark_around(struct redfish_tree *t, size_t i, size_t of)
{
	size_t j;

	for (j = 0; j < t->nchassis; j++) {
		bool *in = &t->around[of * t->nchassis + j];

		if (*in || j == of || !is_directly_in(&t->chassis[i], &t->chassis[j]))
			continue;
		*in = true;
		mark_around(t, j, of);
	}
}

bool redfish_tree_is_in(const struct redfish_tree *t, size_t inner, size_t outer)
{
	return t->around[inner * t->nchassis + outer];
}

/* Whether C belongs to a system that IS_PART, or is not, and is not the node's. */
static bool belongs_to(const struct redfish_tree *t, const struct redfish_chassis *c, bool is_part)
{
	size_t i, k;

	for (i = 0; i < c->systems.n; i++) {
		bool is_of_part = false;

		for (k = 0; k < t->systems.n; k++)
			is_of_part |= t->is_system_part[k] &&
				      redfish_path_is_same(t->systems.path[k], c->systems.path[i]);
		if (is_of_part == is_part &&
		    (t->system[0] ? !redfish_path_is_same(c->systems.path[i], t->system) : i > 0))
			return true;
	}
	for (i = 0; t->system[0] && i < t->systems.n; i++)
		if (t->is_system_part[i] == is_part && strcmp(t->systems.path[i], t->system) != 0 &&
		    paths_have(&t->system_chassis[i], c->path))
			return true;
	return false;
}

static int link_chassis(struct redfish_tree *t, struct errmsg *err)
{
	size_t i, j;

	t->around = calloc(t->nchassis * t->nchassis + 1, sizeof(*t->around));
	if (!t->around)
		return errmsg_errno(err, -ENOMEM, "%s", t->conf->url);
	for (i = 0; i < t->nchassis; i++)
		mark_around(t, i, i);
	for (i = 0; i < t->nchassis; i++) {
		struct redfish_chassis *c = &t->chassis[i];

		c->names_node = t->system[0] && paths_have(&c->systems, t->system);
		if (!c->names_node && !c->is_linked && belongs_to(t, c, /* is_part= */ true))
			c->is_other = true; /* such as a DPU's card, but not what contains it */
		if (!belongs_to(t, c, /* is_part= */ false))
			continue;
		c->is_other = true;
		for (j = 0; j < t->nchassis; j++)
			t->chassis[j].is_other |= redfish_tree_is_in(t, i, j);
	}
	return 0;
}

/* --- the power of a chassis --------------------------------------------------------------- */

unsigned int redfish_chassis_kinds(const struct redfish_chassis *c)
{
	return c->values[REDFISH_ENVIRONMENT].has | c->values[REDFISH_POWER].has;
}

static int add_controls(struct redfish_tree *t, size_t chassis, const char *text, size_t len,
			struct errmsg *err)
{
	unsigned int first;
	size_t n = redfish_json_controls(text, len, &first);
	unsigned int i;

	if (n > REDFISH_CONTROLS)
		redfish_tree_note(t, "chassis %s: only %d of the %zu entries of PowerControl are listed",
				  redfish_id_of(t->chassis[chassis].path).text, REDFISH_CONTROLS, n);
	for (i = first; i < n && i < REDFISH_CONTROLS; i++) {
		struct redfish_control *c = realloc(t->control, (t->ncontrols + 1) * sizeof(*c));
		char name[32];

		if (!c)
			return errmsg_errno(err, -ENOMEM, "%s", t->conf->url);
		t->control = c;
		c = &t->control[t->ncontrols++];
		*c = (struct redfish_control){ .chassis = chassis, .index = i, .is_first = i == first };
		(void)snprintf(name, sizeof(name), "PowerControl.%u.Name", i);
		(void)redfish_json_text(text, len, name, c->name, sizeof(c->name));
		if (redfish_json_values(text, len, REDFISH_POWER, 1u << i, &c->values, NULL) < 0)
			c->values = (struct redfish_values){ 0 }; /* an entry without a value now */
	}
	return 0;
}

static int read_resource(struct redfish_tree *t, size_t i, enum redfish_resource resource, struct errmsg *err)
{
	struct redfish_chassis *c = &t->chassis[i];
	const char *path = c->resource[resource];
	const char *text;
	size_t len;
	int rc = redfish_tree_get(t, path, &text, &len, err);

	if (rc == 0 && resource == REDFISH_POWER)
		rc = add_controls(t, i, text, len, err);
	if (rc < 0)
		return rc;
	err->text[0] = '\0';
	return redfish_json_values(text, len, resource, t->conf->controls, &c->values[resource], err);
}

int redfish_tree_ask(struct redfish_tree *t, size_t i, struct errmsg *err)
{
	struct redfish_chassis *c = &t->chassis[i];
	unsigned int r;

	if (c->is_asked || !c->is_read)
		return 0;
	c->is_asked = true;
	for (r = 0; r < REDFISH_RESOURCES; r++) {
		int rc = c->resource[r][0] ? read_resource(t, i, (enum redfish_resource)r, err) : 0;

		if (rc < 0 && !is_of_resource(t, rc))
			return rc;
		if (rc == -ENODATA || !c->resource[r][0])
			continue;
		if (rc < 0 || err->text[0])
			leave_out(c, resource_link[r], short_why(err, c->resource[r]));
	}
	if (redfish_chassis_kinds(c) && c->why[0]) { /* another property, or the other resource, tells */
		redfish_tree_note(t, "chassis %s %s; left out", redfish_id_of(c->path).text, c->why);
		c->why[0] = '\0';
	} else if (!c->why[0] && (c->values[REDFISH_ENVIRONMENT].unknown | c->values[REDFISH_POWER].unknown))
		(void)snprintf(c->why, sizeof(c->why), "shows no power now");
	return 0;
}

/* --- the search --------------------------------------------------------------------------- */

int redfish_tree_read(const struct redfish_conf *conf, struct redfish_client *client, const char *uuid,
		      struct redfish_tree *t, struct errmsg *err)
{
	int rc;

	*t = (struct redfish_tree){ .conf = conf, .client = client, .uuid = is_uuid(uuid) ? uuid : "" };
	t->until_ns = clock_mono_ns() + SEARCH_S * NSEC_PER_SEC;
	rc = conf->chassis[0] ? 0 : find_system(t, err);
	if (rc == 0)
		rc = find_chassis(t, err);
	return rc == 0 ? link_chassis(t, err) : rc;
}

void redfish_tree_destroy(struct redfish_tree *t)
{
	size_t i;

	for (i = 0; t->system_chassis && i < t->systems.n; i++)
		redfish_paths_free(&t->system_chassis[i]);
	for (i = 0; i < t->nchassis; i++) {
		redfish_paths_free(&t->chassis[i].contains);
		redfish_paths_free(&t->chassis[i].systems);
	}
	redfish_paths_free(&t->systems);
	free(t->system_chassis);
	free(t->is_system_part);
	free(t->chassis);
	free(t->around);
	free(t->control);
	free(t->notes);
	*t = (struct redfish_tree){ 0 };
}
