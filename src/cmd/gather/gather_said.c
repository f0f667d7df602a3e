/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gather_said.c - what the sensors say: each is opened and read as slurmd does it, and what its helper
 * program writes is kept.
 */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "src/cmd/gather/gather.h"
#include "src/libnode/sources.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "src/libutil/util.h"

/* BMCs are asked every SOURCES_SLOW_NS, so that each has answered twice. */
#define LISTEN_NS (2 * SOURCES_SLOW_NS + 2 * NSEC_PER_SEC)
#define TICK_NS (500 * NSEC_PER_MSEC)

/* A text that grows, one for each source. */
struct said {
	FILE *to;
	char *text;
	size_t len;
};

static void note_line(void *arg, enum source_id id, const char *line)
{
	struct said *said = arg;

	if (said[id].to)
		(void)fprintf(said[id].to, "%s\n", line);
}

static void listen_to(struct sources *s, struct source_state *state)
{
	const struct timespec pause = clock_ns_to_timespec(TICK_NS);
	_cleanup_free_ struct sources_reading *r = calloc(1, sizeof(*r));
	uint64_t begin_ns = clock_mono_ns();
	uint64_t last_ns = begin_ns, now_ns = begin_ns;

	while (r && now_ns - begin_ns < LISTEN_NS) {
		sources_read(s, now_ns, now_ns - last_ns, 0, state, r);
		last_ns = now_ns;
		(void)nanosleep(&pause, NULL);
		now_ns = clock_mono_ns();
	}
}

/* Adds what the source says of itself in front of the lines of its helper. */
static int add_source(struct gather *g, struct sources *s, enum source_id id, const char *lines,
		      struct errmsg *err)
{
	struct sources_status st;
	_cleanup_free_ char *text = NULL;
	char name[64];
	int len;

	if (!sources_status(s, id, &st))
		return 0;
	len = asprintf(&text, "about: %s\nwhy: %s\nnotes: %s\n%s", st.about, st.why, st.notes, lines);
	if (len < 0)
		return errmsg_errno(err, -ENOMEM, "%s", source_name(id));
	(void)snprintf(name, sizeof(name), "said/%s", source_name(id));
	return gather_add(g, name, text, (size_t)len, err);
}

int gather_said(struct gather *g, struct errmsg *err)
{
	_cleanup_free_ struct source_state *state = calloc(SOURCE_N, sizeof(*state));
	struct source_env env = sources_env(g->settings);
	struct said said[SOURCE_N] = { 0 };
	struct sources *s = NULL;
	unsigned int id;
	int rc = state ? 0 : errmsg_errno(err, -ENOMEM, "said");

	for (id = 0; id < SOURCE_N; id++)
		said[id].to = open_memstream(&said[id].text, &said[id].len);
	env.heard = note_line;
	env.heard_arg = said;
	logger_set_sink(NULL); /* what slurmd would log about a source is in its text */
	if (rc == 0)
		rc = sources_open("auto", source_builtin, source_nbuiltin, &env, &s, err);
	if (rc == 0)
		listen_to(s, state);
	logger_set_sink(logger_sink_stderr);
	for (id = 0; id < SOURCE_N; id++) {
		if (said[id].to)
			(void)fclose(said[id].to);
		if (rc == 0 && said[id].text)
			rc = add_source(g, s, (enum source_id)id, said[id].text, err);
		free(said[id].text);
	}
	if (s)
		sources_close(s);
	return rc;
}
