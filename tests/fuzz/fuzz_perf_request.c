/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --ceems-perf=..., which users type. */
#include "src/libcore/perf_request.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct errmsg err = { 0 };
	struct perf_request w;
	int rc = perf_request_parse(text, &w, &err);
	uint32_t i;

	fuzz_check_error(rc, &err);
	if (rc == 0) {
		assert(w.groups && w.nevents <= PERF_REQUEST_EVENTS);
		assert(!w.nevents == !(w.groups & PERF_GROUP_EVENTS));
		for (i = 0; i < w.nevents; i++)
			assert(w.event[i][0] && memchr(w.event[i], '\0', PERF_REQUEST_NAME_MAX));
	}
	free(text);
	return 0;
}
