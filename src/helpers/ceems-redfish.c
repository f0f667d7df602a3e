/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ceems-redfish - what the whole node draws, as its BMC shows it over the network, for slurmd: asks the
 * BMC every now and then and tells what helper.h promises. A program of its own, because a BMC takes
 * some hundred milliseconds for an answer, or for ever, and so that slurmd maps no libcurl.
 */
#include <curl/curl.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>

#include "src/helpers/redfish_walk.h"
#include "src/libutil/clock.h"
#include "src/libutil/helper.h"
#include "src/libutil/parse.h"

/* No single node draws more: COUNTER_PLATFORM_MAX_W. */
#define NODE_MAX_W 25000

/* The longest pause after failures, in intervals, each twice the one before. */
#define PAUSE_MAX_INTERVALS 16

/* As failed log-ins lock the user out of some BMCs. */
#define PAUSE_REFUSED_INTERVALS 64

/* Beyond what the transfers of one question may take. */
#define ASK_MAX_S 150

/*
 * A BMC that got another firmware may show another kind: what slurmd kept of the one before must not
 * be gone on from later, as the time in between is the other's.
 */
static void redfish_declare(enum redfish_kind kind, const char *url)
{
	static const char *const how[REDFISH_KINDS] = {
		[REDFISH_JOULES] = "counter",
		[REDFISH_WATTS] = "integrated",
		[REDFISH_KWH] = "counter in kWh",
	};
	unsigned int k;

	for (k = 0; k < REDFISH_KINDS; k++)
		if (k != kind)
			helper_say("gone redfish:%s", redfish_kind_name((enum redfish_kind)k));
	helper_say("meter redfish:%s other 0 %s %d node%s", redfish_kind_name(kind),
		   kind == REDFISH_WATTS ? "power" : "energy", NODE_MAX_W,
		   kind == REDFISH_WATTS ? "" : " coarse");
	helper_say("about node: %s of %s, %s", redfish_kind_name(kind), url, how[kind]);
}

/*
 * What will not be different the next time is known by the first answer: no such resource, a user
 * or certificate that is refused. A BMC that is slow or away is a source all the same.
 */
static bool redfish_is_final(int rc, bool is_first)
{
	return is_first && (rc == -ENOENT || rc == -ENODEV || rc == -EACCES);
}

/* False: nobody reads any more, slurmd has ended. */
static bool redfish_wait_ms(uint64_t ms)
{
	char line[64];

	return helper_listen((int)ms, line, sizeof(line)) == 0;
}

static int redfish_run(struct redfish_walk *walk, const struct redfish_conf *conf,
		       uint64_t interval_ms)
{
	enum redfish_kind kind = REDFISH_KINDS;
	bool is_first = true;
	uint64_t pause = 1;

	do {
		struct redfish_sample got = { 0 };
		struct errmsg err = { 0 };
		uint64_t max = PAUSE_MAX_INTERVALS;
		uint64_t begin_ns = helper_begin(ASK_MAX_S);
		int rc = redfish_walk_ask(walk, &got, &err);

		(void)helper_end(begin_ns);
		if (rc == -ECANCELED)
			return 0;
		if (redfish_is_final(rc, is_first)) {
			helper_say("%s %s", rc == -EACCES ? "refused" : "never", err.text);
			return 1;
		}
		is_first = false;
		if (rc == 0 && got.kind != kind)
			redfish_declare(got.kind, conf->url);
		if (rc == 0) {
			kind = got.kind;
			helper_say("reading %" PRIu64 " redfish:%s %" PRIu64, got.t_ns,
				   redfish_kind_name(kind), got.value);
		} else {
			helper_say("error - %s", err.text);
		}
		if (rc == -EACCES)
			max = PAUSE_REFUSED_INTERVALS;
		pause = rc == 0 ? 1 : 2 * pause;
		if (pause > max)
			pause = max;
	} while (redfish_wait_ms(pause * interval_ms));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option known[] = {
		{ "interval-ms", required_argument, NULL, 'i' },
		{ 0 },
	};
	struct redfish_walk *walk = NULL;
	struct redfish_conf conf = { 0 };
	struct errmsg err = { 0 };
	uint64_t interval_ms = 5000;
	int rc, c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1)
		if (c != 'i' || parse_u64(optarg, &interval_ms) < 0 || interval_ms > 600000)
			break;
	if (c != -1 || optind != argc - 1) {
		(void)fputs("usage: ceems-redfish [--interval-ms N] FILE\n", stderr);
		return 2;
	}
	helper_serve(/* is_nice= */ true);
	(void)signal(SIGPIPE, SIG_IGN); /* libcurl and OpenSSL may raise it */
	rc = redfish_conf_read(argv[optind], &conf, &err);
	if (rc == 0 && curl_global_init(CURL_GLOBAL_DEFAULT))
		rc = errmsg_set(&err, -ENOMEM, "libcurl");
	/* a transfer ends at once when standard input does: slurmd has ended */
	if (rc == 0)
		rc = redfish_walk_create(&conf, STDIN_FILENO, &walk, &err);
	if (rc < 0)
		helper_say("refused %s", err.text);
	else
		rc = redfish_run(walk, &conf, interval_ms);
	redfish_walk_destroy(walk);
	redfish_conf_wipe(&conf);
	return rc ? 1 : 0;
}
