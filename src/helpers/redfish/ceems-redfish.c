/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ceems-redfish - reads the node's power or energy from its BMC over the network at an interval and
 * reports it to slurmd with the protocol of helper.h. It is a separate program because a BMC takes some
 * hundred milliseconds to answer, or never answers, and because slurmd shall not map libcurl.
 * With --answers, for `ceems gather`, it asks once and writes each answer as "answer STATUS LENGTH PATH" and
 * the LENGTH bytes of the answer.
 */
#include <linux/capability.h>
#include <curl/curl.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "src/helpers/redfish/redfish_walk.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/confine.h"
#include "src/libutil/helper.h"
#include "src/libutil/nocore.h"
#include "src/libutil/parse.h"

/* No single node draws more: COUNTER_PLATFORM_MAX_W. */
#define NODE_MAX_W 25000

/*
 * Between two tries after a failure: from 2 s, each time twice as long, to 5 min; where a shorter interval is
 * asked for, from that and in proportion. A refused login begins at 30 times as much, a minute: BMCs lock an
 * account after some three to five failures within a minute or a few.
 */
#define PAUSE_MS UINT64_C(2000)
#define PAUSE_REFUSED 30
#define PAUSE_MAX 150

/* More than the transfers of one question may take. */
#define ASK_MAX_S 150

/*
 * A BMC that got another firmware may show another kind: what slurmd kept of the one before must not
 * be gone on from later, as the time in between is the other's.
 */
static void redfish_declare(const struct redfish_walk *walk, const struct redfish_sample *got,
			    bool is_other_set, const char *url, uint64_t interval_ms)
{
	bool is_power = redfish_kind_is_power(got->kind);
	char what[320];
	unsigned int k;

	for (k = 0; k < REDFISH_KINDS; k++)
		if (k != got->kind)
			helper_say("gone redfish:%s", redfish_kind_name((enum redfish_kind)k));
	if (is_other_set) /* the sum of other chassis; a counter would jump */
		helper_say("gone redfish:%s", redfish_kind_name(got->kind));
	helper_say("meter redfish:%s other 0 %s %d node%s", redfish_kind_name(got->kind),
		   is_power ? "power" : "energy", NODE_MAX_W, is_power ? "" : " coarse");
	helper_say("lag %" PRIu64, interval_ms + got->window_ns / NSEC_PER_MSEC);
	redfish_walk_describe(walk, what, sizeof(what));
	helper_say("about node: %.90s%s, %s, at %s", what, strlen(what) > 90 ? ".." : "",
		   is_power		    ? "integrated" :
		   got->kind == REDFISH_KWH ? "counter in kWh" :
					      "counter",
		   url);
}

static void redfish_note(const char *line)
{
	helper_say("note %s", line);
}

/*
 * What is asked, and by what. The file is read again after a refusal: the password may have been put right.
 */
struct session {
	const char *file;
	const char *uuid;
	struct redfish_conf conf;
	struct redfish_walk *walk; /* NULL: not open */
};

static void session_close(struct session *s)
{
	redfish_walk_destroy(s->walk);
	s->walk = NULL;
	redfish_conf_wipe(&s->conf);
}

/* A transfer ends at once when standard input does: slurmd has ended. */
static int session_open(struct session *s, struct errmsg *err)
{
	int rc = redfish_conf_read(s->file, &s->conf, err);

	if (rc == 0)
		rc = redfish_walk_create(&s->conf, s->uuid, STDIN_FILENO, &s->walk, err);
	return rc;
}

static int session_ask(struct session *s, struct redfish_sample *ret, struct errmsg *err)
{
	int rc = s->walk ? 0 : session_open(s, err);
	uint64_t begin_ns = helper_begin(ASK_MAX_S);

	if (rc == 0)
		rc = redfish_walk_ask(s->walk, ret, err);
	(void)helper_end(begin_ns);
	if (rc == -EACCES)
		session_close(s);
	return rc;
}

static void write_answer(const char *path, long status, const char *text, size_t len)
{
	(void)printf("answer %ld %zu %s\n", status, len, path);
	(void)fwrite(text, 1, len, stdout);
	(void)fputc('\n', stdout);
}

static void redfish_show_answers(struct session *s)
{
	struct redfish_sample got;
	struct errmsg err = { 0 };

	redfish_walk_listen(s->walk, write_answer);
	if (session_ask(s, &got, &err) < 0)
		helper_say("error - %s", err.text);
}

/*
 * The pause after a try with result RC, in units of the first pause; 0: none. BEFORE is the last
 * pause.
 */
static uint64_t next_pause(int rc, uint64_t before)
{
	uint64_t least = rc == -EACCES ? PAUSE_REFUSED : 1;
	uint64_t pause = 2 * before > least ? 2 * before : least;

	if (rc == 0)
		return 0;
	return pause < PAUSE_MAX ? pause : PAUSE_MAX;
}

static void redfish_run(struct session *s, uint64_t interval_ms)
{
	const uint64_t unit_ms = interval_ms < PAUSE_MS ? interval_ms : PAUSE_MS;
	struct redfish_sample declared = { .kind = REDFISH_KINDS };
	uint64_t pause = 0;

	do {
		struct redfish_sample got = { 0 };
		struct errmsg err = { 0 };
		int rc = session_ask(s, &got, &err);

		if (rc == -ECANCELED)
			return;
		if (s->walk)
			redfish_walk_tell(s->walk, redfish_note);
		if (rc == 0) {
			bool is_other_set = declared.set && got.set != declared.set;

			if (got.kind != declared.kind || got.window_ns != declared.window_ns || is_other_set)
				redfish_declare(s->walk, &got, is_other_set, s->conf.url, interval_ms);
			if (declared.kind == REDFISH_JOULES && got.kind == REDFISH_WATTS)
				redfish_note("EnergyJoules stood still although PowerWatts shows power: "
					     "PowerWatts is used");
			declared = got;
			helper_say("reading %" PRIu64 " redfish:%s %" PRIu64 "%s", got.t_ns,
				   redfish_kind_name(got.kind), got.value, got.is_partial ? " partial" : "");
		} else {
			helper_say("error - %s", err.text);
		}
		pause = next_pause(rc, pause);
	} while (helper_sleep(pause ? pause * unit_ms : interval_ms));
}

int main(int argc, char **argv)
{
	static const struct option known[] = {
		{ "answers", no_argument, NULL, 'a' },
		{ "interval-ms", required_argument, NULL, 'i' },
		{ "sys-root", required_argument, NULL, 'r' },
		{ 0 },
	};
	struct session s = { 0 };
	struct errmsg err = { 0 };
	uint64_t interval_ms = 5000;
	const char *sys_root = "";
	char uuid[64] = "";
	bool has_answers = false;
	int rc, c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (c == 'r')
			sys_root = optarg;
		else if (c == 'a')
			has_answers = true;
		else if (c != 'i' || parse_u64(optarg, &interval_ms) < 0 || interval_ms > 600000)
			break;
	}
	if (c != -1 || optind != argc - 1) {
		(void)fputs("usage: ceems-redfish [--answers] [--interval-ms N] [--sys-root DIR] FILE\n",
			    stderr);
		return 2;
	}
	nocore_set();
	helper_serve(/* is_nice= */ true);
	(void)confine_caps(CONFINE_CAP(CAP_DAC_READ_SEARCH));
	(void)signal(SIGPIPE, SIG_IGN); /* libcurl and OpenSSL may raise it */
	if (fileio_read_line(sys_root, "/sys/class/dmi/id/product_uuid", uuid, sizeof(uuid)) < 0)
		uuid[0] = '\0';
	s.file = argv[optind];
	s.uuid = uuid;
	rc = curl_global_init(CURL_GLOBAL_DEFAULT) ? errmsg_set(&err, -ENOMEM, "libcurl") :
						     session_open(&s, &err);
	if (rc < 0)
		helper_say("refused %s", err.text);
	else if (has_answers)
		redfish_show_answers(&s);
	else
		redfish_run(&s, interval_ms);
	session_close(&s);
	return rc ? 1 : 0;
}
