/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/helpers/redfish_walk.h"

#include <errno.h>
#include <string.h>

#include "src/libutil/clock.h"
#include "src/libutil/util.h"

#define SERVICE_ROOT "/redfish/v1/"

/* A node has a few chassis (board, GPU tray, risers); a chassis manager of a rack some dozen. */
#define CHASSIS_MAX 32

struct redfish_walk {
	const struct redfish_conf *conf;
	struct redfish_client *client;
	char path[REDFISH_PATH_MAX]; /* of the resource; empty: not found yet */
	enum redfish_resource resource;
	enum redfish_kind kind;
};

/* In the order of preference. */
static const struct {
	enum redfish_resource resource;
	const char *link;
} resources[] = {
	{ REDFISH_ENVIRONMENT, "EnvironmentMetrics" },
	{ REDFISH_POWER, "Power" },
};

static int get_values(struct redfish_walk *w, const char *path, enum redfish_resource resource,
		      struct redfish_values *ret, uint64_t *ret_ns, struct errmsg *err)
{
	struct errmsg why = { 0 };
	const char *text;
	size_t len;
	int rc = redfish_client_get(w->client, path, &text, &len, err);

	if (rc < 0)
		return rc;
	*ret_ns = clock_mono_ns();
	rc = redfish_json_values(text, len, resource, ret, &why);
	return rc < 0 ? errmsg_set(err, rc, "%s%s: %s", w->conf->url, path, why.text) : 0;
}

/* The kind that is there and comes first. */
static enum redfish_kind best_kind(const struct redfish_values *v)
{
	unsigned int kind = 0;

	while (!(v->has & 1u << kind))
		kind++;
	return (enum redfish_kind)kind;
}

/* -ENOENT: this chassis has nothing to show. */
static int try_chassis(struct redfish_walk *w, const char *chassis, struct errmsg *err)
{
	char path[ARRAY_SIZE(resources)][REDFISH_PATH_MAX] = { "" };
	struct redfish_values values;
	const char *text;
	uint64_t t_ns;
	size_t len;
	size_t i;
	int rc = redfish_client_get(w->client, chassis, &text, &len, err);

	if (rc < 0)
		return rc;
	for (i = 0; i < ARRAY_SIZE(resources); i++) {
		rc = redfish_json_link(text, len, resources[i].link, path[i], sizeof(path[i]),
				       err);
		if (rc < 0 && rc != -ENOENT)
			return rc;
	}
	for (i = 0; i < ARRAY_SIZE(resources); i++) {
		rc = path[i][0] ? get_values(w, path[i], resources[i].resource, &values, &t_ns, err) :
				  -ENOENT;
		if (rc == -ENOENT || rc == -ENODATA || rc == -ERANGE)
			continue;
		if (rc < 0)
			return rc;
		memcpy(w->path, path[i], sizeof(w->path));
		w->resource = resources[i].resource;
		w->kind = best_kind(&values);
		return 0;
	}
	return -ENOENT;
}

/* Is PATH the chassis that was asked for? Its Id is the path's last part. */
static bool is_wanted(const struct redfish_walk *w, const char *path)
{
	size_t len = strlen(w->conf->chassis);
	size_t path_len = strlen(path);

	if (!len)
		return true;
	if (path_len && path[path_len - 1] == '/')
		path_len--;
	return path_len > len && path[path_len - len - 1] == '/' &&
	       !strncmp(path + path_len - len, w->conf->chassis, len);
}

/* The link NAME of the resource at PATH. */
static int walk_follow(struct redfish_walk *w, const char *path, const char *name,
		  char ret[REDFISH_PATH_MAX], struct errmsg *err)
{
	struct errmsg why = { 0 };
	const char *text;
	size_t len;
	int rc = redfish_client_get(w->client, path, &text, &len, err);

	if (rc < 0)
		return rc;
	rc = redfish_json_link(text, len, name, ret, REDFISH_PATH_MAX, &why);
	return rc < 0 ? errmsg_set(err, rc, "%s%s: %s: %s", w->conf->url, path, name, why.text) : 0;
}

static int walk_find(struct redfish_walk *w, struct errmsg *err)
{
	char collection[REDFISH_PATH_MAX];
	char chassis[REDFISH_PATH_MAX];
	struct errmsg why = { 0 };
	const char *text;
	size_t len;
	size_t i;
	int rc = walk_follow(w, SERVICE_ROOT, "Chassis", collection, err);

	for (i = 0; rc == 0 && i < CHASSIS_MAX; i++) {
		/* again for each: the answer before is gone */
		rc = redfish_client_get(w->client, collection, &text, &len, err);
		if (rc < 0)
			return rc;
		rc = redfish_json_member(text, len, i, chassis, sizeof(chassis), &why);
		if (rc == -ENOENT)
			break;
		if (rc < 0)
			return errmsg_set(err, rc, "%s%s: %s", w->conf->url, collection, why.text);
		if (!is_wanted(w, chassis))
			continue;
		rc = try_chassis(w, chassis, err);
		if (rc == 0)
			return 0;
		rc = rc == -ENOENT ? 0 : rc;
	}
	if (rc < 0 && rc != -ENOENT)
		return rc;
	return errmsg_set(err, -ENODEV, "%s: no chassis%s%s shows power or energy", w->conf->url,
			  w->conf->chassis[0] ? " " : "", w->conf->chassis);
}

static uint64_t value_of(const struct redfish_values *v, enum redfish_kind kind)
{
	switch (kind) {
	case REDFISH_JOULES:
		return v->energy_uj;
	case REDFISH_KWH:
		return v->kwh_uj;
	default:
		return v->power_mw;
	}
}

int redfish_walk_ask(struct redfish_walk *w, struct redfish_sample *ret, struct errmsg *err)
{
	struct redfish_values values = { 0 };
	uint64_t t_ns = 0;
	int rc = w->path[0] ? 0 : walk_find(w, err);

	if (rc == 0)
		rc = get_values(w, w->path, w->resource, &values, &t_ns, err);
	if (rc == -ENOENT)
		w->path[0] = '\0'; /* another firmware, perhaps: from the root again */
	if (rc < 0)
		return rc;
	if (!(values.has & 1u << w->kind))
		return errmsg_set(err, -ENODATA, "%s%s: no %s now", w->conf->url, w->path,
				  redfish_kind_name(w->kind));
	*ret = (struct redfish_sample){ t_ns, w->kind, value_of(&values, w->kind) };
	return 0;
}

int redfish_walk_create(const struct redfish_conf *conf, int stop_fd, struct redfish_walk **ret,
			struct errmsg *err)
{
	struct redfish_walk *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return errmsg_errno(err, -ENOMEM, "%s", conf->url);
	w->conf = conf;
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
