/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libstep/stepfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "src/libmeter/activity/cgleave.h"
#include "src/libmeter/activity/cgprocs.h"
#include "src/libutil/clock.h"
#include "src/libutil/helper.h"
#include "src/libutil/logger.h"
#include "src/libutil/procstat.h"
#include "src/libutil/text.h"

/* How long the kernel may need to end a killed program. */
#define KILL_NS (20 * NSEC_PER_MSEC)
/* How often to look whether a program that is late still works. */
#define LOOK_NS (100 * NSEC_PER_MSEC)

/* --- the arguments ------------------------------------------------------------------------- */

static void set_file(const struct stepfile_setup *setup, char *arg[])
{
	char step[16], name[NAME_MAX];

	/* the rest of NAME_MAX is for a number and the suffix */
	if (snprintf(name, sizeof(name), "ceems-%s-%s.%s-%s", setup->what, setup->owner->job,
		     ledger_step_name(setup->id->step_id, step, sizeof(step)),
		     ledger_node(setup->ledger)) > NAME_MAX - 16)
		return;
	step_arg_set(arg, STEP_ARG_FILE, "%s", name);
}

static void set_groups(const struct stepfile_owner *o, char *arg[])
{
	const size_t size = (o->ngids + 1) * sizeof("4294967295,");
	_cleanup_free_ char *text = malloc(size);
	size_t used, i;

	if (!text)
		return;
	used = (size_t)snprintf(text, size, "%u", (unsigned int)o->gid);
	for (i = 0; i < o->ngids; i++)
		used += (size_t)snprintf(text + used, size - used, ",%u", (unsigned int)o->gids[i]);
	step_arg_set(arg, STEP_ARG_GROUPS, "%s", text);
}

static char *program_path(const struct stepfile_setup *setup)
{
	const char *dir = setup->settings->helper_dir[0] ? setup->settings->helper_dir : CEEMS_LIBEXECDIR;
	const size_t size = strlen(dir) + strlen(setup->what) + sizeof("/ceems-");
	char *path = malloc(size);

	if (path)
		(void)snprintf(path, size, "%s/ceems-%s", dir, setup->what);
	return path;
}

int stepfile_command_make(const struct stepfile_setup *setup, struct stepfile_command *ret)
{
	char **arg = ret->arg;
	size_t i;

	ret->program = program_path(setup);
	ret->nargs = STEP_ARGS_TRACE;
	step_arg_set(arg, STEP_ARG_UID, "%u", (unsigned int)setup->owner->uid);
	set_groups(setup->owner, arg);
	step_arg_set(arg, STEP_ARG_DIR, "%s", *setup->dir ? setup->dir : setup->owner->dir);
	set_file(setup, arg);
	step_arg_set(arg, STEP_ARG_BYTES, "%" PRIu64, setup->size_max);
	for (i = 0; i < STEP_ARGS_TRACE; i++)
		if (!arg[i])
			return -ENOMEM;
	return ret->program ? 0 : -ENOMEM;
}

void stepfile_command_clear(struct stepfile_command *c)
{
	size_t i;

	free(TAKE_PTR(c->program));
	for (i = 0; i < ARRAY_SIZE(c->arg); i++)
		free(TAKE_PTR(c->arg[i]));
}

/* Returns the value of an argument. */
static const char *value_of(const struct stepfile_command *c, enum step_arg a)
{
	return strchr(c->arg[a], '=') + 1;
}

/* --- the program -------------------------------------------------------------------------- */

void stepfile_init(struct stepfile *f, const char *what, const char *end)
{
	memset(f, 0, sizeof(*f));
	f->what = what;
	f->end = end;
	f->in = f->out = -1;
}

/* Ends a program that has no arguments. */
static void stop_program(struct stepfile *f)
{
	(void)kill(f->pid, SIGKILL);
	(void)helper_wait(f->pid, clock_mono_ns() + KILL_NS, NULL);
	(void)close(TAKE_FD(f->in));
	(void)close(TAKE_FD(f->out));
	f->pid = 0;
}

int stepfile_start(struct stepfile *f, const struct stepfile_command *c, size_t socket_bytes)
{
	char *const argv[] = { c->program, NULL };
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	int rc = step_args_join(c->arg, c->nargs, &text, &len);

	if (rc < 0)
		return rc;
	rc = helper_spawn_piped(argv, NULL, SOCK_SEQPACKET, socket_bytes, &f->in, &f->out, &f->pid);
	if (rc < 0)
		return rc;
	/* the socket is empty, so there is room; a program that is gone is noticed by stepfile_end() */
	if (send(f->in, text, len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EPIPE &&
	    errno != ECONNRESET) {
		rc = -errno;
		stop_program(f);
		return rc;
	}
	(void)snprintf(f->file, sizeof(f->file), "%s/%s", value_of(c, STEP_ARG_DIR),
		       value_of(c, STEP_ARG_FILE));
	(void)text_mask(f->file, f->file, sizeof(f->file));
	return 0;
}

/* Reads what the program writes. True: the program has ended, or has closed its output. */
static bool hear_program(struct stepfile *f)
{
	char rest[256];
	ssize_t n;

	for (;;) {
		const size_t room = sizeof(f->words) - 1 - f->nwords;

		n = room ? read(f->out, f->words + f->nwords, room) : read(f->out, rest, sizeof(rest));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0;
		f->nwords += room ? (size_t)n : 0;
	}
}

/* Returns true if the program printed that all went well. */
static bool has_done(const struct stepfile *f)
{
	return !strcmp(f->words, STEPFILE_DONE "\n");
}

/*
 * Logs the end of the file in one line. A program that was killed, by the user or by its
 * alarm, has written nothing.
 */
static void tell_end(struct stepfile *f)
{
	static const char error[] = "error - ", note[] = "note - ";
	struct errmsg why = { 0 };
	const char *words = f->words;

	f->words[strcspn(f->words, "\n")] = '\0';
	if (!strncmp(words, error, sizeof(error) - 1))
		words += sizeof(error) - 1;
	(void)errmsg_set(&why, 0, "%s", words);	       /* masks what the user named */
	if (!strncmp(words, note, sizeof(note) - 1)) { /* the file is complete */
		logger_info("%s: %s", f->what, why.text + sizeof(note) - 1);
		return;
	}
	if (*words)
		(void)errmsg_set(&f->lost, 0, "%s: %s; %s", f->what, why.text, f->end);
	else
		(void)errmsg_set(&f->lost, 0, "%s: ceems-%s was killed, or its folder did not answer; %s",
				 f->what, f->what, f->end);
	logger_info("%s", f->lost.text);
}

/* Returns true if the program's group has a process, or if the program itself is in uninterruptible sleep. */
static bool is_waiting(const struct stepfile *f)
{
	struct procstat stat;

	return kill(-f->pid, 0) == 0 || (procstat_read(f->pid, &stat) == 0 && stat.state == 'D');
}

/* Kills the program and every process of its group. slurmstepd may have reaped the program already. */
static void kill_program(const struct stepfile *f)
{
	const uint64_t deadline_ns = clock_mono_ns() + KILL_NS;
	int rc;

	(void)kill(-f->pid, SIGKILL);
	(void)kill(f->pid, SIGKILL);
	(void)helper_wait(f->pid, deadline_ns, NULL);
	while (is_waiting(f) && clock_mono_ns() < deadline_ns)
		(void)usleep(1000);
	if (!is_waiting(f))
		return;
	rc = cgleave(f->pid);
	logger_info("%s: ceems-%s was killed, but is left waiting for the file system of %s%s%s", f->what,
		    f->what, f->file,
		    rc < 0 ? "; it is still in the step's cgroup, so Slurm may drain the node: " : "",
		    rc < 0 ? strerror(-rc) : "");
}

void stepfile_leave(const struct stepfile *f)
{
	int rc = f->pid ? cgleave(f->pid) : 0;

	if (rc < 0)
		logger_info("%s: ceems-%s cannot leave the step's cgroup: %s; Slurm kills it there", f->what,
			    f->what, strerror(-rc));
}

/* What the program and its children do. */
struct work {
	uint64_t cpu_ticks;
	bool is_runnable; /* one of them runs, or would if it had a CPU */
};

static int work_of(void *ctx, pid_t pid)
{
	struct work *w = ctx;
	struct procstat stat;

	if (procstat_read(pid, &stat) == 0) {
		w->cpu_ticks += stat.cpu_ticks;
		w->is_runnable |= stat.state == 'R';
	}
	return 0;
}

static struct work see_work(const struct stepfile *f)
{
	struct cgprocs children = { 0 };
	struct work w = { 0 };
	_cleanup_close_ int fd = -1;
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)f->pid, (int)f->pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)work_of(&w, f->pid);
	if (fd >= 0)
		(void)cgprocs_each_in(&children, fd, "children", work_of, &w);
	cgprocs_fini(&children);
	return w;
}

/*
 * Waits until the program has closed its output, and returns true. On a busy node it may still have work
 * then: as long as it works, *DEADLINE_NS is moved, by STEPFILE_WORK_NS in all. A program that waits for a
 * file system does not work.
 */
static bool wait_for_program(struct stepfile *f, uint64_t *deadline_ns)
{
	const uint64_t last_ns = *deadline_ns + STEPFILE_WORK_NS;
	struct pollfd p = { .fd = f->out, .events = POLLIN };
	struct work before = see_work(f), now;
	uint64_t now_ns;

	while (!hear_program(f)) {
		now_ns = clock_mono_ns();
		if (now_ns >= *deadline_ns) {
			now = see_work(f);
			if (now_ns >= last_ns || (!now.is_runnable && now.cpu_ticks == before.cpu_ticks))
				return false;
			before = now;
			*deadline_ns = now_ns + LOOK_NS;
		}
		(void)poll(&p, 1, (int)((*deadline_ns - now_ns) / NSEC_PER_MSEC) + 1);
	}
	return true;
}

void stepfile_end(struct stepfile *f, uint64_t deadline_ns)
{
	bool has_ended;

	if (f->in < 0)
		return;
	(void)shutdown(f->in, SHUT_WR);
	has_ended = wait_for_program(f, &deadline_ns);
	/*
	 * its pid is not reused: a process of its group still has the output open, or
	 * nobody has reaped the program
	 */
	if (!has_ended || helper_wait(f->pid, deadline_ns, NULL) == -EAGAIN)
		kill_program(f);
	/* not by the exit status: slurmstepd may have reaped the program */
	if (!has_ended || !has_done(f))
		tell_end(f);
	(void)close(TAKE_FD(f->in));
	(void)close(TAKE_FD(f->out));
}

void stepfile_take_lost(const struct stepfile *f, struct errmsg *ret)
{
	if (ret && f->lost.text[0])
		*ret = f->lost;
}
