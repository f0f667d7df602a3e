/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs of ours that slurmd starts: what they inherit, and how slurmd gets rid of them. */
#define _GNU_SOURCE /* pipe2 */
#include "src/libutil/helper.h"

#include <errno.h>

#include "own_time.h"
#include "scratch.h"
#include "src/libnode/bpfload.h"
#include "src/libnode/oldhelpers.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/procstat.h"
#include "tap.h"
#include "unkillable.h"

#define WAIT_NS (30 * NSEC_PER_SEC)

static char dir[] = SCRATCH_TEMPLATE;

/* Writes the number of its process to DIR/pid and hangs. */
static const char *write_hanging(void)
{
	const char *path = scratch_path(dir, "helper");
	char text[512];
	int n = snprintf(text, sizeof(text),
			 "#!/bin/sh\necho $$ >%s/new\nmv %s/new %s/pid\n"
			 "exec sleep 60\n",
			 dir, dir, dir);

	if (!scratch_write(path, text, (size_t)n) || chmod(path, 0700) < 0)
		diag("cannot write %s", path);
	return path;
}

static pid_t spawn(const char *path)
{
	char *const argv[] = { (char *)path, NULL };
	pid_t pid = -1;

	return helper_spawn(argv, NULL, -1, STDERR_FILENO, &pid) == 0 ? pid : -1;
}

static void test_wait(void)
{
	int status = 0;
	pid_t holder;
	pid_t pid;

	is_int(helper_wait(getppid(), 0, NULL), -ECHILD, "not a child of ours");
	pid = spawn("/bin/true");
	is_int(helper_wait(pid, clock_mono_ns() + WAIT_NS, &status), 0, "one that ends");
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "  its status is returned");
	is_int(helper_wait(pid, 0, NULL), -ECHILD, "  and the process is reaped");

	is_int(chmod(write_hanging(), 0722), 0, "one that others may write");
	is_int(spawn(scratch_path(dir, "helper")), -1, "  is not started");
	pid = spawn(write_hanging());
	is_int(helper_wait(pid, 0, &status), -EAGAIN, "one that hangs is not waited for");
	holder = unkillable_hold(pid);
	(void)kill(pid, SIGKILL);
	if (holder < 0) {
		skip(1, "no right to trace");
	} else {
		is_int(helper_wait(pid, clock_mono_ns() + 50 * NSEC_PER_MSEC, &status), -EAGAIN,
		       "  one that the kernel holds is waited for until the deadline");
		unkillable_let_go(holder);
	}
	is_int(helper_wait(pid, clock_mono_ns() + WAIT_NS, &status), 0, "  in the end it goes");
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "  by the SIGKILL");
}

/* Holds the helper that has written DIR/pid, as soon as it has, until END is closed. */
static void hold_when_started(int end)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	uint64_t deadline_ns = clock_mono_ns() + WAIT_NS;
	pid_t holder;
	char *text;
	char c;

	while (!scratch_has(dir, "pid") && clock_mono_ns() < deadline_ns)
		(void)nanosleep(&pause, NULL);
	text = scratch_read(scratch_path(dir, "pid"), NULL);
	holder = text ? unkillable_hold((pid_t)atoi(text)) : -1;
	free(text);
	while (read(end, &c, 1) < 0 && errno == EINTR)
		;
	if (holder > 0)
		unkillable_let_go(holder);
}

static void test_bpfload(void)
{
	const char *helper = write_hanging();
	struct errmsg err = { 0 };
	int end[2];
	pid_t pid;

	(void)unlink(scratch_path(dir, "pid"));
	if (!ok(pipe(end) == 0, "a pipe"))
		return;
	pid = fork();
	if (pid == 0) {
		(void)close(end[1]);
		hold_when_started(end[0]);
		_exit(0);
	}
	is_int(bpfload_run(helper, dir, NSEC_PER_SEC, &err), -ETIMEDOUT,
	       "slurmd does not wait for a loader that cannot be killed");
	ok(strstr(err.text, helper), "  and says which");
	(void)close(end[0]);
	(void)close(end[1]);
	while (waitpid(-1, NULL, 0) > 0) /* the two */
		;
}

/* --- the client, with a clock that the test sets ------------------------------------------ */

static char *client_argv[] = { NULL, NULL };

static void write_script(const char *body)
{
	const char *path = scratch_path(dir, "helper");
	char text[2048];
	int n = snprintf(text, sizeof(text), "#!/bin/sh\necho $$ >>%s/pids\n%s\n", dir, body);

	(void)unlink(path); /* the one that runs keeps its own */
	(void)unlink(scratch_path(dir, "pids"));
	if (!scratch_write(scratch_path(dir, "helper"), text, (size_t)n) ||
	    chmod(scratch_path(dir, "helper"), 0700) < 0)
		diag("cannot write the helper");
}

static struct helper *client_open(const char *body, bool is_asked)
{
	static char path[PATH_MAX];
	struct helper_options o = { .argv = client_argv, .deadline_ns = NSEC_PER_SEC, .is_asked = is_asked };
	struct errmsg err = { 0 };
	struct helper *h = NULL;

	write_script(body);
	(void)snprintf(path, sizeof(path), "%s", scratch_path(dir, "helper"));
	client_argv[0] = path;
	if (helper_open(&o, &h, &err) < 0)
		diag("%s", err.text);
	return h;
}

/* Takes lines at NOW_NS until there is one, or for as long as a process may take to start. */
static const char *line_at(struct helper *h, uint64_t now_ns)
{
	const struct timespec pause = { .tv_nsec = 5 * 1000 * 1000 };
	uint64_t deadline_ns = clock_mono_ns() + WAIT_NS;
	char *line;

	while (helper_line(h, now_ns, &line) < 0) {
		if (clock_mono_ns() >= deadline_ns)
			return "(none)";
		(void)nanosleep(&pause, NULL);
	}
	return line;
}

static int count_starts(void)
{
	size_t len = 0;
	char *text = scratch_read(scratch_path(dir, "pids"), &len);
	int n = 0;
	size_t i;

	for (i = 0; text && i < len; i++)
		n += text[i] == '\n';
	free(text);
	return n;
}

static pid_t last_pid(void)
{
	char *text = scratch_read(scratch_path(dir, "pids"), NULL);
	pid_t pid = text ? (pid_t)atoi(text) : 0;

	free(text);
	return pid;
}

static bool is_all_gone(void)
{
	return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

static void client_close(struct helper *h)
{
	helper_close(h, clock_mono_ns() + WAIT_NS);
	ok(is_all_gone(), "  nothing is left of it");
}

/* The first line of a helper, and the state after it. */
static void test_first_words(void)
{
	static const struct {
		const char *what, *body, *line;
	} t[] = {
		{ "a line", "echo ready; exec sleep 60", "ready" },
		{ "one that ends without a word", "exit 0", "error - the helper ended" },
		{ "one that crashes", "kill -SEGV $$", "error - the helper ended" },
		{ "what the dynamic linker complains of", "echo 'no libx.so' >&2; exec sleep 60",
		  "no libx.so" },
		{ "control bytes", "printf 'a\\033b\\n'; exec sleep 60", "a?b" },
		{ "an empty line", "echo; exec sleep 60", "" },
		{ "half a line, and then no more", "printf half", "error - the helper ended" },
		{ "a line of a megabyte", "head -c 1000000 /dev/zero | tr '\\0' x; echo; exec sleep 60",
		  "error - a line that is too long: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" },
	};
	uint64_t now_ns = clock_mono_ns();
	struct helper *h;
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		h = client_open(t[i].body, /* is_asked= */ false);
		is_str(line_at(h, now_ns), t[i].line, t[i].what);
		is_str(helper_state_name(helper_state(h, now_ns)),
		       !strncmp(t[i].line, "error - the helper", 18) ? "dead" : "ok", "  its state");
		client_close(h);
	}
	/* behind a line that was too long */
	h = client_open("head -c 100000 /dev/zero | tr '\\0' x; echo; echo next; exec sleep 60", false);
	(void)line_at(h, now_ns);
	is_str(line_at(h, now_ns), "next", "the line behind a long one");
	client_close(h);
}

static void test_restarts(void)
{
	struct helper *h = client_open("exit 1", /* is_asked= */ false);
	uint64_t now_ns = clock_mono_ns();
	uint64_t pause_ns = HELPER_PAUSE_NS;
	char *line;
	int i;

	for (i = 0; i < 8; i++) {
		is_str(line_at(h, now_ns), "error - the helper ended", "its end is told");
		is_int(helper_line(h, now_ns + pause_ns - 1, &line), -EAGAIN,
		       "  it is not started before the pause is over");
		is_int(count_starts(), i + 1, "  so many starts");
		now_ns += pause_ns;
		pause_ns = pause_ns * 2 < HELPER_PAUSE_MAX_NS ? pause_ns * 2 : HELPER_PAUSE_MAX_NS;
	}
	write_script("echo good; exec sleep 60");
	is_str(line_at(h, now_ns), "good", "it is started after that, and speaks");
	helper_good(h);
	is_str(line_at(h, now_ns + 2 * NSEC_PER_SEC), "error - the helper hung and was killed",
	       "silence for too long");
	now_ns += 2 * NSEC_PER_SEC;
	is_int(helper_line(h, now_ns + HELPER_PAUSE_NS - 1, &line), -EAGAIN,
	       "  it is not started before the first pause is over");
	is_str(line_at(h, now_ns + HELPER_PAUSE_NS), "good",
	       "  after helper_good() the pause is the first one again");
	is_u64(helper_counts(h).starts, 10, "starts are counted");
	is_u64(helper_counts(h).kills, 1, "and kills");
	client_close(h);
}

/* A question, its answer, and what may be wrong with it. */
static void test_questions(void)
{
	static const char echoes[] = "while read -r verb n rest; do echo \"got $rest\"; echo done $n; done";
	uint64_t now_ns = clock_mono_ns();
	struct helper *h = client_open(echoes, /* is_asked= */ true);
	char *line;

	is_int(helper_line(h, now_ns + 100 * NSEC_PER_SEC, &line), -EAGAIN,
	       "one that is not asked may be silent");
	is_int(helper_ask(h, now_ns, "read", NULL, 0, " %s", "a b"), 0, "a question");
	ok(helper_is_asked(h), "  is open");
	is_int(helper_ask(h, now_ns, "read", NULL, 0, "%s", ""), -EAGAIN, "  a second one is dropped");
	is_str(line_at(h, now_ns), "got a b", "  it is answered");
	is_str(line_at(h, now_ns), "done 1", "  and done");
	ok(!helper_is_asked(h), "  which ends it");
	is_u64(helper_counts(h).dropped, 1, "what was dropped is counted");
	client_close(h);

	h = client_open("read -r line; echo done 7; echo done 1x; read -r line; echo done 2; exec sleep 60",
			true);
	(void)helper_ask(h, now_ns, "read", NULL, 0, "%s", "");
	(void)line_at(h, now_ns);
	(void)line_at(h, now_ns);
	ok(helper_is_asked(h), "answers to other questions do not end it");
	is_str(helper_state_name(helper_state(h, now_ns + 2 * NSEC_PER_SEC)), "late",
	       "  after a second it is late");
	is_str(line_at(h, now_ns + 3 * NSEC_PER_SEC), "error - the helper hung and was killed",
	       "  and killed when time is up");
	is_int(helper_ask(h, now_ns + 3 * NSEC_PER_SEC, "read", NULL, 0, "%s", ""), -EAGAIN,
	       "  one that is dead is not asked");
	client_close(h);
}

/* Data behind a question: more than its input holds, to one that is slow to take it. */
static void test_data(void)
{
	enum { SIZE = 3000000 };
	const struct timespec pause = { .tv_nsec = 5 * 1000 * 1000 };
	uint64_t deadline_ns = clock_mono_ns() + WAIT_NS;
	uint64_t now_ns = clock_mono_ns();
	uint64_t begin_ns;
	char *data = malloc(SIZE);
	struct helper *h;
	char *line;
	int rc;

	if (!data)
		return;
	memset(data, 'x', SIZE);
	h = client_open("read -r verb n len; sleep 0.3; head -c $len | wc -c; echo done $n; exec sleep 60",
			/* is_asked= */ true);
	begin_ns = own_time_ns();
	is_int(helper_ask(h, now_ns, "file", data, SIZE, " %d", SIZE), 0, "3 MB are taken at once");
	ok(own_time_ns() - begin_ns < NSEC_PER_SEC / 4, "  without waiting for who reads them");
	free(data);
	while ((rc = helper_line(h, now_ns, &line)) < 0 && clock_mono_ns() < deadline_ns)
		(void)nanosleep(&pause, NULL);
	is_str(rc == 0 ? line : "", "3000000", "  all arrive");
	client_close(h);
}

static void test_flood(void)
{
	struct helper *h = client_open("exec tr '\\0' x </dev/zero", /* is_asked= */ false);
	uint64_t now_ns = clock_mono_ns();
	uint64_t begin_ns = now_ns;
	char *line;
	int i;

	for (i = 0; i < 1000; i++)
		if (helper_line(h, now_ns, &line) < 0)
			continue; /* no line yet */
	ok(clock_mono_ns() - begin_ns < 5 * NSEC_PER_SEC,
	   "a flood without newlines does not block the caller");
	client_close(h);
}

/* Behind a dead BMC a driver holds its caller for half a minute, also one that was killed. */
static void test_unkillable(void)
{
	struct helper *h = client_open("echo x; exec sleep 60", /* is_asked= */ false);
	uint64_t now_ns = clock_mono_ns();
	pid_t holder;
	char *line;
	int status;

	(void)line_at(h, now_ns);
	holder = unkillable_hold(last_pid());
	if (holder < 0) {
		skip(4, "no right to trace");
		client_close(h);
		return;
	}
	is_str(line_at(h, now_ns + 3 * NSEC_PER_SEC), "error - the helper hung and was killed",
	       "one that hangs in the kernel");
	is_int(helper_line(h, now_ns + 1000 * NSEC_PER_SEC, &line), -EAGAIN,
	       "  while the kernel holds it there is no other");
	helper_close(h, clock_mono_ns());
	is_int(count_starts(), 1, "  closing does not wait for it");
	unkillable_let_go(holder);
	ok(waitpid(-1, &status, 0) > 0 && WIFSIGNALED(status), "  it was killed");
}

static int pause_for_ever(void)
{
	for (;;)
		(void)pause();
	return 0;
}

/* A daemon that is killed leaves none behind: their input ends. */
static void test_daemon_killed(void)
{
	const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	uint64_t deadline_ns = clock_mono_ns() + WAIT_NS;
	pid_t helper;
	pid_t pid;

	(void)unlink(scratch_path(dir, "pids"));
	pid = fork();
	if (pid == 0) {
		if (client_open("cat >/dev/null", /* is_asked= */ true))
			(void)pause_for_ever();
		_exit(1);
	}
	while (!count_starts() && clock_mono_ns() < deadline_ns)
		(void)nanosleep(&pause, NULL);
	helper = last_pid();
	ok(helper > 0 && kill(helper, 0) == 0, "a daemon with a helper");
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	while (kill(helper, 0) == 0 && clock_mono_ns() < deadline_ns)
		(void)nanosleep(&pause, NULL);
	ok(kill(helper, 0) < 0, "  when it is killed, the helper ends");
}

/* --- helpers from before the daemon executed itself anew ----------------------------------- */

/* Starts DIR/NAME, which ends as its input ends, and returns our end of its input in *RET_IN. */
static pid_t start_reader(const char *name, int *ret_in)
{
	static const char text[] = "#!/bin/sh\nread -r line\n";
	const char *path = scratch_path(dir, name);
	char *const argv[] = { (char *)path, NULL };
	pid_t pid = -1;
	int in[2];

	if (!scratch_write(path, text, sizeof(text) - 1) || chmod(path, 0700) < 0 || pipe2(in, O_CLOEXEC) < 0)
		return -1;
	*ret_in = in[1];
	if (helper_spawn(argv, NULL, in[0], STDERR_FILENO, &pid) < 0)
		diag("cannot start %s", path);
	(void)close(in[0]);
	return pid;
}

/* Ends the input of the process and waits until it is a zombie. */
static void end_reader(pid_t pid, int *in)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	const uint64_t deadline_ns = clock_mono_ns() + WAIT_NS;
	struct procstat stat;

	(void)close(TAKE_FD(*in));
	while (procstat_read(pid, &stat) == 0 && stat.state != 'Z' && clock_mono_ns() < deadline_ns)
		(void)nanosleep(&pause, NULL);
}

static void test_old(void)
{
	struct oldhelpers old = { 0 };
	int quick_in = -1, slow_in = -1, prolog_in = -1;
	const pid_t quick = start_reader("ceems-quick", &quick_in);
	const pid_t slow = start_reader("ceems-slow", &slow_in);
	const pid_t prolog = start_reader("ceems-prolog", &prolog_in);

	end_reader(quick, &quick_in);
	end_reader(prolog, &prolog_in);
	(void)unlink(scratch_path(dir, "ceems-prolog")); /* the site's own program, from another folder */
	oldhelpers_find(&old, dir);
	is_int(helper_wait(quick, 0, NULL), -ECHILD,
	       "a helper that an earlier run of this process left is reaped");
	is_int(helper_wait(prolog, 0, NULL), 0, "  but no other child, whatever its name");
	is_int((int)old.n, 1, "  one that has not ended yet");
	oldhelpers_reap(&old);
	is_int((int)old.n, 1, "  is not waited for");
	end_reader(slow, &slow_in);
	oldhelpers_reap(&old);
	is_int((int)old.n, 0, "  and reaped later");
	is_int(helper_wait(slow, 0, NULL), -ECHILD, "  as well");
	oldhelpers_fini(&old);
}

/* Returns what becomes of an oom_score_adj of WAS; 1 (no value here): WAS cannot be set. */
static int score_after(int was, void (*change)(void))
{
	char text[16];
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		FILE *f = fopen("/proc/self/oom_score_adj", "r+e");

		if (!f || fprintf(f, "%d", was) < 0 || fclose(f))
			_exit(1);
		change();
		if (fileio_read_line(NULL, "/proc/self/oom_score_adj", text, sizeof(text)) < 0)
			_exit(2);
		_exit(atoi(text) / 10 + 100); /* a status has 8 bits */
	}
	(void)waitpid(pid, &status, 0);
	return !WIFEXITED(status)	 ? 2 :
	       WEXITSTATUS(status) < 100 ? WEXITSTATUS(status) :
					   (WEXITSTATUS(status) - 100) * 10;
}

static void serve(void)
{
	helper_serve(/* is_nice= */ false);
}

static void expose(void)
{
	helper_expose_to_oom(500);
}

static void test_oom_score(void)
{
	const int protected = score_after(-500, serve);

	is_int(score_after(300, serve), 300, "a helper is protected from the OOM killer no more than it was");
	is_int(score_after(300, expose), 500, "it can be made the first to be killed");
	is_int(score_after(700, expose), 700, "  and stays it");
	if (protected == 1)
		skip(1, "needs CAP_SYS_RESOURCE");
	else
		is_int(protected, 0, "the daemon's protection is given up");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	test_oom_score();
	test_wait();
	test_bpfload();
	test_first_words();
	test_restarts();
	test_questions();
	test_data();
	test_flood();
	test_unkillable();
	test_daemon_killed();
	test_old();
	scratch_clear(dir);
	(void)rmdir(dir);
	return done_testing();
}
