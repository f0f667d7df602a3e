/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A part of a profile in the queue for Pyroscope, and the names that make up a series. */
#include "src/profiler/push_queue.h"
#include "tests/fuzz/fuzz.h"

static void check_part(struct push_queue *q, const uint8_t *data, size_t size)
{
	struct errmsg err = { 0 };
	struct push_part part;
	char *buf = NULL;
	int rc;

	fuzz_write(fuzz_dir(), "1.part", data, size);
	rc = push_queue_read(q, "1.part", &part, &buf, &err);
	fuzz_check_error(rc, &err);
	if (rc < 0)
		return;
	assert(strlen(part.series) < PUSH_SERIES_MAX && part.len > 0 && part.len < size);
	assert(!memcmp(part.data, data + size - part.len, part.len));
	free(buf);
}

static void check_series(const char *name)
{
	char series[PUSH_SERIES_MAX];

	if (!push_series("1", name, name, name, name, series))
		return;
	assert(strlen(series) < sizeof(series) && !strpbrk(series, " \n\""));
	assert(strchr(series, '{') == strrchr(series, '{') &&
	       strchr(series, '}') == series + strlen(series) - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct push_queue *q;
	char *text = fuzz_text(data, size);

	if (!q)
		assert(push_queue_open(fuzz_dir(), UINT64_MAX, &q, NULL) == 0);
	check_part(q, data, size);
	check_series(text);
	free(text);
	return 0;
}
