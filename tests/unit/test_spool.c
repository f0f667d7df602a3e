/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* unshare */
#include "src/libsink/spool.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "scratch.h"
#include "src/libsink/deadletter.h"
#include "tap.h"

#define SEG1 "0000000001.seg"
#define MIB (UINT64_C(1) << 20)

static char dir[] = SCRATCH_TEMPLATE;
static struct errmsg err;

static struct spool *reopen(uint64_t max_bytes)
{
	struct spool *s = NULL;
	int rc = spool_open(dir, max_bytes, &s, &err);

	if (rc < 0)
		diag("spool_open: %d %s", rc, err.text);
	return s;
}

/* Entry number N: key "kN", data that depends on N in content and length. */
static size_t make_data(uint64_t n, char *buf, size_t size)
{
	size_t len = n * 37 % (size - 8);
	size_t i;

	for (i = 0; i < len; i++)
		buf[i] = (char)(n * 31 + i * 7);
	return len;
}

static int append(struct spool *s, uint64_t n)
{
	char key[24];
	char data[300];

	snprintf(key, sizeof(key), "k%" PRIu64, n);
	return spool_append(s, n % 2 ? SPOOL_PENDING : SPOOL_RECORD, key, data,
			    make_data(n, data, sizeof(data)), &err);
}

/* Number of the entry, UINT64_MAX if it is not one of make_data()'s. */
static uint64_t number_of(const struct spool_entry *e)
{
	char key[24] = "";
	char data[300];
	uint64_t n;
	size_t len;

	if (e->key_len >= sizeof(key))
		return UINT64_MAX;
	memcpy(key, e->key, e->key_len);
	if (sscanf(key, "k%" SCNu64, &n) != 1)
		return UINT64_MAX;
	len = make_data(n, data, sizeof(data));
	if (len != e->len || memcmp(data, e->data, len) ||
	    e->kind != (n % 2 ? SPOOL_PENDING : SPOOL_RECORD))
		return UINT64_MAX;
	return n;
}

/* Reads what is there; the numbers must rise. Returns how many, UINT64_MAX: a wrong one. */
static uint64_t read_rising(struct spool_cursor *c, uint64_t *ret_last)
{
	struct spool_entry e;
	uint64_t last = 0;
	uint64_t count = 0;
	int rc;

	while ((rc = spool_read(c, &e, &err)) > 0) {
		uint64_t n = number_of(&e);

		if (n == UINT64_MAX || n <= last)
			return UINT64_MAX;
		last = n;
		count++;
	}
	if (ret_last)
		*ret_last = last;
	return rc < 0 ? UINT64_MAX : count;
}

static void test_basics(void)
{
	static char big[SPOOL_DATA_MAX + 1];
	char long_key[SPOOL_KEY_MAX + 2];
	struct spool_stats st;
	struct spool_cursor *c = NULL;
	struct spool_cursor *c2 = NULL;
	struct spool_entry e;
	struct spool *s;
	struct spool *other = NULL;
	uint64_t i;

	s = reopen(100 * MIB);
	ok(s != NULL, "open a new spool");
	is_int(spool_cursor_open(s, "", &c, &err), -EINVAL, "no name");
	is_int(spool_cursor_open(s, "../x", &c, &err), -EINVAL, "a path is no name");
	is_int(spool_cursor_open(s, "kafka", &c, &err), 0, "cursor");
	is_int(spool_cursor_open(s, "kafka", &c2, &err), -EBUSY, "the same twice");
	is_int(spool_read(c, &e, &err), 0, "nothing to read");
	memset(long_key, 'k', sizeof(long_key) - 1);
	long_key[sizeof(long_key) - 1] = '\0';
	is_int(spool_append(s, SPOOL_RECORD, long_key, "", 0, &err), -EMSGSIZE, "key too long");
	is_int(spool_append(s, SPOOL_RECORD, "k", big, sizeof(big), &err), -EMSGSIZE,
	       "data too long");
	is_int(spool_append(s, SPOOL_RECORD, "big", big, sizeof(big) - 1, &err), 0,
	       "the largest entry");
	is_int(spool_sync(s, &err), 0, "sync");
	is_int(spool_sync(s, &err), 0, "sync of nothing");
	is_int(spool_read(c, &e, &err), 1, "read it while it is appended to");
	ok(e.len == sizeof(big) - 1 && e.key_len == 3 && !memcmp(e.key, "big", 3) &&
		   e.kind == SPOOL_RECORD && !memcmp(e.data, big, e.len),
	   "as it was written");
	is_int(spool_ack(c, &e.next, &err), 0, "acknowledge");
	is_int(spool_append(s, SPOOL_PENDING, "", NULL, 0, &err), 0, "an empty entry");
	is_int(spool_read(c, &e, &err), 1, "read it");
	ok(e.len == 0 && e.key_len == 0 && e.kind == SPOOL_PENDING, "empty");
	spool_rewind(c);
	is_int(spool_read(c, &e, &err), 1, "again after a rewind");
	is_u64(e.len, 0, "the same");
	is_int(spool_read(c, &e, &err), 0, "no more");
	is_int(spool_ack(c, &e.next, &err), 0, "acknowledge");
	for (i = 1; i <= 1000; i++)
		if (append(s, i) < 0)
			break;
	is_u64(i, 1001, "append 1000 between reads");
	is_u64(read_rising(c, NULL), 1000, "read them");
	is_int(spool_open(dir, MIB, &other, &err), -EBUSY, "a second writer");
	ok(other == NULL && strstr(err.text, dir), "names the spool: %s", err.text);
	spool_get_stats(s, &st);
	is_u64(st.entries_appended, 1002, "counted");
	is_u64(st.damaged, 0, "no damage");
	spool_cursor_close(c);
	spool_close(s);
	spool_close(NULL);
	spool_cursor_close(NULL);

	s = reopen(100 * MIB);
	is_int(spool_cursor_open(s, "kafka", &c, &err), 0, "cursor after a restart");
	is_u64(read_rising(c, NULL), 1000, "goes on behind the last acknowledged");
	spool_rewind(c);
	append(s, 2000);
	is_u64(read_rising(c, &i), 1001, "into the new process's segment");
	is_u64(i, 2000, "with the new entry last");
	is_int(spool_cursor_open(s, "mariadb", &c2, &err), 0, "a new reader");
	is_int(spool_read(c2, &e, &err), 1, "starts at the oldest");
	is_u64(e.len, sizeof(big) - 1, "which is the first");
	spool_cursor_close(c2);
	spool_cursor_close(c);
	spool_close(s);
	scratch_clear(dir);
}

static void test_segments(void)
{
	struct spool_cursor *a = NULL;
	struct spool_cursor *b = NULL;
	struct spool_entry e;
	struct spool_stats st;
	struct spool *s = reopen(MIB); /* segments of 128 KiB */
	struct spool_pos end = { 0 };
	uint64_t n = 0;
	uint64_t kept;
	int rc = 0;

	spool_cursor_open(s, "a", &a, &err);
	spool_cursor_open(s, "b", &b, &err);
	while ((rc = append(s, n + 1)) == 0)
		n++;
	is_int(rc, -ENOSPC, "full at its size");
	spool_get_stats(s, &st);
	ok(st.bytes <= MIB && st.bytes > MIB - 400, "not over it: %" PRIu64, st.bytes);
	ok(st.segments >= 8, "in %" PRIu64 " segments", st.segments);
	is_u64(st.refused_full, 1, "the refusal is counted");
	is_u64(read_rising(a, NULL), n, "all that was taken is there");
	spool_rewind(a);
	while (spool_read(a, &e, &err) > 0)
		end = e.next;
	is_int(spool_ack(a, &end, &err), 0, "one reader has all");
	ok(scratch_has(dir, SEG1), "the other still needs the first segment");
	is_int(append(s, n + 1), -ENOSPC, "still full");
	is_u64(read_rising(b, NULL), n, "for the slow reader nothing is missing");
	is_int(spool_ack(b, &end, &err), 0, "now both");
	ok(!scratch_has(dir, SEG1), "the first segment is gone");
	is_int(append(s, n + 1), 0, "there is room again");
	spool_get_stats(s, &st);
	ok(st.segments <= 2 && st.bytes < 300 * 1024, "little is left");
	is_u64(read_rising(a, &kept), 1, "readers go on with the new one");
	is_u64(kept, n + 1, "which is it");
	spool_cursor_close(a);
	spool_cursor_close(b);
	spool_close(s);
	scratch_clear(dir);
}

/* The limit is that of one segment: it is given up as soon as it is all read. */
static void test_small(void)
{
	struct spool_cursor *a = NULL;
	struct spool_entry e;
	struct spool *s = reopen(70000);
	uint64_t n;

	spool_cursor_open(s, "a", &a, &err);
	for (n = 1; n <= 2000; n++) {
		if (append(s, n) < 0)
			break;
		while (n % 100 == 0 && spool_read(a, &e, &err) > 0)
			spool_ack(a, &e.next, &err);
	}
	is_u64(n, 2001, "a spool of one segment goes round");
	spool_cursor_close(a);
	spool_close(s);
	scratch_clear(dir);
}

static bool put(struct spool *s, enum spool_kind kind)
{
	static const char data[4096] = "x";

	return spool_append(s, kind, "k", data, sizeof(data), &err) == 0;
}

/* Entries of KIND that go through the full spool, which the reader SINK keeps up with. */
static unsigned int pass(struct spool *s, struct spool_cursor *sink, enum spool_kind kind)
{
	struct spool_entry e;
	unsigned int n;

	for (n = 0; n < 4000 && put(s, kind); n++)
		while (spool_read(sink, &e, &err) > 0)
			(void)spool_ack(sink, &e.next, &err);
	return n;
}

/* The finaliser waits at an old job while the spool fills up: it has to get its record in. */
static void test_spared(void)
{
	struct spool_cursor *finaliser = NULL;
	struct spool_cursor *sink = NULL;
	struct spool *s = reopen(4 * MIB);
	struct spool_entry e;
	unsigned int n = 0;

	(void)spool_cursor_open(s, "finaliser", &finaliser, &err);
	(void)spool_cursor_open(s, "sink", &sink, &err);
	while (n < 600 && put(s, SPOOL_PENDING))
		n++;
	n = pass(s, sink, SPOOL_RECORD);
	ok(n < 4000, "who spares nothing has the spool full at last");
	spool_cursor_spare(finaliser, SPOOL_MASK(SPOOL_RECORD));
	is_u64(pass(s, sink, SPOOL_RECORD), 4000, "who spares records does not");
	ok(spool_read(finaliser, &e, &err) > 0 && e.pos.segment == 1, "what waits is there");
	for (n = 1; spool_read(finaliser, &e, &err) > 0;)
		n += e.kind == SPOOL_PENDING;
	is_u64(n, 600, "all of it");
	ok(pass(s, sink, SPOOL_START) < 4000, "it is not for other kinds");
	spool_cursor_close(finaliser);
	spool_cursor_close(sink);
	spool_close(s);

	/* and another process, which does not know yet what is in the segments */
	s = reopen(4 * MIB);
	(void)spool_cursor_open(s, "finaliser", &finaliser, &err);
	(void)spool_cursor_open(s, "sink", &sink, &err);
	spool_cursor_spare(finaliser, SPOOL_MASK(SPOOL_RECORD) | SPOOL_MASK(SPOOL_START));
	while (spool_read(sink, &e, &err) > 0)
		(void)spool_ack(sink, &e.next, &err);
	for (n = 0; n < 20 && !put(s, SPOOL_RECORD); n++)
		;
	ok(n < 20, "the next process gets its records in, too");
	is_u64(pass(s, sink, SPOOL_RECORD), 4000, "all of them");
	for (n = 0; spool_read(finaliser, &e, &err) > 0;)
		n += e.kind == SPOOL_PENDING;
	is_u64(n, 600, "and has all that waits");
	spool_cursor_close(finaliser);
	spool_cursor_close(sink);
	spool_close(s);
	scratch_clear(dir);
}

/* A removed sink's cursor file holds nothing back. */
/* When the daemon ends its readers close one after the other, and the last one acknowledges more. */
static void test_closed_reader(void)
{
	struct spool_cursor *first = NULL;
	struct spool_cursor *last = NULL;
	struct spool *s;
	struct spool_pos end;
	uint64_t seen;

	scratch_clear(dir);
	s = reopen(MIB);
	(void)append(s, 1);
	(void)spool_sync(s, &err);
	spool_close(s);
	s = reopen(MIB); /* the segment is not this one's to append to */
	(void)spool_cursor_open(s, "first", &first, &err);
	(void)spool_cursor_open(s, "last", &last, &err);
	spool_cursor_close(first);
	is_u64(read_rising(last, &seen), 1, "the entry is read by the one that is open still");
	end = spool_tail(s);
	is_int(spool_ack(last, &end, &err), 0, "and done with");
	is_int(spool_cursor_open(s, "first", &first, &err), 0, "the closed one opens again");
	is_u64(read_rising(first, &seen), 1, "and has what it had not acknowledged");
	spool_cursor_close(first);
	spool_cursor_close(last);
	spool_close(s);
	s = reopen(MIB);
	(void)spool_cursor_open(s, "first", &first, &err);
	is_u64(read_rising(first, &seen), 1, "as it has in the next process");
	spool_cursor_close(first);
	spool_close(s);
}

static void test_stale_cursor(void)
{
	struct spool_cursor *a = NULL;
	struct spool_cursor *b = NULL;
	struct spool_entry e;
	struct spool *s = reopen(MIB);
	uint64_t n = 0;

	spool_cursor_open(s, "old", &b, &err);
	append(s, 1);
	spool_read(b, &e, &err);
	spool_ack(b, &e.next, &err);
	spool_cursor_close(b);
	spool_close(s);
	s = reopen(MIB);
	spool_cursor_open(s, "a", &a, &err);
	for (n = 2; n < 12000; n++) {
		if (append(s, n) < 0)
			break;
		while (spool_read(a, &e, &err) > 0)
			spool_ack(a, &e.next, &err);
	}
	is_u64(n, 12000, "it never fills");
	ok(!scratch_has(dir, SEG1), "segments go");
	is_int(spool_cursor_open(s, "old", &b, &err), 0, "the sink comes back");
	is_int(spool_read(b, &e, &err), 1, "goes on");
	ok(number_of(&e) > 2 && number_of(&e) != UINT64_MAX, "at the oldest there is");
	spool_cursor_close(a);
	spool_cursor_close(b);
	spool_close(s);

	/* a cursor ahead of all segments, because these were lost */
	scratch_clear(dir);
	s = reopen(MIB);
	spool_cursor_open(s, "a", &a, &err);
	spool_ack(a, &(struct spool_pos){ .segment = 41, .offset = 700 }, &err);
	spool_cursor_close(a);
	spool_close(s);
	s = reopen(MIB);
	spool_cursor_open(s, "a", &a, &err);
	append(s, 1);
	is_u64(read_rising(a, NULL), 1, "a cursor that was ahead misses nothing new");
	spool_cursor_close(a);
	spool_close(s);

	/* torn cursor files */
	static const char *const broken[] = { "", "ceems-cursor 1 1 ", "ceems-cursor 1 9 9 00000000\n",
					      "garbage", "ceems-cursor 2 1 0 12345678\n" };
	for (n = 0; n < ARRAY_SIZE(broken); n++) {
		uint64_t got;

		scratch_write(scratch_path(dir, "a.cur"), broken[n], strlen(broken[n]));
		s = reopen(MIB);
		spool_cursor_open(s, "a", &a, &err);
		got = read_rising(a, NULL);
		ok(got == 1, "cursor file '%.20s' is as none", broken[n]);
		spool_cursor_close(a);
		spool_close(s);
	}
	scratch_clear(dir);
}

/* A crash can leave any prefix of the last segment. */
static void test_prefixes(void)
{
	uint64_t boundary[64];
	struct spool_cursor *c = NULL;
	struct spool_stats st;
	struct spool *s = reopen(MIB);
	unsigned int bad = 0;
	size_t len = 0;
	size_t n;
	size_t i;
	char *all;

	for (n = 0; n < 8; n++) {
		append(s, n + 1);
		spool_get_stats(s, &st);
		boundary[n] = st.bytes;
	}
	spool_close(s);
	all = scratch_read(scratch_path(dir, SEG1), &len);
	is_u64(len, boundary[n - 1], "a segment is its entries");
	for (i = 0; i <= len; i++) {
		uint64_t whole = 0;
		uint64_t tail;
		uint64_t got;

		scratch_clear(dir);
		scratch_write(scratch_path(dir, SEG1), all, i);
		while (whole < n && boundary[whole] <= i)
			whole++;
		tail = i - (whole ? boundary[whole - 1] : 0);
		s = reopen(MIB);
		spool_cursor_open(s, "a", &c, &err);
		spool_get_stats(s, &st);
		got = read_rising(c, NULL);
		if (got != whole || st.torn_bytes != tail || append(s, 50) < 0 ||
		    read_rising(c, NULL) != 1 ||
		    scratch_has(dir, "0000000001.torn") != (tail > 0)) {
			diag("prefix %zu: %" PRIu64 " of %" PRIu64, i, got, whole);
			bad++;
		}
		spool_cursor_close(c);
		spool_close(s);
	}
	is_u64(bad, 0, "every prefix recovers to the last whole entry and goes on");
	free(all);
	scratch_clear(dir);
}

/* Any single flipped byte costs the entries it is in, and no other. */
static void test_damage(void)
{
	struct spool_cursor *c = NULL;
	struct spool_stats st;
	struct spool *s = reopen(MIB);
	unsigned int bad = 0;
	size_t len = 0;
	size_t i;
	char *all;

	for (i = 1; i <= 8; i++)
		append(s, i);
	spool_close(s);
	all = scratch_read(scratch_path(dir, SEG1), &len);
	for (i = 0; i < len; i++) {
		uint64_t got;

		scratch_clear(dir);
		all[i] ^= 0x10;
		scratch_write(scratch_path(dir, SEG1), all, len);
		all[i] ^= 0x10;
		s = reopen(MIB);
		append(s, 9); /* so that segment 1 is not the last */
		spool_cursor_open(s, "a", &c, &err);
		got = read_rising(c, NULL);
		spool_rewind(c);
		(void)read_rising(c, NULL);
		spool_get_stats(s, &st);
		if (got != 8 || st.damaged + (st.torn_bytes > 0) != 1) {
			diag("byte %zu: %" PRIu64 " entries, %" PRIu64 " damaged, %" PRIu64
			     " torn", i, got, st.damaged, st.torn_bytes);
			bad++;
		}
		spool_cursor_close(c);
		spool_close(s);
	}
	is_u64(bad, 0, "every damaged byte costs one entry and is counted once");
	free(all);
	scratch_clear(dir);

	/* damage across the reader's window, then a whole entry; a removed segment */
	static char zeros[300000];
	s = reopen(MIB);
	append(s, 1);
	append(s, 2);
	spool_close(s);
	all = scratch_read(scratch_path(dir, SEG1), &len);
	int fd = open(scratch_path(dir, SEG1), O_WRONLY | O_APPEND);
	fileio_write_full(fd, zeros, sizeof(zeros));
	fileio_write_full(fd, "\xce\xee\x5b", 3); /* half a magic */
	fileio_write_full(fd, all, len);
	close(fd);
	free(all);
	s = reopen(MIB);
	spool_cursor_open(s, "a", &c, &err);
	struct spool_entry e;
	for (i = 0; spool_read(c, &e, &err) > 0; i++)
		bad += number_of(&e) != i % 2 + 1;
	ok(i == 4 && !bad, "300 kB of zeros are skipped");
	append(s, 3);
	spool_get_stats(s, &st);
	is_u64(st.damaged, 1, "as one place");
	spool_cursor_close(c);
	unlink(scratch_path(dir, SEG1));
	spool_cursor_open(s, "a", &c, &err);
	is_u64(read_rising(c, &st.bytes), 1, "a segment that somebody removed is skipped");
	spool_cursor_close(c);
	spool_close(s);
	scratch_clear(dir);
}

/* Random garbage as a segment: no crash, no endless loop, no entry. */
static void test_garbage(void)
{
	static char junk[200000];
	struct spool_cursor *c = NULL;
	uint64_t seed = 88172645463325252;
	unsigned int bad = 0;
	unsigned int turn;
	size_t i;

	for (turn = 0; turn < 8; turn++) {
		struct spool *s;

		for (i = 0; i < sizeof(junk); i++)
			junk[i] = (char)scratch_random(&seed);
		for (i = 0; turn > 3 && i + 16 < sizeof(junk); i += 64)
			memcpy(junk + i, "\xce\xee\x5b\x01", 4);
		scratch_write(scratch_path(dir, SEG1), junk, sizeof(junk));
		scratch_write(scratch_path(dir, "0000000007.seg"), junk, 1000);
		s = reopen(MIB);
		spool_cursor_open(s, "a", &c, &err);
		append(s, 1);
		bad += read_rising(c, NULL) != 1;
		spool_cursor_close(c);
		spool_close(s);
		scratch_clear(dir);
	}
	is_u64(bad, 0, "garbage is skipped");
}

static void test_places(void)
{
	char file[PATH_MAX];
	struct spool *s = NULL;
	struct rlimit old;
	struct rlimit lim;
	struct spool_cursor *c = NULL;
	struct spool_stats st;
	uint64_t n = 0;
	int rc;

	snprintf(file, sizeof(file), "%s/plain", dir);
	scratch_write(file, "x", 1);
	is_int(spool_open(file, MIB, &s, &err), -ENOTDIR, "a file is no spool");
	is_int(spool_open("", MIB, &s, &err), -ENAMETOOLONG, "no path");
	is_int(spool_open("/proc/nonexistent/x", MIB, &s, &err), -ENOENT, "cannot be created");
	mkdir(scratch_path(dir, "0000000003.seg"), 0700);
	is_int(spool_open(dir, MIB, &s, &err), -EINVAL, "a folder is no segment");
	ok(s == NULL, "nothing returned");
	scratch_clear(dir);

	/* a write that fails in the middle: RLIMIT_FSIZE cuts it there */
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	lim = old;
	lim.rlim_cur = 20000;
	s = reopen(MIB);
	spool_cursor_open(s, "a", &c, &err);
	setrlimit(RLIMIT_FSIZE, &lim);
	while ((rc = append(s, n + 1)) == 0)
		n++;
	is_int(rc, -ENOSPC, "file size limit");
	setrlimit(RLIMIT_FSIZE, &old);
	is_int(spool_sync(s, &err), 0, "what was appended is synced");
	is_u64(read_rising(c, NULL), n, "and readable");
	is_int(append(s, n + 1), 0, "later it goes on");
	is_u64(read_rising(c, NULL), 1, "without a gap");
	spool_get_stats(s, &st);
	is_u64(st.damaged, 0, "and without damage");
	spool_cursor_close(c);
	spool_close(s);
	scratch_clear(dir);
}

/* What fills the disk beside the spool. */
static void fill_disk(void)
{
	static const char block[4096];
	int fd = open(scratch_path(dir, "other"), O_WRONLY | O_CREAT | O_APPEND, 0600);

	while (write(fd, block, sizeof(block)) > 0)
		;
	close(fd);
}

/* A letter that does not fit whole leaves no part of itself. */
static int full_disk_letters(void)
{
	struct sink_item item = { .kind = SPOOL_RECORD, .key = "k", .key_len = 1 };
	const struct deadletter letter = { &item, "no" };
	static char json[3000];
	uint64_t letters = 0;
	uint64_t lines = 0;
	char *text;
	size_t len;
	size_t i;
	int rc;

	memset(json, 'x', sizeof(json));
	item.json = json;
	item.json_len = sizeof(json);
	while ((rc = deadletter_write(dir, "a", &letter, 1, &err)) == 0)
		letters++;
	text = scratch_read(scratch_path(dir, "a.dead"), &len);
	for (i = 0; text && i < len; i++)
		lines += text[i] == '\n';
	if (rc != -ENOSPC || !text || lines != letters || text[len - 1] != '\n' || !letters)
		return 20;
	free(text);
	if (!strstr(err.text, "a.dead") || !strstr(err.text, "No space"))
		return 21;
	unlink(scratch_path(dir, "a.dead"));
	if (deadletter_write(dir, "a", &letter, 1, &err) < 0)
		return 22;
	unlink(scratch_path(dir, "a.dead"));
	return 0;
}

/* Filled by others under an open spool: it says so, counts, reads and acknowledges, and goes on. */
static int filled_by_others(struct spool *s, struct spool_cursor *c, uint64_t n)
{
	struct spool_pos end = { 0 };
	struct spool_stats before;
	struct spool_stats st;
	struct spool_entry e;
	uint64_t last = 0;
	int rc;

	spool_get_stats(s, &before);
	fill_disk();
	while ((rc = append(s, n)) == 0)
		n++; /* into what is left of the last page */
	spool_get_stats(s, &st);
	if (rc != -ENOSPC || st.refused_full != before.refused_full + 1 ||
	    !strstr(err.text, "No space"))
		return 30;
	spool_rewind(c);
	if (read_rising(c, &last) == UINT64_MAX || last != n - 1)
		return 31;
	spool_rewind(c);
	if (spool_read(c, &e, &err) != 1)
		return 32;
	end = e.next;
	rc = spool_ack(c, &end, &err); /* its file may not fit; the reader goes on */
	if (rc < 0 && rc != -ENOSPC)
		return 33;
	if (read_rising(c, NULL) == UINT64_MAX)
		return 34;
	unlink(scratch_path(dir, "other"));
	if (append(s, n) < 0 || spool_sync(s, &err) < 0 || spool_ack(c, &end, &err) < 0)
		return 35;
	if (read_rising(c, &last) != 1 || last != n)
		return 36;
	return 0;
}

/* In a mount namespace of its own; the exit status is the number of what went wrong. */
static int full_disk_child(void)
{
	struct spool_cursor *c = NULL;
	struct spool_entry e;
	struct spool_pos end = { 0 };
	struct spool_stats st;
	struct spool *s = NULL;
	uint64_t n = 0;
	int rc;

	if (unshare(CLONE_NEWNS) < 0 || mount("", "/", "", MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", dir, "tmpfs", 0, "size=300k") < 0)
		return 77;
	s = reopen(64 * MIB);
	if (!s || spool_cursor_open(s, "a", &c, &err) < 0)
		return 1;
	while ((rc = append(s, n + 1)) == 0)
		n++;
	if (rc != -ENOSPC || n < 500)
		return 2;
	spool_get_stats(s, &st);
	if (st.refused_full != 1 || read_rising(c, NULL) != n)
		return 3;
	spool_cursor_close(c);
	spool_close(s);
	s = reopen(64 * MIB); /* on the full disk */
	if (!s || spool_cursor_open(s, "a", &c, &err) < 0)
		return 4;
	spool_get_stats(s, &st);
	if (st.torn_bytes || append(s, n + 1) != -ENOSPC)
		return 5;
	while ((rc = spool_read(c, &e, &err)) > 0)
		end = e.next;
	if (rc < 0 || spool_ack(c, &end, &err) < 0)
		return 6; /* the segment goes, then there is room for the cursor's file */
	if (append(s, n + 1) < 0 || read_rising(c, NULL) != 1)
		return 7;
	spool_rewind(c);
	rc = full_disk_letters();
	if (rc)
		return rc;
	rc = filled_by_others(s, c, n + 2);
	if (rc)
		return rc;
	spool_cursor_close(c);
	spool_close(s);
	if (mount("", dir, "", MS_REMOUNT | MS_RDONLY, NULL) < 0)
		return 77;
	return spool_open(dir, MIB, &s, &err) == -EROFS ? 0 : 8;
}

static void test_full_disk(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(full_disk_child());
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		skip(1, "no private mount namespace here");
		return;
	}
	is_int(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0,
	       "full disk, then read-only: nothing lost");
}

/* A writer that is killed at a random moment, again and again on the same spool. */
static void test_kill(void)
{
	_Atomic uint64_t *synced = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct spool_cursor *c = NULL;
	struct spool *s;
	uint64_t seed = (uint64_t)time(NULL) * 2654435761u | 1;
	unsigned int bad = 0;
	uint64_t last = 0;
	unsigned int turn;

	diag("seed %" PRIu64, seed);
	*synced = 0;
	for (turn = 0; turn < 20; turn++) {
		uint64_t wait_for = *synced + scratch_random(&seed) % 40;
		struct timespec t = { .tv_nsec = (long)(scratch_random(&seed) % 3000000) };
		pid_t pid = fork();

		if (!pid) {
			uint64_t n = last;

			s = reopen(64 * MIB);
			while (s) {
				unsigned int i;

				for (i = 0; i < 5; i++)
					if (append(s, ++n) < 0)
						_exit(1);
				if (spool_sync(s, &err) < 0)
					_exit(1);
				*synced = n;
			}
			_exit(1);
		}
		while (*synced <= wait_for && waitpid(pid, NULL, WNOHANG) == 0)
			nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
		nanosleep(&t, NULL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		s = reopen(64 * MIB);
		if (!s || spool_cursor_open(s, "a", &c, &err) < 0)
			break;
		if (read_rising(c, &last) != last || last < *synced) {
			diag("turn %u: last %" PRIu64 " synced %" PRIu64, turn, last, *synced);
			bad++;
		}
		spool_cursor_close(c);
		spool_close(s);
	}
	ok(turn == 20 && !bad, "after 20 kills every synced entry is there (%" PRIu64 ")", last);
	munmap((void *)synced, 4096);
	scratch_clear(dir);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 99;
	test_basics();
	test_segments();
	test_small();
	test_spared();
	test_closed_reader();
	test_stale_cursor();
	test_prefixes();
	test_damage();
	test_garbage();
	test_places();
	test_full_disk();
	test_kill();
	scratch_clear(dir);
	is_int(rmdir(dir), 0, "nothing left behind");
	return done_testing();
}
