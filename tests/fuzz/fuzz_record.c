/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job's record: what was read is written in a form that reads as the same. */
#include "src/libjob/record.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *json = fuzz_text(data, size); /* a copy, so that ASan sees a byte read too many */
	struct errmsg err = { 0 };
	struct record *r = NULL;
	struct record *again = NULL;
	char *first = NULL;
	char *second = NULL;
	size_t len;
	int rc;

	rc = record_from_json(json, size, &r, &err);
	fuzz_check_error(rc, &err);
	if (rc == 0 && record_to_json(r, &first, &len, &err) == 0) {
		assert(record_from_json(first, len, &again, &err) == 0);
		assert(record_to_json(again, &second, &len, &err) == 0);
		assert(!strcmp(first, second));
	}
	free(first);
	free(second);
	record_destroy(r);
	record_destroy(again);
	free(json);
	return 0;
}
