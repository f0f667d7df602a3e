/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A disk that hangs: SQLite's fsync() does not return until the test says so, and the clock is moved on
 * meanwhile. These functions are this program's, which the dynamic linker prefers to libc's, also in
 * libsqlite3.
 */
#define _GNU_SOURCE /* syscall */
#include "src/libstore/store.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "counted_log.h"
#include "scratch.h"
#include "store_rig.h"
#include "tap.h"

static char dir[] = SCRATCH_TEMPLATE;
static atomic_int hangs, is_hanging;
static _Atomic(time_t) ahead_s;

static void hang(void)
{
	while (hangs) {
		is_hanging = 1;
		(void)usleep(1000);
	}
	is_hanging = 0;
}

/* Which of the two it is depends on how SQLite was built. This program is built with hidden symbols. */
__attribute__((visibility("default"))) int fdatasync(int fd)
{
	hang();
	return (int)syscall(SYS_fdatasync, fd);
}

__attribute__((visibility("default"))) int fsync(int fd)
{
	hang();
	return (int)syscall(SYS_fsync, fd);
}

int clock_gettime(clockid_t id, struct timespec *ret)
{
	long rc = syscall(SYS_clock_gettime, id, ret);

	ret->tv_sec += id == CLOCK_MONOTONIC ? ahead_s : 0;
	return (int)rc;
}

static void wait_for_hang(void)
{
	unsigned int i;

	for (i = 0; i < 30000 && !is_hanging; i++)
		(void)usleep(1000);
	if (!is_hanging)
		diag("the disk is not asked to sync");
}

static void *put_one(void *arg)
{
	return (void *)(uintptr_t)store_rig_put(arg, STORE_RECORD, "k", "{}", 2);
}

/* A long transaction, such as that of ceems export, whose records come one by one. */
static void test_long_transaction(struct store *s)
{
	struct errmsg err = { 0 };
	uint64_t seq;
	int i;

	is_int(store_begin(s, &err), 0, "a transaction begins");
	for (i = 0; i < 3; i++) {
		ahead_s += 20;
		ok(!store_is_stuck(s), "after %d s it is not stuck", 20 * (i + 1));
		is_int(store_record_append(s, STORE_RECORD, "k", "{}", 2, 0, &seq, &err), 0,
		       "as the disk answers");
	}
	is_int(store_commit(s, &err), 0, "it ends");
	is_int(errors, 0, "and nothing was logged");
}

int main(void)
{
	struct store_size size;
	pthread_t thread;
	struct store *s;
	void *seq = NULL;

	if (!mkdtemp(dir))
		return 99;
	s = store_rig_open(dir);
	logger_set_sink(count_log);
	forget_log();
	ok(store_rig_put(s, STORE_RECORD, "k", "{}", 2) > 0, "a record on a disk that works");
	if (!s)
		return 99;
	test_long_transaction(s);
	ahead_s = 0;
	hangs = 1;
	if (pthread_create(&thread, NULL, put_one, s) != 0)
		return 99;
	wait_for_hang();
	ok(!store_is_stuck(s), "the disk hangs in the midst of a commit: not stuck at first");
	is_int(errors, 0, "nothing is logged");
	ahead_s = 29;
	ok(!store_is_stuck(s), "nor after 29 s");
	ahead_s = 31;
	ok(store_is_stuck(s), "after 31 s it is");
	is_int(errors, 1, "which is logged");
	ok(strstr(last_line, dir) && strstr(last_line, "31 s"), "as: %s", last_line);
	store_get_size(s, &size);
	ok(size.used_bytes > 0, "its size can be asked for");
	ahead_s = 90;
	ok(store_is_stuck(s), "after 90 s it still is");
	is_int(errors, 1, "which is not logged again");
	hangs = 0;
	(void)pthread_join(thread, &seq);
	ok(seq != NULL, "the disk answers: the commit succeeds");
	ok(!store_is_stuck(s), "and the store is no longer stuck");
	hangs = 1;
	is_hanging = 0;
	if (pthread_create(&thread, NULL, put_one, s) != 0)
		return 99;
	wait_for_hang();
	ahead_s += 40;
	ok(store_is_stuck(s), "it hangs a second time");
	is_int(errors, 2, "which is logged once more");
	hangs = 0;
	(void)pthread_join(thread, &seq);
	store_close(s);
	scratch_clear(dir);
	is_int(rmdir(dir), 0, "nothing left behind");
	return done_testing();
}
