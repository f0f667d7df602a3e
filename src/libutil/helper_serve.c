/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The helper's side of helper.h. */
#include <errno.h>
#include <poll.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/helper.h"
#include "src/libutil/util.h"

#define NICE 10

/* Input from the daemon that no call has returned yet. */
static struct {
	char data[4096];
	size_t used;
} input;

void helper_close_inherited(void)
{
	int fd;

#ifdef SYS_close_range /* since Linux 5.9; glibc has a wrapper only since 2.34 */
	if (syscall(SYS_close_range, STDERR_FILENO + 1U, ~0U, 0U) == 0)
		return;
#endif
	for (fd = STDERR_FILENO + 1; fd < 1024; fd++)
		(void)close(fd);
}

void helper_expose_to_oom(int score_adj)
{
	static const char path[] = "/proc/self/oom_score_adj";
	_cleanup_close_ int fd = -1;
	char text[16];
	int n;

	if (fileio_read_line(NULL, path, text, sizeof(text)) < 0 || strtol(text, NULL, 10) >= score_adj)
		return;
	n = snprintf(text, sizeof(text), "%d", score_adj);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)fileio_write_full(fd, text, (size_t)n);
}

/*
 * slurmstepd has an oom_score_adj of -1000 (mgr.c), slurmd what its unit or SLURMD_OOM_ADJ says, and children
 * inherit it. So a helper that uses too much memory would be spared, and the processes of jobs killed in its
 * place.
 */
void helper_serve(bool is_nice)
{
	helper_close_inherited();
	helper_expose_to_oom(0);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	if (is_nice)
		(void)setpriority(PRIO_PROCESS, 0, NICE);
}

void helper_say(const char *fmt, ...)
{
	char line[HELPER_LINE_MAX];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n > sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n] = '\n';
	line[n + 1] = '\0';
	/* fputs() locks the stream, so lines of several threads do not mix */
	(void)fputs(line, stdout);
}

/*
 * Reads more input. 1: something came; 0: nothing within TIMEOUT_MS; -EPIPE: the daemon has ended.
 */
static int helper_fill(int timeout_ms)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	ssize_t n;
	int rc = poll(&p, 1, timeout_ms);

	if (rc <= 0)
		return rc < 0 && errno != EINTR ? -EPIPE : 0;
	n = read(STDIN_FILENO, input.data + input.used, sizeof(input.data) - input.used);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -EPIPE;
	if (n == 0)
		return -EPIPE;
	input.used += (size_t)n;
	return 1;
}

static void helper_consume(size_t n)
{
	input.used -= n;
	memmove(input.data, input.data + n, input.used);
}

int helper_listen(int timeout_ms, char *line, size_t size)
{
	const uint64_t deadline_ns = clock_mono_ns() +
				     (uint64_t)(timeout_ms < 0 ? 0 : timeout_ms) * NSEC_PER_MSEC;
	uint64_t now_ns;
	char *end;
	int rc;

	while (!(end = memchr(input.data, '\n', input.used))) {
		if (input.used == sizeof(input.data))
			return -EPIPE;
		now_ns = clock_mono_ns();
		if (timeout_ms >= 0)
			timeout_ms = now_ns < deadline_ns ?
					     (int)((deadline_ns - now_ns) / NSEC_PER_MSEC) + 1 :
					     0;
		rc = helper_fill(timeout_ms);
		if (rc < 0)
			return rc;
		if (rc == 0 && timeout_ms == 0)
			return 0;
	}
	*end = '\0';
	if ((size_t)(end - input.data) >= size)
		return -EPIPE;
	memcpy(line, input.data, (size_t)(end - input.data) + 1);
	helper_consume((size_t)(end - input.data) + 1);
	return 1;
}

bool helper_sleep(uint64_t ms)
{
	char line[64];

	return helper_listen((int)ms, line, sizeof(line)) == 0;
}

int helper_take(char *data, size_t len)
{
	size_t n;
	int rc;

	while (len) {
		if (!input.used) {
			rc = helper_fill(-1);
			if (rc < 0)
				return rc;
		}
		n = input.used < len ? input.used : len;
		memcpy(data, input.data, n);
		helper_consume(n);
		data += n;
		len -= n;
	}
	return 0;
}

uint64_t helper_begin(unsigned int max_s)
{
	(void)alarm(max_s);
	return clock_mono_ns();
}

uint64_t helper_end(uint64_t begin_ns)
{
	uint64_t end_ns = clock_mono_ns();

	(void)alarm(0);
	return begin_ns + (end_ns - begin_ns) / 2;
}
