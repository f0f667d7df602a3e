/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ceems-profile - samples a step for its slurmstepd (--ceems-profile) and writes the profile. It
 * has two processes, so that the process with rights reads no user's files, and the process that
 * reads them has no rights:
 *
 * - The sampler stays root. It has the events and ring buffers of the CPUs (stacks.h). These
 *   contain names and mappings of all processes on the CPUs. It drops records outside the step,
 *   replaces kernel addresses by numbers of functions, and passes on the rest. It opens only files
 *   of the kernel, in /proc and /sys.
 * - With ProfilePushUrl there is a third process, the keeper, which stays root. The writer hands it parts of
 *   the profile, as bytes that it does not look into, and it adds them to the node's queue (profile_push.h).
 * - The writer becomes the user before the first message. It reads the user's files and writes the
 *   profile. So a folder that hangs, or a file that is made to confuse a parser, harms only that
 *   user. Besides its end of the socket it has only /dev/null, stdout and stderr, and the user's
 *   other processes cannot trace it.
 *
 * ceems-profile ends when its stdin is closed, and prints the lines that stepfile.h describes. If the sampler
 * is killed, the writer writes what it has received. If the writer is killed, the sampler ends. slurmstepd
 * kills both by their process group.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "src/libutil/as_user.h"
#include "src/profiler/kallsyms.h"
#include "src/profiler/profile_push.h"
#include "src/profiler/profile_tasks.h"
#include "src/profiler/profile_writer.h"
#include "src/libcore/profile_request.h"
#include "src/libcore/step_args.h"
#include "src/profiler/offcpu.h"
#include "src/libmeter/activity/perf_set.h"
#include "src/libstep/stepfile.h"
#include "src/libprofile/unwind.h"
#include "src/libutil/clock.h"
#include "src/libutil/confine.h"
#include "src/libutil/helper.h"
#include "src/libutil/parse.h"

#define NICE 5
#define SOCKET_BYTES (1024 * 1024)
/* Bytes of a stack that are copied to find callers. doc/performance.md compares other sizes. */
#define DUMP_BYTES (16 * 1024)
/*
 * What the sampler uses: events and programs of the kernel, its rings and its symbols, and /proc of the
 * user's tasks. Before Linux 5.8, CAP_SYS_ADMIN stands for CAP_PERFMON and CAP_BPF.
 */
#ifndef CAP_BPF
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif
#define SAMPLER_CAPS                                                                           \
	(CONFINE_CAP(CAP_SYS_ADMIN) | CONFINE_CAP(CAP_PERFMON) | CONFINE_CAP(CAP_BPF) |        \
	 CONFINE_CAP(CAP_IPC_LOCK) | CONFINE_CAP(CAP_SYS_RESOURCE) | CONFINE_CAP(CAP_SYSLOG) | \
	 CONFINE_CAP(CAP_SYS_PTRACE) | CONFINE_CAP(CAP_DAC_READ_SEARCH) | CONFINE_CAP(CAP_KILL))
/* The longest time between two reads of the rings, in ms. */
#define DRAIN_MS 500
/*
 * Bytes of records that wait for the kernel's symbols, at most. Then records stay in the rings, and
 * are lost if these are full.
 */
#define HELD_MAX ((size_t)16 << 20)
/* Records that are sent between two reads of the rings. */
#define HELD_PORTION 16

struct stack_sampler {
	struct wire *wire;
	struct stacks *stacks;
	struct offcpu *offcpu; /* NULL: waits are not counted */
	struct profile_tasks *tasks;
	struct kallsyms *kernel;     /* NULL: kernel stacks are not sampled */
	struct wire *held;	     /* records that wait for the kernel's symbols; NULL: none need to */
	uint8_t *is_told;	     /* by a kernel function's number: its name was sent */
	struct errmsg why_event;     /* why another event than the wanted one is sampled */
	struct errmsg why_no_copies; /* why stacks are not copied; empty: they are */
	int rc;			     /* first error of the wire, or 0 */
};

/*
 * The sampler does this only once it samples: on a busy CPU it would begin late, and a
 * short step would end before.
 */
static void be_nice(void)
{
	(void)setpriority(PRIO_PROCESS, 0, NICE);
}

/* --- the half that samples ------------------------------------------------------------------ */

/* Adds the tasks in TEXT, PID:RANK or PID, such as "1234:0,1235:1". TEXT is changed. */
static int parse_tasks(struct profile_tasks *tasks, char *text)
{
	uint64_t pid, rank;
	char *word, *colon;
	int rc = -EINVAL;

	while ((word = strsep(&text, ","))) {
		colon = strchr(word, ':');
		if (colon)
			*colon = '\0';
		if (parse_u64(word, &pid) < 0 || !pid || pid > INT32_MAX ||
		    (colon && parse_u64(colon + 1, &rank) < 0))
			return -EINVAL;
		rc = profile_tasks_add(tasks, (uint32_t)pid, colon ? (int64_t)rank : WIRE_RANK_NONE);
		if (rc < 0)
			return rc;
	}
	return rc;
}

/* Sends the name of kernel function NUMBER, once. */
static void tell_symbol(struct stack_sampler *s, uint32_t number)
{
	const struct wire_message m = {
		.kind = WIRE_SYMBOL, .record = { .start = number, .text = kallsyms_name(s->kernel, number) }
	};

	if (!s->is_told[number])
		s->rc = wire_send(s->wire, &m);
	s->is_told[number] = 1;
}

/*
 * Returns whether function NAME only calls our program at a tracepoint. Such functions are
 * the innermost of a wait.
 */
static bool is_of_tracepoint(const char *name)
{
	return !strncmp(name, "bpf_", 4) || !strncmp(name, "__bpf_", 6) || !strncmp(name, "__traceiter_", 12);
}

/*
 * Sets RET to the numbers of the kernel functions in the stack of R, and sends new names. Returns
 * how many.
 */
static size_t name_kernel(struct stack_sampler *s, const struct stacks_record *r, uint64_t ret[])
{
	uint32_t number;
	size_t i, n = 0;

	for (i = 0; i < r->nkernel && s->kernel && s->rc == 0; i++) {
		number = kallsyms_find(s->kernel, r->kernel[i]);
		if (number == UINT32_MAX ||
		    (r->kind == STACKS_WAIT && !n && is_of_tracepoint(kallsyms_name(s->kernel, number))))
			continue;
		tell_symbol(s, number);
		ret[n++] = number;
	}
	return n;
}

/* Sends M, whose record still has kernel addresses. */
static void send_named(struct stack_sampler *s, const struct wire_message *m)
{
	struct wire_message named = *m;
	uint64_t kernel[UINT16_MAX / sizeof(uint64_t)];

	named.record.nkernel = name_kernel(s, &m->record, kernel);
	named.record.kernel = kernel;
	if (s->rc == 0)
		s->rc = wire_send(s->wire, &named);
}

static void pass_on(void *ctx, const struct stacks_record *r)
{
	struct stack_sampler *s = ctx;
	struct wire_message m = { .kind = WIRE_RECORD, .record = *r };

	if (s->rc < 0 || !profile_tasks_look(s->tasks, &m))
		return;
	if (s->held)
		s->rc = wire_send(s->held, &m);
	else
		send_named(s, &m);
}

static int tell_begin(struct stack_sampler *s)
{
	const struct wire_message m = {
		.kind = WIRE_BEGIN,
		.event = stacks_event(s->stacks, &s->why_event),
		.wall_ns = clock_wall_ns(),
		.record = { .mono_ns = clock_mono_ns(), .text = s->why_event.text },
	};

	return wire_send(s->wire, &m);
}

static int tell_end(struct stack_sampler *s)
{
	const struct wire_message m = { .kind = WIRE_END,
					.counted = stacks_counted(s->stacks),
					.record.mono_ns = clock_mono_ns() };

	return wire_send(s->wire, &m);
}

static int open_offcpu(struct stack_sampler *s, const struct stacks_setup *stacks, struct errmsg *err)
{
	const struct offcpu_setup setup = { .cgroup_fd = stacks->cgroup_fd,
					    .has_user = stacks->has_user,
					    .has_kernel = stacks->has_kernel };

	return offcpu_open(&setup, &s->offcpu, err);
}

/* Opens the events on the CPUs of the first task, whose pid is the first number in TASKS. */
static int open_stacks(struct stack_sampler *s, const struct profile_request *request, char *const *arg,
		       struct errmsg *err)
{
	const char *tasks = arg[STEP_ARG_TASKS];
	_cleanup_close_ int fd = open(arg[STEP_ARG_CGROUP], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stacks_setup setup = {
		.cgroup_fd = fd,
		.event = request->stacks & PROFILE_REQUEST_CYCLES ? STACKS_CYCLES : STACKS_CLOCK,
		.hz = request->hz,
		.has_user = request->stacks & PROFILE_REQUEST_USER,
		/*
		 * whatever perf_event_paranoid says: the user gets names only, and a site can forbid
		 * profiles (doc/security.md)
		 */
		.has_kernel = request->stacks & PROFILE_REQUEST_KERNEL,
	};
	const struct unwind_machine *machine = unwind_host();
	_cleanup_free_ uint32_t *cpu = NULL;
	uint64_t uid;
	int rc = parse_u64(arg[STEP_ARG_UID], &uid);

	if (rc == 0 && setup.has_user && machine) {
		setup.uid = (uid_t)uid;
		setup.user_registers = machine->sampled;
		setup.dump_size = DUMP_BYTES;
	}
	if (fd < 0)
		return errmsg_errno(err, -errno, "cannot open the step's cgroup");
	rc = perf_cgroup_cpus((pid_t)strtol(tasks, NULL, 10), &cpu, &setup.ncpus);
	if (rc < 0)
		return errmsg_errno(err, rc, "cannot read the CPUs of the step");
	setup.cpu = cpu;
	rc = stacks_open(&setup, &s->stacks, err);
	if (rc == 0)
		(void)snprintf(s->why_no_copies.text, sizeof(s->why_no_copies.text), "%s",
			       stacks_why_no_copies(s->stacks));
	if (rc == 0 && request->stacks & PROFILE_REQUEST_OFFCPU)
		rc = open_offcpu(s, &setup, err);
	return rc;
}

/* Moves records from the rings to S->held. */
static void hold_records(struct stack_sampler *s)
{
	if (wire_kept(s->held) < HELD_MAX)
		stacks_drain(s->stacks, pass_on, s);
}

/*
 * Sends what is held, and, until stdin is closed, what is sampled meanwhile. The writer may need longer for
 * what is held than the rings last.
 */
static void send_held(struct stack_sampler *s)
{
	struct wire_message m;
	bool is_over = false;
	size_t n = 0;

	while (s->rc == 0 && wire_receive(s->held, 0, &m) == 1) {
		send_named(s, &m);
		if (++n % HELD_PORTION || is_over)
			continue;
		is_over = stacks_wait(s->stacks, STDIN_FILENO, 0);
		hold_records(s);
	}
}

/*
 * Reads the kernel's symbols, which takes 0.1 s, or some seconds if the CPUs are busy. The ring buffers would
 * be full after 0.3 s. So records are moved from there to S->held until all symbols are known.
 */
static int read_kernel(struct stack_sampler *s, struct errmsg *err)
{
	static const char path[] = "/proc/kallsyms";
	int rc = kallsyms_open(path, &s->kernel, err);

	if (rc < 0)
		return rc;
	rc = wire_open(/* fd= */ -1, &s->held);
	while (rc == 0 && (rc = kallsyms_read(s->kernel)) > 0) {
		hold_records(s);
		rc = s->rc;
	}
	if (rc == 0) {
		s->is_told = calloc(kallsyms_count(s->kernel), 1);
		rc = s->is_told ? 0 : -ENOMEM;
	}
	if (rc == 0)
		send_held(s);
	wire_close(TAKE_PTR(s->held));
	return rc < 0 ? errmsg_errno(err, rc, "%s", path) : 0;
}

/* Samples until stdin is closed or the writer is gone. */
static void sample(struct stack_sampler *s)
{
	bool is_over = false;

	while (s->rc == 0 && !is_over) {
		is_over = stacks_wait(s->stacks, STDIN_FILENO, DRAIN_MS);
		if (is_over)
			(void)usleep(1000); /* let the kernel finish records that it is writing */
		stacks_drain(s->stacks, pass_on, s);
		if (s->offcpu)
			offcpu_drain(s->offcpu, pass_on, s); /* after the mappings of the same time */
		if (s->rc == 0 && is_over)
			s->rc = tell_end(s);
		if (s->rc == 0)
			s->rc = wire_flush(s->wire);
	}
}

static int run_sampler(struct stack_sampler *s, const struct profile_request *request, char *const *arg,
		       struct errmsg *err)
{
	int rc = profile_tasks_create(&s->tasks);

	if (rc < 0)
		return errmsg_errno(err, rc, "tasks");
	rc = open_stacks(s, request, arg, err);
	if (rc == 0) {
		s->rc = tell_begin(s);
		/* read the names of tasks only now, so that no change before the events is missed */
		rc = parse_tasks(s->tasks, arg[STEP_ARG_TASKS]);
		if (rc < 0)
			(void)errmsg_errno(err, rc, "tasks");
	}
	if (rc == 0 && request->stacks & PROFILE_REQUEST_KERNEL)
		rc = read_kernel(s, err);
	be_nice();
	if (rc == 0)
		sample(s);
	kallsyms_close(s->kernel);
	stacks_close(s->stacks);
	offcpu_close(s->offcpu);
	profile_tasks_destroy(s->tasks);
	free(s->is_told);
	return rc;
}

/* --- the half that writes ------------------------------------------------------------------- */

static int run_writer(const struct profile_request *request, char *const *arg, int fd, int push_fd)
{
	struct profile_writer_setup setup = {
		.dir = arg[STEP_ARG_DIR],
		.file = arg[STEP_ARG_FILE],
		.job = arg[STEP_ARG_JOB],
		.step = arg[STEP_ARG_STEP],
		.node = arg[STEP_ARG_NODE],
		.hz = request->hz,
		.stacks = profile_request_stacks_name(request->stacks),
		.has_waits = request->stacks & PROFILE_REQUEST_OFFCPU,
		.push_fd = push_fd,
	};
	struct errmsg err = { 0 };
	struct wire *wire = NULL;
	int rc;

	/*
	 * it reads symbol tables of the user's files, which may take much memory; the user may not write
	 * the score, so before that
	 */
	helper_expose_to_oom(1000);
	rc = as_user_become(arg[STEP_ARG_UID], arg[STEP_ARG_GROUPS]);
	if (rc < 0)
		(void)errmsg_errno(&err, rc, "cannot become user %s", arg[STEP_ARG_UID]);
	(void)confine_parser(); /* without seccomp, the user's rights alone limit it */
	if (rc == 0)
		rc = parse_u64(arg[STEP_ARG_BYTES], &setup.size_max);
	if (rc == 0)
		rc = wire_open(fd, &wire);
	if (rc == 0)
		rc = profile_writer_run(&setup, wire, &err);
	wire_close(wire);
	if (rc < 0)
		helper_say("error - %s", *err.text ? err.text : strerror(-rc));
	(void)fflush(stdout);
	return rc < 0;
}

/* --- the process that adds parts to the queue ------------------------------------------------ */

/*
 * Starts it. *RET_FD is the writer's end of its socket. Returns 0 without a process if
 * nothing is pushed; or -errno.
 */
static pid_t start_keeper(char *const *arg, int *ret_fd)
{
	const struct timeval limit = { .tv_sec = 2 }; /* then the disk of the queue hangs, and pushing ends */
	struct profile_push_setup setup = {
		.dir = arg[STEP_ARG_QUEUE],
		.job_id = arg[STEP_ARG_JOB_ID],
		.cluster = arg[STEP_ARG_CLUSTER],
		.node = arg[STEP_ARG_NODE],
		.step = arg[STEP_ARG_STEP],
		.uid = (uid_t)strtoul(arg[STEP_ARG_UID], NULL, 10),
	};
	struct errmsg err = { 0 };
	int end[2];
	pid_t pid;

	if (!*setup.dir)
		return 0;
	if (parse_u64(arg[STEP_ARG_QUEUE_BYTES], &setup.max) < 0)
		return -EINVAL;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end) < 0)
		return -errno;
	(void)setsockopt(end[1], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	pid = fork();
	if (pid == 0) {
		(void)close(end[1]);
		(void)close(STDIN_FILENO); /* slurmstepd's socket */
		(void)confine_caps(0);
		be_nice();
		if (profile_push_keep(&setup, end[0], &err) < 0)
			helper_say("note - it is pushed only in part: %s",
				   *err.text ? err.text : "the queue cannot be used");
		(void)fflush(stdout);
		_exit(0);
	}
	(void)close(end[0]);
	if (pid < 0) {
		(void)close(end[1]);
		return -errno;
	}
	*ret_fd = end[1];
	return pid;
}

/* ------------------------------------------------------------------------------------------ */

static pid_t start_writer(const struct profile_request *request, char *const *arg, int push_fd, int *ret_fd)
{
	const int size = SOCKET_BYTES;
	int end[2], null;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end) < 0)
		return -errno;
	(void)setsockopt(end[0], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	pid = fork();
	if (pid == 0) {
		(void)close(end[0]);
		be_nice();
		null = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (null >= 0)
			(void)dup2(null, STDIN_FILENO); /* stdin was slurmstepd's socket */
		_exit(run_writer(request, arg, end[1], push_fd));
	}
	(void)close(end[1]);
	if (pid < 0) {
		(void)close(end[0]);
		return -errno;
	}
	*ret_fd = end[0];
	return pid;
}

/* The values are borrowed from *RET_TEXT, which the caller frees. */
static int take_arguments(char **ret_text, char *ret[STEP_ARGS_PROFILE], struct profile_request *ret_request,
			  struct errmsg *err)
{
	char words[32];
	int rc = step_args_receive(STDIN_FILENO, STEP_ARGS_PROFILE, ret_text, ret, err);

	if (rc < 0)
		return rc;
	rc = snprintf(words, sizeof(words), "%s,%s", ret[STEP_ARG_HZ], ret[STEP_ARG_STACKS]);
	if ((size_t)rc >= sizeof(words))
		return errmsg_set(err, -EINVAL, "hz= and stacks= are too long");
	return profile_request_parse(words, ret_request, err);
}

int main(int argc, char **argv)
{
	struct profile_request request = { 0 };
	struct stack_sampler s = { .rc = 0 };
	struct errmsg err = { 0 };
	int fd = -1, push_fd = -1, status = 0, rc;
	pid_t writer, keeper;
	_cleanup_free_ char *text = NULL;
	char *arg[STEP_ARGS_PROFILE];
	bool is_whole;

	(void)argv;
	rc = argc > 1 ? errmsg_set(&err, -EINVAL, STEP_ARGS_NONE) :
			take_arguments(&text, arg, &request, &err);
	if (rc < 0) {
		(void)fprintf(stderr, "ceems-profile: %s\n", err.text);
		return 2;
	}
	helper_serve(/* is_nice= */ false);
	(void)setpgid(0, 0);
	keeper = start_keeper(arg, &push_fd);
	writer = start_writer(&request, arg, push_fd, &fd);
	if (push_fd >= 0)
		(void)close(push_fd); /* the writer has the only copy, so the keeper ends with it */
	(void)confine_caps(SAMPLER_CAPS);
	rc = writer < 0 ? errmsg_errno(&err, (int)writer, "cannot fork") : wire_open(fd, &s.wire);
	if (rc == 0)
		rc = run_sampler(&s, &request, arg, &err);
	if (rc < 0)
		helper_say("error - %s", err.text);
	(void)fflush(stdout);
	wire_close(s.wire);
	if (fd >= 0)
		(void)close(fd);
	/* by the OOM killer, or by its user */
	if (writer > 0 && waitpid(writer, &status, 0) == writer && WIFSIGNALED(status))
		helper_say("error - the process that writes it was killed by signal %d", WTERMSIG(status));
	is_whole = rc == 0 && s.rc == 0 && !status;
	/* slurmstepd logs the first line only, and a note means that the file is complete */
	if (*s.why_event.text && is_whole)
		helper_say("note - %s; the CPU's clock was sampled", s.why_event.text);
	else if (*s.why_no_copies.text && is_whole)
		helper_say("note - %s; callers are missing in programs without frame pointers",
			   s.why_no_copies.text);
	(void)fflush(stdout);
	if (keeper > 0 && waitpid(keeper, &status, 0) == keeper && WIFSIGNALED(status))
		helper_say("note - it is pushed only in part: the process that queues it was killed by "
			   "signal %d",
			   WTERMSIG(status));
	if (is_whole)
		helper_say(STEPFILE_DONE);
	(void)fflush(stdout);
	return !is_whole;
}
