/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_store.c - ceems store: shows records that were not delivered, and delivers records again.
 */
#define _GNU_SOURCE /* strptime, timegm */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "src/cmd/cmd.h"
#include "src/cmd/store/store_cmd.h"
#include "src/libutil/items.h"
#include "src/libutil/parse.h"

/* --- arguments ------------------------------------------------------------------------------------ */

static bool store_set_kinds(struct store_pick *p, const char *text)
{
	char item[16];

	p->kinds = 0;
	while (items_next(&text, item, sizeof(item))) {
		enum store_kind kind = store_kind_by_name(item);

		if (!kind) {
			(void)cmd_error("'%s' is not a kind: record, steps, start", item);
			return false;
		}
		p->kinds |= STORE_MASK(kind);
	}
	return p->kinds != 0;
}

static bool store_set_job(struct store_pick *p, const char *text)
{
	if (parse_u64(text, &p->job_id) == 0 && p->job_id && p->job_id <= UINT32_MAX)
		return true;
	(void)cmd_error("'%s' is not a job ID", text);
	return false;
}

static bool store_set_since(uint64_t *ret, const char *text)
{
	static const char *const form[] = { "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(form); i++) {
		struct tm tm = { 0 };
		const char *end = strptime(text, form[i], &tm);
		time_t t = end && !*end ? timegm(&tm) : -1;

		if (t > 0) {
			*ret = (uint64_t)t;
			return true;
		}
	}
	if (parse_u64(text, ret) == 0)
		return true;
	(void)cmd_error("'%s' is not a time: 2026-01-31, 2026-01-31T12:00:00Z or seconds since 1970", text);
	return false;
}

enum {
	OPT_FILE = 256,
	OPT_JOB,
	OPT_JSON,
	OPT_KEY,
	OPT_KIND,
	OPT_LONG,
	OPT_OUTPUT,
	OPT_REFUSED,
	OPT_SINCE,
	OPT_TIMEOUT,
	OPT_WAITING
};

/*
 * The actions. A title in the table of options has the bits of the actions that accept the options below it.
 */
enum store_action { STORE_STATUS = 1 << 0, STORE_LS = 1 << 1, STORE_CAT = 1 << 2, STORE_REPLAY = 1 << 3 };

static const struct cmd_option store_options[] = {
	{ NULL, 0, NULL, "Configuration" },
	{ "conf", 'c', "FILE", "read this ceems.conf" },
	{ NULL, STORE_STATUS, NULL, "status" },
	{ "json", OPT_JSON, NULL, "print one JSON object" },
	{ NULL, STORE_LS | STORE_CAT | STORE_REPLAY, NULL, "Which records (ls, cat, replay)" },
	{ "job", OPT_JOB, "ID", "of this job" },
	{ "key", OPT_KEY, "KEY", "with this key" },
	{ "kind", OPT_KIND, "record|steps|start", "of this kind" },
	{ NULL, STORE_LS | STORE_CAT, NULL, "Which records (ls, cat)" },
	{ "refused", OPT_REFUSED, "SINK", "refused by this sink" },
	{ "waiting", OPT_WAITING, "SINK", "not acknowledged by this sink" },
	{ NULL, STORE_CAT, NULL, "cat" },
	{ "long", OPT_LONG, NULL, "number, kind and key before each record" },
	{ NULL, STORE_REPLAY, NULL, "replay" },
	{ "file", OPT_FILE, "FILE", "records of this file, not of the store" },
	{ "output", OPT_OUTPUT, "FILE", "where the sink file writes" },
	{ "refused", OPT_REFUSED, NULL, "only what the sink has refused" },
	{ "since", OPT_SINCE, "TIME", "with --file: jobs that ended since" },
	{ "timeout", OPT_TIMEOUT, "TIME", "how long the sink may be silent; default: 60s" },
	{ 0 },
};

static bool store_take_option(struct store_args *a, int opt)
{
	switch (opt) {
	case 'c':
		a->conf = optarg;
		return true;
	case OPT_FILE:
		a->file = optarg;
		return true;
	case OPT_JOB:
		return store_set_job(&a->pick, optarg);
	case OPT_JSON:
		a->json = true;
		return true;
	case OPT_KEY:
		a->pick.key = optarg;
		return true;
	case OPT_KIND:
		return store_set_kinds(&a->pick, optarg);
	case OPT_LONG:
		a->is_long = true;
		return true;
	case OPT_OUTPUT:
		a->output = optarg;
		return true;
	case OPT_REFUSED:
		a->pick.refused = optarg ? optarg : ""; /* "": by any sink; for replay, by its sink */
		return true;
	case OPT_SINCE:
		return store_set_since(&a->since, optarg);
	case OPT_TIMEOUT:
		if (parse_duration_ns(optarg, &a->timeout_ns) == 0)
			return true;
		(void)cmd_error("'%s' is not a duration", optarg);
		return false;
	case OPT_WAITING:
		a->waiting = optarg;
		return true;
	default:
		return false;
	}
}

static bool store_is_consistent(const struct store_args *a)
{
	if (a->pick.refused && a->file)
		(void)cmd_error("--refused is not for a file");
	else if (a->pick.refused && a->waiting)
		(void)cmd_error("what was refused does not wait: either --refused or --waiting");
	else if (a->since && !a->file)
		(void)cmd_error("--since is for --file");
	else
		return true;
	return false;
}

static int cmd_store_run(const struct cmd_info *self, int argc, char **argv)
{
	static const struct {
		const char *name;
		enum store_action action;
	} actions[] = { { "status", STORE_STATUS },
			{ "ls", STORE_LS },
			{ "cat", STORE_CAT },
			{ "replay", STORE_REPLAY } };
	_cleanup_free_ struct store_args *a = calloc(1, sizeof(*a));
	enum store_action action;
	bool is_replay;
	size_t which;
	int opt;

	if (!a)
		return cmd_error("out of memory");
	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return cmd_usage(self, CMD_OK);
	for (which = 0; which < ARRAY_SIZE(actions); which++)
		if (argc > 1 && !strcmp(argv[1], actions[which].name))
			break;
	if (which == ARRAY_SIZE(actions))
		return cmd_usage(self, CMD_USAGE);
	action = actions[which].action;
	is_replay = action == STORE_REPLAY;
	a->pick.max_rows = a->pick.max_bytes = SIZE_MAX;
	argv[1] = argv[0];
	argc--;
	argv++;
	while ((opt = cmd_getopt(argc, argv, store_options, action)) >= 0) {
		if (opt == 'h')
			return cmd_usage(self, CMD_OK);
		if (!store_take_option(a, opt))
			return cmd_usage(self, CMD_USAGE);
	}
	if (optind + is_replay != argc || !store_is_consistent(a))
		return cmd_usage(self, CMD_USAGE);
	if (cmd_load_settings(a->conf, &a->settings) != CMD_OK)
		return CMD_FAILED;
	if (is_replay) {
		a->sink = argv[optind];
		if (a->pick.refused)
			a->pick.refused = a->sink;
		return store_replay(a);
	}
	if (action == STORE_STATUS)
		return store_status(a);
	return action == STORE_LS ? store_ls(a) : store_cat(a);
}

const struct cmd_info cmd_store = {
	"store",       "status|ls|cat|replay SINK [OPTION...]", cmd_store_run,
	store_options, "ceems store ls --waiting kafka",
};
