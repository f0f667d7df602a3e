/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BMCs of all shapes, made by a generator and broken by it: never a value that no sensor showed, never
 * twice, never another node's, never a cut without a word. Each chassis shows its own power of two, so a
 * sum tells what is in it. The client is one of the test's own, which answers from memory.
 * `test_redfish_trees SEED` shows one tree.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "src/helpers/redfish/redfish_stuck.h"
#include "src/helpers/redfish/redfish_walk.h"
#include "src/libutil/util.h"
#include "rnd.h"
#include "tap.h"

#define TREES 3000
#define CHASSIS 18
#define SYSTEMS 3
#define V1 "/redfish/v1"

/* --- the BMC ------------------------------------------------------------------------------ */

struct resource {
	char path[96];
	int status;
	char body[4096];
};

static struct resource resources[256];
static size_t nresources;

static struct resource *resource_of(const char *path)
{
	size_t i;

	for (i = 0; i < nresources; i++) {
		size_t len = strlen(resources[i].path);

		if (!strncmp(resources[i].path, path, len) && (!path[len] || !strcmp(path + len, "/")))
			return &resources[i];
	}
	return NULL;
}

int redfish_client_create(const struct redfish_conf *conf, int stop_fd, struct redfish_client **ret,
			  struct errmsg *err)
{
	(void)conf;
	(void)stop_fd;
	(void)err;
	*ret = NULL;
	return 0;
}

void redfish_client_listen(struct redfish_client *c, redfish_client_heard *heard)
{
	(void)c;
	(void)heard;
}

void redfish_client_destroy(struct redfish_client *c)
{
	(void)c;
}

int redfish_client_get(struct redfish_client *c, const char *path, const char **ret_text, size_t *ret_len,
		       struct errmsg *err)
{
	const struct resource *r = resource_of(path);
	int status = r ? r->status : 404;

	(void)c;
	if (status != 200)
		return errmsg_set(err,
				  status == 404 ? -ENOENT :
				  status == 403 ? -EPERM :
						  -EREMOTEIO,
				  "https://bmc%s: HTTP %d", path, status);
	*ret_text = r->body;
	*ret_len = strlen(r->body);
	return 0;
}

/* --- the tree ----------------------------------------------------------------------------- */

enum breakage {
	WHOLE,
	STATUS,	  /* an HTTP status */
	TWO,	  /* two documents */
	TWICE,	  /* one value twice */
	NO_VALUE, /* null */
	ABSURD,	  /* a value that cannot be */
	HARMLESS, /* must not matter: an annotation twice, bytes that are not UTF-8, text for a number */
	BREAKAGES,
};

struct chassis {
	char path[96];
	char id[16];
	int owner;			  /* system; -1: of all */
	int parent;			  /* -1: none */
	bool says_within, is_told_within; /* ContainedBy; the parent's Contains */
	bool is_linked, names_system;
	bool has_env, has_power, has_joules;
	enum breakage broken, env_broken, power_broken;
};

static struct chassis chassis[CHASSIS];
static int nchassis, nsystems;
static bool system_broken[SYSTEMS];
static bool is_clean; /* nothing is broken, and all links are there */
static bool is_page_lost;

static bool one_in(unsigned int n)
{
	return rnd(n) == 0;
}

static void add(const char *path, enum breakage broken, const char *fmt, ...) _printf_(3, 4);
static void add(const char *path, enum breakage broken, const char *fmt, ...)
{
	static const int statuses[] = { 500, 501, 503, 403, 404 };
	bool is_power = strstr(path, "/Power") || strstr(path, "/Env"); /* no other is linked and not there */
	struct resource *r = &resources[nresources++];
	char body[2048];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(body, sizeof(body), fmt, ap);
	va_end(ap);
	(void)snprintf(r->path, sizeof(r->path), "%s", path);
	r->status = broken == STATUS ? statuses[rnd(is_power ? 5 : 4)] : 200;
	(void)snprintf(r->body, sizeof(r->body), "%s%s{%s%s}", broken == TWO ? "{\"error\":{}}\n" : "",
		       one_in(8) ? " " : "",
		       broken == HARMLESS ? "\"Name\":\"\xff\xc3(\",\"@odata.type\":1,\"@odata.type\":2," :
					    "",
		       body);
}

static enum breakage breakage(unsigned int rarity)
{
	return is_clean || !one_in(rarity) ? WHOLE : (enum breakage)(1 + rnd(BREAKAGES - 1));
}

/* Whether a resource that is broken so can be read at all. */
static bool is_readable(enum breakage b)
{
	return b != STATUS && b != TWO;
}

static bool shows(const struct chassis *c)
{
	if (!is_readable(c->broken))
		return false;
	return (c->has_env && is_readable(c->env_broken) && c->env_broken != TWICE &&
		c->env_broken != NO_VALUE && c->env_broken != ABSURD) ||
	       (c->has_power && is_readable(c->power_broken) && c->power_broken != TWICE &&
		c->power_broken != NO_VALUE && c->power_broken != ABSURD);
}

/* The number 2^I thousandths, as the resource that is broken so has it. */
static void put_number(char *buf, size_t size, int i, enum breakage b, const char *name)
{
	double value = (double)(1u << i) / 1e3;

	if (b == NO_VALUE)
		(void)snprintf(buf, size, "\"%s\":null", name);
	else if (b == ABSURD)
		(void)snprintf(buf, size, "\"%s\":%s", name, one_in(2) ? "-7" : "\"7 W\"");
	else if (b == HARMLESS)
		(void)snprintf(buf, size, "\"%s\":\"%.3f\"", name, value);
	else if (b == TWICE)
		(void)snprintf(buf, size, "\"%s\":%.3f,\"%s\":1", name, value, name);
	else
		(void)snprintf(buf, size, "\"%s\":%.3f", name, value);
}

static void add_power(const struct chassis *c, int i)
{
	char path[128], number[128];

	(void)snprintf(path, sizeof(path), "%s/EnvironmentMetrics", c->path);
	put_number(number, sizeof(number), i, c->env_broken, "Reading");
	if (c->has_env && c->has_joules && c->env_broken == WHOLE)
		add(path, WHOLE, "\"PowerWatts\":{%s},\"EnergyJoules\":{\"Reading\":%.6f}", number,
		    (double)(1u << i) / 1e6);
	else if (c->has_env)
		add(path, c->env_broken, "\"PowerWatts\":{%s}", number);
	(void)snprintf(path, sizeof(path), "%s/Power", c->path);
	put_number(number, sizeof(number), i, c->power_broken, "PowerConsumedWatts");
	if (c->has_power && one_in(4))
		add(path, c->power_broken, "\"PowerControl\":{%s}", number);
	else if (c->has_power)
		add(path, c->power_broken, "\"PowerControl\":[%s{%s}]", one_in(4) ? "null," : "", number);
}

static void add_chassis(int i)
{
	const struct chassis *c = &chassis[i];
	char links[1500] = "\"Oem\":{}";
	size_t used = strlen(links);
	const char *sep = "";
	int k;

	if (c->names_system) {
		used += (size_t)snprintf(links + used, sizeof(links) - used, ",\"ComputerSystems\":[%s",
					 !is_clean && one_in(8) ? "null," : "");
		for (k = 0; k < nsystems; k++)
			if (c->owner == k || c->owner < 0) {
				used += (size_t)snprintf(links + used, sizeof(links) - used,
							 "%s{\"@odata.id\":\"" V1 "/Systems/S%d\"}", sep, k);
				sep = ",";
			}
		used += (size_t)snprintf(links + used, sizeof(links) - used, "]");
	}
	if (c->says_within)
		used += (size_t)snprintf(links + used, sizeof(links) - used,
					 ",\"ContainedBy\":{\"@odata.id\":\"%s%s\"}", chassis[c->parent].path,
					 one_in(4) ? "/" : "");
	used += (size_t)snprintf(links + used, sizeof(links) - used, ",\"Contains\":[");
	for (k = 0, sep = ""; k < nchassis; k++)
		if (chassis[k].parent == i && chassis[k].is_told_within) {
			used += (size_t)snprintf(links + used, sizeof(links) - used,
						 "%s{\"@odata.id\":\"%s\"}", sep, chassis[k].path);
			sep = ",";
		}
	(void)snprintf(links + used, sizeof(links) - used, "]");
	if (c->has_env && c->has_power)
		add(c->path, c->broken,
		    "\"Links\":{%s},\"EnvironmentMetrics\":{\"@odata.id\":\"%s/EnvironmentMetrics\"},"
		    "\"Power\":{\"@odata.id\":\"%s/Power\"}",
		    links, c->path, c->path);
	else if (c->has_env || c->has_power)
		add(c->path, c->broken, "\"Links\":{%s},\"%s\":{\"@odata.id\":\"%s/%s\"}", links,
		    c->has_env ? "EnvironmentMetrics" : "Power", c->path,
		    c->has_env ? "EnvironmentMetrics" : "Power");
	else
		add(c->path, c->broken, "\"Links\":{%s}", links);
	if (is_readable(c->broken))
		add_power(c, i);
}

static void make_chassis(int i)
{
	struct chassis *c = &chassis[i];
	const struct chassis *p;

	*c = (struct chassis){ .parent = i && !one_in(3) ? (int)rnd((unsigned int)i) : -1,
			       .owner = one_in(6) && nsystems > 1 ? -1 : (int)rnd((unsigned int)nsystems) };
	p = c->parent >= 0 ? &chassis[c->parent] : NULL;
	if (p && p->owner >= 0)
		c->owner = p->owner;
	(void)snprintf(c->id, sizeof(c->id), "C%da", i);
	c->says_within = p && (is_clean || one_in(2));
	c->is_told_within = p && !c->says_within;
	if (p && one_in(5) && strlen(p->path) < 60)
		(void)snprintf(c->path, sizeof(c->path), "%s/%s", p->path, c->id);
	else
		(void)snprintf(c->path, sizeof(c->path), V1 "/Chassis/%s", c->id);
	c->is_linked = is_clean || one_in(2);
	c->names_system = is_clean || one_in(2);
	c->has_env = one_in(3);
	c->has_power = c->has_env ? one_in(3) : one_in(2);
	c->has_joules = one_in(2);
	c->broken = breakage(10);
	c->env_broken = breakage(8);
	c->power_broken = breakage(8);
}

static void add_collections(void)
{
	char path[96] = V1 "/Chassis", members[2000], links[1500];
	int i, k, page, per_page = 1 + (int)rnd(CHASSIS);
	bool has_count = one_in(2);
	size_t used = 0;

	add(V1 "/", WHOLE,
	    "\"Systems\":{\"@odata.id\":\"" V1 "/Systems\"},\"Chassis\":{\"@odata.id\":\"" V1 "/Chassis\"}");
	for (i = 0, members[0] = '\0'; i < nsystems; i++)
		used += (size_t)snprintf(members + used, sizeof(members) - used,
					 "%s{\"@odata.id\":\"" V1 "/Systems/S%d\"}", i ? "," : "", i);
	add(V1 "/Systems", WHOLE, "\"Members\":[%s]", members);
	for (i = 0; i < nsystems; i++) {
		const char *sep = "";

		for (k = 0, used = 0, links[0] = '\0'; k < nchassis; k++)
			if (chassis[k].is_linked && (chassis[k].owner == i || chassis[k].owner < 0)) {
				used += (size_t)snprintf(links + used, sizeof(links) - used,
							 "%s{\"@odata.id\":\"%s\"}", sep, chassis[k].path);
				sep = ",";
			}
		(void)snprintf(path, sizeof(path), V1 "/Systems/S%d", i);
		add(path, system_broken[i] ? STATUS : WHOLE,
		    "\"UUID\":\"00000000-0000-0000-0000-10000000000%d\",\"Links\":{\"Chassis\":[%s]}", i,
		    links);
	}
	(void)snprintf(path, sizeof(path), V1 "/Chassis");
	for (i = 0, page = 1; i < nchassis; page++) {
		char next[64];

		for (k = i, used = 0, members[0] = '\0'; i < nchassis && i < k + per_page; i++)
			used += (size_t)snprintf(members + used, sizeof(members) - used,
						 "%s{\"@odata.id\":\"%s\"}", i > k ? "," : "",
						 chassis[i].path);
		(void)snprintf(next, sizeof(next), V1 "/Chassis?$skip=%d", i);
		if (i < nchassis && !is_clean && one_in(20)) { /* the rest is just not there */
			add(path, WHOLE, "\"Members@odata.count\":%d,\"Members\":[%s]", nchassis, members);
			is_page_lost = true;
			return;
		}
		is_page_lost = !is_clean && page > 1 && one_in(20);
		add(path, is_page_lost ? STATUS : WHOLE, "%s%d,\"Members\":[%s]%s%s%s",
		    has_count ? "\"Members@odata.count\":" : "\"Any\":", nchassis, members,
		    i < nchassis ? ",\"Members@odata.nextLink\":\"" : "", i < nchassis ? next : "",
		    i < nchassis ? "\"" : "");
		if (is_page_lost)
			return;
		(void)snprintf(path, sizeof(path), "%s", next);
	}
}

static void make_tree(uint32_t seed)
{
	int i;

	rng = seed + 1;
	for (i = 0; i < 8; i++) /* seeds that are near each other begin alike */
		(void)rnd(2);
	nresources = 0;
	is_clean = seed % 3 == 0;
	is_page_lost = false;
	nsystems = 1 + (int)rnd(SYSTEMS);
	nchassis = 1 + (int)rnd(one_in(2) ? 4 : CHASSIS);
	for (i = 0; i < SYSTEMS; i++)
		system_broken[i] = !is_clean && i && one_in(10);
	for (i = 0; i < nchassis; i++)
		make_chassis(i);
	add_collections();
	for (i = 0; i < nchassis; i++)
		add_chassis(i);
}

/* --- what may be known of it -------------------------------------------------------------- */

/*
 * Whether the BMC says, in what can be read, that I is within OUTER; of what cannot be read the truth
 * counts.
 */
static bool is_within(int i, int outer)
{
	int p = chassis[i].parent;
	bool is_told;

	if (p < 0)
		return false;
	is_told = (chassis[i].says_within || !is_readable(chassis[i].broken)) ||
		  (chassis[i].is_told_within && is_readable(chassis[p].broken)) ||
		  !strncmp(chassis[i].path, chassis[p].path, strlen(chassis[p].path));
	return is_told && (p == outer || is_within(p, outer));
}

static bool is_other(int i)
{
	const struct chassis *c = &chassis[i];
	int k;

	if (c->names_system && is_readable(c->broken) && (c->owner > 0 || (c->owner < 0 && nsystems > 1)))
		return true;
	for (k = 1; k < nsystems; k++)
		if (c->is_linked && !system_broken[k] && (c->owner == k || c->owner < 0))
			return true;
	return false;
}

static bool has_other(int i)
{
	int k;

	for (k = 0; k < nchassis; k++)
		if ((k == i || is_within(k, i)) && is_other(k))
			return true;
	return false;
}

static bool is_in_mask(int i, uint64_t mask)
{
	return mask >> i & 1;
}

static bool is_in_counted(int i, uint64_t mask)
{
	int k;

	for (k = 0; k < nchassis; k++)
		if (is_in_mask(k, mask) && is_within(i, k))
			return true;
	return false;
}

static bool contains_counted(int i, uint64_t mask)
{
	int k;

	for (k = 0; k < nchassis; k++)
		if (is_in_mask(k, mask) && is_within(k, i))
			return true;
	return false;
}

/* --- the properties ----------------------------------------------------------------------- */

static char told[32768];
static const char *broken_rule;

static void take_line(const char *line)
{
	size_t used = strlen(told);

	(void)snprintf(told + used, sizeof(told) - used, "%s\n", line);
}

static void rule(bool is_kept, const char *what)
{
	if (!is_kept && !broken_rule)
		broken_rule = what;
}

static bool is_mine_by_link(int i)
{
	return chassis[i].is_linked && chassis[i].owner <= 0 && !has_other(i);
}

static void check_sum(uint64_t mask)
{
	int i;

	rule(mask && mask >> nchassis == 0, "a value that no sensor showed");
	for (i = 0; i < nchassis; i++) {
		const struct chassis *c = &chassis[i];

		if (is_in_mask(i, mask)) {
			rule(shows(c), "a value that no sensor showed");
			rule(!has_other(i), "another node's power");
			rule(!is_in_counted(i, mask), "power counted twice");
			continue;
		}
		if (!is_mine_by_link(i) || is_in_counted(i, mask) || contains_counted(i, mask))
			continue;
		rule(!shows(c), "a part is missing in the sum");
		if ((c->has_env || c->has_power) && c->broken != WHOLE && c->broken != HARMLESS)
			rule(strstr(told, c->id) != NULL, "a cut without a word");
	}
	if (is_page_lost)
		rule(strstr(told, "list of Chassis is cut") != NULL, "a page lost without a word");
}

/* In a tree with nothing broken, the sum is that of the node's outermost chassis that show power. */
static uint64_t clean_mask(void)
{
	uint64_t mask = 0;
	int i, k;

	for (i = 0; i < nchassis; i++) {
		bool is_inner = false;

		for (k = 0; k < nchassis; k++)
			is_inner |= is_within(i, k) && is_mine_by_link(k) && shows(&chassis[k]);
		if (is_mine_by_link(i) && shows(&chassis[i]) && !is_inner)
			mask |= UINT64_C(1) << i;
	}
	return mask;
}

/* What was found stays: if one of it fails, there is no value rather than the sum of the others. */
static void check_failure(struct redfish_walk *w, uint64_t mask)
{
	struct redfish_sample s = { 0 };
	struct errmsg err = { 0 };
	char path[128];
	int i;

	rule(redfish_walk_ask(w, &s, &err) == 0 && s.value == mask, "another sum the second time");
	for (i = 0; i < nchassis; i++) {
		size_t k;

		if (!is_in_mask(i, mask))
			continue;
		(void)snprintf(path, sizeof(path), "%s/", chassis[i].path);
		for (k = 0; k < nresources; k++) /* its Power and EnvironmentMetrics */
			if (!strncmp(resources[k].path, path, strlen(path)) &&
			    !strchr(resources[k].path + strlen(path), '/'))
				resources[k].status += 1000;
		rule(redfish_walk_ask(w, &s, &err) < 0 && strstr(err.text, path), "a sum of what was left");
		for (k = 0; k < nresources; k++)
			resources[k].status %= 1000;
	}
}

static unsigned int values, errors;

/* With Chassis=C0a,C2a: these two, if they are there and can be read, whatever belongs to whom. */
static void check_named(int rc, uint64_t mask, const struct errmsg *err)
{
	int i;

	if (nchassis < 3 && !is_page_lost)
		rule(rc == -ENODEV && strstr(err->text, "no chassis C2a; it has C0a"),
		     "a chassis that is not there, without a word");
	if (rc < 0)
		return;
	rule(!(mask & ~UINT64_C(5)), "another chassis than the named");
	for (i = 0; i <= 2; i += 2) {
		rule(is_readable(chassis[i].broken), "a named chassis that cannot be read, without a word");
		if (i && chassis[i].parent == 1 && !chassis[i].says_within)
			continue; /* what stands between the two is not asked */
		rule(!is_in_mask(i, mask) || !is_in_counted(i, mask), "power counted twice");
		rule(is_in_mask(i, mask) == (shows(&chassis[i]) && !is_in_counted(i, mask)),
		     "another sum of the named");
	}
}

static bool try_tree(uint32_t seed, const char *chassis_names)
{
	static const char uuid[] = "00000000-0000-0000-0000-100000000000";
	struct redfish_conf conf = { .url = "https://bmc", .controls = 1 };
	struct redfish_sample s = { 0 };
	struct redfish_walk *w = NULL;
	struct errmsg err = { 0 };
	size_t used;
	int rc;

	make_tree(seed);
	told[0] = '\0';
	broken_rule = NULL;
	(void)snprintf(conf.chassis, sizeof(conf.chassis), "%s", chassis_names);
	if (redfish_walk_create(&conf, uuid, -1, &w, &err) < 0)
		return false;
	rc = redfish_walk_ask(w, &s, &err);
	redfish_walk_tell(w, take_line);
	used = strlen(told);
	redfish_walk_describe(w, told + used, sizeof(told) - used);
	if (chassis_names[0]) {
		check_named(rc, s.value, &err);
	} else if (rc == 0) {
		check_sum(s.value);
		check_failure(w, s.value);
		values++;
	} else {
		rule(err.text[0] && !strchr(err.text, '\n'), "an error without a word");
		errors++;
	}
	if (is_clean && clean_mask() && !chassis_names[0])
		rule(rc == 0 && s.value == clean_mask(), "a whole tree is read otherwise");
	redfish_walk_destroy(w);
	if (!broken_rule)
		return true;
	diag("tree %u: %s; sum %llx, whole %llx: %s\n%s", seed, broken_rule, (unsigned long long)s.value,
	     (unsigned long long)clean_mask(), err.text, told);
	return false;
}

/* --- machines as they are ----------------------------------------------------------------- */

#define LINK(path) "{\"@odata.id\":\"" V1 path "\"}"
#define LINKS(what) "\"Links\":{" what "}"
#define WATTS(n) "\"PowerWatts\":{\"Reading\":" n "}"
#define CONSUMED(n) "\"PowerControl\":[{\"PowerConsumedWatts\":" n "}]"
#define ENV(path) "\"EnvironmentMetrics\":" LINK(path "/EnvironmentMetrics")
#define POWER(path) "\"Power\":" LINK(path "/Power")
#define S0 "/Systems/S0"
#define UUID0 "\"UUID\":\"00000000-0000-0000-0000-100000000000\""
#define OF_S0 "\"ComputerSystems\":[" LINK(S0) "]"
#define SENSOR(id) "/Chassis/S0/Sensors/" id
#define WITHIN(path) "\"ContainedBy\":" LINK(path)

static const struct machine {
	const char *what;
	const char *key, *value; /* of the configuration; NULL: nothing */
	uint64_t mw;		 /* 0: an error */
	const char *says;	 /* in the error, or in what is told */
	struct {
		const char *path;
		const char *body; /* a number is an HTTP status */
	} r[12];
} machines[] = {
	{ "the power is in the chassis around the linked one, which names the system (GB300)",
	  NULL,
	  NULL,
	  1349264,
	  "PowerWatts of chassis Main",
	  { { "/Systems", "\"Members\":[" LINK(S0) "," LINK("/Systems/HGX") "]" },
	    { S0, UUID0 "," LINKS("\"Chassis\":[" LINK("/Chassis/BMC") "]") },
	    { "/Systems/HGX", LINKS("\"Chassis\":[" LINK("/Chassis/HGX") "]") },
	    { "/Chassis", "\"Members\":[" LINK("/Chassis/BMC") "," LINK("/Chassis/HGX") "," LINK(
				  "/Chassis/GPU") "," LINK("/Chassis/Main") "]" },
	    { "/Chassis/BMC", ENV("/Chassis/BMC") "," LINKS(OF_S0 "," WITHIN("/Chassis/Main")) },
	    { "/Chassis/BMC/EnvironmentMetrics", WATTS("8") },
	    { "/Chassis/Main", ENV("/Chassis/Main") "," LINKS(OF_S0) },
	    { "/Chassis/Main/EnvironmentMetrics", WATTS("1349.263802") },
	    { "/Chassis/HGX", "\"Id\":\"HGX\"" },
	    { "/Chassis/GPU", ENV("/Chassis/GPU") "," LINKS(WITHIN("/Chassis/HGX")) },
	    { "/Chassis/GPU/EnvironmentMetrics", WATTS("231") } } },
	{ "the power is within the linked chassis (S2600)",
	  NULL,
	  NULL,
	  312000,
	  "PowerConsumedWatts of chassis Baseboard PowerControl[0]",
	  { { "/Systems", "\"Members\":[" LINK(S0) "]" },
	    { S0, LINKS("\"Chassis\":[" LINK("/Chassis/RackMount") "]") },
	    { "/Chassis",
	      "\"Members\":[" LINK("/Chassis/RackMount") "," LINK("/Chassis/RackMount/Baseboard") "]" },
	    { "/Chassis/RackMount", LINKS("\"Contains\":[]") },
	    { "/Chassis/RackMount/Baseboard", POWER("/Chassis/RackMount/Baseboard") },
	    { "/Chassis/RackMount/Baseboard/Power", CONSUMED("312") } } },
	{ "two nodes without links: that of the system's Id (a Cray node controller)",
	  NULL,
	  NULL,
	  312000,
	  "no chassis is linked with system S0; the one with its Id is taken",
	  { { "/Systems", "\"Members\":[" LINK("/Systems/S1") "," LINK(S0) "]" },
	    { S0, UUID0 },
	    { "/Systems/S1", "\"Id\":\"S1\"" },
	    { "/Chassis", "\"Members\":[" LINK("/Chassis/S0") "," LINK("/Chassis/S1") "]" },
	    { "/Chassis/S0", POWER("/Chassis/S0") },
	    { "/Chassis/S1", POWER("/Chassis/S1") },
	    { "/Chassis/S0/Power", CONSUMED("312") },
	    { "/Chassis/S1/Power", CONSUMED("400") } } },
	{ "two nodes without links or Ids",
	  NULL,
	  NULL,
	  0,
	  "chassis A shows 312.0 W, but no link says that it is this node: Chassis=A counts it",
	  { { "/Systems", "\"Members\":[" LINK("/Systems/S1") "," LINK(S0) "]" },
	    { S0, UUID0 },
	    { "/Systems/S1", "\"Id\":\"S1\"" },
	    { "/Chassis", "\"Members\":[" LINK("/Chassis/A") "," LINK("/Chassis/B") "]" },
	    { "/Chassis/A", POWER("/Chassis/A") },
	    { "/Chassis/B", POWER("/Chassis/B") },
	    { "/Chassis/A/Power", CONSUMED("312") },
	    { "/Chassis/B/Power", CONSUMED("400") } } },
	{ "one system, two chassis that show power, and no links",
	  NULL,
	  NULL,
	  0,
	  "2 chassis show power, and no link says which are this node: A (312.0 W), B (400.0 W): set Chassis",
	  { { "/Systems", "\"Members\":[" LINK(S0) "]" },
	    { S0, UUID0 },
	    { "/Chassis", "\"Members\":[" LINK("/Chassis/A") "," LINK("/Chassis/B") "]" },
	    { "/Chassis/A", POWER("/Chassis/A") },
	    { "/Chassis/B", POWER("/Chassis/B") },
	    { "/Chassis/A/Power", CONSUMED("312") },
	    { "/Chassis/B/Power", CONSUMED("400") } } },
	{ "a blade, whose enclosure shows the power of all blades",
	  NULL,
	  NULL,
	  0,
	  "chassis Enc shows 1800.0 W, but no link says that it is this node: Chassis=Enc counts it",
	  { { "/Systems", "\"Members\":[" LINK(S0) "]" },
	    { S0, LINKS("\"Chassis\":[" LINK("/Chassis/Blade") "]") },
	    { "/Chassis", "\"Members\":[" LINK("/Chassis/Blade") "," LINK("/Chassis/Enc") "]" },
	    { "/Chassis/Blade", LINKS(WITHIN("/Chassis/Enc")) },
	    { "/Chassis/Enc", "\"ChassisType\":\"Enclosure\"," POWER("/Chassis/Enc") },
	    { "/Chassis/Enc/Power", CONSUMED("1800") } } },
	{ "what contains the node cannot be read",
	  NULL,
	  NULL,
	  0,
	  "chassis Main, which contains others of the node, cannot be read: HTTP 503",
	  { { "/Systems", "\"Members\":[" LINK(S0) "]" },
	    { S0, LINKS("\"Chassis\":[" LINK("/Chassis/Main") "," LINK("/Chassis/GPU") "]") },
	    { "/Chassis", "\"Members\":[]" },
	    { "/Chassis/Main", "503" },
	    { "/Chassis/GPU", ENV("/Chassis/GPU") "," LINKS(WITHIN("/Chassis/Main")) },
	    { "/Chassis/GPU/EnvironmentMetrics", WATTS("231") } } },
	{ "a part cannot be read",
	  NULL,
	  NULL,
	  312000,
	  "PowerConsumedWatts without Riser of chassis Main PowerControl[0]",
	  { { "/Systems", "\"Members\":[" LINK(S0) "]" },
	    { S0, LINKS("\"Chassis\":[" LINK("/Chassis/Main") "," LINK("/Chassis/Riser") "]") },
	    { "/Chassis", "\"Members\":[]" },
	    { "/Chassis/Main", POWER("/Chassis/Main") },
	    { "/Chassis/Main/Power", CONSUMED("312") },
	    { "/Chassis/Riser", "500" } } },
	{ "the same, and it is named",
	  "Chassis",
	  "Main,Riser",
	  0,
	  "/Chassis/Riser: HTTP 500",
	  { { "/Chassis", "\"Members\":[" LINK("/Chassis/Main") "," LINK("/Chassis/Riser") "]" },
	    { "/Chassis/Main", POWER("/Chassis/Main") },
	    { "/Chassis/Main/Power", CONSUMED("312") },
	    { "/Chassis/Riser", "500" } } },
	{ "one chassis shows PowerWatts, the other PowerConsumedWatts",
	  NULL,
	  NULL,
	  332000,
	  "of chassis Main PowerControl[0] + Psu",
	  { { "/Systems", "\"Members\":[" LINK(S0) "]" },
	    { S0, LINKS("\"Chassis\":[" LINK("/Chassis/Main") "," LINK("/Chassis/Psu") "]") },
	    { "/Chassis", "\"Members\":[]" },
	    { "/Chassis/Main", POWER("/Chassis/Main") },
	    { "/Chassis/Main/Power", CONSUMED("312") },
	    { "/Chassis/Psu", ENV("/Chassis/Psu") },
	    { "/Chassis/Psu/EnvironmentMetrics", WATTS("20") } } },
	{ "the second page has the node",
	  NULL,
	  NULL,
	  312000,
	  "of chassis Main",
	  { { "/Systems", "\"Members\":[" LINK(S0) "]" },
	    { S0, UUID0 },
	    { "/Chassis",
	      "\"Members\":[" LINK("/Chassis/A") "],\"Members@odata.nextLink\":\"" V1 "/Chassis?$skip=1\"" },
	    { "/Chassis?$skip=1", "\"Members\":[" LINK("/Chassis/Main") "]" },
	    { "/Chassis/A", "\"Id\":\"A\"" },
	    { "/Chassis/Main", POWER("/Chassis/Main") "," LINKS(OF_S0) },
	    { "/Chassis/Main/Power", CONSUMED("312") } } },
	{ "a member that is listed twice, and a list that is text",
	  NULL,
	  NULL,
	  312000,
	  "system S0: Links.Chassis is not a list; left out",
	  { { "/Systems", "\"Members\":[" LINK(S0) "]" },
	    { S0, LINKS("\"Chassis\":\"/redfish/v1/Chassis/Main\"") },
	    { "/Chassis", "\"Members@odata.count\":2,\"Members\":[" LINK("/Chassis/Main") "," LINK(
				  "/Chassis/Main/") "]" },
	    { "/Chassis/Main", POWER("/Chassis/Main") },
	    { "/Chassis/Main/Power", CONSUMED("312") } } },
	{ "the second page is the first again",
	  NULL,
	  NULL,
	  0,
	  "the list of Chassis is cut after page 1: its pages have no end): set Chassis",
	  { { "/Systems", "\"Members\":[" LINK(S0) "]" },
	    { S0, UUID0 },
	    { "/Chassis",
	      "\"Members\":[" LINK("/Chassis/Main") "],\"Members@odata.nextLink\":\"" V1 "/Chassis\"" },
	    { "/Chassis/Main", POWER("/Chassis/Main") "," LINKS(OF_S0) },
	    { "/Chassis/Main/Power", CONSUMED("312") } } },
	{ "a chassis that is not there",
	  "Chassis",
	  "Main,Tray",
	  0,
	  "no chassis Tray; it has Main",
	  { { "/Chassis", "\"Members\":[" LINK("/Chassis/Main") "]" },
	    { "/Chassis/Main", POWER("/Chassis/Main") },
	    { "/Chassis/Main/Power", CONSUMED("312") } } },
	{ "a chassis with a blank in its name",
	  "Chassis",
	  "Drive Bay 1",
	  312000,
	  "of chassis Drive%20Bay%201",
	  { { "/Chassis", "\"Members\":[" LINK("/Chassis/Drive Bay 1") "]" },
	    { "/Chassis/Drive%20Bay%201", POWER("/Chassis/Drive Bay 1") },
	    { "/Chassis/Drive%20Bay%201/Power", CONSUMED("312") } } },
	{ "only the second entry of PowerControl shows watts",
	  NULL,
	  NULL,
	  0,
	  "chassis Main PowerControl[1] (System) shows 312.0 W: PowerControl=1 counts it",
	  { { "/Systems", "\"Members\":[" LINK(S0) "]" },
	    { S0, LINKS("\"Chassis\":[" LINK("/Chassis/Main") "]") },
	    { "/Chassis", "\"Members\":[" LINK("/Chassis/Main") "]" },
	    { "/Chassis/Main", POWER("/Chassis/Main") },
	    { "/Chassis/Main/Power", "\"PowerControl\":[{\"Name\":\"Limit\"},"
				     "{\"Name\":\"System\",\"PowerConsumedWatts\":312}]" } } },
	{ "only the maker's part shows watts",
	  NULL,
	  NULL,
	  0,
	  "the maker's part shows 150.0 W; if this is the whole node, PowerAt=\"" V1
	  "/Chassis/Main/Power#/Oem/maker/Chassis/CurrentPowerW\" counts it",
	  { { "/Systems", "\"Members\":[" LINK(S0) "]" },
	    { S0, LINKS("\"Chassis\":[" LINK("/Chassis/Main") "]") },
	    { "/Chassis", "\"Members\":[" LINK("/Chassis/Main") "]" },
	    { "/Chassis/Main", POWER("/Chassis/Main") },
	    { "/Chassis/Main/Power", "\"PowerControl\":[],\"Oem\":{\"maker\":{\"Limits\":{\"MaxPowerW\":900},"
				     "\"Chassis\":{\"AveragePowerW\":140,"
				     "\"CurrentPowerW\":150}}}" } } },
	{ "the same, with PowerAt",
	  "PowerAt",
	  V1 "/Chassis/Main/Power#/Oem/maker/Chassis/CurrentPowerW",
	  150000,
	  V1 "/Chassis/Main/Power#/Oem/maker/Chassis/CurrentPowerW",
	  { { "/Chassis/Main/Power", "\"Oem\":{\"maker\":{\"Chassis\":{\"CurrentPowerW\":150}}}" } } },
	{ "PowerAt that leads nowhere",
	  "PowerAt",
	  V1 "/Chassis/Main/Power#/Oem/other",
	  0,
	  V1 "/Chassis/Main/Power: no value at /Oem/other now",
	  { { "/Chassis/Main/Power", "\"Oem\":{\"maker\":{\"Chassis\":{\"CurrentPowerW\":150}}}" } } },
	{ "only a sensor shows watts",
	  NULL,
	  NULL,
	  0,
	  "sensor total_power shows 312.0 W; if this is the whole node, PowerAt=\"" V1
	  "/Chassis/Main/Sensors/total_power#/Reading\" counts it",
	  { { "/Systems", "\"Members\":[" LINK(S0) "]" },
	    { S0, LINKS("\"Chassis\":[" LINK("/Chassis/Main") "]") },
	    { "/Chassis", "\"Members\":[" LINK("/Chassis/Main") "]" },
	    { "/Chassis/Main", "\"Sensors\":" LINK("/Chassis/Main/Sensors") },
	    { "/Chassis/Main/Sensors", "\"Members\":[" LINK("/Chassis/Main/Sensors/cpu_power") "," LINK(
					       "/Chassis/Main/Sensors/total_power") "]" },
	    { "/Chassis/Main/Sensors/cpu_power", "\"Reading\":60" },
	    { "/Chassis/Main/Sensors/total_power", "\"Reading\":312" } } },
	{ "two systems with this machine's UUID, as in DMTF's public-compose-action",
	  NULL,
	  NULL,
	  0,
	  "2 of its 2 systems (S0, S1) have this machine's UUID 00000000-0000-0000-0000-100000000000: "
	  "set System",
	  { { "/Systems", "\"Members\":[" LINK(S0) "," LINK("/Systems/S1") "]" },
	    { S0, UUID0 "," LINKS("\"Chassis\":[" LINK("/Chassis/A") "]") },
	    { "/Systems/S1", UUID0 "," LINKS("\"Chassis\":[" LINK("/Chassis/B") "]") },
	    { "/Chassis", "\"Members\":[" LINK("/Chassis/A") "," LINK("/Chassis/B") "]" },
	    { "/Chassis/A", POWER("/Chassis/A") },
	    { "/Chassis/B", POWER("/Chassis/B") },
	    { "/Chassis/A/Power", CONSUMED("312") },
	    { "/Chassis/B/Power", CONSUMED("400") } } },
	{ "a virtual machine with its host's UUID, as in DMTF's public-applications",
	  NULL,
	  NULL,
	  312000,
	  "PowerConsumedWatts of chassis Main",
	  { { "/Systems", "\"Members\":[" LINK("/Systems/VM1") "," LINK(S0) "]" },
	    { "/Systems/VM1", "\"SystemType\":\"Virtual\"," UUID0 },
	    { S0, "\"SystemType\":\"Physical\"," UUID0 "," LINKS("\"Chassis\":[" LINK("/Chassis/Main") "]") },
	    { "/Chassis", "\"Members\":[" LINK("/Chassis/Main") "]" },
	    { "/Chassis/Main", POWER("/Chassis/Main") "," LINKS(OF_S0) },
	    { "/Chassis/Main/Power", CONSUMED("312") } } },
	{ "a card whose DPU is a system of its own, as in DMTF's public-smartnic",
	  NULL,
	  NULL,
	  312000,
	  "chassis Card: PowerWatts 75.0 W: not counted, it is within chassis Main",
	  { { "/Systems", "\"Members\":[" LINK(S0) "," LINK("/Systems/SoC") "]" },
	    { S0, "\"SystemType\":\"Physical\"," UUID0 "," LINKS("\"Chassis\":[" LINK("/Chassis/Main") "]") },
	    { "/Systems/SoC", "\"SystemType\":\"DPU\"," LINKS("\"Chassis\":[" LINK("/Chassis/Card") "]") },
	    { "/Chassis", "\"Members\":[" LINK("/Chassis/Main") "," LINK("/Chassis/Card") "]" },
	    { "/Chassis/Main", ENV("/Chassis/Main") "," LINKS(OF_S0) },
	    { "/Chassis/Main/EnvironmentMetrics", WATTS("312") },
	    { "/Chassis/Card", ENV("/Chassis/Card") "," LINKS("\"ComputerSystems\":[" LINK(
				       "/Systems/SoC") "]," WITHIN("/Chassis/Main")) },
	    { "/Chassis/Card/EnvironmentMetrics", WATTS("75") } } },
	{ "the card alone shows power",
	  NULL,
	  NULL,
	  0,
	  "chassis Card shows 75.0 W, but belongs to several systems: Chassis=Card counts it",
	  { { "/Systems", "\"Members\":[" LINK(S0) "," LINK("/Systems/SoC") "]" },
	    { S0, "\"SystemType\":\"Physical\"," UUID0 "," LINKS("\"Chassis\":[" LINK("/Chassis/Main") "]") },
	    { "/Systems/SoC", "\"SystemType\":\"DPU\"," LINKS("\"Chassis\":[" LINK("/Chassis/Card") "]") },
	    { "/Chassis", "\"Members\":[" LINK("/Chassis/Main") "," LINK("/Chassis/Card") "]" },
	    { "/Chassis/Main", LINKS(OF_S0) },
	    { "/Chassis/Card", ENV("/Chassis/Card") "," LINKS(WITHIN("/Chassis/Main")) },
	    { "/Chassis/Card/EnvironmentMetrics", WATTS("75") } } },
	{ "the DPU itself is the node",
	  NULL,
	  NULL,
	  75000,
	  "chassis Main: PowerWatts 312.0 W: not counted, it belongs to several systems",
	  { { "/Systems", "\"Members\":[" LINK("/Systems/Host") "," LINK(S0) "]" },
	    { "/Systems/Host",
	      "\"SystemType\":\"Physical\"," LINKS("\"Chassis\":[" LINK("/Chassis/Main") "]") },
	    { S0, "\"SystemType\":\"DPU\"," UUID0 "," LINKS("\"Chassis\":[" LINK("/Chassis/Card") "]") },
	    { "/Chassis", "\"Members\":[" LINK("/Chassis/Main") "," LINK("/Chassis/Card") "]" },
	    { "/Chassis/Main", ENV("/Chassis/Main") },
	    { "/Chassis/Main/EnvironmentMetrics", WATTS("312") },
	    { "/Chassis/Card", ENV("/Chassis/Card") "," LINKS(OF_S0 "," WITHIN("/Chassis/Main")) },
	    { "/Chassis/Card/EnvironmentMetrics", WATTS("75") } } },
	{ "many sensors of parts, a current, and the node's input (Cray EX)",
	  NULL,
	  NULL,
	  0,
	  "alone; sensor ChassisVoltageRegulator0InputPower (Node) shows 467.0 W; if this is the whole node",
	  { { "/Systems", "\"Members\":[" LINK(S0) "]" },
	    { S0, UUID0 },
	    { "/Chassis", "\"Members\":[" LINK("/Chassis/Mezz") "," LINK("/Chassis/S0") "]" },
	    { "/Chassis/Mezz", "\"Sensors\":" LINK("/Chassis/Mezz/Sensors") },
	    { "/Chassis/Mezz/Sensors",
	      "\"Members\":[" LINK("/Chassis/Mezz/Sensors/SystemPowerCurrent") "," LINK(
		      "/Chassis/Mezz/Sensors/PowerA") "]" },
	    { "/Chassis/Mezz/Sensors/SystemPowerCurrent", "\"Reading\":0.7,\"ReadingUnits\":\"A\"" },
	    { "/Chassis/Mezz/Sensors/PowerA",
	      "\"Name\":\"Outlet A1\",\"Reading\":427,\"ReadingUnits\":\"W\"" },
	    { "/Chassis/S0", "\"Sensors\":" LINK("/Chassis/S0/Sensors") },
	    { "/Chassis/S0/Sensors",
	      "\"Members\":[" LINK(SENSOR("MemorySubsystem1Power")) "," LINK(SENSOR(
		      "Chassis2InputPower")) "," LINK(SENSOR("ChassisVoltageRegulator0InputPower")) "]" },
	    { SENSOR("MemorySubsystem1Power"), "\"Reading\":8,\"ReadingUnits\":\"W\"" },
	    { SENSOR("Chassis2InputPower"),
	      "\"Name\":\"PDB INRUSH CPU\",\"Reading\":311.6,\"ReadingUnits\":\"W\"" },
	    { SENSOR("ChassisVoltageRegulator0InputPower"),
	      "\"Name\":\"Node\",\"Reading\":467,\"ReadingType\":\"Power\",\"ReadingUnits\":\"W\"" } } },
};

static void make_machine(const struct machine *m)
{
	size_t i;

	nresources = 0;
	add(V1 "/", WHOLE, "\"Chassis\":" LINK("/Chassis") "%s",
	    m->r[0].path && !strcmp(m->r[0].path, "/Systems") ? ",\"Systems\":" LINK("/Systems") : "");
	for (i = 0; i < ARRAY_SIZE(m->r) && m->r[i].path; i++) {
		char path[96];

		(void)snprintf(path, sizeof(path), V1 "%s", m->r[i].path);
		add(path, WHOLE, "%s", m->r[i].body);
		if (strspn(m->r[i].body, "0123456789") == 3)
			resources[nresources - 1].status = atoi(m->r[i].body);
	}
}

static void test_machine(const struct machine *m)
{
	struct redfish_conf conf = { .url = "https://bmc", .controls = 1 };
	struct redfish_sample s = { 0 };
	struct redfish_walk *w = NULL;
	struct errmsg err = { 0 };
	size_t used;
	int rc;

	make_machine(m);
	told[0] = '\0';
	if (m->key)
		(void)snprintf(!strcmp(m->key, "Chassis") ? conf.chassis : conf.power_at,
			       sizeof(conf.chassis), "%s", m->value);
	if (redfish_walk_create(&conf, "00000000-0000-0000-0000-100000000000", -1, &w, &err) < 0)
		return;
	rc = redfish_walk_ask(w, &s, &err);
	redfish_walk_tell(w, take_line);
	used = strlen(told);
	redfish_walk_describe(w, told + used, sizeof(told) - used);
	redfish_walk_destroy(w);
	is_u64(rc == 0 ? s.value : 0, m->mw, m->what);
	if (!ok(strstr(m->mw ? told : err.text, m->says) != NULL, "  says: %s", m->says))
		diag("%s\n%s", err.text, told);
}

/*
 * What could not be read at first is counted as soon as it can, and what was counted is never lost in
 * silence.
 */
static void test_return(void)
{
	struct redfish_conf conf = { .url = "https://bmc", .controls = 1 };
	struct redfish_sample first = { 0 }, s = { 0 };
	struct redfish_walk *w = NULL;
	struct errmsg err = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(machines) && strcmp(machines[i].what, "a part cannot be read") != 0; i++)
		;
	make_machine(&machines[i]);
	if (redfish_walk_create(&conf, "", -1, &w, &err) < 0)
		return;
	ok(redfish_walk_ask(w, &first, &err) == 0, "without a part");
	resource_of(V1 "/Chassis/Riser")->status = 200;
	(void)snprintf(resource_of(V1 "/Chassis/Riser")->body, 200, "{%s}", ENV("/Chassis/Riser"));
	add(V1 "/Chassis/Riser/EnvironmentMetrics", WHOLE, WATTS("20"));
	redfish_walk_search_now(w);
	is_u64(redfish_walk_ask(w, &s, &err) == 0 ? s.value : 0, 332000, "  which counts once it is there");
	ok(s.set != first.set, "  as another set of chassis");
	ok(first.is_partial && !s.is_partial, "  without it the sum was partial");
	resource_of(V1 "/Chassis/Main")->status = 500;
	redfish_walk_search_now(w);
	is_u64(redfish_walk_ask(w, &s, &err) == 0 ? s.value : 0, 332000, "  and what is known stays");
	redfish_walk_destroy(w);
}

/* Asks COUNT times, each 10 s after the other, of a node that draws W and a counter that grows by STEP_J. */
static bool is_stuck(struct redfish_stuck *s, unsigned int count, uint64_t w, uint64_t step_j)
{
	bool is_it = false;

	while (count--)
		is_it = redfish_stuck_note(s, s->uj + step_j * 1000000, w * 1000,
					   s->t_ns + UINT64_C(10000000000));
	return is_it;
}

static void test_stuck(void)
{
	struct redfish_stuck s = { 0 };

	ok(!is_stuck(&s, 100, 0, 0), "a counter that stands still, and no power: no doubt");
	ok(!is_stuck(&s, 6, 300, 0), "300 W for a minute may be less than its step");
	ok(is_stuck(&s, 2, 300, 0), "  longer is not");
	ok(!is_stuck(&s, 1, 300, 36000), "  until it moves, by 36 kJ");
	ok(!is_stuck(&s, 40, 300, 0), "one with such steps may stand still for longer");
	ok(is_stuck(&s, 10, 300, 0), "  but not for ever");
	ok(!is_stuck(&s, 1000, 300, 3000), "one that counts");
}

int main(int argc, char **argv)
{
	unsigned int seed, bad = 0;
	size_t i;

	if (argc > 1) {
		(void)try_tree((uint32_t)strtoul(argv[1], NULL, 10), "");
		for (i = 0; i < nresources; i++)
			(void)printf("%s %d %s\n", resources[i].path, resources[i].status, resources[i].body);
		(void)printf("%s", told);
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(machines); i++)
		test_machine(&machines[i]);
	test_return();
	test_stuck();
	for (seed = 1; seed <= TREES && bad < 10; seed++)
		bad += !try_tree(seed, "") || !try_tree(seed, "C0a,C2a");
	ok(!bad, "%d trees: no value that no sensor showed, no silent cut", TREES);
	ok(values > TREES / 4 && errors > TREES / 20, "  %u sums and %u errors", values, errors);
	return done_testing();
}
