/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ceems-trace - writes the trace of a step, --ceems-trace, for its slurmstepd: arguments (step_args.h) and
 * samples (trace_sample.h) come on standard input, a socket, and become rows of CSV. It starts as root and
 * becomes the user before it touches anything of his: a folder in which only he may write is written by him,
 * and one that hangs stops nobody else. It ends with its input, or when the file cannot be written, and
 * prints what stepfile.h says. A write that takes longer than WRITE_MAX_S ends it by SIGALRM.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>

#include "src/libutil/as_user.h"
#include "src/libcore/step_args.h"
#include "src/libstep/stepfile.h"
#include "src/libtrace/trace_row.h"
#include "src/libutil/clock.h"
#include "src/libutil/confine.h"
#include "src/libutil/errmsg.h"
#include "src/libutil/fileio.h"
#include "src/libutil/helper.h"
#include "src/libutil/parse.h"

#define WRITE_MAX_S 10
/* The longest time until a row is in the file. */
#define FLUSH_NS NSEC_PER_SEC
#define BUFFER_MAX (8 * TRACE_ROW_MAX)
#define NICE 5

struct trace_file {
	int fd;
	char path[1024];
	uint64_t limit; /* in bytes */
	uint64_t size;	/* whole rows that were written */
	uint64_t flushed_ns;
	size_t used; /* of BUF */
	char buf[BUFFER_MAX];
};

/* --- the file ----------------------------------------------------------------------------- */

/* Writes the buffer; a row that did not fit is removed. */
static int trace_file_flush(struct trace_file *f, struct errmsg *err)
{
	uint64_t begin_ns = helper_begin(WRITE_MAX_S);
	int rc = fileio_write_full(f->fd, f->buf, f->used);

	if (rc < 0)
		(void)!ftruncate(f->fd, (off_t)f->size);
	(void)helper_end(begin_ns);
	if (rc < 0)
		return errmsg_errno(err, rc, "%s", f->path);
	f->size += f->used;
	f->used = 0;
	f->flushed_ns = clock_mono_ns();
	return 0;
}

static bool trace_file_is_full(const struct trace_file *f)
{
	return f->size + f->used + 2 * TRACE_ROW_MAX > f->limit;
}

/* The time in ms after which the buffer must be written; -1: it is empty. */
static int trace_file_due_ms(const struct trace_file *f)
{
	uint64_t now_ns = clock_mono_ns(), due_ns = f->flushed_ns + FLUSH_NS;

	return !f->used ? -1 : due_ns <= now_ns ? 0 : (int)((due_ns - now_ns) / NSEC_PER_MSEC) + 1;
}

/* --- samples ------------------------------------------------------------------------------ */

/*
 * Reads a message of SIZE bytes. 0: the sender has closed; -EAGAIN: none came in time; -EPROTO: it
 * has another size.
 */
static int take_message(void *to, size_t size, int timeout_ms)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	ssize_t n;

	if (poll(&p, 1, timeout_ms) <= 0)
		return -EAGAIN;
	n = read(STDIN_FILENO, to, size);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? -EAGAIN : -errno;
	return n == 0 ? 0 : (size_t)n == size ? 1 : -EPROTO;
}

static void put_row(struct trace_file *f, struct trace_row *r, const struct trace_sample *s)
{
	bool is_full = trace_file_is_full(f);

	if (!f->size && !f->used) {
		f->used += trace_row_header(r, f->buf + f->used);
		f->used += trace_row_begin(r, s, f->buf + f->used);
	}
	f->used += trace_row_put(r, s,
				 s->is_last ? TRACE_EVENT_END :
				 is_full    ? TRACE_EVENT_LIMIT :
					      "",
				 f->buf + f->used);
}

/* Handles the next message. 0: more may come; -ENODATA: it was the last. */
static int trace_next(struct trace_file *f, struct trace_row *r, struct errmsg *err)
{
	struct trace_sample s;
	int due_ms = trace_file_due_ms(f);
	int rc = due_ms == 0 ? -EAGAIN : take_message(&s, sizeof(s), due_ms);

	if (rc == 1)
		put_row(f, r, &s);
	if (rc != 1 || s.is_last || trace_file_is_full(f) || f->used > sizeof(f->buf) - 3 * TRACE_ROW_MAX) {
		if (f->used && trace_file_flush(f, err) < 0)
			return -EIO;
	}
	if (rc == 1 && !s.is_last && trace_file_is_full(f))
		return errmsg_set(err, -EFBIG, "%s: it is %" PRIu64 " MiB long", f->path, f->size >> 20);
	if (rc == -EPROTO)
		return errmsg_set(err, rc, "%s: slurmstepd's plugin is of another build", f->path);
	return rc == 1 || rc == -EAGAIN ? 0 : -ENODATA;
}

static int trace_write(struct trace_file *f, const char *dir, const char *name, struct errmsg *err)
{
	struct trace_start start;
	struct trace_row row;
	uint64_t begin_ns;
	int rc = take_message(&start, sizeof(start), -1);

	if (rc != 1)
		return errmsg_set(err, -EPROTO, "slurmstepd's plugin is of another build");
	start.node[sizeof(start.node) - 1] = '\0';
	trace_row_init(&row, &start);
	begin_ns = helper_begin(WRITE_MAX_S);
	rc = f->fd = as_user_create(dir, name, "csv", f->path, sizeof(f->path), err);
	(void)helper_end(begin_ns);
	f->flushed_ns = clock_mono_ns();
	while (rc >= 0)
		rc = trace_next(f, &row, err);
	return rc;
}

int main(int argc, char **argv)
{
	static struct trace_file f = { .fd = -1 };
	_cleanup_free_ char *text = NULL;
	char *arg[STEP_ARGS_TRACE];
	struct errmsg err = { 0 };
	int rc;

	(void)argv;
	rc = argc > 1 ? errmsg_set(&err, -EINVAL, STEP_ARGS_NONE) :
			step_args_receive(STDIN_FILENO, STEP_ARGS_TRACE, &text, arg, &err);
	if (rc == 0 && parse_u64(arg[STEP_ARG_BYTES], &f.limit) < 0)
		rc = errmsg_set(&err, -EINVAL, "bytes='%s' is not a number", arg[STEP_ARG_BYTES]);
	if (rc < 0) {
		(void)fprintf(stderr, "ceems-trace: %s\n", err.text);
		return 2;
	}
	helper_serve(/* is_nice= */ false);
	rc = as_user_become(arg[STEP_ARG_UID], arg[STEP_ARG_GROUPS]);
	if (rc < 0) {
		helper_say("error - cannot become user %s: %s", arg[STEP_ARG_UID], strerror(-rc));
		return 1;
	}
	(void)confine_parser(); /* without seccomp, the user's rights alone limit it */
	(void)setpriority(PRIO_PROCESS, 0, NICE);
	rc = trace_write(&f, arg[STEP_ARG_DIR], arg[STEP_ARG_FILE], &err);
	if (rc != -ENODATA)
		helper_say("error - %s", err.text);
	(void)fflush(stdout);
	(void)alarm(WRITE_MAX_S);
	/* a network file system writes at the close, and tells of a full disk only then */
	if (f.fd >= 0 && close(f.fd) < 0 && rc == -ENODATA) {
		rc = -errno;
		helper_say("error - %s: %s", f.path, strerror(-rc));
	}
	if (rc == -ENODATA)
		helper_say(STEPFILE_DONE);
	return rc != -ENODATA;
}
