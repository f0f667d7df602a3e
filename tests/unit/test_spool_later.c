/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A downgrade: what a later version wrote is not acknowledged into nothing by who cannot read it, and is
 * delivered when that version is back.
 */
#include <errno.h>

#include "scratch.h"
#include "src/libsink/frame.h"
#include "src/libsink/spool.h"
#include "src/libutil/logger.h"
#include "tap.h"

#define MIB (UINT64_C(1) << 20)
#define LATER_KIND 9
#define SEG1 "0000000001.seg"
#define LATER1 "0000000001.later"

static char dir[] = SCRATCH_TEMPLATE;
static struct errmsg err;
static unsigned int told;

static void count_errors(enum logger_level level, const char *text)
{
	told += level == LOGGER_ERROR && strstr(text, "later");
}

static struct spool *reopen(void)
{
	struct spool *s = NULL;

	if (spool_open(dir, MIB, &s, &err) < 0)
		diag("spool_open: %s", err.text);
	return s;
}

/* KEYS as in write_spool(): what a letter means. */
static int kind_of(char key)
{
	return key >= 'A' && key <= 'Z' ? LATER_KIND : SPOOL_RECORD;
}

/* One entry for each letter; capitals are of a later version. A process of its own, as it were. */
static void write_spool(const char *keys)
{
	struct spool *s = reopen();

	for (; *keys; keys++)
		(void)spool_append(s, (enum spool_kind)kind_of(*keys), (char[]){ *keys, '\0' },
				   "data", 4, &err);
	(void)spool_sync(s, &err);
	spool_close(s);
}

/* The letters that a reader gets, "!" for an error; with ACK, it acknowledges that many. */
static const char *read_keys(struct spool_cursor *c, size_t nack)
{
	static char got[64];
	struct spool_entry e;
	size_t n = 0;
	int rc;

	while ((rc = spool_read(c, &e, &err)) > 0 && n < sizeof(got) - 2) {
		got[n++] = *e.key;
		if (n == nack)
			(void)spool_ack(c, &e.next, &err);
	}
	if (rc < 0)
		got[n++] = '!';
	got[n] = '\0';
	return got;
}

/* The letters in a file of entries. */
static const char *keys_in(const char *name)
{
	static char got[64];
	size_t len = 0;
	uint8_t *buf = (uint8_t *)scratch_read(scratch_path(dir, name), &len);
	struct frame f;
	size_t at = 0;
	size_t n = 0;

	while (buf && at + FRAME_HEADER < len && frame_decode(buf + at, &f) &&
	       frame_is_intact(buf + at, &f) && n < sizeof(got) - 1) {
		got[n++] = (char)buf[at + FRAME_HEADER];
		at += frame_size(&f);
	}
	got[n] = '\0';
	free(buf);
	return buf ? got : "none";
}

/* Opens the spool, lets two readers read all and acknowledge N1 and N2 of it, and closes it. */
static void serve(size_t n1, const char *expect1, size_t n2, const char *expect2)
{
	struct spool_cursor *a = NULL;
	struct spool_cursor *b = NULL;
	struct spool *s = reopen();

	(void)spool_cursor_open(s, "finaliser", &a, &err);
	(void)spool_cursor_open(s, "kafka", &b, &err);
	is_str(read_keys(a, n1), expect1, "what the first reader gets");
	is_str(read_keys(b, n2), expect2, "what the second reader gets");
	spool_close(s);
}

static void test_kept(void)
{
	write_spool("aBcDe");
	told = 0;
	serve(5, "aBcDe", 5, "aBcDe");
	ok(!scratch_has(dir, SEG1), "the segment goes when all is acknowledged");
	is_str(keys_in(LATER1), "BD", "what a later version wrote is kept");
	is_int(told, 1, "it is said once");
	write_spool("fGh");
	serve(3, "fGh", 3, "fGh");
	is_str(keys_in("0000000002.later"), "G", "the next segment's, too");
	is_str(keys_in(LATER1), "BD", "the first is as it was");
	scratch_clear(dir);
}

static void test_restarts(void)
{
	write_spool("aBcDe");
	serve(2, "aBcDe", 1, "aBcDe");
	is_str(keys_in(LATER1), "BD", "both are kept by who read them without acknowledging");
	serve(3, "cDe", 4, "BcDe");
	is_str(keys_in(LATER1), "BD", "once: by the next process as well");
	serve(0, "", 0, "");
	ok(!scratch_has(dir, SEG1) || scratch_has(dir, LATER1), "nothing is lost");
	scratch_clear(dir);

	/* done by the version that knew it, before the downgrade */
	write_spool("aBcDe");
	serve(3, "aBcDe", 2, "aBcDe");
	(void)unlink(scratch_path(dir, LATER1));
	serve(2, "De", 3, "cDe");
	is_str(keys_in(LATER1), "D", "what every reader was past is not kept");
	scratch_clear(dir);
}

static void test_no_place(void)
{
	write_spool("aBc");
	(void)mkdir(scratch_path(dir, "0000000001.later-new"), 0700);
	serve(1, "a!", 1, "a!");
	ok(!scratch_has(dir, LATER1) && scratch_has(dir, SEG1), "without a place it stays");
	(void)rmdir(scratch_path(dir, "0000000001.later-new"));
	serve(2, "Bc", 2, "Bc");
	is_str(keys_in(LATER1), "B", "with one it goes on");
	scratch_clear(dir);
}

/* As the version that is back finds it: each kind is known to it. */
static void make_later(const char *name, const char *keys)
{
	write_spool(keys);
	(void)rename(scratch_path(dir, SEG1), scratch_path(dir, name));
}

static void test_adopted(void)
{
	make_later("0000000003.later", "xy");
	serve(2, "xy", 2, "xy");
	ok(!scratch_has(dir, "0000000003.later"), "what is known is delivered, to every reader");
	serve(0, "", 0, "");
	scratch_clear(dir);

	make_later("0000000003.later", "xYz");
	serve(0, "", 0, "");
	is_str(keys_in("0000000003.later"), "xYz", "a file that is known in part waits as a whole");
	write_spool("a");
	ok(scratch_has(dir, "0000000004.seg"), "numbers go on behind it");
	scratch_clear(dir);

	scratch_write(scratch_path(dir, "0000000001.later"), "rubbish", 7);
	serve(0, "", 0, "");
	ok(scratch_has(dir, "0000000001.later"), "what is no entry is left alone");
	scratch_clear(dir);
}

/* Of the first N entries. */
static void set_layout(const char *name, uint8_t version, size_t n)
{
	size_t len = 0;
	uint8_t *buf = (uint8_t *)scratch_read(scratch_path(dir, name), &len);
	size_t at = 0;

	while (buf && at < len && n--) {
		buf[at + 3] = version;
		at += FRAME_HEADER + 1 + 4; /* as write_spool() makes them */
	}
	(void)scratch_write(scratch_path(dir, name), buf, len);
	free(buf);
}

static void test_layout(void)
{
	write_spool("ab");
	write_spool("cd");
	set_layout("0000000002.seg", 2, 2);
	told = 0;
	serve(2, "ab", 2, "ab");
	ok(scratch_has(dir, "0000000002.later") && !scratch_has(dir, "0000000002.seg") &&
	   !scratch_has(dir, "0000000002.torn"), "a segment of another layout is set aside whole");
	is_int(told, 1, "it is said once");
	write_spool("e");
	serve(1, "e", 1, "e");
	set_layout("0000000002.later", 1, 2);
	serve(2, "cd", 2, "cd");
	ok(!scratch_has(dir, "0000000002.later"), "who knows the layout delivers it");
	scratch_clear(dir);

	write_spool("abc");
	set_layout(SEG1, 2, 1);
	serve(2, "bc", 2, "bc");
	ok(!scratch_has(dir, LATER1), "one damaged byte is no other layout");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 99;
	logger_set_sink(count_errors);
	test_kept();
	test_restarts();
	test_no_place();
	test_adopted();
	test_layout();
	scratch_clear(dir);
	(void)rmdir(dir);
	return done_testing();
}
