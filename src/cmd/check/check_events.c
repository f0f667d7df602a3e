/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_events.c - the events of PerfDefault in `ceems check`. A step that cannot count one of them
 * logs this at debug only, since all steps would log the same.
 */
#include <errno.h>

#include "src/cmd/check/check.h"
#include "src/libmeter/activity/hwevents.h"

static void check_events_here(struct check *c, const struct perf_request *request)
{
	struct hwevents own;
	uint32_t i, n = 0;

	hwevents_own(request, &own);
	for (i = 0; i < own.n; i++) {
		const char *name = own.event[i].name;

		if (own.event[i].reason == REASON_NO_EVENT)
			check_note(c, "PerfDefault", "%s is an event of other CPUs, not of this one", name);
		else if (own.event[i].reason != REASON_NONE)
			check_note(c, "PerfDefault", "%s: %s", name,
				   metric_reason_text((enum metric_reason)own.event[i].reason));
		else
			n++;
	}
	check_ok(c, "PerfDefault", "%u of %u events are this CPU's", n, own.n);
}

void check_events(struct check *c)
{
	struct errmsg err = { 0 };
	struct perf_request request;

	if (!*c->settings.perf_default || perf_request_parse(c->settings.perf_default, &request, &err) < 0 ||
	    !request.nevents)
		return;
	switch (hwevents_check_names(&request, &err)) {
	case 0:
		check_events_here(c, &request);
		break;
	case -ENOENT:
		check_error(c, "PerfDefault",
			    check_hint_setting(SETTING_perf_default,
					       "PerfDefault with names that showevtinfo (libpfm4) lists"),
			    "%s", err.text);
		break;
	default:
		check_warn(c, "PerfDefault",
			   check_hint_setting(
				   SETTING_perf_default,
				   "install libpfm4 on the nodes, or take events: out of PerfDefault"),
			   "%s: nodes without libpfm4 do not count these events", err.text);
	}
}
