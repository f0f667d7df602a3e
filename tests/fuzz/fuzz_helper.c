/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a helper writes, as its daemon reads it: in pieces of the size that the first byte of the input says.
 * Each line comes back once, with its control bytes masked. A line that is too long and the helper's end are
 * reported as errors.
 */
#include <errno.h>

#include "src/libutil/helper.h"
#include "tests/fuzz/fuzz.h"

#define LINE_SIZE 64 /* with the newline */

static int helper_fd = -1; /* the helper's output */

/* These replace helper.c's: the fuzzer is the helper. Pid 0 is a process that was already reaped. */
int helper_spawn(char *const *argv, char *const *env, int in, int out, pid_t *ret_pid)
{
	(void)argv;
	(void)env;
	(void)in;
	assert(helper_fd < 0);
	helper_fd = dup(out);
	assert(helper_fd >= 0);
	*ret_pid = 0;
	return 0;
}

int helper_wait(pid_t pid, uint64_t deadline_ns, int *ret_status)
{
	(void)pid;
	(void)deadline_ns;
	(void)ret_status;
	assert(!"there is no process");
	return -ECHILD;
}

/* The lines that helper_line() must return for the input at P. */
struct expected {
	const uint8_t *p, *end;
	char text[LINE_SIZE + 64];
};

static bool expected_next(struct expected *e)
{
	const uint8_t *end = e->p < e->end ? memchr(e->p, '\n', (size_t)(e->end - e->p)) : NULL;
	size_t len = (size_t)((end ? end : e->end) - e->p);

	if (!end && len < LINE_SIZE)
		return false;
	if (len < LINE_SIZE)
		(void)snprintf(e->text, sizeof(e->text), "%.*s", (int)len, (const char *)e->p);
	else
		(void)snprintf(e->text, sizeof(e->text), "error - a line that is too long: %.40s",
			       (const char *)e->p);
	text_mask_controls(e->text);
	e->p = end ? end + 1 : e->end;
	return true;
}

static void take_lines(struct helper *h, struct expected *e)
{
	char *line;
	int rc;

	while ((rc = helper_line(h, 1, &line)) == 0 || helper_poll(h, 0) == 0) {
		if (rc < 0)
			continue;
		assert(expected_next(e));
		assert(!strcmp(line, e->text));
		if (!strcmp(line, "done 1"))
			assert(!helper_is_asked(h));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[] = "/helper";
	static char *argv[] = { path, NULL };
	struct helper_options o = {
		.argv = argv, .deadline_ns = UINT64_MAX, .is_asked = true, .line_max = LINE_SIZE
	};
	struct helper *h = NULL;
	struct expected e;
	size_t piece, done;
	char *line;

	if (!size || size > 32768)
		return 0;
	piece = data[0] ? data[0] : 1;
	e = (struct expected){ .p = data + 1, .end = data + size };
	assert(helper_open(&o, &h, NULL) == 0);
	assert(helper_ask(h, 1, "read", NULL, 0, "%s", "") == 0);
	for (done = 1; done < size; done += piece) {
		size_t n = size - done < piece ? size - done : piece;

		assert(write(helper_fd, data + done, n) == (ssize_t)n);
		take_lines(h, &e);
	}
	assert(!expected_next(&e));
	(void)close(helper_fd);
	helper_fd = -1;
	assert(helper_line(h, 1, &line) == 0 && !strcmp(line, "error - the helper ended"));
	assert(helper_state(h, 1) == HELPER_DEAD && !helper_is_asked(h));
	helper_close(h, 0);
	return 0;
}
