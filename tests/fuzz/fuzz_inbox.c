/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The inbox as another process left it: two files, of which the first has as many bytes as the first two
 * bytes of the input say. The reader gets intact entries only and comes to an end; a position that it gave
 * leads to the same entries again. The files keep their names until their entries are stored.
 */
#include "src/libstore/inbox.h"
#include "tests/fuzz/fuzz.h"

#define FRAME 16 /* bytes around an entry, at least */

static void inbox_empty(void)
{
	static const char *const names[] = { "inbox-0000000000000001", "inbox-0000000000000002",
					     "damaged-0000000000000001", "damaged-0000000000000002" };
	char path[512];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", fuzz_dir(), names[i]);
		(void)unlink(path);
	}
}

static void inbox_fill(const uint8_t *data, size_t size, size_t first)
{
	inbox_empty();
	fuzz_write(fuzz_dir(), "inbox-0000000000000001", data, first);
	fuzz_write(fuzz_dir(), "inbox-0000000000000002", data + first, size - first);
}

static uint64_t inbox_hash(uint64_t hash, const struct inbox_entry *e)
{
	size_t i;

	hash = hash * 31 + (uint64_t)e->kind;
	for (i = 0; i < e->len; i++)
		hash = hash * 31 + ((const uint8_t *)e->data)[i];
	return hash;
}

/*
 * Returns how many there are from FROM on; *RET_MIDDLE is behind the one with number MIDDLE. IS_STORED: the
 * files that were read may go.
 */
static size_t inbox_read_all(const struct inbox_pos *from, size_t size, size_t middle, bool is_stored,
			     struct inbox_pos *ret_middle, uint64_t *ret_hash)
{
	static struct inbox_reader *r; /* kept open: ending its watch takes milliseconds */
	struct errmsg err = { 0 };
	struct inbox_entry e;
	size_t n = 0;
	int rc;

	if (!r)
		assert(inbox_reader_open(fuzz_dir(), from, &r, &err) == 0);
	inbox_reader_rewind(r, from);
	*ret_hash = 0;
	while ((rc = inbox_read(r, &e, &err)) == 1) {
		assert(e.len <= INBOX_ENTRY_MAX && (uintptr_t)e.data % 8 == 0);
		if (n >= middle)
			*ret_hash = inbox_hash(*ret_hash, &e);
		/* two of them may report a loss */
		assert(++n <= size / FRAME + 2);
		if (n == middle)
			inbox_reader_get_pos(r, ret_middle);
	}
	fuzz_check_error(rc, &err);
	assert(rc == 0 && inbox_read(r, &e, &err) == 0);
	inbox_reader_get_pos(r, ret_middle + 1);
	if (is_stored)
		inbox_reader_release(r, ret_middle + 1);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct inbox_pos begin;
	struct inbox_pos pos[2];
	struct inbox_status status;
	struct errmsg err = { 0 };
	uint64_t hash;
	uint64_t again;
	size_t middle;
	size_t first;
	size_t n;

	if (size < 2)
		return 0;
	first = (size_t)data[0] | (size_t)data[1] << 8;
	data += 2;
	size -= 2;
	if (first > size)
		first = size;
	inbox_fill(data, size, first);
	n = inbox_read_all(&begin, size, SIZE_MAX, /* is_stored= */ false, pos, &hash);
	/* the same again from the middle on */
	middle = n / 2;
	pos[0] = begin;
	assert(inbox_read_all(&begin, size, middle, /* is_stored= */ true, pos, &hash) == n);
	if (middle) {
		inbox_fill(data, size, first);
		assert(inbox_read_all(&pos[0], size, 0, /* is_stored= */ true, pos, &again) == n - middle);
		assert(again == hash);
	}
	assert(inbox_get_status(fuzz_dir(), &begin, &status, &err) == 0);
	return 0;
}
