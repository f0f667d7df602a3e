/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ledger's file: a good one with bytes written over. The input is a list of patches, each four
 * bytes of offset, one of length and place (enum place), and the bytes.
 */
#include "src/libledger/ledger_map.h"
#include "tests/fuzz/fuzz.h"

static struct ledger_page snapshot;

static const char *ledger_path(void)
{
	static char path[512];

	(void)snprintf(path, sizeof(path), "%s/node1.ledger", fuzz_dir());
	return path;
}

/* The file as a sampler leaves it; its descriptor. */
static int good_file(void)
{
	struct errmsg err = { 0 };
	struct ledger *l = NULL;

	assert(ledger_create(fuzz_dir(), "node1", &l, NULL, &err) == 0);
	ledger_close(l);
	return open(ledger_path(), O_RDWR | O_CLOEXEC);
}

enum place {
	ANYWHERE = 0x00,
	IN_HEADER = 0x40,
	IN_COUNTS = 0x80, /* the counts of the current page's entries in use */
	IN_FIRST = 0xc0,  /* and its first steps */
	LENGTH = 0x3f,
};

static size_t offset_of(uint32_t where, uint8_t place)
{
	const size_t page = offsetof(struct ledger_file, page);

	switch (place & ~LENGTH) {
	case IN_HEADER:
		return where % (sizeof(struct ledger_file) - sizeof(struct ledger_page[2]) -
				sizeof(struct ledger_slot[LEDGER_STEPS]));
	case IN_COUNTS:
		return page + offsetof(struct ledger_page, nsteps) + where % 8;
	case IN_FIRST:
		return page + offsetof(struct ledger_page, step) + where % 1024;
	default:
		return where % (sizeof(struct ledger_file) - LENGTH);
	}
}

static void patch(int fd, const uint8_t *data, size_t size)
{
	while (size >= 5) {
		uint32_t where = (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 |
				 (uint32_t)data[3] << 24;
		size_t at = offset_of(where, data[4]);
		size_t len = data[4] & LENGTH;

		data += 5;
		size -= 5;
		if (len > size)
			len = size;
		assert(pwrite(fd, data, len, (off_t)at) == (ssize_t)len);
		data += len;
		size -= len;
	}
}

/* Makes the checksum right, or the fuzzer would never get past it. */
static void seal(int fd)
{
	struct ledger_header h;

	assert(pread(fd, &h, sizeof(h), 0) == sizeof(h));
	h.crc32c = ledger_map_crc(&h);
	assert(pwrite(fd, &h, sizeof(h), 0) == sizeof(h));
}

static void use(struct ledger *l)
{
	struct account energy;
	struct values values;
	unsigned int slot;
	uint64_t busy;

	(void)ledger_snapshot(l, &snapshot);
	(void)ledger_job_total(l, 1, &energy, &values, &busy);
	(void)ledger_step_energy(l, 0, &energy);
	(void)ledger_find(l, 1, &slot);
	ledger_account_values(&snapshot, &snapshot.measured, &values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct errmsg err = { 0 };
	struct ledger *l = NULL;
	bool fresh;
	int fd;
	int rc;

	(void)unlink(ledger_path());
	fd = good_file();
	assert(fd >= 0);
	patch(fd, data, size);
	if (size & 1)
		seal(fd);
	(void)close(fd);
	rc = ledger_open(fuzz_dir(), "node1", /* writable= */ false, &l, &err);
	fuzz_check_error(rc, &err);
	if (rc == 0)
		use(l);
	ledger_close(l);
	l = NULL;
	assert(ledger_create(fuzz_dir(), "node1", &l, &fresh, &err) == 0);
	use(l);
	(void)ledger_begin(l);
	ledger_turn(l);
	ledger_close(l);
	return 0;
}
