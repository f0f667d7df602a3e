/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All probes of a step together, as slurmstepd uses them: on a node without any, and on this node with
 * those that it has. Whether a probe counts right is in its own test.
 */
#define _GNU_SOURCE
#include "src/libstep/stepprobes.h"

#include <arpa/inet.h>
#include <glob.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "cgfolders.h"
#include "src/libmeter/activity/cputime.h"
#include "src/libnode/bpfload.h"
#include "src/libutil/clock.h"
#include "tap.h"

#define TIMEOUT_NS (60 * NSEC_PER_SEC)
#define EVERYTHING (PERF_GROUP_HW | PERF_GROUP_SW | PERF_GROUP_IO | PERF_GROUP_NET | PERF_GROUP_SCHED)

static char scratch[] = "/tmp/test_stepprobes-XXXXXX";
static char dir[128];
static char helper[PATH_MAX];
static struct folders folders;

static const enum metric of_net[] = { METRIC_UDP_SENT_BYTES, METRIC_SENT_PACKETS, METRIC_IP_RECEIVED_BYTES };

/* --- a task ---------------------------------------------------------------------------------- */

static void work(void)
{
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_port = htons(9),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char data[100] = "";
	int i;

	for (i = 0; i < 1000; i++)
		if (write(fd, data, sizeof(data)) != sizeof(data))
			_exit(1);
	/* not connected: no error comes back, though nobody listens */
	for (i = 0; i < 10; i++)
		(void)sendto(udp, data, sizeof(data), 0, (const struct sockaddr *)&to, sizeof(to));
	_exit(0);
}

static void task_move(pid_t pid)
{
	char path[PATH_MAX + 64];
	FILE *procs;
	int i;

	for (i = 0; i < HIER_N; i++) {
		(void)snprintf(path, sizeof(path), "%s/cgroup.procs", folders.task[i]);
		procs = folders.top[i][0] ? fopen(path, "we") : NULL;
		if (procs && (fprintf(procs, "%d", (int)pid) < 0 || fclose(procs)))
			diag("%s: %s", path, strerror(errno));
	}
}

/*
 * Forked and stopped, as slurmstepd's children before their exec. They are moved by others: what a
 * task has written before counts as well.
 */
static pid_t task_fork(bool is_in_folders)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)raise(SIGSTOP);
		work();
	}
	(void)waitpid(pid, NULL, WUNTRACED);
	if (is_in_folders)
		task_move(pid);
	return pid;
}

static int task_run(pid_t pid)
{
	int status = -1;

	(void)kill(pid, SIGCONT);
	(void)waitpid(pid, &status, 0);
	return status;
}

static unsigned int fds(void)
{
	unsigned int n = 0;
	int fd;

	for (fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static bool are_all(const struct values *f, const enum metric *m, size_t n, enum metric_reason reason)
{
	while (n--)
		if (f->reason[m[n]] != reason) {
			diag("%s: %s", metric_table[m[n]].name, metric_reason_text(f->reason[m[n]]));
			return false;
		}
	return true;
}

/* --- nothing is there ------------------------------------------------------------------------ */

static void run_nothing(const char *bpf_dir, uint32_t groups, bool is_extern, struct values *f,
			struct errmsg *lacking)
{
	struct perf_request request = { .groups = groups,
					.nevents = !!(groups & PERF_GROUP_EVENTS),
					.event = { "no_such:u" } };
	struct settings s = { .sys_root = "/" };
	const struct stepprobes_setup setup = { .settings = &s, .request = &request, .is_extern = is_extern };
	struct cgroup_paths paths = { 0 };
	struct stepprobes *sp;
	uint32_t slot = 99;
	pid_t pid;

	(void)snprintf(s.bpf_dir, sizeof(s.bpf_dir), "%s", bpf_dir);
	values_init(f);
	if (!ok(stepprobes_create(&setup, &sp) == 0, "groups %#x%s, BpfDir '%s'", groups,
		is_extern ? ", extern" : "", bpf_dir))
		return;
	pid = task_fork(/* is_in_folders= */ false);
	stepprobes_start(sp, &pid, 1, &paths, &slot, lacking);
	is_u64(slot, 0, "  no slot");
	is_str(paths.v2, "", "  no v2 cgroup with StepCgroup=no");
	stepprobes_poll(sp);
	is_int(task_run(pid), 0, "  the task runs");
	stepprobes_read(sp, f, NULL);
	stepprobes_close(sp, /* slurmd_lives= */ false);
}

static void test_nothing(void)
{
	static const enum metric by_taskcount[] = { METRIC_IO_READ_BYTES, METRIC_CONTEXT_SWITCHES,
						    METRIC_RUN_DELAY };
	struct errmsg lacking = { 0 };
	struct values f;
	glob_t ports;

	run_nothing("", 0, false, &f, &lacking);
	is_str(lacking.text, "", "  nothing was asked for, nothing is lacking");
	ok(are_all(&f, by_taskcount, ARRAY_SIZE(by_taskcount), REASON_NO_BPF), "  no BPF");
	ok(are_all(&f, of_net, ARRAY_SIZE(of_net), REASON_NOT_ASKED), "  packets: not asked for");
	is_int(f.reason[METRIC_SCRATCH_READ_BYTES], REASON_NOT_ASKED, "  I/O by file system: not asked for");
	is_int(f.reason[METRIC_CYCLES], REASON_NOT_ASKED, "  counters: nor");

	run_nothing("/nonexistent", EVERYTHING, false, &f, &lacking);
	is_str(lacking.text, "io: no BPF; net: no BPF", "  what is lacking is said in one line");
	ok(are_all(&f, of_net, ARRAY_SIZE(of_net), REASON_NO_BPF), "  packets: no BPF");
	is_int(f.reason[METRIC_SCRATCH_READ_BYTES], REASON_NO_BPF, "  I/O by file system: no BPF");
	is_int(f.reason[METRIC_RDMA_SENT_BYTES],
	       glob("/sys/class/infiniband/*/ports/*", 0, NULL, &ports) == 0 ? REASON_SHARED_NODE :
									       REASON_NO_DEVICE,
	       "  RDMA: the node is shared, if there is any");
	globfree(&ports);
	ok(f.reason[METRIC_CYCLES] != REASON_NOT_ASKED && f.reason[METRIC_CYCLES] != REASON_NO_BPF,
	   "  counters do without: %s", metric_reason_text(f.reason[METRIC_CYCLES]));

	run_nothing("", PERF_GROUP_EVENTS, false, &f, &lacking);
	ok(!strcmp(lacking.text, "events: no_such:u (no such event on this CPU)") ||
		   !strcmp(lacking.text, "events: no_such:u (no libpfm4 on this node)"),
	   "  an event that is none: %s", lacking.text);

	run_nothing("", EVERYTHING, true, &f, &lacking);
	is_int(f.reason[METRIC_CYCLES], REASON_NOT_MEASURED, "  a reason that is not the probes' is kept");
}

/* --- this node -------------------------------------------------------------------------------- */

struct result {
	struct values f;
	struct step_detail detail;
	struct errmsg lacking;
	struct cgroup_paths paths;
	uint64_t start_ns;
	uint32_t slot;
	bool was_inside; /* the task was in the v2 cgroup while it ran */
};

static bool is_in(pid_t pid, const char *v2)
{
	struct cgroup_paths now;

	return cputime_find_cgroups(pid, &now) == 0 && *now.v2 && !strcmp(now.v2, v2);
}

static void run_step(bool is_in_folders, uint32_t groups, struct result *r)
{
	struct perf_request request = { .groups = groups };
	struct settings s = { .sys_root = "/", .step_cgroup = true };
	const struct stepprobes_setup setup = { .settings = &s, .request = &request };
	struct stepprobes *sp;
	pid_t pid;

	memset(r, 0, sizeof(*r));
	values_init(&r->f);
	(void)snprintf(s.bpf_dir, sizeof(s.bpf_dir), "%s", dir);
	pid = task_fork(is_in_folders);
	if (!ok(cputime_find_cgroups(pid, &r->paths) == 0 && stepprobes_create(&setup, &sp) == 0,
		"a task in '%s'", r->paths.v2)) {
		(void)kill(pid, SIGKILL);
		(void)task_run(pid);
		return;
	}
	r->start_ns = clock_mono_ns();
	stepprobes_start(sp, &pid, 1, &r->paths, &r->slot, &r->lacking);
	r->start_ns = clock_mono_ns() - r->start_ns;
	r->was_inside = is_in(pid, r->paths.v2);
	stepprobes_poll(sp);
	is_int(task_run(pid), 0, "  runs");
	stepprobes_read(sp, &r->f, &r->detail);
	stepprobes_close(sp, /* slurmd_lives= */ false);
	if (r->lacking.text[0])
		diag("%s", r->lacking.text);
}

static void check_counts(const struct result *r)
{
	ok(r->slot != 0, "  has a slot");
	is_u64(r->f.value[METRIC_IO_WRITE_BYTES], 100000, "  bytes written, exact");
	is_u64(r->f.value[METRIC_IO_WRITE_CALLS], 1000, "  in as many calls");
	ok(values_has(&r->f, METRIC_TCP_SENT_BYTES) || r->f.reason[METRIC_TCP_SENT_BYTES] == REASON_NO_BPF,
	   "  TCP: %s", metric_reason_text(r->f.reason[METRIC_TCP_SENT_BYTES]));
	ok(values_has(&r->f, METRIC_SCRATCH_READ_BYTES) ||
		   r->f.reason[METRIC_SCRATCH_READ_BYTES] == REASON_NO_HOOK ||
		   r->f.reason[METRIC_SCRATCH_READ_BYTES] == REASON_NO_DEVICE,
	   "  I/O by file system: %s", metric_reason_text(r->f.reason[METRIC_SCRATCH_READ_BYTES]));
	if (values_has(&r->f, METRIC_SENT_PACKETS)) {
		is_u64(r->f.value[METRIC_SENT_PACKETS], 10, "  packets sent, exact");
		is_u64(r->f.value[METRIC_UDP_SENT_BYTES], 1000, "  their payload");
		is_u64(r->f.value[METRIC_IP_SENT_BYTES], 10 * 128, "  with headers");
	} else {
		diag("packets: %s", metric_reason_text(r->f.reason[METRIC_SENT_PACKETS]));
		skip(3, "no packets are counted here");
	}
	is_u64(r->detail.lost_events, 0, "  nothing was lost");
	ok(values_has(&r->f, METRIC_LOST_EVENTS) && !r->f.value[METRIC_LOST_EVENTS],
	   "  which the record has");
}

static void test_v2(void)
{
	unsigned int before = fds();
	char path[CGROUP_PATH_MAX];
	struct result r;

	if (!folders.top[HIER_V2][0]) {
		skip(9, "no v2 cgroup can be made here");
		return;
	}
	folders_step_path(HIER_V2, path, sizeof(path));
	run_step(/* is_in_folders= */ true, EVERYTHING, &r);
	is_str(r.paths.v2, path, "  a step that has a v2 cgroup keeps it");
	check_counts(&r);
	is_u64(fds(), before, "  leaves no file descriptor behind");
	diag("start of all parts: %llu us", (unsigned long long)(r.start_ns / 1000));
}

static void test_own_cgroup(void)
{
	unsigned int before = fds();
	char folder[PATH_MAX], *name;
	struct result r;

	run_step(/* is_in_folders= */ false, EVERYTHING, &r);
	if (!r.paths.v2[0]) {
		skip(9, "no v2 cgroup can be made here");
		return;
	}
	name = strrchr(r.paths.v2, '/');
	ok(name && !strncmp(name, "/step_ceems_", 12), "  gets a cgroup of its own: %s", r.paths.v2);
	ok(r.was_inside, "  the task is in it");
	check_counts(&r);
	is_int(cgmount_find(NULL, r.paths.v2, folder, sizeof(folder)), -ENOENT, "  and it is gone");
	is_u64(fds(), before, "  leaves no file descriptor behind");
}

/* slurmstepd's own place on v2 is beside that of its tasks: what it sends is not theirs. */
static void test_user(void)
{
	char path[PATH_MAX + 64], beside[PATH_MAX];
	struct result r;

	if (!folders.top[HIER_V2][0]) {
		skip(9, "no v2 cgroup can be made here");
		return;
	}
	/* the task's folder stays the one that task_move() knows, under the name that Slurm gives it */
	(void)snprintf(beside, sizeof(beside), "%s", folders.task[HIER_V2]);
	(void)snprintf(folders.task[HIER_V2], sizeof(folders.task[HIER_V2]), "%s/user",
		       folders.step[HIER_V2]);
	ok(mkdir(folders.task[HIER_V2], 0755) == 0, "a step with a folder for its tasks");
	(void)snprintf(path, sizeof(path), "%s", folders.task[HIER_V2]);
	run_step(/* is_in_folders= */ true, EVERYTHING, &r);
	check_counts(&r);
	ok(rmdir(path) == 0, "  and can be removed");
	(void)snprintf(folders.task[HIER_V2], sizeof(folders.task[HIER_V2]), "%s", beside);
}

#define DEPTH 12 /* more folders than cgprocs_each() goes down */

static void remove_nested(const char *path, const char *top)
{
	char *up, at[PATH_MAX];

	(void)snprintf(at, sizeof(at), "%s", path);
	while (strcmp(at, top) && rmdir(at) == 0 && (up = strrchr(at, '/')))
		*up = '\0';
	ok(!strcmp(at, top), "  nested folders can be removed");
}

/* Who runs containers in a step puts its processes where he likes. They live, and count. */
static void test_nested(void)
{
	struct perf_request request = { 0 };
	struct settings s = { .sys_root = "/" };
	const struct stepprobes_setup setup = { .settings = &s, .request = &request };
	char path[PATH_MAX], procs[PATH_MAX + 16];
	struct cgroup_paths paths = { 0 };
	struct errmsg lacking = { 0 };
	struct stepprobes *sp;
	struct values f;
	uint32_t slot;
	pid_t pid;
	size_t len;
	FILE *file;
	int i;

	if (!folders.top[HIER_V2][0]) {
		skip(5, "no v2 cgroup can be made here");
		return;
	}
	folders_step_path(HIER_V2, paths.v2, sizeof(paths.v2));
	(void)snprintf(path, sizeof(path), "%s", folders.step[HIER_V2]);
	for (i = 0; i < DEPTH; i++) {
		len = strlen(path);
		(void)snprintf(path + len, sizeof(path) - len, "/%d", i);
		if (mkdir(path, 0755) < 0)
			break;
	}
	is_int(i, DEPTH, "folders in a step's folder");
	pid = fork();
	if (pid == 0) {
		char data[100] = "";
		int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

		(void)raise(SIGSTOP);
		_exit(write(fd, data, sizeof(data)) != sizeof(data) || raise(SIGSTOP));
	}
	(void)waitpid(pid, NULL, WUNTRACED);
	(void)snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
	file = fopen(procs, "we");
	ok(file && fprintf(file, "%d", (int)pid) > 0 && fclose(file) == 0, "  a task below them");
	(void)snprintf(s.bpf_dir, sizeof(s.bpf_dir), "%s", dir);
	values_init(&f);
	is_int(stepprobes_create(&setup, &sp), 0, "  create");
	stepprobes_start(sp, &pid, 1, &paths, &slot, &lacking);
	(void)kill(pid, SIGCONT);
	(void)waitpid(pid, NULL, WUNTRACED);
	stepprobes_read(sp, &f, NULL);
	is_u64(f.value[METRIC_IO_WRITE_BYTES], 100, "  while it lives its bytes are there");
	is_int(task_run(pid), 0, "  it ends");
	stepprobes_read(sp, &f, NULL);
	is_u64(f.value[METRIC_IO_WRITE_BYTES], 100, "  and they stay, once");
	stepprobes_close(sp, /* slurmd_lives= */ false);
	remove_nested(path, folders.step[HIER_V2]);
}

/* A step that asks for nothing has the task counters all the same. */
static void test_unasked(void)
{
	struct result r;

	run_step(/* is_in_folders= */ true, 0, &r);
	is_u64(r.f.value[METRIC_IO_WRITE_BYTES], 100000, "  without a request, the tasks are counted");
	ok(are_all(&r.f, of_net, ARRAY_SIZE(of_net), REASON_NOT_ASKED), "  packets: not asked for");
	is_str(r.lacking.text, "", "  nothing is lacking");
}

static void test_node(void)
{
	struct errmsg err = { 0 };
	int rc;

	folders_make(&folders);
	rc = bpfload_run(helper, dir, TIMEOUT_NS, &err);
	if (rc < 0) {
		diag("%s", err.text);
		skip(1, "the kernel or our rights do not allow BPF");
	} else {
		test_v2();
		test_user();
		test_nested();
		test_own_cgroup();
		test_unasked();
		(void)bpfload_stop(helper, dir, TIMEOUT_NS, NULL);
	}
	folders_remove(&folders);
}

int main(void)
{
	const char *top = getenv("top_builddir");

	test_nothing();
	(void)snprintf(helper, sizeof(helper), "%s/bpf/ceems-bpf", top ? top : "../..");
	if (access(helper, X_OK) < 0) {
		skip(1, "ceems-bpf is not built");
		return done_testing();
	}
	if (geteuid() != 0 || !mkdtemp(scratch) || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		skip(1, "not root, or no private mount namespace");
		return done_testing();
	}
	if (mount("bpf", scratch, "bpf", 0, NULL) < 0) {
		skip(1, "no bpf file system");
	} else {
		(void)snprintf(dir, sizeof(dir), "%s/ceems", scratch);
		test_node();
		(void)umount2(scratch, MNT_DETACH);
	}
	(void)rmdir(scratch);
	return done_testing();
}
