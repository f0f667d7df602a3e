/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger when its processes die: samplers at any instruction, stepds in any state. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_sampler.h"
#include "rnd.h"
#include "src/libutil/util.h"
#include "tap.h"

#define NODE "n1"
#define JOB 77
#define ROUNDS 60
#define STEPS_PER_ROUND 5
#define BUSY_NS 1000
#define PATIENCE_NS (60 * NSEC_PER_SEC) /* only a hang takes so long */

static char dir[] = "/tmp/test_ledger_kill.XXXXXX";

static struct ledger_identity ident(uint32_t step_id)
{
	return (struct ledger_identity){
		.job_id = JOB, .step_id = step_id, .node_count = 1, .job_cpus = 4, .step_cpus = 1
	};
}

static void nap(uint64_t ns)
{
	struct timespec ts = clock_ns_to_timespec(ns);

	(void)nanosleep(&ts, NULL);
}

/* --- children --------------------------------------------------------------------------- */

static _Noreturn void run_sampler(void)
{
	static struct fake_sampler f;
	struct errmsg err;
	uint64_t joules = 1;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fake_start(&f, dir, NODE, &err) < 0)
		_exit(1);
	for (;;) {
		joules = joules * 6364136223846793005u + 1442695040888963407u;
		f.node_busy_ns += 100000;
		if (fake_tick(&f, 0, joules >> 44, joules >> 50) < 0)
			_exit(2);
		(void)ledger_wait_request(f.l, 0, clock_mono_ns() + 2 * NSEC_PER_MSEC);
	}
}

static pid_t start_sampler(void)
{
	pid_t pid = fork();

	if (pid == 0)
		run_sampler();
	return pid;
}

/* The exit status tells the result of ledger_finish(); with DIES it dies before that. */
static _Noreturn void run_stepd(uint32_t step_id, bool dies, uint64_t nap_ns, uint64_t timeout_ns)
{
	struct ledger_identity id = ident(step_id);
	struct ledger *l = NULL;
	struct account a;
	struct errmsg err;
	unsigned int slot;
	int rc;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	rc = ledger_open(dir, NODE, true, &l, &err);
	if (rc == 0)
		rc = ledger_claim(l, &id, &slot);
	if (rc < 0)
		_exit(200);
	values_set(&ledger_slot(l, slot)->values, METRIC_PAGE_FAULTS, 1);
	nap(nap_ns);
	if (dies)
		(void)raise(SIGKILL);
	rc = ledger_finish(l, slot, BUSY_NS, timeout_ns, &a);
	if (step_id % STEPS_PER_ROUND != 1) /* as a batch step, which ends without leaving */
		ledger_leave(l, slot);
	_exit(rc == 0 ? 0 : rc == -ETIMEDOUT || rc == -ENODATA ? 100 : 201);
}

static pid_t start_stepd(uint32_t step_id, bool dies, uint64_t nap_ns, uint64_t timeout_ns)
{
	pid_t pid = fork();

	if (pid == 0)
		run_stepd(step_id, dies, nap_ns, timeout_ns);
	return pid;
}

static int reap(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* --- a tick cut off at a known place ----------------------------------------------------- */

static void is_once(struct fake_sampler *f, uint64_t uj, const char *what)
{
	const struct ledger_page *page = ledger_current(f->l);
	struct values fig;
	struct account a;
	uint64_t busy;

	is_int(ledger_job_total(f->l, JOB, &a, &fig, &busy), 0, what);
	is_u64(fig.value[METRIC_PAGE_FAULTS], 1, "values once");
	is_u64(busy, BUSY_NS, "CPU time once");
	is_u64(account_total_uj(&page->measured), uj, "energy once");
	is_u64(ledger_page_error_uj(page), 0, "and all of it in accounts");
}

/* All but the last part of ledger_turn(): killed right after the page became current. */
static void turn_and_die(struct fake_sampler *f)
{
	(void)atomic_fetch_add(&f->l->file->turns, 1);
	fake_stop(f);
}

static void test_cut_off(void)
{
	static struct fake_sampler f;
	struct ledger_identity id = ident(0);
	struct ledger *l = NULL;
	struct errmsg err;
	struct ledger_slot *s;
	unsigned int slot;

	is_int(fake_start(&f, dir, NODE, &err), 0, "sampler");
	(void)fake_tick(&f, 0, 0, 0);
	is_int(ledger_open(dir, NODE, true, &l, &err), 0, "stepd");
	is_int(ledger_claim(l, &id, &slot), 0, "claim");
	s = ledger_slot(l, slot);
	values_set(&s->values, METRIC_PAGE_FAULTS, 1);

	(void)fake_book(&f, 0, 500, 5);
	fake_stop(&f);
	(void)fake_start(&f, dir, NODE, &err);
	is_u64(account_total_uj(&ledger_current(f.l)->measured), 0,
	       "killed before it turned: nothing has happened");
	(void)fake_tick(&f, 0, 500, 5);
	is_u64(ledger_page_error_uj(ledger_current(f.l)), 0, "all is there");

	s->final_busy_ns = BUSY_NS;
	s->t_close_mono_ns = clock_mono_ns();
	atomic_store(&s->state, SLOT_CLOSING);
	(void)fake_book(&f, 0, 500, 5);
	turn_and_die(&f);
	is_int(atomic_load(&s->state), SLOT_CLOSING, "killed before the slot was closed");
	(void)fake_start(&f, dir, NODE, &err);
	(void)fake_tick(&f, 0, 500, 5);
	is_int(atomic_load(&s->state), SLOT_CLOSED, "the next one closes it");
	is_once(&f, 1515, "closed");

	ledger_leave(l, slot);
	(void)fake_book(&f, 0, 500, 5);
	turn_and_die(&f);
	is_int(atomic_load(&s->state), SLOT_LEFT, "killed before the slot was free");
	(void)fake_start(&f, dir, NODE, &err);
	is_once(&f, 2020, "moved to the job, still in the slot");
	(void)fake_tick(&f, 0, 500, 5);
	is_int(atomic_load(&s->state), SLOT_FREE, "the next one frees it");
	is_once(&f, 2525, "freed");
	is_u64(s->stepd_start, 0, "and nothing of its process is left");
	atomic_store(&s->stepd_pid, getpid());
	fake_stop(&f);
	(void)fake_start(&f, dir, NODE, &err);
	(void)fake_tick(&f, 0, 0, 0);
	is_int(atomic_load(&s->stepd_pid), getpid(), "a stepd that is about to claim the slot keeps it");

	/* a stepd killed while it claimed, and one whose number another process has now */
	atomic_store(&s->stepd_pid, INT32_MAX);
	(void)fake_tick(&f, 0, 500, 5);
	is_int(atomic_load(&s->stepd_pid), 0, "killed after its first store");
	atomic_store(&s->stepd_pid, INT32_MAX);
	atomic_store(&s->state, SLOT_CLAIMED);
	(void)fake_tick(&f, 0, 500, 5);
	is_int(atomic_load(&s->state), SLOT_FREE, "killed while it wrote its identity");
	is_int(ledger_claim(l, &id, &slot), 0, "the slot can be claimed");
	s->stepd_start++;
	is_int(ledger_find(l, getpid(), &slot), -ENOENT,
	       "a process with the pid of an earlier stepd finds no slot");
	s->t_open_mono_ns -= 2 * NSEC_PER_SEC; /* nor is it that of a step that is a moment old */
	fake_stop(&f);
	(void)fake_start(&f, dir, NODE, &err);
	(void)fake_tick(&f, 0, 500, 5);
	is_u64(f.nlines, 1, "a step of a stepd that is gone gets its last tick");
	is_u64(ledger_current(f.l)->lost_steps, 1, "and is counted");
	is_int(atomic_load(&s->state), SLOT_FREE, "its slot is free");
	is_once(&f, 4040, "its values are not trusted");
	ledger_close(l);
	fake_stop(&f);
}

/* --- living processes ------------------------------------------------------------------- */

static void test_processes(void)
{
	struct ledger_identity id = ident(LEDGER_STEP_EXTERN);
	struct ledger *l = NULL;
	struct errmsg err;
	unsigned int slot;
	pid_t sampler = start_sampler();
	pid_t pid;

	is_int(reap(start_stepd(1, false, 0, PATIENCE_NS)), 0, "a step is answered");
	is_int(ledger_open(dir, NODE, true, &l, &err), 0, "extern");
	is_int(ledger_claim(l, &id, &slot), 0, "claims");
	pid = start_stepd(2, false, 30 * NSEC_PER_MSEC, PATIENCE_NS);
	is_int(ledger_wait_others(l, JOB, slot, PATIENCE_NS), 0, "extern waits for a step");
	is_int(reap(pid), 0, "which ends well");
	pid = start_stepd(3, true, 30 * NSEC_PER_MSEC, 0);
	is_int(ledger_wait_others(l, JOB, slot, PATIENCE_NS), 0, "or for one that is killed");
	is_int(reap(pid), 1000 + SIGKILL, "it was killed");
	ledger_leave(l, slot);
	ledger_close(l);
	(void)kill(sampler, SIGKILL);
	is_int(reap(sampler), 1000 + SIGKILL, "the sampler was alive");
}

static bool all_free(const struct ledger *l)
{
	unsigned int i;

	for (i = 0; i < LEDGER_STEPS; i++)
		if (atomic_load(&l->file->slot[i].stepd_pid))
			return false;
	return true;
}

static bool page_adds_up(const struct ledger *l, struct ledger_page *page)
{
	if (ledger_snapshot(l, page) < 0)
		return false;
	return !ledger_page_error_uj(page) && !page->conservation_error_uj;
}

/* A sampler that ticks all the time, and a reader that finds whole pages only. */
static void test_reader(void)
{
	struct ledger_page *page = malloc(sizeof(*page));
	pid_t sampler = start_sampler();
	struct ledger *l = NULL;
	struct errmsg err;
	unsigned int wrong = 0;
	unsigned int i;

	is_int(ledger_open(dir, NODE, true, &l, &err), 0, "a reader");
	for (i = 0; i < 2000; i++) {
		ledger_request_tick(l);
		wrong += !page_adds_up(l, page);
	}
	is_u64(wrong, 0, "every snapshot adds up");
	(void)kill(sampler, SIGKILL);
	(void)reap(sampler);
	ledger_close(l);
	free(page);
}

/* Kills samplers at random instants while steps come, end and die. */
static void test_random_kills(void)
{
	struct ledger_page *page = malloc(sizeof(*page));
	struct ledger *l = NULL;
	struct errmsg err;
	struct values before;
	struct values after;
	pid_t step[ROUNDS * STEPS_PER_ROUND];
	uint64_t deadline;
	uint64_t busy_before;
	uint64_t busy;
	uint64_t lost_before;
	unsigned int wrong_pages = 0;
	unsigned int ended = 0;
	unsigned int killed = 0;
	unsigned int odd = 0;
	unsigned int n = 0;
	unsigned int round;
	unsigned int i;
	pid_t sampler;

	is_int(ledger_open(dir, NODE, true, &l, &err), 0, "a reader");
	/* start from a settled ledger */
	sampler = start_sampler();
	deadline = clock_mono_ns() + PATIENCE_NS;
	while (!all_free(l) && clock_mono_ns() < deadline)
		nap(NSEC_PER_MSEC);
	if (ledger_job_total(l, JOB, NULL, &before, &busy_before) < 0)
		busy_before = 0; /* a new ledger has no such job */
	require(ledger_snapshot(l, page) == 0);
	lost_before = page->lost_steps;

	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < STEPS_PER_ROUND; i++, n++)
			step[n] = start_stepd(n, i == 0, rnd(3 * NSEC_PER_MSEC), rnd(20 * NSEC_PER_MSEC));
		nap(rnd(4 * NSEC_PER_MSEC));
		(void)kill(sampler, SIGKILL);
		odd += reap(sampler) != 1000 + SIGKILL;
		wrong_pages += !page_adds_up(l, page);
		sampler = start_sampler();
	}
	for (i = 0; i < n; i++) {
		int rc = reap(step[i]);

		if (rc == 0 || rc == 100)
			ended++;
		else if (rc == 1000 + SIGKILL)
			killed++;
		else
			odd++;
	}
	is_u64(odd, 0, "no process ended in another way");
	is_u64(wrong_pages, 0, "each page adds up after each kill");
	is_u64(ended + killed, ROUNDS * STEPS_PER_ROUND, "all steps are over");
	deadline = clock_mono_ns() + PATIENCE_NS;
	while (!all_free(l) && clock_mono_ns() < deadline)
		nap(NSEC_PER_MSEC);
	ok(all_free(l), "all slots are free again");
	(void)kill(sampler, SIGKILL);
	(void)reap(sampler);
	ok(page_adds_up(l, page), "the last page adds up");
	diag("%" PRIu64 " ticks, %" PRIu64 " uJ, %u samplers and %u steps killed", page->ticks,
	     account_total_uj(&page->measured), ROUNDS, killed);
	is_int(ledger_job_total(l, JOB, NULL, &after, &busy), 0, "the job");
	is_u64(after.value[METRIC_PAGE_FAULTS] - before.value[METRIC_PAGE_FAULTS], ended,
	       "each step's values are there once");
	is_u64(busy - busy_before, (uint64_t)ended * BUSY_NS, "and its CPU time");
	is_u64(page->lost_steps - lost_before, killed, "each killed one is counted once");
	free(page);
	ledger_close(l);
}

int main(void)
{
	const char *env = getenv("LEDGER_SEED");
	uint64_t seed = env ? strtoull(env, NULL, 0) : clock_wall_ns() | 1;
	char path[128];

	if (!mkdtemp(dir))
		return 99;
	diag("again with LEDGER_SEED=%" PRIu64 " (but for the scheduler's part)", seed);
	rng = seed ? seed : 1;
	test_cut_off();
	test_processes();
	test_reader();
	test_random_kills();
	snprintf(path, sizeof(path), "%s/" NODE ".ledger", dir);
	unlink(path);
	is_int(rmdir(dir), 0, "no file is left over");
	return done_testing();
}
