/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions to slurmdbd through a worker that is late, dies, sends nonsense or stops half way. The worker is
 * this program itself, started with --fake.
 */
#include "slurmdb/slurmdb_client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "slurmdb/slurmdb_wire.h"
#include "scratch.h"
#include "src/libutil/clock.h"
#include "tap.h"

#define DEADLINE_NS (20 * NSEC_PER_SEC)
#define WAIT_NS (60 * NSEC_PER_SEC)
#define BAD_JOB 77
#define ABSENT_JOB 44
#define SUBMIT 1700000000
#define WORST_JOB 99 /* without its steps, too */

static char dir[] = SCRATCH_TEMPLATE;
static char self[PATH_MAX];

/* --- the worker ---------------------------------------------------------------------------- */

static void fake_note(const char *log, const char *text)
{
	FILE *f = fopen(log, "a");

	if (f) {
		(void)fprintf(f, "%s\n", text);
		(void)fclose(f);
	}
}

static bool fake_is_bad(const struct slurmdb_want *w)
{
	return w->job_id == WORST_JOB || (w->job_id == BAD_JOB && !w->no_steps);
}

static void fake_put_job(FILE *out, uint32_t job_id, uint64_t end)
{
	struct slurmdb_job job = { .state = SLURMDB_FINAL };

	job.record = record_create();
	job.record->cluster = strdup("c");
	job.record->job_id = job_id;
	job.record->submit = SUBMIT;
	job.record->end = end;
	job.record->energy.row_j = (struct maybe_u64){ job_id, true };
	if (job_id == 2) {
		job.state = SLURMDB_OPEN;
		job.missing = SIGN_EXTERN;
		job.is_half = true;
		job.record->energy.row_j.known = false;
	}
	(void)slurmdb_wire_put_job(out, &job);
	record_destroy(job.record);
}

/* slurmdbd, which a question has crashed, is started again a moment later: it misses one small question. */
static void fake_note_crash(const char *log, bool is_down)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s.down", log);
	if (is_down)
		fake_note(path, "down");
	else
		(void)unlink(path);
}

static bool fake_is_down(const char *log)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s.down", log);
	return access(path, F_OK) == 0;
}

/* What the worker does, by MODE, with a question that slurmdbd cannot answer. */
static void fake_fail(FILE *out, const char *mode, const char *log, uint64_t number)
{
	fake_note(log, "fail");
	if (!strcmp(mode, "late")) {
		(void)fflush(out);
		fake_note(log, "late");
		for (;;)
			(void)pause();
	} else if (!strcmp(mode, "half")) {
		fake_put_job(out, 1, 0);
		(void)fputs("job 2 0 0 - {\"schema\": \"ceems.jo", out);
		(void)fflush(out);
		_exit(3);
	} else if (!strcmp(mode, "hangs")) { /* at its end, as while the kernel writes a core dump */
		(void)close(STDIN_FILENO);
		(void)close(STDOUT_FILENO);
		(void)close(STDERR_FILENO);
		for (;;)
			(void)pause();
	} else if (!strcmp(mode, "garbage")) {
		(void)fputs("job 2 0 0 - {nonsense}\n", out);
		slurmdb_wire_put_done(out, number, 1);
	} else if (!strcmp(mode, "miscount")) {
		slurmdb_wire_put_done(out, number, 1);
	} else if (!strcmp(mode, "other")) {
		slurmdb_wire_put_done(out, number - 1, 0);
	} else if (!strcmp(mode, "error")) {
		slurmdb_wire_put_failed(out, number, -EIO, "slurmdbd does not answer: Unspecified");
	} else if (!strcmp(mode, "refused")) {
		slurmdb_wire_put_failed(out, number, -ECONNREFUSED, "slurmdbd: Connection refused");
	} else {
		(void)fputs("libslurm: fatal: it is broken\n", stderr);
		_exit(1);
	}
}

static void fake_answer_jobs(FILE *in, FILE *out, const struct slurmdb_wire_ask *ask, const char *mode,
			     const char *log)
{
	struct slurmdb_want want[SLURMDB_ASK_MAX];
	char line[SLURMDB_WIRE_LINE_MAX];
	bool is_bad = !strncmp(mode, "down-", 5);
	size_t n = 0;
	size_t i;

	for (i = 0; i < ask->count && fgets(line, sizeof(line), in); i++) {
		line[strcspn(line, "\n")] = '\0';
		if (slurmdb_wire_get_want(line, &want[i]) < 0)
			_exit(4);
		is_bad |= fake_is_bad(&want[i]);
	}
	if (is_bad && !strncmp(mode, "crash-", 6)) {
		fake_note_crash(log, true);
		fake_fail(out, mode + 6, log, ask->number);
		return;
	}
	if (is_bad && strcmp(mode, "good") != 0) {
		fake_fail(out, strncmp(mode, "down-", 5) != 0 ? mode : mode + 5, log, ask->number);
		return;
	}
	for (i = 0; i < ask->count; i++)
		if (want[i].job_id != ABSENT_JOB) {
			fake_put_job(out, want[i].job_id, 0);
			n++;
		}
	/* of somebody else's run, and what libslurm complains of */
	(void)fputs("libslurm: error: this is no answer\n", out);
	fake_put_job(out, 424242, 0);
	slurmdb_wire_put_done(out, ask->number, n + 1);
}

/* A job ends in each hour; what MODE says is of the job that ends in hour 100. */
static void fake_answer_window(FILE *out, const struct slurmdb_wire_ask *ask, const char *mode,
			       const char *log)
{
	size_t n = 0;
	uint64_t t;

	if (strcmp(mode, "good") != 0 && ask->from <= 360000 && ask->to >= 360000) {
		bool crashes = !strncmp(mode, "crash-", 6);

		if (crashes)
			fake_note_crash(log, true);
		fake_fail(out, crashes ? mode + 6 : mode, log, ask->number);
		return;
	}
	for (t = (ask->from + 3599) / 3600 * 3600; t <= ask->to; t += 3600, n++)
		fake_put_job(out, (uint32_t)(1 + t / 3600), t);
	slurmdb_wire_put_done(out, ask->number, n);
}

static int fake_main(const char *mode, const char *log)
{
	FILE *in = fdopen(0, "r");
	FILE *out = fdopen(1, "w");
	char line[SLURMDB_WIRE_LINE_MAX];
	bool is_down = !strncmp(mode, "down-", 5);
	struct slurmdb_wire_ask ask;
	char text[64];

	fake_note(log, "start");
	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		if (slurmdb_wire_get_ask(line, &ask) < 0)
			return 5;
		(void)snprintf(text, sizeof(text), "%s %zu",
			       ask.kind == SLURMDB_WIRE_PING   ? "ping" :
			       ask.kind == SLURMDB_WIRE_WINDOW ? "window" :
								 "jobs",
			       ask.count);
		fake_note(log, text);
		if (ask.kind == SLURMDB_WIRE_JOBS)
			fake_answer_jobs(in, out, &ask, mode, log);
		else if (is_down)
			fake_fail(out, mode + 5, log, ask.number);
		else if (fake_is_down(log)) {
			fake_note_crash(log, false);
			fake_fail(out, mode + 6, log, ask.number);
		} else if (ask.kind == SLURMDB_WIRE_WINDOW)
			fake_answer_window(out, &ask, mode, log);
		else
			slurmdb_wire_put_done(out, ask.number, 0);
		(void)fflush(out);
		if (!strcmp(mode, "leaves"))
			return 0;
	}
	return 0;
}

/* --- the test's side ----------------------------------------------------------------------- */

#define TAGS_MAX 300

struct seen {
	unsigned int answers[TAGS_MAX];
	enum slurmdb_answer_kind kind[TAGS_MAX];
	enum slurmdb_state state[TAGS_MAX];
	uint64_t order[TAGS_MAX];
	uint64_t energy_j[TAGS_MAX];
	char reason[200];
	unsigned int window_jobs, n;
};

static char log_path[PATH_MAX];
static char fake_option[] = "--fake";
static char *fake_argv[] = { self, fake_option, NULL, log_path, NULL };
static uint64_t now_ns;

static unsigned int log_count(const char *line)
{
	size_t len = 0;
	char *text = scratch_read(log_path, &len);
	unsigned int n = 0;
	char *p;

	for (p = text ? strtok(text, "\n") : NULL; p; p = strtok(NULL, "\n"))
		n += !strcmp(p, line);
	free(text);
	return n;
}

static unsigned int log_lines(const char *begin)
{
	char *text = scratch_read(log_path, NULL);
	unsigned int n = 0;
	char *p;

	for (p = text ? strtok(text, "\n") : NULL; p; p = strtok(NULL, "\n"))
		n += !strncmp(p, begin, strlen(begin));
	free(text);
	return n;
}

static struct slurmdb_client *open_client(const char *mode)
{
	struct slurmdb_client_options o = {
		.argv = fake_argv, .deadline_ns = DEADLINE_NS, .cluster = "c", .memory_max = UINT64_MAX
	};
	struct slurmdb_client *c = NULL;

	(void)unlink(log_path);
	fake_argv[2] = (char *)mode;
	now_ns = 1000 * NSEC_PER_SEC;
	if (slurmdb_client_create(&o, &c, NULL) < 0)
		diag("no client");
	return c;
}

static void close_client(struct slurmdb_client *c)
{
	uint64_t until_ns = clock_mono_ns() + WAIT_NS;
	pid_t pid;

	slurmdb_client_destroy(c);
	do {
		pid = waitpid(-1, NULL, WNOHANG);
	} while (pid >= 0 && clock_mono_ns() < until_ns);
	ok(pid < 0 && errno == ECHILD, "  no worker is left");
}

static void note_answer(struct seen *seen, const struct slurmdb_answer *a)
{
	if (a->kind == SLURMDB_WINDOW_JOB) {
		seen->window_jobs++;
	} else {
		seen->answers[a->tag]++;
		seen->kind[a->tag] = a->kind;
		seen->state[a->tag] = a->job.state;
		seen->order[a->tag] = seen->n++;
		seen->energy_j[a->tag] = a->job.record ? a->job.record->energy.row_j.value : 0;
		if (a->kind == SLURMDB_NO_ANSWER)
			(void)snprintf(seen->reason, sizeof(seen->reason), "%s", a->reason);
		if (a->job.record && a->job.record->job_id != a->tag)
			diag("job %u with tag %u", a->job.record->job_id, (unsigned int)a->tag);
	}
	record_destroy(a->job.record);
}

/* Until all is answered. Time passes only when the worker says that it will be late. */
static void take_all(struct slurmdb_client *c, struct seen *seen)
{
	uint64_t until_ns = clock_mono_ns() + WAIT_NS;
	struct slurmdb_answer a;
	unsigned int late = log_count("late");

	*seen = (struct seen){ 0 };
	while (clock_mono_ns() < until_ns) {
		struct pollfd p = { .events = POLLIN };

		while (slurmdb_client_take(c, now_ns, &a))
			note_answer(seen, &a);
		if (!slurmdb_client_pending(c))
			return;
		p.fd = slurmdb_client_fd(c);
		(void)poll(&p, 1, 5);
		if (log_count("late") > late) {
			late++;
			if (slurmdb_client_due(c) != now_ns + DEADLINE_NS)
				diag("due is not the deadline");
			now_ns += DEADLINE_NS;
		}
	}
	diag("%zu wants without an answer", slurmdb_client_pending(c));
}

static void ask_jobs(struct slurmdb_client *c, uint32_t from, uint32_t to)
{
	uint32_t id;

	for (id = from; id <= to; id++) {
		struct slurmdb_want w = { .job_id = id, .submit = SUBMIT };

		if (slurmdb_client_ask(c, &w, id) < 0)
			diag("cannot ask");
	}
}

/* How many of the tags FROM to TO were answered once and with KIND. */
static unsigned int count_kind(const struct seen *s, uint32_t from, uint32_t to,
			       enum slurmdb_answer_kind kind)
{
	unsigned int n = 0;
	uint32_t i;

	for (i = from; i <= to; i++)
		n += s->answers[i] == 1 && s->kind[i] == kind;
	return n;
}

static void test_good(void)
{
	struct slurmdb_client *c = open_client("good");
	struct slurmdb_client_stats stats;
	struct seen s;

	is_u64(slurmdb_client_due(c), UINT64_MAX, "nothing is due");
	is_int(slurmdb_client_fd(c), -1, "and no worker runs before it is needed");
	ask_jobs(c, 1, 250);
	is_u64(slurmdb_client_pending(c), 250, "250 jobs wait");
	take_all(c, &s);
	is_u64(count_kind(&s, 1, 250, SLURMDB_JOB), 250, "each is answered once");
	is_int(s.state[ABSENT_JOB], SLURMDB_ABSENT, "one without a row is absent");
	is_int(s.state[2], SLURMDB_OPEN, "one is open");
	is_int(s.state[3], SLURMDB_FINAL, "one is final");
	is_u64(s.energy_j[3], 3, "with the energy of the job's row");
	is_u64(log_count("jobs 100"), 2, "at most 100 in a question");
	is_u64(log_count("jobs 50"), 1, "then the rest");
	is_u64(log_count("start"), 1, "one worker");
	now_ns += 400 * NSEC_PER_SEC;
	ask_jobs(c, 1, 1);
	take_all(c, &s);
	is_u64(count_kind(&s, 1, 1, SLURMDB_JOB), 1, "later another question");
	is_u64(log_count("start"), 2, "has a new worker");
	slurmdb_client_get_stats(c, &stats);
	ok(stats.questions == 4 && !stats.failures && stats.is_up, "4 questions are counted, none failed");
	close_client(c);
}

/* Jobs with many steps are not in one question. */
static void test_many_steps(void)
{
	struct slurmdb_client *c = open_client("good");
	struct seen s;
	uint32_t id;

	for (id = 1; id <= 10; id++) {
		struct slurmdb_want w = { .job_id = id,
					  .submit = SUBMIT,
					  .known = { .has_nsteps = true, .nsteps = 4000 } };

		(void)slurmdb_client_ask(c, &w, id);
	}
	take_all(c, &s);
	is_u64(count_kind(&s, 1, 10, SLURMDB_JOB), 10, "jobs with 4,000 steps each");
	is_u64(log_count("jobs 2"), 5, "two in a question");
	close_client(c);
}

/* The defect: a question that slurmdbd cannot answer was repeated for ever and held up everybody. */
static void test_one_bad(const char *mode)
{
	struct slurmdb_client *c = open_client(mode);
	struct seen s;
	unsigned int good;

	diag("one of 250 jobs makes the worker: %s", mode);
	ask_jobs(c, 1, 250);
	take_all(c, &s);
	good = count_kind(&s, 1, 250, SLURMDB_JOB);
	is_u64(good, 248, "all others are answered once, with their steps");
	is_u64(count_kind(&s, BAD_JOB, BAD_JOB, SLURMDB_JOB_ALONE), 1, "that one without its steps");
	is_u64(count_kind(&s, WORST_JOB, WORST_JOB, SLURMDB_NO_ANSWER), 1,
	       "another, which fails without steps too, has no answer");
	ok(s.order[250] < s.order[BAD_JOB], "other jobs are answered before it");
	ok(log_lines("jobs ") <= 30, "%u questions", log_lines("jobs "));
	is_u64(log_count("ping 0"), log_count("fail"), "a small question behind each that failed");
	close_client(c);
}

/*
 * The defect: after SLURMDB_NO_ANSWER the search for the job began anew, so that one job that crashes
 * slurmdbd, or makes it hang, kept all that were asked for with it without an answer.
 */
static void test_one_crashes(const char *mode)
{
	struct slurmdb_client *c = open_client(mode);
	bool is_answered[251] = { 0 };
	unsigned int rounds[251] = { 0 };
	unsigned int left = 250;
	unsigned int round, worst = 0;
	uint32_t id;
	struct seen s;

	diag("one of 250 jobs: %s", mode);
	is_answered[WORST_JOB] = true; /* not of this test */
	left--;
	for (round = 1; left && round < 30; round++) {
		for (id = 1; id <= 250; id++)
			if (!is_answered[id])
				ask_jobs(c, id, id);
		take_all(c, &s);
		for (id = 1; id <= 250; id++)
			if (s.answers[id] && s.kind[id] != SLURMDB_NO_ANSWER) {
				is_answered[id] = true;
				rounds[id] = round;
				left--;
			}
	}
	is_u64(left, 0, "all are answered");
	is_int(s.kind[BAD_JOB], SLURMDB_JOB_ALONE, "that one without its steps");
	for (id = 1; id <= 250; id++)
		if (id != BAD_JOB && rounds[id] > worst)
			worst = rounds[id];
	is_u64(rounds[250], 2,
	       "jobs that were not asked for with the bad one have an answer at the next try");
	ok(worst <= 8, "each other one after %u tries at most", worst);
	ok(rounds[BAD_JOB] <= 12, "that one after %u", rounds[BAD_JOB]);
	ask_jobs(c, 1, BAD_JOB);
	take_all(c, &s);
	is_u64(count_kind(&s, 1, BAD_JOB - 1, SLURMDB_JOB), BAD_JOB - 1,
	       "asked for again, it is behind all others");
	ask_jobs(c, BAD_JOB, BAD_JOB);
	take_all(c, &s);
	is_u64(count_kind(&s, BAD_JOB, BAD_JOB, SLURMDB_JOB_ALONE), 1, "and crashes slurmdbd once only");
	close_client(c);
}

static void test_down(const char *mode, unsigned int questions, const char *reason)
{
	struct slurmdb_client *c = open_client(mode);
	struct slurmdb_client_stats stats;
	struct seen s;

	diag("slurmdbd is down: %s", mode);
	ask_jobs(c, 1, 250);
	(void)slurmdb_client_ask_window(c, 0, 100 * 3600, 260);
	take_all(c, &s);
	is_u64(count_kind(&s, 1, 250, SLURMDB_NO_ANSWER), 250, "each job has 'no answer', once");
	is_u64(count_kind(&s, 260, 260, SLURMDB_NO_ANSWER), 1, "a window, too");
	is_u64(log_lines("jobs") + log_lines("ping") + log_lines("window"), questions,
	       "without asking for each");
	ok(strstr(s.reason, reason), "and why: %s", s.reason);
	slurmdb_client_get_stats(c, &stats);
	ok(stats.questions == questions && stats.failures == questions && !stats.is_up,
	   "all failures are counted");
	close_client(c);
}

static void test_no_worker(void)
{
	static char path[] = "/nonexistent/ceems-recorder";
	static char *argv[] = { path, NULL };
	struct slurmdb_client_options o = { .argv = argv };
	struct slurmdb_client *c = NULL;
	struct seen s;

	require(slurmdb_client_create(&o, &c, NULL) == 0);
	(void)unlink(log_path);
	ask_jobs(c, 1, 3);
	take_all(c, &s);
	is_u64(count_kind(&s, 1, 3, SLURMDB_NO_ANSWER), 3, "a worker that cannot be started");
	ok(strstr(s.reason, "/nonexistent/ceems-recorder"), "is named: %s", s.reason);
	close_client(c);
}

/* A worker that ends while nobody asks. */
static void test_leaves(void)
{
	struct slurmdb_client *c = open_client("leaves");
	uint64_t until_ns = clock_mono_ns() + WAIT_NS;
	struct slurmdb_answer a;
	struct seen s;

	ask_jobs(c, 1, 3);
	take_all(c, &s);
	while (slurmdb_client_fd(c) >= 0 && clock_mono_ns() < until_ns)
		require(slurmdb_client_take(c, now_ns, &a) >= 0);
	is_int(slurmdb_client_fd(c), -1, "a worker that left is noticed");
	ask_jobs(c, 1, 3);
	take_all(c, &s);
	is_u64(count_kind(&s, 1, 3, SLURMDB_JOB), 3, "the next question has another");
	is_u64(log_count("ping 0"), 0, "and nothing had failed");
	close_client(c);
}

static void test_window(void)
{
	struct slurmdb_client *c = open_client("good");
	struct seen s;

	(void)slurmdb_client_ask_window(c, 0, 99 * 3600 + 10, 1);
	ask_jobs(c, 2, 2);
	take_all(c, &s);
	is_u64(s.window_jobs, 100, "each job of a window, once");
	is_u64(count_kind(&s, 1, 1, SLURMDB_WINDOW_END), 1, "then its end, once");
	is_u64(log_lines("window"), 1, "it is one question");
	is_u64(count_kind(&s, 2, 2, SLURMDB_JOB), 1, "others have their own");
	close_client(c);
}

static void test_bad_window(const char *mode)
{
	struct slurmdb_client *c = open_client(mode);
	struct seen s;

	diag("a second of a window makes the worker: %s", mode);
	(void)slurmdb_client_ask_window(c, 99 * 3600, 101 * 3600, 1);
	(void)slurmdb_client_ask_window(c, 99 * 3600, 99 * 3600 + 3599, 2);
	ask_jobs(c, 3, 3);
	take_all(c, &s);
	is_u64(count_kind(&s, 1, 1, SLURMDB_WINDOW_FAILED), 1, "that window failed, once");
	is_u64(log_count("fail"), 1, "and was asked for once");
	is_u64(count_kind(&s, 2, 2, SLURMDB_WINDOW_END), 1, "another one has its end");
	is_u64(s.window_jobs, 1, "  and its job");
	is_u64(count_kind(&s, 3, 3, SLURMDB_JOB), 1, "as have jobs");
	close_client(c);
}

/* A window that takes slurmdbd down is told from one that waited then. */
static void test_window_crashes(const char *mode)
{
	struct slurmdb_client *c = open_client(mode);
	struct seen s;

	diag("a second of a window crashes slurmdbd: %s", mode);
	(void)slurmdb_client_ask_window(c, 99 * 3600, 101 * 3600, 1);
	(void)slurmdb_client_ask_window(c, 99 * 3600, 99 * 3600 + 3599, 2);
	take_all(c, &s);
	is_u64(count_kind(&s, 1, 1, SLURMDB_WINDOW_FAILED), 1, "that window failed, once");
	is_u64(count_kind(&s, 2, 2, SLURMDB_NO_ANSWER), 1, "another one has no answer");
	(void)slurmdb_client_ask_window(c, 99 * 3600, 99 * 3600 + 3599, 2);
	take_all(c, &s);
	is_u64(count_kind(&s, 2, 2, SLURMDB_WINDOW_END), 1, "  before it is asked for again");
	close_client(c);
}

static void test_forget(void)
{
	struct slurmdb_client *c = open_client("late");
	struct slurmdb_answer a;

	ask_jobs(c, 70, 200);
	require(slurmdb_client_take(c, now_ns, &a) >= 0);
	close_client(c);
	slurmdb_client_destroy(NULL);
}

int main(int argc, char **argv)
{
	static const char *const modes[] = {
		"late", "dies", "half", "garbage", "miscount", "other", "error"
	};
	size_t i;

	if (argc > 3 && !strcmp(argv[1], "--fake"))
		return fake_main(argv[2], argv[3]);
	if (!mkdtemp(dir) || readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	(void)snprintf(log_path, sizeof(log_path), "%s/log", dir);
	test_good();
	test_many_steps();
	for (i = 0; i < ARRAY_SIZE(modes); i++)
		test_one_bad(modes[i]);
	test_one_crashes("crash-dies");
	test_one_crashes("crash-late");
	test_one_crashes("crash-error");
	test_down("down-late", 2, "no answer within 20 s");
	test_down("down-dies", 2, "libslurm: fatal: it is broken");
	test_down("down-half", 2, "exit status 3");
	test_down("down-hangs", 2, "the worker closed its connection");
	test_down("down-error", 2, "slurmdbd does not answer");
	test_down("down-refused", 1, "Connection refused");
	test_no_worker();
	test_leaves();
	test_window();
	for (i = 0; i < ARRAY_SIZE(modes); i++)
		test_bad_window(modes[i]);
	test_window_crashes("crash-dies");
	test_window_crashes("crash-late");
	test_window_crashes("crash-error");
	test_forget();
	scratch_clear(dir);
	(void)rmdir(dir);
	return done_testing();
}
