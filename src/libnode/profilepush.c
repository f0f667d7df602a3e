/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/profilepush.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "src/libutil/clock.h"
#include "src/libutil/helper.h"
#include "src/libutil/logger.h"

#define EVERY_NS (10 * NSEC_PER_SEC)
/* Longer than ceems-push needs for a round and a last request. */
#define DEADLINE_NS (90 * NSEC_PER_SEC)
#define LINES_MAX 16

struct profilepush {
	struct helper *helper;
	struct logger_trouble trouble;
	uint64_t due_ns;
	char program[PATH_MAX];
	char url[sizeof(((struct settings *)0)->profile_push_url)];
	char headers[SETTINGS_PATH_MAX], ca_file[SETTINGS_PATH_MAX], dir[SETTINGS_PATH_MAX];
	char bytes[24];
	char *argv[7];
};

int profilepush_open(const struct settings *s, struct profilepush **ret, struct errmsg *err)
{
	struct profilepush *p = calloc(1, sizeof(*p));
	struct helper_options helper = { .deadline_ns = DEADLINE_NS, .is_asked = true };
	int rc;

	if (!p)
		return errmsg_errno(err, -ENOMEM, "ceems-push");
	(void)snprintf(p->program, sizeof(p->program), "%s/ceems-push",
		       *s->helper_dir ? s->helper_dir : CEEMS_LIBEXECDIR);
	memcpy(p->url, s->profile_push_url, sizeof(p->url));
	memcpy(p->headers, s->profile_push_headers, sizeof(p->headers));
	memcpy(p->ca_file, s->profile_push_ca_file, sizeof(p->ca_file));
	memcpy(p->dir, s->profile_push_dir, sizeof(p->dir));
	(void)snprintf(p->bytes, sizeof(p->bytes), "%" PRIu64, s->profile_push_max_bytes);
	p->argv[0] = p->program;
	p->argv[1] = p->url;
	p->argv[2] = p->headers;
	p->argv[3] = p->ca_file;
	p->argv[4] = p->dir;
	p->argv[5] = p->bytes;
	helper.argv = p->argv;
	rc = helper_open(&helper, &p->helper, err);
	if (rc < 0) {
		free(p);
		return rc;
	}
	*ret = p;
	return 0;
}

static void push_note(struct profilepush *p, const char *why)
{
	switch (logger_trouble_note(&p->trouble, why != NULL, clock_mono_ns())) {
	case LOGGER_BEGINS:
		logger_error("profile push: %s; profiles wait in %s", why, p->dir);
		break;
	case LOGGER_ENDS:
		logger_info("profile push: profiles are sent again");
		break;
	case LOGGER_NO_NEWS:
		break;
	}
}

void profilepush_poll(struct profilepush *p)
{
	const uint64_t now_ns = clock_mono_ns();
	char *line;
	int i;

	for (i = 0; i < LINES_MAX && helper_line(p->helper, now_ns, &line) == 0; i++) {
		if (!strncmp(line, "written ", 8)) {
			helper_good(p->helper);
			push_note(p, NULL);
		} else if (!strncmp(line, "note ", 5)) {
			logger_error("profile push: %s", line + 5);
		} else if (strncmp(line, "done ", 5) != 0) {
			push_note(p, !strncmp(line, "error - ", 8) ? line + 8 : line);
		}
	}
	if (now_ns >= p->due_ns && !helper_is_asked(p->helper) &&
	    helper_ask(p->helper, now_ns, "push", NULL, 0, "%s", "") == 0)
		p->due_ns = now_ns + EVERY_NS;
}

void profilepush_close(struct profilepush *p)
{
	if (!p)
		return;
	helper_close(p->helper, clock_mono_ns() + HELPER_END_NS);
	free(p);
}
