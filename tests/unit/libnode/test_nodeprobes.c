/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmd's part of the probes, and what becomes of a step's counts when slurmd or slurmstepd is
 * killed. bpfrig.h lists the requirements.
 */
#define _GNU_SOURCE
#include <fcntl.h>

#include "bpfrig.h"
#include "fake_sampler.h"
#include "src/libmeter/activity/taskcount.h"
#include "src/libnode/nodeprobes.h"

#define JOB 7

static struct settings settings;
static char helper_dir[PATH_MAX];
static const char *v2_root;

/* --- a slurmstepd ---------------------------------------------------------------------------- */

struct stepd {
	pid_t pid;
	uint32_t bpf_slot;
};

static uint32_t stepd_register(uint64_t cgroup_id)
{
	struct errmsg err = { 0 };
	struct probes *p;
	uint32_t slot;
	int rc = probes_open(bpfrig_dir, &p, &err);

	if (rc == 0)
		rc = probes_register(p, cgroup_id, 0, 0, &slot);
	if (rc == 0)
		rc = probes_hold(p, PROBES_TASKS, &err);
	if (rc < 0) {
		diag("slurmstepd: %s %s", strerror(-rc), err.text);
		_exit(1);
	}
	return slot;
}

static void stepd_claim(const char *ledger_dir, uint32_t bpf_slot)
{
	const struct ledger_identity id = {
		.job_id = JOB,
		.step_id = LEDGER_STEP_BATCH,
		.node_count = 1,
		.job_cpus = 1,
		.step_cpus = 1,
		.start_wall_ns = 1,
	};
	struct ledger *l;
	unsigned int slot;

	if (ledger_open(ledger_dir, "n1", true, &l, NULL) < 0 || ledger_claim(l, &id, &slot) < 0)
		_exit(1);
	ledger_slot(l, slot)->bpf_slot = bpf_slot;
	/* half of what it was about to write */
	values_set(&ledger_slot(l, slot)->values, METRIC_IO_READ_BYTES, 4711);
}

/* LEDGER_DIR NULL: it has no slot there. Runs until it is killed. */
static bool stepd_start(struct stepd *s, uint64_t cgroup_id, const char *ledger_dir)
{
	int fd[2];
	bool is_up;

	if (pipe(fd) < 0)
		return false;
	s->pid = fork();
	if (s->pid == 0) {
		uint32_t slot = stepd_register(cgroup_id);

		if (ledger_dir)
			stepd_claim(ledger_dir, slot);
		if (write(fd[1], &slot, sizeof(slot)) != sizeof(slot))
			_exit(1);
		for (;;)
			(void)pause();
	}
	(void)close(fd[1]);
	is_up = s->pid > 0 && read(fd[0], &s->bpf_slot, sizeof(s->bpf_slot)) == sizeof(s->bpf_slot);
	(void)close(fd[0]);
	return ok(is_up, "slurmstepd starts");
}

/* --- a slurmd -------------------------------------------------------------------------------- */

static struct nodeprobes *slurmd_start(void)
{
	struct nodeprobes *np;

	(void)bpfrig_load(); /* which may take longer than slurmd would wait, on this machine */
	nodeprobes_start(&settings, helper_dir, &np);
	ok(np != NULL, "slurmd starts");
	return np;
}

/* In a process of its own, until it is killed. */
static pid_t slurmd_fork(void)
{
	char word = 0;
	int fd[2];
	pid_t pid;

	(void)bpfrig_load();
	if (pipe(fd) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		struct nodeprobes *np;

		nodeprobes_start(&settings, helper_dir, &np);
		word = np ? 'y' : 'n';
		if (write(fd[1], &word, 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	(void)close(fd[1]);
	ok(pid > 0 && read(fd[0], &word, 1) == 1 && word == 'y', "slurmd starts");
	(void)close(fd[0]);
	return pid;
}

/* Writes a script into DIR that replaces ceems-bpf: asked to load, it first runs the command FIRST. */
static bool make_helper(const char *dir, const char *first)
{
	char path[PATH_MAX];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/ceems-bpf", dir);
	f = fopen(path, "we");
	if (!f)
		return false;
	(void)fprintf(f, "#!/bin/sh\n[ $1 != load ] || %s\nexec %s \"$@\"\n", first, bpfrig_helper);
	return fclose(f) == 0 && chmod(path, 0700) == 0;
}

static bool is_attached(const char *dir)
{
	struct probes_count c = { 0 };
	struct probes *p;

	if (probes_open(dir, &p, NULL) < 0)
		return false;
	require(probes_count(p, &c, NULL) == 0);
	probes_close(p);
	return c.holds > 0;
}

/* slurmd goes on when the helper takes longer than it waits, and takes over what is loaded in the end. */
static void test_slow_load(void)
{
	const uint64_t deadline = clock_mono_ns() + BPFRIG_TIMEOUT_NS;
	struct settings own = { 0 };
	struct nodeprobes *np;
	uint64_t begin_ns;
	char dir[PATH_MAX];

	(void)snprintf(dir, sizeof(dir), "%s/helpers", bpfrig_scratch);
	(void)snprintf(own.bpf_dir, sizeof(own.bpf_dir), "%.900s/slow", bpfrig_mount);
	if (!ok(mkdir(dir, 0700) == 0 && make_helper(dir, "sleep 7"), "a helper that takes 7 s"))
		return;
	nodeprobes_start(&own, dir, &np);
	ok(access(own.bpf_dir, F_OK) < 0, "slurmd does not wait for it");
	while (!is_attached(own.bpf_dir) && clock_mono_ns() < deadline) {
		nodeprobes_look(np, clock_mono_ns());
		(void)usleep(10000);
	}
	ok(is_attached(own.bpf_dir), "a later tick takes over the programs");
	nodeprobes_stop(np);
	ok(access(own.bpf_dir, F_OK) < 0, "and slurmd's end unloads them");
	if (!ok(make_helper(dir, "exec sleep 1000"), "a helper that hangs"))
		return;
	nodeprobes_start(&own, dir, &np);
	nodeprobes_look(np, clock_mono_ns());
	begin_ns = clock_mono_ns();
	nodeprobes_stop(np);
	ok(clock_mono_ns() - begin_ns < 10 * NSEC_PER_SEC, "does not hold up slurmd's end");
	ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "and is killed");
	(void)snprintf(dir, sizeof(dir), "%s/helpers/ceems-bpf", bpfrig_scratch);
	(void)unlink(dir);
	*strrchr(dir, '/') = '\0';
	(void)rmdir(dir);
}

static void tick(struct nodeprobes *np, struct fake_sampler *f, uint64_t look_ns)
{
	struct ledger_page *page = ledger_begin(f->l);
	struct book_tick t = { .t_mono_ns = clock_mono_ns(), .t_wall_ns = clock_wall_ns(), .node_cpus = 1 };

	nodeprobes_look(np, look_ns);
	f->nlines = ledger_book_collect(f->b, page, t.t_mono_ns, &f->line);
	nodeprobes_salvage(np, f->b, f->line, f->nlines);
	is_int(ledger_book_apply(f->b, page, &t), 0, "a tick");
	ledger_turn(f->l);
	nodeprobes_clear(np);
}

static bool has_owner(uint32_t slot)
{
	struct probes_owner owner;
	struct probes *p;
	bool has;

	if (probes_open(bpfrig_dir, &p, NULL) < 0)
		return false;
	has = probes_owner(p, slot, &owner) == 0;
	probes_close(p);
	return has;
}

/* --- tests ----------------------------------------------------------------------------------- */

static void test_cannot_start(void)
{
	static const struct settings none = { .bpf_dir = "" };
	static const struct settings elsewhere = { .bpf_dir = "/tmp/nowhere/ceems" };
	const struct {
		const struct settings *settings;
		const char *helper_dir, *what;
	} bad[] = {
		{ &none, helper_dir, "BpfDir empty" },
		{ &elsewhere, helper_dir, "no bpf file system" },
		{ &settings, "/nonexistent", "no helper" },
	};
	struct nodeprobes_lost lost;
	struct nodeprobes *np;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		nodeprobes_start(bad[i].settings, bad[i].helper_dir, &np);
		nodeprobes_look(np, 1);
		nodeprobes_salvage(np, NULL, NULL, 0);
		nodeprobes_clear(np);
		nodeprobes_stop(np);
		ok(!bpfrig_link_lives(bpfrig_link_id(LINK_TASK_EXIT)),
		   "%s: nothing is attached, no call fails", bad[i].what);
	}
	nodeprobes_look(NULL, 1);
	nodeprobes_clear(NULL);
	nodeprobes_salvage(NULL, NULL, NULL, 0);
	ok(!nodeprobes_lost(NULL, &lost), "no programs, no lost events");
	nodeprobes_stop(NULL);
}

static void test_stepd_is_killed(const char *ledger_dir)
{
	struct nodeprobes *np = slurmd_start();
	struct fake_sampler f;
	struct stepd lost, unknown;
	struct folder step, other;
	struct values job;
	uint64_t now = clock_mono_ns();
	pid_t living;

	if (!ok(fake_start(&f, ledger_dir, "n1", NULL) == 0, "ledger") ||
	    !folder_make_own(&step, v2_root, "killed") || !folder_make_own(&other, v2_root, "unknown") ||
	    !stepd_start(&lost, step.id, ledger_dir) || !stepd_start(&unknown, other.id, NULL))
		return;
	tick(np, &f, now);
	ok(bpfrig_run_task(&step), "a task ends");
	living = child_start(bpfrig_task, &step, NULL);
	ok(living > 0, "another lives");
	child_kill(lost.pid);
	child_kill(unknown.pid);
	tick(np, &f, now + 1); /* not the time to look for slots of the dead */
	ok(has_owner(lost.bpf_slot) && has_owner(unknown.bpf_slot), "slots of the dead stay a while");
	is_int(ledger_job_total(f.l, JOB, NULL, &job, NULL), 0, "the job's total");
	is_u64(job.value[METRIC_IO_WRITE_BYTES], 2 * BPFRIG_TASK_BYTES,
	       "has what both tasks wrote though slurmstepd was killed");
	is_u64(job.value[METRIC_IO_READ_BYTES], 0, "and nothing of the half-written slot");
	is_u64(ledger_current(f.l)->lost_steps, 1, "the step counts as lost");
	tick(np, &f, now + NODEPROBES_LOOK_NS);
	ok(!has_owner(lost.bpf_slot) && !has_owner(unknown.bpf_slot), "then they are freed");
	ok(child_end(living), "the other one ends");
	folder_remove(&step);
	folder_remove(&other);
	fake_stop(&f);
	nodeprobes_stop(np);
}

/* The look comes at the worst time: it sees the dead before the ledger does. */
static void test_look_at_the_moment_of_death(const char *ledger_dir)
{
	struct nodeprobes *np = slurmd_start();
	struct fake_sampler f;
	struct stepd lost;
	struct folder step;
	struct values job;
	uint64_t now = clock_mono_ns();

	if (!ok(fake_start(&f, ledger_dir, "n1", NULL) == 0, "ledger") ||
	    !folder_make_own(&step, v2_root, "step") || !stepd_start(&lost, step.id, ledger_dir))
		return;
	tick(np, &f, now);
	ok(bpfrig_run_task(&step), "a task ends");
	child_kill(lost.pid);
	tick(np, &f, now + NODEPROBES_LOOK_NS);
	is_int(ledger_job_total(f.l, JOB, NULL, &job, NULL), 0, "the job's total");
	is_u64(job.value[METRIC_IO_WRITE_BYTES], BPFRIG_TASK_BYTES,
	       "a dead step's slot is read before it is freed");
	ok(!has_owner(lost.bpf_slot), "and is freed in the same tick");
	folder_remove(&step);
	fake_stop(&f);
	nodeprobes_stop(np);
}

/* Several slurmds may have one BpfDir: the other one must find what its step did. */
static void test_another_slurmds_step(void)
{
	struct nodeprobes *np = slurmd_start();
	pid_t another = slurmd_fork();
	struct fake_sampler f;
	struct stepd lost;
	struct folder step;
	char ledger_dir[] = "/tmp/test_nodeprobes.XXXXXX", path[64];
	uint64_t now = clock_mono_ns();

	if (!ok(mkdtemp(ledger_dir) && fake_start(&f, ledger_dir, "n1", NULL) == 0, "ledger") ||
	    !folder_make_own(&step, v2_root, "step") || !stepd_start(&lost, step.id, NULL))
		return;
	child_kill(lost.pid);
	tick(np, &f, now);
	ok(has_owner(lost.bpf_slot), "a dead step may be another slurmd's, and waits for that");
	tick(np, &f, now + NODEPROBES_LOOK_NS);
	ok(!has_owner(lost.bpf_slot), "until the next look");
	folder_remove(&step);
	fake_stop(&f);
	child_kill(another);
	nodeprobes_stop(np);
	(void)snprintf(path, sizeof(path), "%s/n1.ledger", ledger_dir);
	(void)unlink(path);
	(void)rmdir(ledger_dir);
}

static void test_slurmd_is_killed(void)
{
	struct values values;
	struct nodeprobes *np;
	struct taskcount *h;
	struct probes *p;
	struct folder step;
	struct stepd stepd;
	pid_t slurmd = slurmd_fork();
	uint32_t id = bpfrig_link_id(LINK_TASK_EXIT);

	if (!folder_make_own(&step, v2_root, "step") || !stepd_start(&stepd, step.id, NULL))
		return;
	ok(id && bpfrig_link_id(LINK_TASK_EXIT) == id, "the step joins slurmd's link");
	ok(bpfrig_run_task(&step), "a task ends");
	child_kill(slurmd);
	ok(bpfrig_link_lives(id), "slurmd is killed: the step holds it");
	ok(bpfrig_run_task(&step), "a task ends while there is no slurmd");
	np = slurmd_start();
	is_u64(bpfrig_link_id(LINK_TASK_EXIT), id, "the next slurmd joins the step's");
	ok(bpfrig_run_task(&step), "a task ends");

	values_init(&values);
	is_int(probes_open(bpfrig_dir, &p, NULL), 0, "open");
	is_int(taskcount_open(p, stepd.bpf_slot, &h), 0, "the step's");
	is_int(taskcount_read(h, false, &values), 0, "read");
	is_u64(values.value[METRIC_IO_WRITE_BYTES], 3 * BPFRIG_TASK_BYTES,
	       "before, without and after slurmd: all is counted");
	taskcount_close(h);
	probes_close(p);

	nodeprobes_stop(np);
	ok(bpfrig_link_lives(id), "slurmd ends: the step goes on counting");
	child_kill(stepd.pid);
	ok(bpfrig_link_goes(id), "the step is killed: nothing stays attached");
	folder_remove(&step);
	np = slurmd_start();
	ok(bpfrig_link_id(LINK_TASK_EXIT) != id, "the next slurmd attaches anew");
	nodeprobes_stop(np);
}

/* A step attaches the hooks of I/O; slurmd keeps them for the next ones, but not for ever. */
static void test_hooks_are_kept(const char *ledger_dir)
{
	struct nodeprobes *np = slurmd_start();
	uint64_t now = clock_mono_ns();
	struct fake_sampler f;
	struct folder step;
	struct probes *p;
	uint32_t slot, id;
	bool is_once;
	int i;

	is_int(probes_open(bpfrig_dir, &p, NULL), 0, "open");
	if (probes_why(p, PROBES_IO) != PROBES_OK) {
		skip(1, probes_why_text(probes_why(p, PROBES_IO)));
		probes_close(p);
		nodeprobes_stop(np);
		return;
	}
	is_once = probes_features(p) & PROBES_FEXIT_ONCE;
	if (!ok(fake_start(&f, ledger_dir, "n1", NULL) == 0, "ledger") ||
	    !folder_make_own(&step, v2_root, "step"))
		return;
	tick(np, &f, now);
	is_u64(bpfrig_link_id(LINK_IO_READ), 0, "without a request no I/O hook is attached");
	is_int(probes_register(p, step.id, 0, 1u << PROBES_IO, &slot), 0, "a step requests I/O");
	is_int(probes_hold(p, PROBES_IO, NULL), 0, "and attaches the hooks");
	id = bpfrig_link_id(LINK_IO_READ);
	tick(np, &f, now + NODEPROBES_LOOK_NS);
	probes_release(p, slot);
	probes_close(p);
	ok(bpfrig_link_lives(id), "slurmd keeps it when the step ends");
	is_int(probes_open(bpfrig_dir, &p, NULL), 0, "open");
	is_int(probes_hold(p, PROBES_IO, NULL), 0, "another step");
	is_u64(bpfrig_link_id(LINK_IO_READ), id, "has the same hook");
	probes_close(p);
	for (i = 0; i < LINK_N; i++)
		tick(np, &f, now + 2 * NODEPROBES_LOOK_NS + (uint64_t)i);
	if (is_once)
		ok(bpfrig_link_lives(id), "it cannot be attached again, so it stays");
	else
		ok(bpfrig_link_goes(id) && !bpfrig_link_lives(bpfrig_link_id(LINK_IO_WRITE)),
		   "without requests the hook is detached");
	/* two slurmds that keep each other's hooks would keep them for ever */
	if (!is_once) {
		is_int(probes_open(bpfrig_dir, &p, NULL), 0, "open");
		is_int(probes_hold(p, PROBES_IO, NULL), 0, "another slurmd keeps it still");
		id = bpfrig_link_id(LINK_IO_READ);
		for (i = 0; i < LINK_N; i++)
			tick(np, &f, now + 3 * NODEPROBES_LOOK_NS + (uint64_t)i);
		probes_close(p);
		ok(bpfrig_link_goes(id), "and the hook goes with that one");
	}
	folder_remove(&step);
	fake_stop(&f);
	nodeprobes_stop(np);
}

int main(void)
{
	char ledger_dir[] = "/tmp/test_nodeprobes.XXXXXX";
	const char *why = bpfrig_up();
	char path[64];

	if (why)
		return skip_all(why);
	v2_root = bpfrig_root(true);
	if (!v2_root || !mkdtemp(ledger_dir)) {
		(void)bpfrig_unload();
		bpfrig_down();
		return skip_all("no v2 cgroups that can be written");
	}
	bpfrig_null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	(void)snprintf(helper_dir, sizeof(helper_dir), "%s", bpfrig_helper);
	*strrchr(helper_dir, '/') = '\0';
	(void)snprintf(settings.bpf_dir, sizeof(settings.bpf_dir), "%s", bpfrig_dir);
	test_cannot_start();
	test_stepd_is_killed(ledger_dir);
	(void)snprintf(path, sizeof(path), "%s/n1.ledger", ledger_dir);
	(void)unlink(path);
	test_look_at_the_moment_of_death(ledger_dir);
	test_another_slurmds_step();
	test_slurmd_is_killed();
	(void)unlink(path);
	test_hooks_are_kept(ledger_dir);
	test_slow_load();
	(void)bpfrig_unload();
	ok(access(bpfrig_dir, F_OK) < 0, "no pins stay in BpfDir");
	(void)unlink(path);
	(void)rmdir(ledger_dir);
	bpfrig_down();
	return done_testing();
}
