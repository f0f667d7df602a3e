/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ceems-push - sends what is in the queue of profiles (push_queue.h) for slurmd. "push N" (helper.h) sends
 * until the queue is empty, for at most ROUND_NS, or until the server does not take a part. Parts stay in the
 * queue until they are taken, so an outage, or the end of slurmd or of this program, loses nothing.
 */
#include <linux/capability.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/profiler/pyroscope.h"
#include "src/libutil/clock.h"
#include "src/libutil/confine.h"
#include "src/libutil/helper.h"
#include "src/libutil/nocore.h"
#include "src/libutil/parse.h"

#define ROUND_NS (30 * NSEC_PER_SEC)
#define ROUND_PARTS 1000
/* Longest time for one request. */
#define SEND_MS 15000L
/* Within this time a part is sent again that the server may have refused only for a while. */
#define UNSURE_NS (600 * NSEC_PER_SEC)
/* Lost parts are reported at most this often. */
#define TELL_NS (600 * NSEC_PER_SEC)

struct push {
	struct push_queue *queue;
	struct pyroscope *server;
	uint64_t refused;  /* parts since the last report */
	struct errmsg why; /* of the last one */
	uint64_t tell_ns;  /* monotonic clock: not before this time */
};

/* Returns whether the next part may be sent. False: ERR says why not. */
static bool push_part(struct push *p, const char *name, struct errmsg *err)
{
	_cleanup_free_ char *buf = NULL;
	enum pyroscope_verdict verdict = PYROSCOPE_REFUSED;
	struct errmsg why = { 0 };
	struct push_part part;
	int rc = push_queue_read(p->queue, name, &part, &buf, &why);

	if (rc < 0 && rc != -EINVAL)
		return rc == -ENOENT;
	if (rc == 0)
		verdict = pyroscope_send(p->server, &part, SEND_MS, &why);
	if (verdict == PYROSCOPE_UNSURE)
		verdict = clock_wall_ns() < part.until_ns + UNSURE_NS ? PYROSCOPE_UNSURE : PYROSCOPE_REFUSED;
	switch (verdict) {
	case PYROSCOPE_TAKEN:
		break;
	case PYROSCOPE_LATER:
		*err = why;
		return false;
	case PYROSCOPE_UNSURE:
		*err = why;
		return true;
	case PYROSCOPE_REFUSED:
		p->refused++;
		p->why = why;
		break;
	}
	push_queue_remove(p->queue, name);
	return true;
}

/* One round. ERR is empty if everything was taken or refused. */
static void push_round(struct push *p, struct errmsg *err)
{
	const uint64_t deadline_ns = clock_mono_ns() + ROUND_NS;
	_cleanup_free_ char(*name)[PUSH_NAME_MAX] = NULL;
	int n = push_queue_list(p->queue, ROUND_PARTS, &name), i;

	if (n < 0) {
		(void)errmsg_errno(err, n, "the queue");
		return;
	}
	for (i = 0; i < n && clock_mono_ns() < deadline_ns; i++)
		if (!push_part(p, name[i], err))
			return;
}

static void push_tell_lost(struct push *p)
{
	const uint64_t now_ns = clock_mono_ns();
	uint64_t dropped;

	if (now_ns < p->tell_ns)
		return;
	dropped = push_queue_take_dropped(p->queue);
	if (dropped)
		helper_say("note %" PRIu64
			   " parts of profiles were dropped, as the queue was full (ProfilePushMaxSize)",
			   dropped);
	if (p->refused)
		helper_say("note %" PRIu64 " parts of profiles were dropped, as they were refused: %s",
			   p->refused, p->why.text);
	if (dropped || p->refused)
		p->tell_ns = now_ns + TELL_NS;
	p->refused = 0;
}

static void push_answer(struct push *p, const char *number)
{
	struct errmsg err = { 0 };

	push_round(p, &err);
	push_tell_lost(p);
	if (*err.text)
		helper_say("error - %s", err.text);
	else
		helper_say("written %s", number);
	helper_say("done %s", number);
}

int main(int argc, char **argv)
{
	struct pyroscope_conf conf = { 0 };
	struct errmsg err = { 0 };
	struct push p = { 0 };
	char line[128];
	uint64_t max;
	int rc;

	if (argc != 6 || parse_u64(argv[5], &max) < 0) {
		(void)fputs("usage: ceems-push URL HEADERS CAFILE QUEUE BYTES\n", stderr);
		return 2;
	}
	nocore_set(); /* it will know the token of ProfilePushHeaders */
	helper_serve(/* is_nice= */ true);
	(void)confine_caps(CONFINE_CAP(CAP_DAC_READ_SEARCH));
	conf = (struct pyroscope_conf){ .url = argv[1], .headers = argv[2], .ca_file = argv[3] };
	rc = pyroscope_open(&conf, &p.server, &err);
	if (rc == 0)
		rc = push_queue_open(argv[4], max, &p.queue, &err);
	if (rc < 0)
		helper_say("error - %s", err.text);
	while (rc == 0 && helper_listen(-1, line, sizeof(line)) == 1)
		if (!strncmp(line, "push ", 5))
			push_answer(&p, line + 5);
	push_queue_close(p.queue);
	pyroscope_close(p.server);
	return rc < 0;
}
