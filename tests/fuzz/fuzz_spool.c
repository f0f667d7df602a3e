/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The spool's folder: a reader's cursor file, then the segment as another process left it. Opening
 * sets a torn tail aside; a reader gets intact entries only and comes to an end. A view without the
 * lock, which changes nothing, sees the same before.
 */
#include "src/libsink/frame.h"
#include "src/libsink/spool.h"
#include "src/libsink/spool_view.h"
#include "tests/fuzz/fuzz.h"

#define SPOOL_MAX_BYTES (UINT64_C(64) << 20)

static void empty(const char *dir)
{
	static const char *const names[] = { "0000000001.torn", "0000000001.seg",
					     "0000000002.seg", "reader.cur" };
	char path[512];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		(void)unlink(path);
	}
}

/* Returns how many entries the view has behind the reader's cursor. */
static size_t look(size_t size)
{
	struct spool_view_reader *r = NULL;
	struct spool_view_stats stats;
	struct spool_view *v = NULL;
	struct errmsg err = { 0 };
	struct spool_entry e;
	size_t behind = 0;
	size_t total = 0;
	size_t n = 0;
	size_t i;

	assert(spool_view_open(fuzz_dir(), &v, &err) == 0);
	assert(spool_view_readers(v, "reader", &r, &n, &err) == 0);
	assert(spool_view_count(v, r, n, &err) == 0);
	for (i = 0; i < n; i++)
		assert(r[i].entries <= size / FRAME_HEADER && r[i].bytes <= size);
	for (i = 0; i < n && strcmp(r[i].name, "reader"); i++)
		;
	assert(i < n);
	spool_view_seek(v, &(struct spool_pos){ 0 });
	while (spool_view_read(v, &e, &err) == 1)
		assert(++total <= size / FRAME_HEADER);
	spool_view_seek(v, &r[i].at);
	while (spool_view_read(v, &e, &err) == 1)
		assert(e.key_len <= SPOOL_KEY_MAX && ++behind <= total);
	spool_view_get_stats(v, &stats);
	assert(stats.bytes == size && stats.tail_bytes <= size);
	free(r);
	spool_view_close(v);
	return behind;
}

static size_t read_all(struct spool_cursor *c, size_t size)
{
	struct errmsg err = { 0 };
	struct spool_entry e;
	size_t n = 0;

	while (spool_read(c, &e, &err) == 1) {
		assert(e.key_len <= SPOOL_KEY_MAX && e.len <= SPOOL_DATA_MAX);
		assert(++n <= size / FRAME_HEADER);
		(void)spool_ack(c, &e.next, &err);
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_parts in = { data, size };
	struct spool_cursor *c = NULL;
	struct errmsg err = { 0 };
	struct spool *s = NULL;
	const uint8_t *part;
	size_t behind;
	size_t len;
	int rc;

	empty(fuzz_dir());
	part = fuzz_next(&in, &len);
	fuzz_write(fuzz_dir(), "reader.cur", part, len);
	fuzz_write(fuzz_dir(), "0000000001.seg", in.data, in.size);
	behind = look(in.size);
	rc = spool_open(fuzz_dir(), SPOOL_MAX_BYTES, &s, &err);
	fuzz_check_error(rc, &err);
	assert(rc == 0);
	assert(spool_cursor_open(s, "reader", &c, &err) == 0);
	assert(read_all(c, in.size) == behind);
	spool_cursor_close(c);
	spool_close(s);
	return 0;
}
