/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile from the slurmstepd's side, with the program ceems-profile as it is installed, of a process in a
 * cgroup of the test's own: what is in the folder and in the log if calls of the program fail.
 */
#define _GNU_SOURCE
#include "src/libstep/stepprofile.h"

#include <glob.h>
#include <signal.h>

#include "cgfolders.h"
#include "fake_sampler.h"
#include "src/libprofile/profile_pprof.h"
#include "src/libutil/fileio.h"
#include "step_program.h"

#define BUSY_NS (200 * NSEC_PER_MSEC)

static char dir[] = SCRATCH_TEMPLATE;
static struct fake_sampler node;
static struct folders folders;
static unsigned int slot;

static const char *file_path(void)
{
	return scratch_path(dir, "ceems-profile-7.3-n1.pb.gz");
}

static bool program_has_ended(void)
{
	siginfo_t info = { 0 };

	return waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | WNOHANG) == 0 && info.si_pid;
}

/* The step's task, in its cgroup, which it tells by a byte: uses some CPU time. */
static pid_t start_task(int *ret_fd)
{
	struct timespec now;
	int end[2];
	pid_t pid;

	if (pipe2(end, O_CLOEXEC) < 0)
		exit(99);
	pid = fork();
	if (pid == 0) {
		if (folders_enter(&folders) < 0 || write(end[1], "", 1) != 1)
			_exit(99);
		do
			(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
		while ((uint64_t)now.tv_nsec < BUSY_NS && !now.tv_sec);
		(void)!write(end[1], "", 1);
		for (;;)
			(void)pause();
	}
	(void)close(end[1]);
	*ret_fd = end[0];
	return pid;
}

/* a process that profile_step() started was the first to be killed if memory runs out */
static bool is_exposed;

/* another user saw nothing of the step; its user is told that there is no profile */
static bool is_hidden, is_told;

/* Returns true if a process that the program started has an oom_score_adj of 1000. */
static bool writer_is_exposed(void)
{
	char path[96], programs[256], writers[256], score[16];
	char *program, *writer, *rest, *more;

	if (fileio_read_line(NULL, "/proc/thread-self/children", programs, sizeof(programs)) < 0)
		return false;
	for (program = strtok_r(programs, " ", &rest); program; program = strtok_r(NULL, " ", &rest)) {
		(void)snprintf(path, sizeof(path), "/proc/%.20s/task/%.20s/children", program, program);
		if (fileio_read_line(NULL, path, writers, sizeof(writers)) < 0)
			continue;
		for (writer = strtok_r(writers, " ", &more); writer; writer = strtok_r(NULL, " ", &more)) {
			(void)snprintf(path, sizeof(path), "/proc/%.20s/oom_score_adj", writer);
			if (fileio_read_line(NULL, path, score, sizeof(score)) == 0 && !strcmp(score, "1000"))
				return true;
		}
	}
	return false;
}

/* Profiles a step of a task. Returns the program's process group. */
static pid_t profile_step(void)
{
	const struct stepfile_owner owner = { .uid = getuid(), .gid = getgid(), .dir = dir, .job = "7" };
	_cleanup_close_ int cgroup = open(folders.step[HIER_V2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd = -1;
	const pid_t pid = start_task(&fd);
	const struct stepprofile_setup setup = { .settings = &settings,
						 .ledger = node.l,
						 .slot = slot,
						 .owner = &owner,
						 .cgroup_fd = cgroup,
						 .pid = &pid,
						 .n = 1 };
	struct stepprofile *sp = NULL;
	struct errmsg lost = { 0 };
	siginfo_t info = { 0 };
	char byte;

	said[0] = '\0';
	(void)!read(fd, &byte, 1);
	is_int(stepprofile_start(&setup, &sp, NULL), 0, "  starts");
	(void)!read(fd, &byte, 1);
	is_exposed = writer_is_exposed();
	is_hidden = shows_only_path("ceems-profile");
	stepprofile_halt(sp);
	/* stepprofile_finish() waits for a limited time, which a busy machine may exceed */
	ok(wait_until(program_has_ended), "  the program ends");
	(void)waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | WNOHANG);
	stepprofile_finish(sp, &lost);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	is_told = lost.text[0] != '\0';
	return info.si_pid;
}

static bool is_whole(void)
{
	_cleanup_close_ int fd = open(file_path(), O_RDONLY | O_CLOEXEC);
	struct profile *p = NULL;
	struct errmsg err = { 0 };
	bool is_read = fd >= 0 && profile_read(fd, "profile", &p, &err) == 0;

	if (fd >= 0 && !is_read)
		diag("%s", err.text);
	profile_destroy(p);
	return is_read;
}

/* Returns true if a name in the folder matches PATTERN. */
static bool has_match(const char *pattern)
{
	glob_t found = { 0 };
	bool is_found = glob(scratch_path(dir, pattern), 0, NULL, &found) == 0;

	globfree(&found);
	return is_found;
}

static bool is_there(void)
{
	return access(file_path(), F_OK) == 0;
}

static bool may_be_profiled(unsigned int i)
{
	return ledger_flag_if_few(node.l, i, LEDGER_FLAG_PROFILE, STEPPROFILE_STEPS_MAX,
				  STEPPROFILE_USER_STEPS_MAX);
}

/*
 * As many other steps of the node as may be are profiled, half of them of each of two
 * users, and then one less.
 */
static void test_many_steps(void)
{
	struct ledger_identity id = {
		.job_id = 8, .job_cpus = 1, .step_cpus = 1, .node_count = 1, .uid = 7001
	};
	const struct stepfile_owner owner = { .uid = getuid(), .gid = getgid(), .dir = dir, .job = "7" };
	const pid_t pid = getpid();
	const struct stepprofile_setup setup = { .settings = &settings,
						 .ledger = node.l,
						 .slot = slot,
						 .owner = &owner,
						 .cgroup_fd = STDIN_FILENO,
						 .pid = &pid,
						 .n = 1 };
	unsigned int other[STEPPROFILE_STEPS_MAX];
	struct stepprofile *sp = NULL;
	struct errmsg err = { 0 };
	unsigned int i;

	for (i = 0; i < STEPPROFILE_STEPS_MAX; i++, id.step_id++) {
		if (i == STEPPROFILE_USER_STEPS_MAX) {
			ok(ledger_claim(node.l, &id, &other[i]) == 0 && !may_be_profiled(other[i]),
			   "one user has no more than half of the profiles");
			ledger_leave(node.l, other[i]);
			id.uid++;
		}
		if (ledger_claim(node.l, &id, &other[i]) < 0 || !may_be_profiled(other[i])) {
			ok(false, "%u steps are profiled", i + 1);
			return;
		}
	}
	is_int(stepprofile_start(&setup, &sp, &err), -EBUSY, "one step more is not");
	is_str(err.text, "64 other steps of this node, or 32 of this user, are profiled",
	       "  and the log says why");
	ok(!(ledger_slot(node.l, slot)->flags & LEDGER_FLAG_PROFILE), "  so it does not count as profiled");
	ledger_leave(node.l, other[0]);
	ok(may_be_profiled(slot), "when one of them ends, it may be");
	for (i = 1; i < STEPPROFILE_STEPS_MAX; i++)
		ledger_leave(node.l, other[i]);
}

/* One call of ceems-profile fails, each time. TEXT is the line; NULL: the profile is written all the same. */
static void test_fault(const char *point, int error, const char *text)
{
	char line[512];
	unsigned int i;
	pid_t group;

	diag("%s: %s", point, strerror(error));
	scratch_clear(dir);
	use_fault(dir, "ceems-profile", point, error);
	group = profile_step();
	for (i = 0; i < 100 && kill(-group, 0) == 0; i++)
		(void)nanosleep(&pause_10ms, NULL);
	ok(group > 0 && kill(-group, 0) < 0 && errno == ESRCH, "  no process is left");
	(void)snprintf(line, sizeof(line), "profile: %s: %s; the profile of this step ends there\n",
		       text ? text : "", strerror(error));
	is_str(said, text ? line : "", text ? "  the log has one line" : "  the log needs no line");
	ok(text ? !is_there() : is_whole(), text ? "  there is no file" : "  the file is whole");
	ok(is_told == (text != NULL), text ? "  and its user is told" : "  and its user is told nothing");
	ok(!has_match("*.tmp"), "  and none is beside it");
}

/*
 * Another user has put empty files into the folder, under each name that can be guessed. IS_TEMPORARY: only
 * under that of the file that is renamed.
 */
static void test_taken(bool is_temporary)
{
	char name[64];
	unsigned int i;

	diag("%s taken by another user", is_temporary ? "the name of a temporary file is" : "all names are");
	scratch_clear(dir);
	(void)scratch_write(scratch_path(dir, "ceems-profile-7.3-n1.pb.gz.tmp"), "", 0);
	for (i = 1; i <= 99 && !is_temporary; i++) {
		(void)snprintf(name, sizeof(name),
			       i == 1 ? "ceems-profile-7.3-n1.pb.gz" : "ceems-profile-7.3-n1-%u.pb.gz", i);
		(void)scratch_write(scratch_path(dir, name), "", 0);
	}
	(void)profile_step();
	is_str(said, "", "  the log needs no line");
	ok(!is_told, "  and its user is told nothing");
	ok(is_temporary ? is_whole() : has_match("ceems-profile-7.3-n1-????????????????.pb.gz"),
	   "  the profile is there");
}

static void test_faults(void)
{
	char file[PATH_MAX];
	const struct {
		const char *point, *text;
	} rows[] = {
		{ "io/oc/open", "cannot open the step's cgroup" },
		{ "mm/mmap", "cannot open a clock event of a CPU" },
		{ "proc/fork", "cannot fork" },
		{ "io/rw/read", NULL },
		{ "io/rw/pread", NULL },
		{ "io/rw/write", file },
		{ "io/oc/close", file },
		{ "io/dir/rename", file },
		{ "stdio/oc/fopen", "/proc/kallsyms" },
		{ "io/dir/opendir", NULL },
	};
	size_t i;

	if (!has_faults("ceems-profile")) {
		skip(1, "fiu-run does not run ceems-profile here (Debian: fiu-utils)");
		return;
	}
	(void)snprintf(file, sizeof(file), "%s", file_path());
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_fault(rows[i].point, ENOSPC, rows[i].text);
		test_fault(rows[i].point, EIO, rows[i].text);
	}
}

int main(void)
{
	const struct ledger_identity id = {
		.job_id = 7, .step_id = 3, .job_cpus = 1, .step_cpus = 1, .node_count = 1
	};
	struct errmsg err = { 0 };

	alarm(300);
	logger_set_sink(keep_line);
	folders_make(&folders);
	if (!folders.top[HIER_V2][0])
		return skip_all("needs root and a v2 cgroup");
	(void)snprintf(settings.helper_dir, sizeof(settings.helper_dir), "%s", HELPER_DIR);
	settings.profile_max_hz = 99;
	if (!mkdtemp(dir) || chmod(dir, 0755) < 0 || fake_start(&node, dir, "n1", &err) < 0 ||
	    ledger_claim(node.l, &id, &slot) < 0)
		return 99;
	ledger_slot(node.l, slot)->profile.hz = 99;
	ledger_slot(node.l, slot)->profile.stacks = PROFILE_REQUEST_USER | PROFILE_REQUEST_KERNEL;
	test_many_steps();
	diag("a step");
	(void)profile_step();
	if (strstr(said, "cannot open a clock event")) {
		skip(1, "this kernel lets no process sample a cgroup");
	} else {
		is_str(said, "", "  the log needs no line");
		ok(is_whole(), "  the file is whole");
		ok(is_exposed,
		   "  when memory runs out, the kernel kills the process that writes it before a job's task");
		ok(is_hidden, "  another user sees no folder, job or group in /proc");
		test_taken(true);
		test_taken(false);
		test_faults();
	}
	ledger_leave(node.l, slot);
	fake_stop(&node);
	folders_remove(&folders);
	scratch_clear(dir);
	(void)rmdir(dir);
	return done_testing();
}
