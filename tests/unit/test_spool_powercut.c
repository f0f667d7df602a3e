/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a power cut may leave of the spool: of what was written since the last spool_sync() any
 * prefix, any sectors of it, zeros or rubbish instead; of a cursor file the new, an old or a torn
 * one. Whatever it is, opening finds every entry that was synced, in order, once, byte for byte,
 * makes up none, and goes on. Then the same of a writer that is killed.
 */
#include "src/libsink/spool.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "scratch.h"
#include "tap.h"

#define MIB (UINT64_C(1) << 20)
#define DATA_MAX 3000
#define NREADERS 2

static char dir[PATH_MAX];
static struct errmsg err;
static uint64_t seed;

static const char *const reader_name[NREADERS] = { "finaliser", "kafka" };

/* --- the history ----------------------------------------------------------------------------- */

struct image {
	char name[32];
	char *data;
	size_t len;
};

static struct {
	uint64_t n; /* entries, numbered from 1 */
	uint64_t synced; /* the last entry that was */
	struct image file[8]; /* all but the last segment */
	size_t nfiles;
	struct image last;
	size_t last_synced; /* bytes of it */
	char *cursor[NREADERS][8]; /* every version of the cursor's file */
	uint64_t acked[NREADERS][8];
	size_t ncursors[NREADERS];
} h;

/* Entry N is the same whenever it is made. */
static size_t make_entry(uint64_t n, enum spool_kind *kind, char key[48], char *data)
{
	uint64_t r = n * UINT64_C(0x9e3779b97f4a7c15) | 1;
	size_t len;
	size_t i;

	for (i = 0; i < 4; i++)
		(void)scratch_random(&r);
	*kind = (enum spool_kind)(SPOOL_PENDING + scratch_random(&r) % SPOOL_KEY);
	len = scratch_random(&r) % 16 ? scratch_random(&r) % 600 : scratch_random(&r) % DATA_MAX;
	snprintf(key, 48, "cluster/%" PRIu64 ",1700000000,0/0", n);
	for (i = 0; i < len; i++)
		data[i] = (char)(' ' + scratch_random(&r) % 95);
	return len;
}

static int append(struct spool *s, uint64_t n)
{
	char data[DATA_MAX];
	enum spool_kind kind;
	char key[48];
	size_t len = make_entry(n, &kind, key, data);

	return spool_append(s, kind, key, data, len, &err);
}

/* The number of an entry that is as it was written; 0: it never was. */
static uint64_t number_of(const struct spool_entry *e)
{
	char data[DATA_MAX];
	enum spool_kind kind;
	char text[48] = "";
	char key[48];
	uint64_t n;
	size_t len;

	if (e->key_len >= sizeof(text))
		return 0;
	memcpy(text, e->key, e->key_len);
	if (sscanf(text, "cluster/%" SCNu64 ",", &n) != 1)
		return 0;
	len = make_entry(n, &kind, key, data);
	return !strcmp(text, key) && kind == e->kind && len == e->len &&
			       !memcmp(data, e->data, len) ?
		       n : 0;
}

static struct spool *open_all(struct spool_cursor *c[NREADERS])
{
	struct spool *s = NULL;
	size_t i;

	if (spool_open(dir, 8 * MIB, &s, &err) < 0) {
		diag("spool_open: %s", err.text);
		return NULL;
	}
	for (i = 0; i < NREADERS; i++)
		if (spool_cursor_open(s, reader_name[i], &c[i], &err) < 0)
			diag("cursor: %s", err.text);
	return s;
}

static void close_all(struct spool *s, struct spool_cursor *c[NREADERS])
{
	size_t i;

	for (i = 0; i < NREADERS; i++)
		spool_cursor_close(c[i]);
	spool_close(s);
}

static void write_some(struct spool *s, unsigned int n)
{
	while (n-- && append(s, h.n + 1) == 0)
		h.n++;
}

/* The reader goes on by N entries, acknowledges, and its file is kept as one that may be found. */
static void read_some(struct spool_cursor *c[NREADERS], size_t which, unsigned int n)
{
	struct spool_entry e = { 0 };
	char name[32];
	size_t v = h.ncursors[which];

	while (n-- && spool_read(c[which], &e, &err) > 0)
		;
	spool_ack(c[which], &e.next, &err);
	snprintf(name, sizeof(name), "%s.cur", reader_name[which]);
	h.cursor[which][v] = scratch_read(scratch_path(dir, name), NULL);
	h.acked[which][v] = number_of(&e);
	h.ncursors[which]++;
}

static void keep_files(void)
{
	uint64_t number;

	for (number = 1; number < 8; number++) {
		struct image *f = &h.file[h.nfiles];

		snprintf(f->name, sizeof(f->name), "%010" PRIu64 ".seg", number);
		f->data = scratch_read(scratch_path(dir, f->name), &f->len);
		if (f->data)
			h.nfiles++;
	}
	h.last = h.file[--h.nfiles];
}

/* Three processes one after the other; the third is cut off behind some entries it did not sync. */
static void make_history(void)
{
	struct spool_cursor *c[NREADERS] = { 0 };
	struct spool *s = open_all(c);
	struct stat st;

	write_some(s, 20);
	spool_sync(s, &err);
	read_some(c, 1, 15);
	close_all(s, c);

	s = open_all(c);
	write_some(s, 30);
	read_some(c, 0, 12);
	close_all(s, c);

	s = open_all(c);
	write_some(s, 12);
	read_some(c, 1, 25);
	write_some(s, 6);
	spool_sync(s, &err);
	h.synced = h.n;
	if (stat(scratch_path(dir, "0000000003.seg"), &st) == 0)
		h.last_synced = (size_t)st.st_size;
	write_some(s, 20);
	read_some(c, 0, 6); /* so that the first segment is needed */
	read_some(c, 1, 38); /* further than what was synced */
	keep_files();
	close_all(s, c);
	ok(h.n == 88 && h.nfiles == 2 && h.last_synced && h.last_synced < h.last.len,
	   "history: %" PRIu64 " entries, last segment %zu bytes, %zu of them synced", h.n,
	   h.last.len, h.last_synced);
	ok(h.acked[1][h.ncursors[1] - 1] > h.synced && h.ncursors[0] == 2 && h.ncursors[1] == 3,
	   "one cursor is ahead of what is synced");
}

/* --- a cut ----------------------------------------------------------------------------------- */

static void lay_out(const char *last, size_t last_len)
{
	size_t i;

	scratch_clear(dir);
	for (i = 0; i < h.nfiles; i++)
		scratch_write(scratch_path(dir, h.file[i].name), h.file[i].data, h.file[i].len);
	scratch_write(scratch_path(dir, h.last.name), last, last_len);
}

/*
 * The cursor's file as version V, torn if CUT bytes are less than it has. Returns what is
 * acknowledged by it at most: nothing before that need be there.
 */
static uint64_t lay_cursor(size_t which, size_t v, size_t cut)
{
	char name[32];
	size_t len;

	if (v >= h.ncursors[which])
		return 0; /* none */
	len = strlen(h.cursor[which][v]);
	snprintf(name, sizeof(name), "%s.cur", reader_name[which]);
	scratch_write(scratch_path(dir, name), h.cursor[which][v], cut < len ? cut : len);
	return h.acked[which][v]; /* without its newline it is still whole */
}

/* What the reader finds; false: something is wrong. */
static bool read_back(struct spool_cursor *c, uint64_t acked, uint64_t *ret_n, uint64_t *ret_last)
{
	struct spool_entry e;
	uint64_t need = acked + 1;
	uint64_t last = 0;
	int rc;

	*ret_n = 0;
	while ((rc = spool_read(c, &e, &err)) > 0) {
		uint64_t n = number_of(&e);

		if (!n || n <= last) {
			diag("entry %" PRIu64 " behind %" PRIu64, n, last);
			return false;
		}
		if (n == need)
			need++;
		else if (n > need && need <= h.synced) {
			diag("entry %" PRIu64 " is missing", need);
			return false;
		}
		last = n;
		++*ret_n;
	}
	*ret_last = last;
	if (need <= h.synced)
		diag("ends before %" PRIu64 " (%d)", need, rc);
	return rc == 0 && need > h.synced;
}

/* Opens what is there, looks, goes on, and with AGAIN opens it once more. */
static bool recovers(const uint64_t acked[NREADERS], bool again)
{
	struct spool_cursor *c[NREADERS] = { 0 };
	uint64_t count[NREADERS];
	uint64_t last[NREADERS];
	struct spool_entry e;
	struct spool *s = open_all(c);
	bool good = s != NULL;
	size_t i;

	for (i = 0; good && i < NREADERS; i++)
		good = read_back(c[i], acked[i], &count[i], &last[i]);
	good = good && append(s, 1000) == 0 && spool_sync(s, &err) == 0;
	for (i = 0; good && i < NREADERS; i++)
		good = spool_read(c[i], &e, &err) == 1 && number_of(&e) == 1000 &&
		       spool_read(c[i], &e, &err) == 0;
	close_all(s, c);
	if (!good || !again)
		return good;
	memset(c, 0, sizeof(c));
	s = open_all(c);
	for (i = 0; good && i < NREADERS; i++) {
		uint64_t n;

		good = read_back(c[i], acked[i], &n, &last[i]) && n == count[i] + 1 &&
		       last[i] == 1000;
	}
	close_all(s, c);
	return good;
}

static void test_prefixes(void)
{
	unsigned int bad = 0;
	size_t i;

	for (i = h.last_synced; i <= h.last.len; i++) {
		uint64_t acked[NREADERS];

		lay_out(h.last.data, i);
		acked[0] = lay_cursor(0, i % 3, SIZE_MAX);
		acked[1] = lay_cursor(1, i / 3 % 4, SIZE_MAX);
		if (!recovers(acked, i % 16 == 0)) {
			diag("%zu of %zu bytes", i, h.last.len);
			bad++;
		}
	}
	is_u64(bad, 0, "every prefix of what was not synced");
	bad = 0;
	for (i = 0; i < h.last_synced; i++) { /* a disk that lies: what is whole is there */
		uint64_t synced = h.synced;
		uint64_t acked[NREADERS];

		lay_out(h.last.data, i);
		acked[0] = lay_cursor(0, 0, SIZE_MAX);
		acked[1] = lay_cursor(1, i % 4, SIZE_MAX);
		h.synced = 50; /* those of the segments before */
		bad += !recovers(acked, false);
		h.synced = synced;
	}
	is_u64(bad, 0, "and of what was: all before is there, nothing made up");
}

static void test_cursors(void)
{
	unsigned int bad = 0;
	unsigned int done = 0;
	size_t which;
	size_t v;
	size_t cut;

	for (which = 0; which < NREADERS; which++)
		for (v = 0; v < h.ncursors[which]; v++)
			for (cut = 0; cut <= strlen(h.cursor[which][v]); cut++) {
				size_t whole = strlen(h.cursor[which][v]) - 1;
				uint64_t acked[NREADERS];

				lay_out(h.last.data, h.last_synced);
				acked[!which] = lay_cursor(!which, v, SIZE_MAX);
				acked[which] = lay_cursor(which, v, cut);
				if (cut < whole) /* as none: from the start */
					acked[which] = 0;
				done++;
				bad += !recovers(acked, true);
			}
	ok(!bad && done > 100, "every prefix of every version of a cursor (%u)", done);
}

/*
 * The last segment with SIZE bytes, of which the sectors whose bit is set are as written and the
 * others as before the last sync: what was synced, then zeros or rubbish.
 */
static size_t tear(char *buf, size_t sector, uint64_t new, size_t size, bool rubbish)
{
	size_t from = h.last_synced / sector * sector;
	size_t at;
	size_t i;

	memcpy(buf, h.last.data, h.last.len);
	for (at = from, i = 0; at < size; at += sector, i++) {
		size_t start = at > h.last_synced ? at : h.last_synced;
		size_t end = at + sector < size ? at + sector : size;
		size_t j;

		if (new >> (i % 64) & 1 && end <= h.last.len)
			continue;
		for (j = start; j < end; j++)
			if (!(new >> (i % 64) & 1) || j >= h.last.len)
				buf[j] = rubbish ? (char)scratch_random(&seed) : '\0';
	}
	return size;
}

static bool is_torn_well(const char *buf, size_t size, bool again)
{
	uint64_t acked[NREADERS];

	lay_out(buf, size);
	acked[0] = lay_cursor(0, scratch_random(&seed) % 3, SIZE_MAX);
	acked[1] = lay_cursor(1, scratch_random(&seed) % 4, SIZE_MAX);
	return recovers(acked, again);
}

static void test_torn(void)
{
	size_t n4 = (h.last.len - h.last_synced / 4096 * 4096 + 4095) / 4096;
	size_t n512 = (h.last.len - h.last_synced / 512 * 512 + 511) / 512;
	char *buf = calloc(1, h.last.len + 65536);
	unsigned int done = 0;
	unsigned int bad = 0;
	uint64_t new;
	size_t size;
	unsigned int i;

	if (!buf)
		return;
	for (new = 0; new < UINT64_C(1) << n4; new++)
		for (size = h.last_synced; size <= h.last.len + 4096; size += 512, done++)
			for (i = 0; i < 2; i++)
				bad += !is_torn_well(buf, tear(buf, 4096, new, size, i),
						     done % 16 == 0);
	ok(!bad && n4 <= 6 && done > 100, "all torn writes of %zu pages, %u with each size", n4,
	   done);
	for (done = 0; done < 2000; done++) {
		new = scratch_random(&seed);
		size = h.last_synced +
		       (size_t)(scratch_random(&seed) % (h.last.len - h.last_synced + 8192));
		if (size > h.last.len && done % 3)
			size = h.last.len;
		if (!is_torn_well(buf, tear(buf, 512, new, size, done % 2), done % 16 == 0)) {
			diag("sectors %016" PRIx64 " size %zu", new, size);
			bad++;
		}
	}
	ok(!bad && n512 > 4, "%u torn writes of %zu sectors", done, n512);
	free(buf);
}

/* --- a writer and its readers, killed ---------------------------------------------------------- */

struct shared {
	_Atomic uint64_t synced;
	_Atomic uint64_t acked[NREADERS]; /* told before it is done */
};

static void write_until_killed(struct shared *sh, uint64_t n, uint64_t r)
{
	struct spool_cursor *c[NREADERS] = { 0 };
	struct spool_entry e;
	struct spool *s = NULL;
	size_t i;

	/* small, so that segments come and go */
	if (spool_open(dir, MIB, &s, &err) < 0)
		_exit(1);
	for (i = 0; i < NREADERS; i++)
		if (spool_cursor_open(s, reader_name[i], &c[i], &err) < 0)
			_exit(1);
	for (;;) {
		unsigned int k = (unsigned int)(scratch_random(&r) % 20);
		int rc = 0;

		while (k-- && rc == 0) {
			rc = append(s, n + 1);
			n += rc == 0;
		}
		if (rc < 0 && rc != -ENOSPC)
			_exit(1);
		if (spool_sync(s, &err) < 0)
			_exit(1);
		sh->synced = n;
		i = scratch_random(&r) % NREADERS;
		e.key_len = 0;
		for (k = (unsigned int)(scratch_random(&r) % 60); k; k--) {
			struct spool_entry one;

			if (spool_read(c[i], &one, &err) <= 0)
				break;
			e = one;
			if (!number_of(&e))
				_exit(1);
			sh->acked[i] = number_of(&e);
		}
		if (e.key_len && spool_ack(c[i], &e.next, &err) < 0)
			_exit(1);
	}
}

static void test_kill(void)
{
	struct shared *sh = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				 -1, 0);
	unsigned int bad = 0;
	unsigned int turn;
	uint64_t last = 0;
	size_t i;

	scratch_clear(dir);
	for (turn = 0; turn < 40 && !bad; turn++) {
		uint64_t wait_for = sh->synced + scratch_random(&seed) % 300;
		struct timespec t = { .tv_nsec = (long)(scratch_random(&seed) % 2000000) };
		uint64_t r = scratch_random(&seed);
		struct spool_cursor *c[NREADERS] = { 0 };
		uint64_t end = 0;
		struct spool *s;
		pid_t pid = fork();
		int status = 0;

		if (!pid)
			write_until_killed(sh, last, r);
		while (sh->synced <= wait_for && waitpid(pid, &status, WNOHANG) == 0)
			nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
		nanosleep(&t, NULL);
		if (!status) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
		}
		bad += !WIFSIGNALED(status);
		s = open_all(c);
		for (i = 0; s && i < NREADERS; i++) {
			uint64_t want = 0; /* a killed process loses nothing it wrote: no gaps */
			uint64_t first = 0;
			struct spool_entry e;

			while (spool_read(c[i], &e, &err) > 0) {
				uint64_t n = number_of(&e);

				if (!n || (want && n != want))
					bad++;
				first = first ? first : n;
				want = n + 1;
			}
			if (first > sh->acked[i] + 1 || (!first && sh->acked[i] < sh->synced))
				bad++;
			if (want && want - 1 > end)
				end = want - 1;
		}
		last = end ? end : sh->synced; /* both had all */
		bad += !s || last < sh->synced;
		if (bad)
			diag("turn %u: last %" PRIu64 ", synced %" PRIu64 ", acknowledged %" PRIu64
			     " and %" PRIu64, turn, last, sh->synced, sh->acked[0], sh->acked[1]);
		close_all(s, c);
	}
	ok(!bad, "%u kills of a writer with two readers, %" PRIu64 " entries", turn, last);
	munmap(sh, 4096);
}

int main(void)
{
	const char *given = getenv("SPOOL_SEED");
	size_t i;
	size_t v;

	/* fsync costs nothing there, and it is the bytes that count here */
	snprintf(dir, sizeof(dir), "%s/ceems-test.XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(dir))
		return 99;
	seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 2654435761u | 1;
	diag("SPOOL_SEED=%" PRIu64, seed);
	make_history();
	test_prefixes();
	test_cursors();
	test_torn();
	test_kill();
	scratch_clear(dir);
	rmdir(dir);
	for (i = 0; i < h.nfiles; i++)
		free(h.file[i].data);
	free(h.last.data);
	for (i = 0; i < NREADERS; i++)
		for (v = 0; v < h.ncursors[i]; v++)
			free(h.cursor[i][v]);
	return done_testing();
}
