/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * init of an emulated arm64 guest whose PMU counts cycles and instructions, one instruction a cycle
 * (QEMU, -icount shift=0). Our counts of a loop of known length must be right: per task, by cgroup, by
 * bperf (with /ceems-bpf); with more events than counters; and if a profiler then takes the counters.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/libmeter/activity/cputime.h"
#include "src/libmeter/activity/perf.h"
#include "src/libutil/fileio.h"
#include "src/libutil/util.h"
#include "tests/bpf/arm64_guest.h"
#include "tests/tap/tap.h"
#include "tests/unit/rigs/child_end.h"

#define BPF_DIR "/sys/fs/bpf/ceems"
#define SHORT 1000000u
#define LONG 11000000u
#define GIVEN_BACK "another program took the counters" /* in step_detail.counters */
#define PER_TURN 2u				       /* instructions of the loop below */

static void loop(uint64_t turns)
{
	__asm__ volatile("1: subs %0, %0, #1\n"
			 "   b.ne 1b\n"
			 : "+r"(turns)
			 :
			 : "cc");
}

/* --- children -------------------------------------------------------------------------------- */

/* Stopped before its exec, in the cgroup, as slurmstepd's tasks are. */
static pid_t child_stopped(const char *what, uint64_t turns)
{
	char text[24];
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		guest_enter_cgroup();
		(void)raise(SIGSTOP);
		(void)snprintf(text, sizeof(text), "%" PRIu64, turns);
		(void)execl("/proc/self/exe", "arm64_perf", what, text, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		return -1;
	return pid;
}

static int child(const char *what, uint64_t turns)
{
	pid_t pid;
	int i;

	if (!strcmp(what, "--loop")) {
		loop(turns);
	} else if (!strcmp(what, "--forks")) { /* the same turns in four children, one by one */
		for (i = 0; i < 4; i++) {
			pid = fork();
			if (pid == 0) {
				loop(turns / 4);
				_exit(0);
			}
			if (pid < 0 || !child_end(pid))
				return 1;
		}
	} else if (!strcmp(what, "--both")) { /* half of them on each CPU */
		for (i = 0; i < 2; i++) {
			cpu_set_t set;

			CPU_ZERO(&set);
			CPU_SET((size_t)i, &set);
			if (sched_setaffinity(0, sizeof(set), &set) < 0)
				return 1;
			loop(turns / 2);
		}
	} else {
		return 1;
	}
	return 0;
}

/* --- counting --------------------------------------------------------------------------------- */

enum way { BY_TASK, BY_CGROUP, BY_BPERF };
static const char *const way_names[] = { "per task", "per cgroup", "bperf" };

static struct probes *probes; /* NULL: no /ceems-bpf */

struct run {
	const char *what;
	const struct perf_request *request;
	enum way way;
};

struct counted {
	struct values values;
	struct step_detail detail;
};

static uint32_t register_step(void)
{
	uint32_t slot = 0;
	struct stat st;

	if (stat(CGROUP, &st) == 0)
		(void)probes_register(probes, st.st_ino, /* cgroup_v1_id= */ 0, 1u << PROBES_HW, &slot);
	return slot;
}

static bool count(const struct run *r, uint64_t turns, struct counted *ret)
{
	int fd = open(CGROUP, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid_t pid = child_stopped(r->what, turns);
	struct perf_target target = {
		.request = r->request, .cgroup_fd = r->way == BY_TASK ? -1 : fd, .pid = &pid, .n = 1
	};
	struct perf *p;
	bool is_run;

	memset(ret, 0, sizeof(*ret));
	values_init(&ret->values);
	if (r->way == BY_BPERF) {
		target.probes = probes;
		target.slot = register_step();
	}
	if (fd < 0 || pid < 0 || perf_open(&target, &p, NULL) < 0)
		return false;
	is_run = child_end(pid);
	perf_read(p, &ret->values, &ret->detail);
	perf_close(p);
	if (target.slot)
		probes_release(probes, target.slot);
	(void)close(fd);
	return is_run;
}

/* GOT differs from WANT by at most PER_MILLE: exec, faults and the kernel's own work vary a little. */
static bool is_about(uint64_t got, uint64_t want, uint64_t per_mille)
{
	uint64_t off = got > want ? got - want : want - got;

	return off <= want / 1000 * per_mille;
}

static const struct perf_request hw = { .groups = PERF_GROUP_HW | PERF_GROUP_SW };
static const struct perf_request own = { .groups = PERF_GROUP_EVENTS,
					 .nevents = 2,
					 .event = { "INST_RETIRED:u",
						    "perf::PERF_COUNT_HW_INSTRUCTIONS:u" } };

static void test_own(const struct run *r)
{
	const char *how = way_names[r->way];
	const uint64_t want = (uint64_t)PER_TURN * (LONG - SHORT);
	struct counted few, many;
	uint32_t i;

	if (!ok(count(r, SHORT, &few) && count(r, LONG, &many), "%s %s: ran", how, r->what))
		return;
	for (i = 0; i < many.detail.nevents; i++) {
		const struct detail_event *a = &few.detail.event[i], *b = &many.detail.event[i];

		if (i == 0 && b->reason == REASON_NO_EVENT) {
			skip(1, "libpfm4 has no table for this emulated CPU");
			continue;
		}
		ok(a->reason == REASON_NONE && b->reason == REASON_NONE &&
			   is_about(b->value - a->value, want, 1),
		   "%s %s: %s counts %" PRIu64 " of %" PRIu64, how, r->what, b->name, b->value - a->value,
		   want);
		ok(b->coverage_ppm == 1000000, "  all of the time");
	}
	is_u64(many.detail.nevents, own.nevents, "  each event is told");
}

static void test_hw(const struct run *r)
{
	const char *how = way_names[r->way];
	const uint64_t want = (uint64_t)PER_TURN * (LONG - SHORT);
	struct counted few, many;
	uint64_t cycles, instructions;

	if (!ok(count(r, SHORT, &few) && count(r, LONG, &many), "%s %s: ran", how, r->what))
		return;
	ok(!strncmp(many.detail.counters, how, strlen(how)), "counted %s", many.detail.counters);
	cycles = many.values.value[METRIC_CYCLES] - few.values.value[METRIC_CYCLES];
	instructions = many.values.value[METRIC_INSTRUCTIONS] - few.values.value[METRIC_INSTRUCTIONS];
	ok(values_has(&many.values, METRIC_INSTRUCTIONS) && is_about(instructions, want, 50),
	   "%s %s: %" PRIu64 " instructions of %" PRIu64 " and the kernel's", how, r->what, instructions,
	   want);
	ok(values_has(&many.values, METRIC_CYCLES) && is_about(cycles, instructions, 100),
	   "  in %" PRIu64 " cycles: one each", cycles);
	ok(values_has(&many.values, METRIC_PMU_ENABLED) &&
		   many.values.value[METRIC_PMU_RUNNING] <= many.values.value[METRIC_PMU_ENABLED],
	   "  coverage is told: %" PRIu64 " of %" PRIu64 " ns", many.values.value[METRIC_PMU_RUNNING],
	   many.values.value[METRIC_PMU_ENABLED]);
	ok(values_has(&many.values, METRIC_TASK_CLOCK) && many.values.value[METRIC_TASK_CLOCK] >= want,
	   "  task clock: %" PRIu64 " ns", many.values.value[METRIC_TASK_CLOCK]);
	ok(many.values.reason[METRIC_FP_OPERATIONS] == REASON_NO_EVENT ||
		   values_has(&many.values, METRIC_FP_OPERATIONS),
	   "  FLOP: %s", metric_reason_text(many.values.reason[METRIC_FP_OPERATIONS]));
}

/* --- more events than counters ------------------------------------------------------------------ */

static void test_shared(enum way way)
{
	struct perf_request many = { .groups = PERF_GROUP_EVENTS, .nevents = PERF_REQUEST_EVENTS };
	struct run r = { "--loop", &many, way };
	const uint64_t want = (uint64_t)PER_TURN * 4 * LONG;
	uint32_t least_ppm = 1000000;
	struct counted c;
	uint32_t i;

	for (i = 0; i < many.nevents; i++)
		(void)snprintf(many.event[i], sizeof(many.event[i]), "perf::PERF_COUNT_HW_INSTRUCTIONS:u");
	if (!ok(count(&r, 4 * (uint64_t)LONG, &c), "ran"))
		return;
	for (i = 0; i < c.detail.nevents; i++) {
		const struct detail_event *e = &c.detail.event[i];

		ok(e->reason == REASON_NONE && is_about(e->value, want, 100),
		   "%" PRIu64 " of %" PRIu64 " by %u ppm of the time", e->value, want, e->coverage_ppm);
		if (e->coverage_ppm < least_ppm)
			least_ppm = e->coverage_ppm;
	}
	ok(least_ppm < 950000, "they did take turns");
}

/* --- giving back --------------------------------------------------------------------------------- */

/* Takes all counters of CPU; pinned events come before those that are not pinned. */
static int take_counters(int cpu, int fd[8])
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE,
					.config = PERF_COUNT_HW_INSTRUCTIONS,
					.size = sizeof(attr),
					.pinned = 1 };
	int n;

	for (n = 0; n < 8; n++) {
		fd[n] = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd[n] < 0)
			break;
	}
	return n;
}

static void nap(void)
{
	struct timespec t = { .tv_nsec = 20000000 };

	(void)nanosleep(&t, NULL);
}

/* Cycles per second of the time in which they should have been counted. */
static double cycles_per_s(const struct values *f)
{
	return f->value[METRIC_PMU_ENABLED] ?
		       1e9 * (double)f->value[METRIC_CYCLES] / (double)f->value[METRIC_PMU_ENABLED] :
		       0;
}

static uint64_t cpu_time_of(const char *cgroup)
{
	char path[128], text[512];
	uint64_t ns = 0;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/cpu.stat", cgroup);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && fileio_pread_all(fd, text, sizeof(text)) > 0)
		(void)cputime_parse_cpu_stat(text, &ns);
	if (fd >= 0)
		(void)close(fd);
	return ns;
}

static void test_given_back(enum way way, bool in_job)
{
	int dir = open(CGROUP, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid_t pid = child_stopped("--loop", UINT64_C(1000000000000));
	struct perf_target target = { .request = &hw, .cgroup_fd = dir, .pid = &pid, .n = 1 };
	int fd[2][8], n[2] = { 0, 0 }, i, polls;
	pid_t profiler = -1;
	struct counted c;
	double rate, rate_then;
	struct perf *p;

	if (way == BY_BPERF) {
		target.probes = probes;
		target.slot = register_step();
	}
	memset(&c, 0, sizeof(c));
	if (!is_int(perf_open(&target, &p, NULL), 0, "open"))
		return;
	(void)kill(pid, SIGCONT);
	for (i = 0; i < 15; i++) {
		nap();
		perf_poll(p);
	}
	values_init(&c.values);
	perf_read(p, &c.values, &c.detail);
	ok(values_has(&c.values, METRIC_CYCLES) && !strstr(c.detail.counters, GIVEN_BACK),
	   "nobody else: counted (%s)", c.detail.counters);
	rate = cycles_per_s(&c.values);
	if (in_job) {
		profiler = fork();
		if (profiler == 0) {
			guest_enter_cgroup();
			(void)take_counters(0, fd[0]);
			for (;;)
				(void)pause();
		}
	} else {
		n[0] = take_counters(0, fd[0]);
		n[1] = take_counters(1, fd[1]);
	}
	for (polls = 0; polls < 1000 && !strstr(c.detail.counters, GIVEN_BACK); polls++) {
		nap();
		perf_poll(p);
		perf_read(p, &c.values, &c.detail);
	}
	ok(strstr(c.detail.counters, GIVEN_BACK) != NULL, "%s: given back (%s)",
	   in_job ? "a profiler in the job" : "a profiler of the CPUs", c.detail.counters);
	for (i = 0; i < 10; i++)
		nap();
	if (way == BY_BPERF) /* the CPU time that the task counters would report */
		values_set(&c.values, METRIC_CPU_TIME, cpu_time_of(CGROUP));
	perf_read(p, &c.values, &c.detail);
	ok(values_has(&c.values, METRIC_CYCLES) &&
		   c.values.value[METRIC_PMU_RUNNING] < c.values.value[METRIC_PMU_ENABLED],
	   "what was counted stays, with its share: %" PRIu64 " of %" PRIu64 " ns",
	   c.values.value[METRIC_PMU_RUNNING], c.values.value[METRIC_PMU_ENABLED]);
	rate_then = cycles_per_s(&c.values);
	ok(rate_then > 0.75 * rate && rate_then < 1.33 * rate,
	   "scaled to the time that was not counted: %.0f cycles/s, %.0f before", rate_then, rate);
	perf_close(p);
	if (target.slot)
		probes_release(probes, target.slot);
	for (i = 0; i < 2; i++)
		while (n[i]--)
			(void)close(fd[i][n[i]]);
	for (i = 0; i < 2; i++) {
		pid_t victim = i ? profiler : pid;

		if (victim > 0 && kill(victim, SIGKILL) == 0)
			(void)waitpid(victim, NULL, 0);
	}
	(void)close(dir);
}

/* --- init ------------------------------------------------------------------------------------------ */

static void run_test(const char *path, const char *verb)
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0) {
		(void)execl(path, path, verb, (char *)NULL);
		_exit(127);
	}
	(void)waitpid(pid, &status, 0);
	printf("GUEST %s %d\n", path, WIFEXITED(status) ? WEXITSTATUS(status) : 128);
	(void)fflush(stdout);
}

/*
 * Enables a controller, as systemd does. Perf events of a v2 cgroup then get their share, see perf_set_try().
 */
static void enable_controllers(void)
{
	int fd = open("/sys/fs/cgroup/cgroup.subtree_control", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "+pids", 5) != 5)
		printf("# no controller can be turned on\n");
	if (fd >= 0)
		(void)close(fd);
}

/* No trampoline is needed for what bperf hooks into, so old kernels for Arm have it too. */
static void load_probes(void)
{
	struct errmsg err = { 0 };
	int rc;

	if (access("/ceems-bpf", X_OK) < 0) {
		skip(1, "bperf: the BPF programs are not built");
		return;
	}
	(void)mount("b", "/sys/fs/bpf", "bpf", 0, NULL);
	run_test("/ceems-bpf", "load");
	rc = probes_open(BPF_DIR, &probes, &err);
	is_int(rc, 0, "the BPF programs are loaded");
	if (rc < 0)
		diag("%s", err.text);
	else
		is_u64(probes_why(probes, PROBES_HW), PROBES_OK, "with those of bperf");
}

static void run_all(void)
{
	static const char *const whats[] = { "--loop", "--forks", "--both" };
	enum way way;
	size_t i;

	(void)mkdir(CGROUP, 0755);
	load_probes();
	for (way = BY_TASK; way <= (probes ? BY_BPERF : BY_CGROUP); way++) {
		for (i = 0; i < ARRAY_SIZE(whats); i++) {
			struct run r = { whats[i], &own, way };

			if (way != BY_BPERF) /* a user's own are never by bperf */
				test_own(&r);
			r.request = &hw;
			test_hw(&r);
		}
		if (way != BY_BPERF)
			test_shared(way);
	}
	for (way = BY_CGROUP; way <= (probes ? BY_BPERF : BY_CGROUP); way++) {
		test_given_back(way, /* in_job= */ true);
		test_given_back(way, /* in_job= */ false);
	}
	probes_close(probes);
	(void)done_testing();
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return child(argv[1], strtoull(argv[2], NULL, 10));
	if (getpid() != 1)
		return 1; /* this ends with a power-off */
	guest_mount();
	enable_controllers();
	run_all();
	run_test("/test_hwevents", NULL); /* speaks TAP too, after our plan */
	(void)reboot(RB_POWER_OFF);
	return 1;
}
