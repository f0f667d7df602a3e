/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/perf_request.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

static const struct {
	const char *name;
	uint32_t groups;
} known[] = {
	{ "hw", PERF_GROUP_HW | PERF_GROUP_SW },
	{ "sw", PERF_GROUP_SW },
	{ "io", PERF_GROUP_IO },
	{ "net", PERF_GROUP_NET },
	{ "sched", PERF_GROUP_SCHED },
};

#define EVENTS_PREFIX "events:"
#define KNOWN_TEXT "hw (default), sw, io, net, sched, events:NAME,.."

/*
 * Takes the next item off a list separated by commas, without blanks around it. False at the end.
 */
static bool next_item(const char **list, const char **ret, size_t *ret_len)
{
	const char *p = *list + strspn(*list, ", \t");
	size_t len = strcspn(p, ",");

	*ret = p;
	*list = p + len;
	while (len && (p[len - 1] == ' ' || p[len - 1] == '\t'))
		len--;
	*ret_len = len;
	return len > 0;
}

static int add_group(const char *item, size_t len, struct perf_request *w, struct errmsg *err)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		if (strlen(known[i].name) != len || strncasecmp(known[i].name, item, len) != 0)
			continue;
		w->groups |= known[i].groups;
		return 0;
	}
	return errmsg_set(err, -EINVAL, "unknown group '%.*s'; known are " KNOWN_TEXT,
			  (int)(len < 40 ? len : 40), item);
}

static int add_event(const char *item, size_t len, struct perf_request *w, struct errmsg *err)
{
	/*
	 * libpfm4's forms: "skx::INST_RETIRED:ANY_P:u", "perf::cycles", attributes with values
	 * "c=1"
	 */
	static const char bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_:.=+-";

	if (len >= PERF_REQUEST_NAME_MAX)
		return errmsg_set(err, -EINVAL, "the event's name '%.20s...' is too long", item);
	if (strspn(item, bytes) < len)
		return errmsg_set(err, -EINVAL, "'%.*s' is not the name of an event", (int)len, item);
	if (w->nevents == PERF_REQUEST_EVENTS)
		return errmsg_set(err, -EINVAL, "more than %d events", PERF_REQUEST_EVENTS);
	memcpy(w->event[w->nevents], item, len);
	w->event[w->nevents++][len] = '\0';
	return 0;
}

static int add_events(const char *list, struct perf_request *w, struct errmsg *err)
{
	const char *item;
	size_t len;
	int rc = 0;

	while (rc == 0 && next_item(&list, &item, &len))
		rc = add_event(item, len, w, err);
	if (rc == 0 && !w->nevents)
		rc = errmsg_set(err, -EINVAL, EVENTS_PREFIX " without a name");
	w->groups |= PERF_GROUP_EVENTS;
	return rc;
}

int perf_request_parse(const char *text, struct perf_request *ret, struct errmsg *err)
{
	static const size_t prefix = sizeof(EVENTS_PREFIX) - 1;
	struct perf_request w = { 0 };
	const char *list = text;
	const char *item;
	size_t len;
	int rc = 0;

	while (rc == 0 && next_item(&list, &item, &len)) {
		if (strncasecmp(item, EVENTS_PREFIX, prefix) != 0) {
			rc = add_group(item, len, &w, err);
			continue;
		}
		rc = add_events(item + prefix, &w, err);
		break;
	}
	if (rc < 0)
		return rc;
	if (!w.groups)
		w.groups = PERF_GROUP_HW | PERF_GROUP_SW;
	*ret = w;
	return 0;
}
