/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles in memory, and pprof's format: what is written is read again, and what is no profile is refused.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <zlib.h>

#include "src/libprofile/profile_pprof.h"
#include "scratch.h"
#include "tap.h"

static const struct profile_type types[] = { { "samples", "count" }, { "cpu", "nanoseconds" } };

static int memory_file(const void *data, size_t len)
{
	int fd = memfd_create("profile", MFD_CLOEXEC);

	if (len && pwrite(fd, data, len, 0) != (ssize_t)len)
		diag("short write");
	return fd;
}

/* A function of its own mapping, at an address. */
static uint32_t add_place(struct profile *p, const char *name, uint64_t start, uint64_t address)
{
	const struct profile_mapping m = { "/bin/a", "0123ab", .start = start, .limit = start + 0x1000,
					   .offset = 0x2000 };
	const struct profile_function f = { name, "_Z1f", "a.c", 3 };
	struct profile_line line = { 0, 17 };
	struct profile_location l = { .line = &line, .nlines = 1 };
	uint32_t place = 0;

	if (profile_add_mapping(p, &m, &l.mapping) < 0 || profile_add_function(p, &f, &line.function) < 0)
		diag("cannot add %s", name);
	l.address = profile_rebase(p, l.mapping, start, address);
	if (profile_add_location(p, &l, &place) < 0)
		diag("cannot add a location");
	return place;
}

static int add_stack(struct profile *p, const uint32_t *location, size_t depth, int64_t count,
		     const char *node)
{
	const struct profile_label label[] = {
		{ PROFILE_LABEL_NODE, .text = node },
		{ PROFILE_LABEL_TASK, .number = 3 },
		{ "bytes", .number = -7, .unit = "bytes" },
	};
	int64_t value[] = { count, count * 10 };

	return profile_add_sample(p, &(struct profile_sample){ location, depth, value, label, 3 });
}

static struct profile *make_profile(uint64_t start, const char *node)
{
	struct profile *p = NULL;
	uint32_t stack[2];

	if (profile_create(types, 2, &p) < 0)
		return NULL;
	stack[0] = add_place(p, "leaf", start, start + 0x10);
	stack[1] = add_place(p, "main", start, start + 0x20);
	is_int(add_stack(p, stack, 2, 5, node), 0, "a stack");
	is_int(add_stack(p, stack, 2, 2, node), 0, "the same stack");
	is_int(add_stack(p, stack + 1, 1, 1, node), 0, "another stack");
	is_int(profile_set_period(p, "cpu", "nanoseconds", 10), 0, "a period");
	return p;
}

static void test_adding(void)
{
	struct profile *p = make_profile(0x400000, "n1");
	const uint32_t nothing = 99;
	uint32_t place;
	int64_t huge[] = { INT64_MAX, 1 }, negative[] = { -1, 0 };

	is_u64(p->nsamples, 2, "equal stacks are one");
	is_int(p->sample[0].value[0], 7, "its values are added");
	is_int(p->sample[0].value[1], 70, "all of them");
	is_u64(p->nmappings, 1, "one mapping");
	is_u64(p->nlocations, 2, "two locations");
	is_u64(p->nfunctions, 2, "two functions");
	is_int(add_place(p, "leaf", 0x700000, 0x700010), (int)p->sample[0].location[0],
	       "the same part of a file at another address is one location");
	is_int(add_stack(p, &nothing, 1, 1, "n1"), -EINVAL, "no such location");
	is_int(profile_add_location(p, &(struct profile_location){ .mapping = 7 }, &place), -EINVAL,
	       "no such mapping");
	is_int(profile_add_mapping(p, &(struct profile_mapping){ .start = 2, .limit = 1 }, &place), -EINVAL,
	       "an end before the start");
	is_int(profile_add_sample(p, &(struct profile_sample){ .value = negative }), -EINVAL,
	       "a negative value");
	is_int(profile_add_sample(p,
				  &(struct profile_sample){ .depth = PROFILE_DEPTH_MAX + 1, .value = huge }),
	       -ERANGE, "too deep");
	is_int(profile_add_sample(p, &(struct profile_sample){ .value = huge }), 0, "a stack without frames");
	is_int(profile_add_sample(p, &(struct profile_sample){ .value = huge }), 0, "and again");
	is_int(p->sample[2].value[0], INT64_MAX, "a sum stays at the largest number");
	is_int(profile_add_comment(p, "x"), 0, "a comment");
	is_int(profile_add_comment(p, "x"), 0, "the same");
	is_u64(p->ncomments, 1, "is there once");
	is_int(profile_create(types, 0, &p), -EINVAL, "no type");
	profile_destroy(p);
	profile_destroy(NULL);
}

static void test_texts(void)
{
	struct profile *p = NULL;
	char *lengthy = calloc(1, PROFILE_TEXT_MAX + 100);
	uint32_t place;

	memset(lengthy, 'x', PROFILE_TEXT_MAX - 1);
	memcpy(lengthy + PROFILE_TEXT_MAX - 1, "\xc3\xa9z", 4);
	is_int(profile_create(types, 1, &p), 0, "create");
	is_int(profile_add_function(p, &(struct profile_function){ "caf\xe9", NULL, NULL, 0 }, &place), 0,
	       "not UTF-8");
	is_str(p->function[place].name, "caf\\xe9", "is escaped");
	is_str(p->function[place].file, "", "NULL is empty");
	is_int(profile_add_function(p, &(struct profile_function){ lengthy, "", "", 0 }, &place), 0,
	       "a long text");
	is_u64(strlen(p->function[place].name), PROFILE_TEXT_MAX - 1, "is cut between characters");
	is_u64(profile_text(p, ""), 0, "the first text is empty");
	is_u64(profile_text(p, "count"), 2, "a text by its words");
	free(lengthy);
	profile_destroy(p);
}

static struct profile *write_and_read(const struct profile *p)
{
	int fd = memory_file("", 0);
	struct profile *back = NULL;
	struct errmsg err = { 0 };

	is_int(profile_write(p, fd, 0, &err), 0, "written");
	(void)lseek(fd, 0, SEEK_SET);
	if (!is_int(profile_read(fd, "f", &back, &err), 0, "read"))
		diag("%s", err.text);
	(void)close(fd);
	return back;
}

static void test_file(void)
{
	struct profile *p = make_profile(0x400000, "n1"), *back;
	const struct profile_sample *s;
	const struct profile_label *label;

	p->time_ns = 1700000000000000000;
	p->duration_ns = 5;
	(void)profile_add_comment(p, PROFILE_NOTE_LOST "n1:3");
	back = write_and_read(p);
	if (!back)
		return;
	is_u64(back->ntypes, 2, "types");
	is_int(profile_find_type(back, "cpu", "nanoseconds"), 1, "found by name");
	is_int(profile_find_type(back, "cpu", "count"), -1, "and unit");
	is_str(back->period_type.type, "cpu", "period's type");
	is_int(back->period, 10, "period");
	is_int(back->time_ns, 1700000000000000000, "time");
	is_int(back->duration_ns, 5, "duration");
	is_str(back->comment[0], PROFILE_NOTE_LOST "n1:3", "comment");
	is_u64(back->nsamples, 2, "samples");
	s = &back->sample[0];
	is_u64(s->depth, 2, "depth");
	is_int(s->value[1], 70, "value");
	is_str(back->function[back->location[s->location[0]].line[0].function].name, "leaf",
	       "the leaf first");
	is_str(back->function[0].system_name, "_Z1f", "name in the symbol table");
	is_int(back->location[0].line[0].line, 17, "line");
	is_u64(back->location[0].address, 0x400010, "address");
	is_str(back->mapping[0].build_id, "0123ab", "build id");
	is_u64(back->mapping[0].offset, 0x2000, "offset");
	label = profile_label(s, PROFILE_LABEL_NODE);
	is_str(label ? label->text : NULL, "n1", "a text label");
	label = profile_label(s, PROFILE_LABEL_TASK);
	ok(label && !label->text && label->number == 3, "a number label");
	label = profile_label(s, "bytes");
	ok(label && label->number == -7 && !strcmp(label->unit, "bytes"), "with a unit");
	ok(!profile_label(s, "other"), "no such label");
	ok(!profile_is_kernel(back, 0), "its mapping is not the kernel's");
	profile_destroy(back);
	profile_destroy(p);
}

static void test_merge(void)
{
	struct profile *a = make_profile(0x400000, "n1"), *b = make_profile(0x500000, "n2"), *all = NULL;
	const struct profile_type more[] = { { "cpu", "nanoseconds" }, { "off-cpu", "nanoseconds" } };

	a->time_ns = 100;
	a->duration_ns = 10;
	b->time_ns = 90;
	b->duration_ns = 15;
	is_int(profile_create(more, 2, &all), 0, "create");
	is_int(profile_merge(all, a), 0, "merge");
	is_int(profile_merge(all, b), 0, "a second");
	is_int(profile_merge(all, b), 0, "the second once more");
	is_u64(all->nsamples, 4, "stacks of both nodes");
	is_u64(all->nlocations, 2, "the same code at another address is the same");
	is_int(all->sample[0].value[0], 70, "by type");
	is_int(all->sample[2].value[0], 140, "added");
	is_int(all->sample[0].value[1], 0, "a type that was not there");
	is_int(all->time_ns, 90, "from the first start");
	is_int(all->duration_ns, 20, "to the last end");
	is_int(all->period, 10, "period");
	profile_destroy(a);
	profile_destroy(b);
	profile_destroy(all);
}

/* --- files that are none ----------------------------------------------------------------------- */

static int read_bytes(const void *data, size_t len)
{
	struct profile *p = NULL;
	struct errmsg err = { 0 };
	int fd = memory_file(data, len);
	int rc = profile_read(fd, "f", &p, &err);

	if (rc < 0)
		diag("%s", err.text);
	profile_destroy(p);
	(void)close(fd);
	return rc;
}

static void test_bad(void)
{
	static const struct {
		const char *what, *data;
		size_t len;
		int rc;
	} rows[] = {
		{ "an empty file", "", 0, -EINVAL },
		{ "a text", "hello\n", 6, -EINVAL },
		{ "the start of gzip", "\x1f\x8b\x08", 3, -EINVAL },
		{ "no type", "\x12\x00", 2, -EINVAL },
		{ "one type", "\x0a\x00", 2, 0 },
		{ "a text that is not there", "\x0a\x02\x08\x05", 4, -EINVAL },
		{ "a location that is not there", "\x0a\x00\x12\x05\x0a\x01\x07\x12\x00", 9, -EINVAL },
		{ "no value", "\x0a\x00\x12\x00", 4, -EINVAL },
		{ "one value", "\x0a\x00\x12\x03\x12\x01\x05", 7, 0 },
		{ "a location without id", "\x0a\x00\x22\x00", 4, -EINVAL },
		{ "a location of no mapping", "\x0a\x00\x22\x04\x08\x01\x10\x09", 8, -EINVAL },
		{ "a location twice", "\x0a\x00\x22\x02\x08\x01\x22\x02\x08\x01", 10, -EINVAL },
		{ "a length beyond the end", "\x0a\x7f", 2, -EINVAL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		is_int(read_bytes(rows[i].data, rows[i].len), rows[i].rc, rows[i].what);
}

/* One byte, so often, packed. */
static unsigned char *pack_zeros(size_t n, int byte, size_t *ret_len)
{
	unsigned char chunk[65536], *out = malloc(n / 100 + 65536);
	z_stream z = { .next_out = out, .avail_out = (uInt)(n / 100 + 65536) };

	memset(chunk, byte, sizeof(chunk));
	(void)deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
	for (; n; n -= sizeof(chunk)) {
		z.next_in = chunk;
		z.avail_in = sizeof(chunk);
		(void)deflate(&z, Z_NO_FLUSH);
	}
	(void)deflate(&z, Z_FINISH);
	*ret_len = z.total_out;
	(void)deflateEnd(&z);
	return out;
}

static void test_bombs(void)
{
	size_t len;
	unsigned char *bomb = pack_zeros(PROFILE_PPROF_MAX + 65536, 0, &len);

	diag("%zu bytes", len);
	is_int(read_bytes(bomb, len), -EFBIG, "a small file that unpacks to too much");
	free(bomb);
}

static void test_cut(void)
{
	struct profile *p = make_profile(0x400000, "n1");
	int fd = memory_file("", 0);
	char data[4096];
	ssize_t len, i, wrong = 0;
	struct errmsg err = { 0 };

	is_int(profile_write(p, fd, 0, &err), 0, "written");
	len = pread(fd, data, sizeof(data), 0);
	(void)close(fd);
	for (i = 0; i < len; i++) {
		struct profile *back = NULL;

		fd = memory_file(data, (size_t)i);
		wrong += profile_read(fd, "f", &back, &err) != -EINVAL;
		profile_destroy(back);
		(void)close(fd);
	}
	is_int(wrong, 0, "a file that was cut anywhere is refused");
	fd = memory_file("", 0);
	is_int(profile_write(p, fd, 100, &err), -EFBIG, "a limit on the file");
	ok(lseek(fd, 0, SEEK_END) <= 100, "is not exceeded");
	(void)close(fd);
	fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	is_int(profile_write(p, fd, 0, &err), -ENOSPC, "a full disk");
	(void)close(fd);
	is_str(err.text, "cannot write the profile: No space left on device", "is said");
	profile_destroy(p);
}

static void test_many(void)
{
	struct profile *p = NULL, *back;
	uint32_t stack[16];
	uint64_t state = 7;
	int64_t total = 0, read = 0;
	size_t i, k;

	is_int(profile_create(types, 2, &p), 0, "create");
	for (i = 0; i < 20000; i++) {
		char name[32];

		for (k = 0; k < ARRAY_SIZE(stack); k++) {
			uint64_t n = scratch_random(&state) % 500;

			(void)snprintf(name, sizeof(name), "function%" PRIu64, n);
			stack[k] = add_place(p, name, 0x1000, 0x1000 + n);
		}
		if (add_stack(p, stack, ARRAY_SIZE(stack), 1, "n") == 0)
			total++;
	}
	is_u64(p->nlocations, 500, "500 locations");
	back = write_and_read(p);
	for (i = 0; back && i < back->nsamples; i++)
		read += back->sample[i].value[0];
	is_int(read, total, "20000 stacks");
	profile_destroy(back);
	profile_destroy(p);
}

int main(void)
{
	test_adding();
	test_texts();
	test_file();
	test_merge();
	test_bad();
	test_bombs();
	test_cut();
	test_many();
	return done_testing();
}
