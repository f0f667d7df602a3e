/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/spool_view.h"

#include <errno.h>
#include <fcntl.h>

#include "scratch.h"
#include "tap.h"

#define MIB (UINT64_C(1) << 20)

static char dir[] = SCRATCH_TEMPLATE;
static struct errmsg err;

static void append(struct spool *s, enum spool_kind kind, const char *key, const char *end)
{
	char json[200];

	snprintf(json, sizeof(json), "{\"job_name\":\"\\\"@end\\\":\\\"\",\"@end\":\"%s\"}", end);
	ok(spool_append(s, kind, key, json, strlen(json), &err) == 0, "%s %s",
	   spool_kind_name(kind), key);
}

static unsigned int count(struct spool_view *v)
{
	struct spool_entry e;
	unsigned int n = 0;

	while (spool_view_read(v, &e, &err) > 0)
		n++;
	return n;
}

static const struct spool_view_reader *find(const struct spool_view_reader *r, size_t n,
					    const char *name)
{
	while (n--)
		if (!strcmp(r[n].name, name))
			return &r[n];
	return NULL;
}

static void test_kinds(void)
{
	unsigned int kind;

	for (kind = SPOOL_PENDING; kind <= SPOOL_KEY; kind++)
		is_int(spool_kind_by_name(spool_kind_name((enum spool_kind)kind)), (int)kind,
		       spool_kind_name((enum spool_kind)kind));
	is_str(spool_kind_name(0), "unknown", "no kind");
	is_str(spool_kind_name(200), "unknown", "a later version's");
	is_int(spool_kind_by_name("unknown"), 0, "is no name");
}

/* Beside the writer, which goes on. */
static void test_beside(void)
{
	struct spool_view_reader *r = NULL;
	const struct spool_view_reader *one;
	struct spool_view_stats st;
	struct spool_cursor *c = NULL;
	struct spool_view *v = NULL;
	struct spool *s = NULL;
	struct spool_entry e;
	size_t n = 0;
	int fd;

	is_int(spool_view_open("/proc/nonexistent", &v, &err), -ENOENT, "no spool");
	is_int(spool_view_open("", &v, &err), -ENOENT, "no path");
	spool_open(dir, 8 * MIB, &s, &err);
	spool_cursor_open(s, "kafka", &c, &err);
	append(s, SPOOL_PENDING, "c/1", "2026-01-01T00:00:01Z");
	append(s, SPOOL_RECORD, "c/1", "2026-01-01T00:00:01Z");
	append(s, SPOOL_RECORD, "c/2", "2026-01-01T00:00:02Z");
	append(s, SPOOL_STEPS, "c/2#1", "2026-01-01T00:00:00Z");
	spool_read(c, &e, &err);
	spool_read(c, &e, &err);
	spool_ack(c, &e.next, &err);
	is_int(spool_view_open(dir, &v, &err), 0, "open beside the writer");
	append(s, SPOOL_RECORD, "c/3", "2026-01-01T00:00:03Z");
	is_u64(count(v), 4, "what was there then");
	is_u64(count(v), 0, "no more");
	spool_view_seek(v, &e.next);
	is_u64(count(v), 2, "from a position");
	is_int(spool_view_readers(v, " mariadb, kafka", &r, &n, &err), 0, "readers");
	is_u64(n, 3, "those with a cursor and those that are to come");
	is_int(spool_view_count(v, r, n, &err), 0, "count");
	one = find(r, n, "kafka");
	ok(one && one->has_cursor && one->is_wanted && one->entries == 2 &&
		   one->oldest_end == 1767225602,
	   "kafka has two to come, by the first one's end");
	one = find(r, n, "mariadb");
	ok(one && !one->has_cursor && one->is_wanted && one->entries == 3 &&
		   one->oldest_end == 1767225601,
	   "mariadb has all that are for sinks");
	one = find(r, n, "finaliser");
	ok(one && one->entries == 1, "and the finaliser its own");
	free(r);
	spool_view_get_stats(v, &st);
	ok(st.segments == 1 && !st.damaged && !st.tail_bytes, "one segment, no damage");
	spool_view_close(v);

	/* half an entry: torn, or being written */
	fd = open(scratch_path(dir, "0000000001.seg"), O_WRONLY | O_APPEND);
	fileio_write_full(fd, "\xce\xee\x5b\x01 1234", 9);
	close(fd);
	spool_view_open(dir, &v, &err);
	is_u64(count(v), 5, "whole entries only");
	spool_view_get_stats(v, &st);
	ok(!st.damaged && st.tail_bytes == 9, "the tail is no damage");
	spool_view_close(v);

	/* segments that go while one is looking */
	spool_view_open(dir, &v, &err);
	unlink(scratch_path(dir, "0000000001.seg"));
	is_u64(count(v), 0, "a segment that is gone is done with");
	spool_view_get_stats(v, &st);
	is_u64(st.damaged, 0, "and no damage");
	spool_view_close(v);
	spool_view_close(NULL);
	spool_cursor_close(c);
	spool_close(s);
	scratch_clear(dir);
}

static void test_dead(void)
{
	struct spool_view_dead *d = NULL;
	struct spool_view *v = NULL;
	size_t n = 0;

	scratch_write(scratch_path(dir, "kafka.dead"), "1\n2\n", 4);
	scratch_write(scratch_path(dir, "kafka.dead.1"), "3\n", 2);
	scratch_write(scratch_path(dir, "kafka.dead.taken"), "4\n5", 3);
	scratch_write(scratch_path(dir, "file.dead"), "", 0);
	scratch_write(scratch_path(dir, "file.dead.old"), "x\n", 2);
	scratch_write(scratch_path(dir, "0000000003.torn"), "xyz", 3);
	scratch_write(scratch_path(dir, "0000000002.later"), "xy", 2);
	is_int(spool_view_open(dir, &v, &err), 0, "open");
	is_int(spool_view_dead(v, &d, &n, &err), 0, "dead letters");
	ok(n == 2 && !strcmp(d[0].sink, "file") && !d[0].letters, "of one sink none");
	ok(n == 2 && !strcmp(d[1].sink, "kafka") && d[1].letters == 4 && d[1].bytes == 9,
	   "of the other in all files");
	free(d);
	struct spool_view_stats st;
	spool_view_get_stats(v, &st);
	ok(st.torn_files == 1 && st.torn_bytes == 3 && !st.segments, "a torn file");
	ok(st.later_files == 1 && st.later_bytes == 2, "one of a later version");
	spool_view_close(v);
	scratch_clear(dir);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 99;
	test_kinds();
	test_beside();
	test_dead();
	scratch_clear(dir);
	rmdir(dir);
	return done_testing();
}
