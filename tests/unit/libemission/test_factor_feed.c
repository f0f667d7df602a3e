/* SPDX-License-Identifier: GPL-2.0-or-later */
/* EmissionSeriesFile through its helper: what changes, breaks, hangs. */
#include "src/libemission/factor_feed.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "src/libutil/clock.h"
#include "src/libutil/logger.h"
#include "src/libutil/util.h"

#include "scratch.h"
#include "tap.h"
#include "unkillable.h"

#define S NSEC_PER_SEC
#define HEAD FACTOR_SERIES_HEAD "\n"
#define FR                                                                                       \
	"2026-11-22T10:00:00Z,2026-11-22T10:15:00Z,32.5,average,direct,FR,2026-11-22T10:20:04Z," \
	"RTE eCO2mix\n"
#define FR_MARGINAL \
	"2026-11-22T10:00:00Z,2026-11-22T10:15:00Z,300,marginal,direct,FR,2026-11-22T10:20:04Z,W\n"
#define DE "2026-11-22T10:00:00Z,2026-11-22T10:15:00Z,400,average,direct,DE,2026-11-22T10:20:04Z,x\n"
#define OLD "2020-11-22T10:00:00Z,2020-11-22T10:15:00Z,50,average,direct,FR,2020-11-22T10:20:04Z,x\n"

static char dir[] = SCRATCH_TEMPLATE;
static char path[PATH_MAX];
static char said[1024];
static unsigned int nsaid;

static void hear(enum logger_level level, const char *line)
{
	(void)level;
	(void)snprintf(said, sizeof(said), "%s", line);
	nsaid++;
}

static struct factor_feed *open_feed(const char *helper_dir, uint64_t keep_s)
{
	struct factor_feed_options o = {
		.path = path, .region = "FR", .helper_dir = helper_dir, .keep_s = keep_s
	};
	struct factor_feed *f = NULL;

	if (factor_feed_open(&o, &f, NULL) < 0)
		exit(99);
	nsaid = 0;
	said[0] = '\0';
	return f;
}

static void put(const char *text)
{
	if (fileio_write_atomic(path, text, strlen(text), 0644, NULL) < 0)
		exit(99);
}

/* Looks, although none is due yet. */
static bool look(struct factor_feed *f)
{
	static uint64_t ahead_ns;
	bool is_new;

	ahead_ns += 120 * S;
	is_new = factor_feed_poll(f, clock_mono_ns() + ahead_ns);
	/* its deadline is that far in the future too */
	return factor_feed_wait(f, clock_mono_ns() + 60 * S) || is_new;
}

static void test_file(void)
{
	struct factor_feed *f = open_feed(HELPER_DIR, 0);
	const struct factor_series *s;

	ok(!factor_feed_is_settled(f) && !factor_feed_series(f), "nothing at first");
	ok(!look(f) && factor_feed_is_settled(f) && !factor_feed_series(f),
	   "no file: the first look has ended, without a series");
	ok(nsaid == 1 && strstr(said, path) && strstr(said, "No such file") &&
		   strstr(said, "yearly mean is used"),
	   "told: %s", said);
	(void)look(f);
	is_u64(nsaid, 1, "logged once");

	put(HEAD OLD FR FR_MARGINAL DE);
	ok(look(f), "the file is there");
	s = factor_feed_series(f);
	ok(s && s->n == 3, "the region's points of all times and kinds, and no others");
	ok(strstr(said, "is read again"), "told: %s", said);
	is_u64(s ? s->point[1].factor.mg_per_kwh : 0, 32500, "the factor");
	is_str(s ? s->point[1].factor.source : "", "RTE eCO2mix", "its source");
	ok(!look(f), "it did not change");

	put(HEAD "2026-11-22T10:00:00Z,nonsense\n");
	nsaid = 0;
	ok(!look(f) && factor_feed_series(f) && factor_feed_series(f)->n == 3,
	   "a broken file: the last good one counts");
	put("");
	ok(!look(f) && factor_feed_series(f)->n == 3, "also when it is empty");
	(void)unlink(path);
	ok(!look(f) && factor_feed_series(f)->n == 3, "and when it is gone");
	put(HEAD FR);
	ok(look(f) && factor_feed_series(f)->n == 1, "a good file again: it is read");
	put(HEAD "2026-11-22T10:00:00Z,2026-11-22T10:15:00Z,32.5,average,direct,fr,"
		 "2026-11-22T10:20:04Z,x\n");
	ok(look(f) && factor_feed_series(f)->n == 1, "case does not tell regions apart");
	put(HEAD);
	ok(look(f) && factor_feed_series(f) && factor_feed_series(f)->n == 0, "an empty series is one, too");
	factor_feed_close(f);

	put(HEAD "2026-11-22T10:00:00Z,nonsense\n");
	f = open_feed(HELPER_DIR, 0);
	(void)look(f);
	ok(strstr(said, ":2: "), "file and line are told: %s", said);
	factor_feed_close(f);

	put(HEAD DE);
	f = open_feed(HELPER_DIR, 0);
	(void)look(f);
	ok(nsaid == 1 && strstr(said, path) && strstr(said, "no factor of region 'FR'") &&
		   strstr(said, "yearly mean is used"),
	   "none of the region: %s", said);
	(void)look(f);
	is_u64(nsaid, 1, "told once");
	put(HEAD FR);
	ok(look(f) && strstr(said, "is read again"), "and when there is one: %s", said);
	factor_feed_close(f);

	put(HEAD OLD FR);
	f = open_feed(HELPER_DIR, clock_wall_ns() / S - 1700000000);
	ok(look(f) && factor_feed_series(f)->n == 1, "what ended too long ago does not come over");
	factor_feed_close(f);
}

static const char *fake_helper(const char *script)
{
	const char *helper = scratch_path(dir, "ceems-series");

	if (fileio_write_atomic(helper, script, strlen(script), 0755, NULL) < 0)
		exit(99);
	return dir;
}

static void test_helper(void)
{
	static const struct {
		const char *script, *told;
	} bad[] = {
		{ "exit 0", "the helper ended" },
		{ "echo cannot load libfoo >&2; exit 127", "cannot load libfoo" },
		{ "echo done $n; exec sleep 100", "sent no series" },
		{ "echo stamp 1; echo half", "the helper ended" },
		{ "echo stamp 1; echo nonsense; echo done $n; exec sleep 100", ":1: " },
		{ "echo done 7; head -c 100 /dev/urandom", "" },
		{ "head -c 40000000 /dev/zero", "" },
	};
	struct factor_feed *f;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		char script[256];

		(void)snprintf(script, sizeof(script), "#!/bin/sh\nread -r look n rest\n%s\n", bad[i].script);
		f = open_feed(fake_helper(script), 0);
		ok(!look(f) && !factor_feed_series(f) && nsaid == 1 && strstr(said, bad[i].told),
		   "a bad helper is told of: %s", said);
		factor_feed_close(f);
	}
	f = open_feed("/nonexistent", 0);
	ok(!look(f) && strstr(said, "cannot start"), "no helper program: %s", said);
	factor_feed_close(f);
}

/* Those that were not gone yet when the feed was closed. */
static bool all_were_killed(void)
{
	int status;
	bool all = true;

	while (waitpid(-1, &status, 0) > 0)
		all &= WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	return all && errno == ECHILD;
}

/* The file's server is dead. */
static void test_hang(void)
{
	struct factor_feed *f = open_feed(fake_helper("#!/bin/sh\nexec sleep 1000\n"), 0);
	uint64_t begin = clock_mono_ns();
	uint64_t now = begin;

	ok(!factor_feed_poll(f, now) && clock_mono_ns() - begin < 5 * S, "a look does not block");
	ok(!factor_feed_wait(f, begin + S / 5) && !factor_feed_is_settled(f), "a wait ends at its deadline");
	begin = clock_mono_ns();
	(void)factor_feed_wait(f, begin + 100 * S);
	ok(clock_mono_ns() - begin < 50 * S, "a second wait for the same hung helper is short");
	is_u64(nsaid, 0, "nothing is logged yet");
	(void)factor_feed_poll(f, now + FACTOR_FEED_TIMEOUT_NS + S);
	ok(factor_feed_is_settled(f) && strstr(said, "hung and was killed"), "given up: %s", said);
	begin = clock_mono_ns();
	factor_feed_close(f);
	ok(clock_mono_ns() - begin < 10 * S, "it is closed at once");
	ok(all_were_killed(), "no process is left");

	f = open_feed(dir, 0);
	(void)factor_feed_poll(f, clock_mono_ns());
	factor_feed_close(f);
	ok(all_were_killed(), "no process is left of a look under way");
}

/* Nor can the process be killed: as long as the kernel holds it there is no other. */
static void test_unkillable(void)
{
	struct factor_feed *f;
	uint64_t now = clock_mono_ns();
	char script[PATH_MAX];
	pid_t pid = 0, holder;
	char *text;
	size_t len;

	(void)snprintf(script, sizeof(script),
		       "#!/bin/sh\necho $$ >%s/new; mv %s/new %s/pid\n"
		       "exec sleep 1000\n",
		       dir, dir, dir);
	f = open_feed(fake_helper(script), 0);
	(void)factor_feed_poll(f, now);
	while (!pid && clock_mono_ns() < now + 60 * S) {
		text = scratch_read(scratch_path(dir, "pid"), &len);
		pid = text ? (pid_t)atol(text) : 0;
		free(text);
	}
	(void)unlink(scratch_path(dir, "pid"));
	holder = pid > 0 ? unkillable_hold(pid) : -1;
	if (holder < 0) {
		skip(2, "no right to trace");
	} else {
		(void)factor_feed_poll(f, now + 20 * S);
		(void)factor_feed_poll(f, now + 1000 * S);
		(void)factor_feed_poll(f, now + 2000 * S);
		ok(!scratch_has(dir, "pid") && kill(pid, 0) == 0,
		   "no second helper while the kernel holds the first");
		unkillable_let_go(holder);
		do
			(void)factor_feed_poll(f, now + 3000 * S);
		while (!scratch_has(dir, "pid") && clock_mono_ns() < now + 60 * S);
		ok(scratch_has(dir, "pid"), "a second one starts when the first is gone");
	}
	factor_feed_close(f);
	(void)unlink(scratch_path(dir, "pid"));
}

static void test_no_region(void)
{
	struct factor_feed_options o = { .path = path, .region = "", .helper_dir = HELPER_DIR };
	struct factor_feed *f = NULL;
	struct errmsg err = { 0 };

	is_int(factor_feed_open(&o, &f, &err), -EINVAL, "no region");
	ok(!f && strstr(err.text, "EmissionRegion"), "says what is missing: %s", err.text);
}

static void test_times(void)
{
	struct factor_feed_options o = {
		.path = path, .region = "FR", .helper_dir = HELPER_DIR, .offset_ns = 30 * S
	};
	uint64_t now = clock_mono_ns();
	struct factor_feed *f;

	put(HEAD FR);
	if (factor_feed_open(&o, &f, NULL) < 0)
		exit(99);
	ok(factor_feed_poll(f, now) || factor_feed_wait(f, clock_mono_ns() + 60 * S),
	   "the first look is at once");
	put(HEAD FR FR_MARGINAL);
	ok(!factor_feed_poll(f, now + 89 * S) && !factor_feed_wait(f, 0),
	   "no second look before a minute and the offset");
	ok(factor_feed_poll(f, now + 90 * S) || factor_feed_wait(f, clock_mono_ns() + 60 * S),
	   "the second a minute and the offset after the first");
	put(HEAD FR);
	factor_feed_expire(f, now + 90 * S);
	ok(!factor_feed_poll(f, now + 91 * S) && !factor_feed_wait(f, 0),
	   "a look that began at the expiry or later is not repeated");
	factor_feed_expire(f, now + 91 * S);
	ok(factor_feed_poll(f, now + 92 * S) || factor_feed_wait(f, clock_mono_ns() + 60 * S),
	   "one that began earlier is repeated at once");
	factor_feed_close(f);
}

int main(void)
{
	if (!mkdtemp(dir))
		exit(99);
	(void)snprintf(path, sizeof(path), "%s/factors.csv", dir);
	logger_set_sink(hear);
	test_file();
	test_helper();
	test_hang();
	test_unkillable();
	test_times();
	test_no_region();
	scratch_clear(dir);
	(void)rmdir(dir);
	return done_testing();
}
