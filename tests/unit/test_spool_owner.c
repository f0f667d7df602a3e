/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two controllers and one spool: the second takes over when the first is dead; and where the lock
 * does not keep them apart, both may write, and still nothing is lost: every entry whose sync
 * succeeded is delivered to every reader, by one of them or by who comes after.
 */
#include "src/libsink/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "scratch.h"
#include "tap.h"

#define MIB (UINT64_C(1) << 20)
#define NREADERS 2
#define NWRITERS 2
#define ENTRIES 4000

static char dir[PATH_MAX];
static struct errmsg err;
static const char *const reader_name[NREADERS] = { "finaliser", "kafka" };

struct shared {
	_Atomic uint32_t next[NWRITERS];
	_Atomic uint32_t stales, opens;
	_Atomic uint8_t synced[NWRITERS][ENTRIES];
	_Atomic uint8_t delivered[NREADERS][NWRITERS][ENTRIES];
};

static struct shared *sh;

static int append(struct spool *s, unsigned int writer, uint32_t n)
{
	char data[600];
	char key[32];
	size_t len = n * 37 % sizeof(data);

	memset(data, 'a' + (int)writer, len);
	snprintf(key, sizeof(key), "%u/%u", writer, n);
	return spool_append(s, SPOOL_RECORD, key, data, len, &err);
}

static bool note_delivered(const struct spool_entry *e, size_t reader)
{
	char key[32] = "";
	unsigned int writer;
	unsigned int n;

	if (e->key_len >= sizeof(key))
		return false;
	memcpy(key, e->key, e->key_len);
	if (sscanf(key, "%u/%u", &writer, &n) != 2 || writer >= NWRITERS || n >= ENTRIES ||
	    e->len != n * 37 % 600 || (e->len && e->data[e->len - 1] != 'a' + (int)writer))
		return false;
	sh->delivered[reader][writer][n] = 1;
	return true;
}

static void read_some(struct spool_cursor *c, size_t reader, unsigned int n)
{
	struct spool_pos end = { 0 };
	struct spool_entry e;
	bool any = false;

	while (n-- && spool_read(c, &e, &err) > 0) {
		if (!note_delivered(&e, reader))
			_exit(3);
		end = e.next;
		any = true;
	}
	if (any)
		(void)spool_ack(c, &end, &err);
}

/* A batch as the intake writes it: what could not be synced is written again. */
static bool write_batch(struct spool *s, unsigned int writer, unsigned int n)
{
	uint32_t first = sh->next[writer];
	unsigned int tries;
	uint32_t i;

	if (first + n > ENTRIES)
		return false;
	sh->next[writer] = first + n;
	for (tries = 0; tries < 20; tries++) {
		int rc = 0;

		for (i = first; i < first + n && rc == 0; i++)
			rc = append(s, writer, i);
		if (first % 3 == 0) /* time for the other one */
			nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
		if (rc == 0)
			rc = spool_sync(s, &err);
		if (rc == -ESTALE)
			sh->stales++;
		if (rc == 0) {
			for (i = first; i < first + n; i++)
				sh->synced[writer][i] = 1;
			return true;
		}
		if (rc != -ESTALE && rc != -ENOSPC)
			_exit(4);
	}
	return true;
}

static void serve(unsigned int writer, uint64_t r)
{
	for (;;) {
		struct spool_cursor *c[NREADERS] = { 0 };
		unsigned int turns = (unsigned int)(scratch_random(&r) % 60);
		struct spool *s = NULL;
		size_t i;

		/* the lock is lost: the next one who opens gets another file */
		(void)unlink(scratch_path(dir, "lock"));
		if (spool_open(dir, 8 * MIB, &s, &err) < 0)
			continue; /* the other one is just doing the same */
		sh->opens++;
		for (i = 0; i < NREADERS; i++)
			if (spool_cursor_open(s, reader_name[i], &c[i], &err) < 0)
				_exit(5);
		while (turns--) {
			if (!write_batch(s, writer, 1 + (unsigned int)(scratch_random(&r) % 8)))
				_exit(0);
			i = scratch_random(&r) % NREADERS;
			read_some(c[i], i, (unsigned int)(scratch_random(&r) % 30));
		}
		for (i = 0; i < NREADERS; i++)
			spool_cursor_close(c[i]);
		spool_close(s);
	}
}

static uint32_t count_lost(void)
{
	uint32_t lost = 0;
	size_t r;
	size_t w;
	size_t n;

	for (r = 0; r < NREADERS; r++)
		for (w = 0; w < NWRITERS; w++)
			for (n = 0; n < ENTRIES; n++)
				lost += sh->synced[w][n] && !sh->delivered[r][w][n];
	return lost;
}

/* One round; returns what went wrong. */
static unsigned int run_both(uint64_t *seed)
{
	struct spool_cursor *c[NREADERS] = { 0 };
	pid_t pid[NWRITERS] = { 0 };
	struct spool_entry e;
	struct spool *s = NULL;
	unsigned int kills = 0;
	unsigned int done = 0;
	unsigned int bad = 0;
	int status;
	size_t i;

	while (done < NWRITERS) {
		done = 0;
		for (i = 0; i < NWRITERS; i++) {
			if (pid[i] < 0) {
				done++;
				continue;
			}
			if (!pid[i]) {
				uint64_t r = scratch_random(seed);

				pid[i] = fork();
				if (!pid[i])
					serve((unsigned int)i, r);
			} else if (scratch_random(seed) % 4 == 0 && kills < 30) {
				kills += kill(pid[i], SIGKILL) == 0;
			}
			if (waitpid(pid[i], &status, WNOHANG) == pid[i]) {
				pid[i] = WIFSIGNALED(status) ? 0 : -1;
				if (WIFEXITED(status) && WEXITSTATUS(status)) {
					diag("exit %d: %s", WEXITSTATUS(status), err.text);
					bad++;
				}
			}
		}
		nanosleep(&(struct timespec){ .tv_nsec = 3000000 }, NULL);
	}
	if (bad || spool_open(dir, 8 * MIB, &s, &err) < 0)
		return bad + 1;
	for (i = 0; i < NREADERS; i++) {
		spool_cursor_open(s, reader_name[i], &c[i], &err);
		while (spool_read(c[i], &e, &err) > 0)
			bad += !note_delivered(&e, i);
	}
	for (i = 0; i < NREADERS; i++)
		spool_cursor_close(c[i]);
	spool_close(s);
	return bad + count_lost();
}

static void test_both(uint64_t *seed)
{
	uint32_t stales = 0;
	uint32_t opens = 0;
	unsigned int bad = 0;
	unsigned int round;

	for (round = 0; round < 12; round++) {
		uint64_t r = *seed;

		bad = run_both(seed);
		if (bad) {
			diag("round %u, seed %" PRIu64 ": %u lost or wrong; %s", round, r, bad,
			     err.text);
			break;
		}
		stales += sh->stales;
		opens += sh->opens;
		scratch_clear(dir);
		memset((void *)sh, 0, sizeof(*sh));
	}
	is_u64(bad, 0, "both write and read: what was synced reached every reader");
	ok(stales > 0, "the spool was opened %u times, taken over in the middle %u times", opens,
	   stales);
}

/* The usual case: a lock that works. */
static void test_takeover(void)
{
	struct spool_cursor *c = NULL;
	struct spool_entry e;
	struct spool *s = NULL;
	unsigned int n = 0;
	int go[2];
	pid_t pid;
	char x;

	if (pipe(go) < 0)
		return;
	pid = fork();
	if (!pid) {
		if (spool_open(dir, 8 * MIB, &s, &err) < 0 || append(s, 0, 1) < 0 ||
		    spool_sync(s, &err) < 0 || append(s, 0, 2) < 0)
			_exit(1);
		(void)!write(go[1], "x", 1);
		pause();
		_exit(1);
	}
	ok(read(go[0], &x, 1) == 1, "the first controller writes");
	is_int(spool_open(dir, 8 * MIB, &s, &err), -EBUSY, "the second has to wait");
	ok(strstr(err.text, "another process writes this spool") != NULL, "and says why");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	is_int(spool_open(dir, 8 * MIB, &s, &err), 0, "until it is dead");
	if (!s)
		return;
	spool_cursor_open(s, "kafka", &c, &err);
	while (spool_read(c, &e, &err) > 0)
		n++;
	is_u64(n, 2, "then it has what the first had written");
	spool_cursor_close(c);
	spool_close(s);
	close(go[0]);
	close(go[1]);
	scratch_clear(dir);
}

/* One that does not know yet that it is no more the owner. */
static void test_fence(void)
{
	struct spool_cursor *ca = NULL;
	struct spool_cursor *cb = NULL;
	struct spool_entry e;
	struct spool *a = NULL;
	struct spool *b = NULL;
	struct spool_stats st;
	unsigned int n = 0;

	spool_open(dir, 8 * MIB, &a, &err);
	spool_cursor_open(a, "kafka", &ca, &err);
	append(a, 0, 1);
	is_int(spool_sync(a, &err), 0, "the first has it");
	append(a, 0, 2);
	unlink(scratch_path(dir, "lock"));
	is_int(spool_open(dir, 8 * MIB, &b, &err), 0, "the second, too: the lock is lost");
	spool_cursor_open(b, "kafka", &cb, &err);
	is_int(append(a, 0, 3), 0, "the first goes on");
	is_int(spool_read(ca, &e, &err), 1, "reading, too");
	is_int(spool_ack(ca, &e.next, &err), -ESTALE, "but it moves no cursor");
	ok(!scratch_has(dir, "kafka.cur"), "that the second reads");
	is_int(append(a, 0, 3), 0, "it may append");
	is_int(spool_sync(a, &err), -ESTALE, "its sync says that it was in vain");
	ok(strstr(err.text, "took the spool over") != NULL, "and why: %s", err.text);
	spool_get_stats(a, &st);
	is_u64(st.sync_failures, 1, "which is counted for whom it concerns, too");
	append(a, 0, 2);
	append(a, 0, 3);
	is_int(spool_sync(a, &err), 0, "what it appends then is kept");
	is_int(append(b, 1, 1), 0, "the second appends");
	is_int(spool_sync(b, &err), 0, "as if it were alone");
	while (spool_read(cb, &e, &err) > 0) {
		n += note_delivered(&e, 1);
		spool_ack(cb, &e.next, &err);
	}
	ok(n >= 4 && sh->delivered[1][0][3], "a new segment takes over what was kept (%u)", n);
	append(a, 0, 4);
	is_int(spool_sync(a, &err), -ESTALE, "after which the first has to repeat it again");
	append(a, 0, 4);
	is_int(spool_sync(a, &err), 0, "elsewhere");
	spool_cursor_close(cb);
	spool_close(b);
	spool_cursor_close(ca);
	spool_close(a);
	spool_open(dir, 8 * MIB, &b, &err);
	spool_cursor_open(b, "kafka", &cb, &err);
	while (spool_read(cb, &e, &err) > 0)
		note_delivered(&e, 1);
	ok(sh->delivered[1][0][1] && sh->delivered[1][0][2] && sh->delivered[1][0][4] &&
		   sh->delivered[1][1][1],
	   "in the end all are read");
	spool_cursor_close(cb);
	spool_close(b);
	scratch_clear(dir);
	memset((void *)sh, 0, sizeof(*sh));
}

/* The name of the only orphan there is. */
static bool find_orphan(char *ret, size_t size)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	ret[0] = '\0';
	while (d && (e = readdir(d)))
		if (strstr(e->d_name, ".orphan"))
			(void)snprintf(ret, size, "%s/%s", dir, e->d_name);
	if (d)
		closedir(d);
	return ret[0];
}

/* It has no segment yet, and sees when it begins one that another has the spool. */
static void test_late(void)
{
	struct spool *a = NULL;
	struct spool *b = NULL;
	char orphan[PATH_MAX];

	spool_open(dir, 8 * MIB, &a, &err);
	unlink(scratch_path(dir, "lock"));
	spool_open(dir, 8 * MIB, &b, &err);
	is_int(append(a, 0, 1), 0, "one that comes too late appends");
	is_int(spool_sync(a, &err), 0, "and vouches for it");
	ok(find_orphan(orphan, sizeof(orphan)), "where the other one looks for it");
	spool_close(b);
	spool_close(a);
	scratch_clear(dir);
}

/* Who adopts a file is killed before the old name is gone, while its writer is in the middle of an entry. */
static void test_half_adopted(void)
{
	struct spool *a = NULL;
	struct spool *b = NULL;
	char orphan[PATH_MAX];
	char segment[32];
	struct stat st = { 0 };
	off_t size;
	int fd;

	spool_open(dir, 8 * MIB, &a, &err);
	append(a, 0, 1);
	unlink(scratch_path(dir, "lock"));
	spool_open(dir, 8 * MIB, &b, &err);
	is_int(spool_sync(a, &err), -ESTALE, "the first has lost the spool");
	append(a, 0, 2);
	is_int(spool_sync(a, &err), 0, "and writes elsewhere");
	if (!ok(find_orphan(orphan, sizeof(orphan)), "to a file of its own"))
		return;
	snprintf(segment, sizeof(segment), "%010" PRIu64 ".seg", spool_tail(b).segment);
	spool_close(b);
	is_int(link(orphan, scratch_path(dir, segment)), 0, "which the second makes a segment, and dies");
	fd = open(orphan, O_WRONLY | O_APPEND | O_CLOEXEC);
	ok(write(fd, "half", 4) == 4 && fstat(fd, &st) == 0, "when half an entry is in it");
	size = st.st_size;
	is_int(spool_open(dir, 8 * MIB, &b, &err), 0, "the third");
	ok(fstat(fd, &st) == 0 && st.st_size == size, "cuts nothing off, as the first still vouches for it");
	close(fd);
	spool_close(b);
	spool_close(a);
	scratch_clear(dir);
}

int main(void)
{
	const char *given = getenv("SPOOL_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 2654435761u | 1;

	snprintf(dir, sizeof(dir), "%s/ceems-test.XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED || !mkdtemp(dir))
		return 99;
	diag("SPOOL_SEED=%" PRIu64, seed);
	test_takeover();
	test_fence();
	test_late();
	test_half_adopted();
	test_both(&seed);
	scratch_clear(dir);
	rmdir(dir);
	munmap(sh, sizeof(*sh));
	return done_testing();
}
